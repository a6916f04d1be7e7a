"""Faults of sealed datagrams: keys, nonces, tags, and what is not to be opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.psrt.server.logins import accounts
from wireproof.mutants.psrt.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    changed,
    datagrams,
    encoded,
    field_kind,
    instead_of_closing,
    with_answer,
    with_request,
)
from wireproof.protocols.fields import Raw
from wireproof.protocols.psrt import ResponseCode
from wireproof.protocols.psrt.enums import NONCE_SIZE, TAG_SIZE, Encryption
from wireproof.protocols.psrt.replies import DatagramReply
from wireproof.protocols.psrt.requests import Sealed
from wireproof.protocols.psrt.sealing import OpeningError, open_sealed, seal
from wireproof.reference_server.psrt.accounts import NOBODY, Accounts
from wireproof.reference_server.psrt.datagram_requests import DatagramRequests
from wireproof.reference_server.psrt.rights import ALL, Rights
from wireproof.reference_server.psrt.state import Answer, RefusedError

__all__ = ["MUTANTS"]

Open = Callable[[bytes, Sealed], bytes]
"""(key of 32 bytes, datagram) -> what is sealed in it; raises `OpeningError`."""


def _opened(wrong: Open) -> HandlerPatch:
    """Open datagrams by `wrong`: what it finds is sealed again as is right."""

    def change(request: Sealed, ask: Ask) -> Sealed:
        key = ask.state.accounts.keys.get(request.login.decode(errors="replace") or NOBODY)
        if key is None:
            return request
        try:
            content = wrong(key, request)
        except OpeningError as error:
            raise RefusedError(str(error)) from None
        sealed = seal(key=key, nonce=request.nonce, encryption=request.encryption, of=content)
        return changed(request, sealed=sealed)

    return with_request(Sealed, change)


def _with(key: bytes, request: Sealed, aad: bytes | None = None, sealed: bytes | None = None) -> bytes:
    """Open with another key, of any size AES has, or with data that is authenticated beside."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    body = request.sealed if sealed is None else sealed
    if len(body) < TAG_SIZE or len(request.nonce) != NONCE_SIZE:
        raise OpeningError("too short")
    try:
        return bytes(AESGCM(key).decrypt(request.nonce, body, aad))
    except InvalidTag:
        raise OpeningError("the tag does not fit") from None


def _right(key: bytes, request: Sealed) -> bytes:
    return open_sealed(key=key, nonce=request.nonce, encryption=request.encryption, sealed=request.sealed)


def _unchecked(key: bytes, request: Sealed, tag: int = TAG_SIZE) -> bytes:
    """Open without a look at the tag, which has `tag` bytes."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    size = 16 if request.encryption == Encryption.AES_128_GCM else 32
    body = request.sealed[: len(request.sealed) - tag]
    counter = request.nonce + b"\0\0\0\2"
    if len(request.nonce) != NONCE_SIZE:
        raise OpeningError("nonce")
    decryptor = Cipher(algorithms.AES(key[:size]), modes.CTR(counter)).decryptor()
    return decryptor.update(body) + decryptor.finalize()


def _short_tag(key: bytes, request: Sealed) -> bytes:
    """Take a tag of 12 bytes, too."""
    try:
        return _right(key, request)
    except OpeningError:
        if len(request.sealed) <= 12:
            raise
        content = _unchecked(key, request, 12)
        whole = seal(key=key, nonce=request.nonce, encryption=request.encryption, of=content)
        if whole[:-4] != request.sealed:
            raise
        return content


def _part_of_tag(key: bytes, request: Sealed) -> bytes:
    """Compare the first 8 bytes of the tag."""
    if len(request.sealed) < TAG_SIZE:
        raise OpeningError("too short")
    content = _unchecked(key, request)
    whole = seal(key=key, nonce=request.nonce, encryption=request.encryption, of=content)
    if whole[:-8] != request.sealed[:-8]:
        raise OpeningError("the tag does not fit")
    return content


def _last_half(key: bytes, request: Sealed) -> bytes:
    return _with(key[16:] if request.encryption == Encryption.AES_128_GCM else key, request)


def _half_twice(key: bytes, request: Sealed) -> bytes:
    if request.encryption == Encryption.AES_128_GCM:
        return _right(key, request)
    return _with(key[:16] * 2, request)


def _always_256(key: bytes, request: Sealed) -> bytes:
    return _with(key, request)


def _always_128(key: bytes, request: Sealed) -> bytes:
    return _with(key[:16], request)


def _either(key: bytes, request: Sealed) -> bytes:
    """Try both ciphers, whichever is named."""
    try:
        return _with(key, request)
    except OpeningError:
        return _with(key[:16], request)


def _hashed(key: bytes, request: Sealed) -> bytes:
    import hashlib

    size = 16 if request.encryption == Encryption.AES_128_GCM else 32
    return _with(hashlib.sha256(key).digest()[:size], request)


def _authenticated(key: bytes, request: Sealed) -> bytes:
    size = 16 if request.encryption == Encryption.AES_128_GCM else 32
    head = b"\xee\xaa\1\0" + bytes([request.encryption]) + request.login + b"\0"
    return _with(key[:size], request, head)


def _tag_first(key: bytes, request: Sealed) -> bytes:
    size = 16 if request.encryption == Encryption.AES_128_GCM else 32
    return _with(key[:size], request, sealed=request.sealed[TAG_SIZE:] + request.sealed[:TAG_SIZE])


def _known_op(content: bytes) -> bytes:
    return content if content[:1] in (b"\1", b"\x21") else b"\1" + content[1:]


def _usual(content: bytes) -> bytes:
    return content[:1] + b"\x7f" + content[2:]


def _finished(content: bytes) -> bytes:
    return content if b"\0" in content[2:] else content + b"\0"


def _sealed_answer(answer: Answer, ask: Ask) -> Answer:
    """Seal the code of the answer."""
    data = encoded(answer, ask)
    key = ask.state.accounts.keys[ask.request.login.decode() or NOBODY]
    sealed = seal(key=key, nonce=ask.request.nonce, encryption=ask.request.encryption, of=data[-1:])
    return data[:4] + sealed if data else b""


class _NoNobody(Accounts):
    """Knows no key of those without a name."""

    def sealed_by(self, login: str) -> tuple[bytes, Rights] | None:
        """See `Accounts`."""
        return super().sealed_by(login) if login else None


class _AnyRights(Accounts):
    """Gives all rights to who has a key."""

    def sealed_by(self, login: str) -> tuple[bytes, Rights] | None:
        """See `Accounts`."""
        found = super().sealed_by(login)
        return None if found is None else (found[0], ALL)


class _OneKey(Accounts):
    """Opens everything with one key, that of user1."""

    def sealed_by(self, login: str) -> tuple[bytes, Rights] | None:
        """See `Accounts`."""
        found = super().sealed_by(login)
        return None if found is None else (self.keys["user1"], found[1])


class _AnyKey(DatagramRequests):
    """Opens with the key that fits, whoever is named."""

    def sealed(self, request: Sealed, sender: Any, now: int) -> Answer:
        """See `DatagramRequests`."""
        for login, key in self._state.accounts.keys.items():
            try:
                _right(key, request)
            except OpeningError:
                continue
            return super().sealed(changed(request, login=b"" if login == NOBODY else login.encode()), sender, now)
        return super().sealed(request, sender, now)


class _NoAckUnpublished(DatagramRequests):
    """Drops what is sealed and wants no answer."""

    def sealed(self, request: Sealed, sender: Any, now: int) -> Answer:
        """See `DatagramRequests`."""
        answer: Any = None
        publish = self._state.publish
        kept: list[Any] = []
        self._state.publish = lambda *message: kept.append(message)  # type: ignore[method-assign]
        try:
            answer = super().sealed(request, sender, now)
        finally:
            self._state.publish = publish  # type: ignore[method-assign]
        for message in kept if answer else ():
            publish(*message)
        self._state.flush()
        return answer  # type: ignore[no-any-return]


SEALS = ("SEALED-7", "SEALED-2", "SEALED-3", "SEALED-6", "SEALED-17", "SEALED-1", "SEALED-5", "SEALED-4", "SEALED-8",
         "SEALED-14", "SEALED-15", "MESSAGE-12")  # fmt: skip
FORGED = ("SEALED-11", "SEALED-10", "SEALED-20", "SEALED-19", "SEALED-12")
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("sealed-unopened-answered-ff", "A sealed datagram that cannot be opened is answered FF.", *FORGED, "SEALED-9",
          "SEALED-13", "SEALED-18",
          handlers=instead_of_closing(Sealed, lambda ask: DatagramReply(1, ResponseCode.ERROR))),
    mutant("sealed-tag-not-checked", "The tag of a sealed datagram is not looked at.", "SEALED-11", *FORGED,
          "SEALED-13", "SEALED-4", handlers=_opened(_unchecked)),
    mutant("sealed-half-a-tag", "Half of the tag of a sealed datagram is compared.", "SEALED-11",
          handlers=_opened(_part_of_tag)),
    mutant("sealed-short-tag", "A tag of 12 bytes is enough.", "SEALED-19", "SEALED-12", handlers=_opened(_short_tag)),
    mutant("sealed-with-header", "Header and login must be authenticated with what is sealed.", "SEALED-4", *SEALS,
          handlers=_opened(_authenticated)),
    mutant("sealed-last-half-of-the-key", "AES-128 takes the last 16 bytes of the key.", "SEALED-2", *SEALS,
          handlers=_opened(_last_half)),
    mutant("sealed-half-a-key-twice", "AES-256 takes the first half of the key twice.", "SEALED-3", *SEALS, "SEALED-10",
          handlers=_opened(_half_twice)),
    mutant("sealed-256-always", "Whatever cipher is named, AES-256 is taken.", "SEALED-2", "SEALED-20", *SEALS,
          handlers=_opened(_always_256)),
    mutant("sealed-128-always", "Whatever cipher is named, AES-128 is taken.", "SEALED-3", "SEALED-20", *SEALS,
          handlers=_opened(_always_128)),
    mutant("sealed-with-either", "A sealed datagram is opened with either cipher.", "SEALED-20",
          handlers=_opened(_either)),
    mutant("sealed-with-hashed-key", "The key is hashed before it is used.", "SEALED-5", *SEALS,
          handlers=_opened(_hashed)),
    mutant("sealed-tag-first", "The tag stands before the ciphertext.", "SEALED-1", *SEALS,
          handlers=_opened(_tag_first)),
    mutant("sealed-nonce-of-16-bytes", "The nonce has 16 bytes.", "SEALED-1", "SEALED-18", *SEALS,
          profile=field_kind(Sealed, "nonce", Raw(16))),
    mutant("sealed-reply-sealed", "The answer to a sealed datagram is sealed.", "SEALED-7", *SEALS, "DATAGRAM-4",
          handlers=with_answer(Sealed, _sealed_answer)),
    mutant("sealed-without-name-refused", "A sealed datagram without a login is dropped.", "SEALED-6",
          state=accounts(_NoNobody)),
    mutant("sealed-of-any-rights", "Who has a key may publish to anything.", "SEALED-14", "ACL-17",
          state=accounts(_AnyRights)),
    mutant("sealed-with-one-key", "All logins have one key.", "SEALED-5", "SEALED-10", *SEALS,
          state=accounts(_OneKey)),
    mutant("sealed-with-any-key", "A sealed datagram is opened with the key that fits, whoever it names.",
          "SEALED-10", "SEALED-9", "SEALED-5", handlers=datagrams(_AnyKey)),
    mutant("sealed-no-ack-dropped", "A sealed PUBLISH_NO_ACK is dropped.", "SEALED-8",
          handlers=datagrams(_NoAckUnpublished)),
    mutant("sealed-bad-op-is-publish", "Content with another OP is published.", "SEALED-13",
          handlers=_opened(lambda key, request: _known_op(_right(key, request)))),
    mutant("sealed-priority-7f", "What is sealed is published with the priority 7F.", "SEALED-17",
          handlers=_opened(lambda key, request: _usual(_right(key, request)))),
    mutant("sealed-without-00-published", "Content without 00 behind its topic is published with no message.",
          "SEALED-15", handlers=_opened(lambda key, request: _finished(_right(key, request)))),
)  # fmt: skip
