"""What the document allows a server to do about each datagram, in clear and sealed."""

from __future__ import annotations

from wireproof.protocols.psrt.replies import DatagramReply
from wireproof.protocols.psrt.requests import Datagram, Sealed
from wireproof.reference_server.psrt.oracle.accounts import GrantedRights
from wireproof.reference_server.psrt.oracle.lines import Allowed
from wireproof.reference_server.psrt.oracle.requests import Requests
from wireproof.reference_server.psrt.oracle.topics import holds_wildcard, plain

__all__ = ["Datagrams"]

OK, DENIED, BAD = 0x01, 0xFE, 0xFF
ASKS, ASKS_NOT = 0x01, 0x21
KEY_SIZES = {2: 16, 3: 32}
HEAD, TAG, NONCE = 5, 16, 12
"""Bytes of the header, of a tag and of a nonce."""
SILENCE = [Allowed(None, clause="PSRT-DATAGRAM-21")]


class Datagrams:
    """Judges datagrams by the accounts and subscriptions of a server."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def allowed(self, request: Datagram | Sealed) -> list[Allowed]:
        """Return what the server may do about a datagram."""
        if request.version != 1:
            return SILENCE
        return self._sealed(request) if isinstance(request, Sealed) else self._plain(request)

    def _plain(self, request: Datagram) -> list[Allowed]:
        if request.encryption != 0 or not _is_text(request.login) or not _is_text(request.password):
            return SILENCE
        rights = self._requests.accounts.rights(request.login, request.password)
        size = HEAD + len(request.login) + len(request.password) + len(request.topic) + len(request.message) + 5
        content = (request.op, request.priority, request.topic, request.message)
        return self._published(rights, content, size, "PSRT-MESSAGE-12")

    def _sealed(self, request: Sealed) -> list[Allowed]:
        book = self._requests.accounts
        if request.encryption == 0:
            return self._read_as_plain(request)
        if not _is_text(request.login) or request.encryption not in KEY_SIZES:
            return SILENCE
        name = request.login.decode() or "_"
        key, rights = book.keys.get(name), book.of(name)
        if key is None or rights is None or len(request.sealed) < TAG or len(request.nonce) != NONCE:
            return SILENCE
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            opened = AESGCM(key[: KEY_SIZES[request.encryption]]).decrypt(request.nonce, request.sealed, None)
        except InvalidTag:
            return SILENCE
        size = HEAD + len(request.login) + 1 + NONCE + len(request.sealed)
        if len(opened) < 2:
            return SILENCE
        op, priority, rest = opened[0], opened[1], opened[2:]
        topic, zero, message = rest.partition(b"\0")
        if not zero:
            return self._bad(op)
        return self._published(rights, (op, priority, topic, message), size, "PSRT-SEALED-17")

    def _read_as_plain(self, request: Sealed) -> list[Allowed]:
        """Read a datagram that says it is in clear."""
        password, zero, rest = (request.nonce + request.sealed).partition(b"\0")
        if not zero or len(rest) < 2:
            return SILENCE
        topic, zero, message = rest[2:].partition(b"\0")
        made = Datagram(1, 0, request.login, password, rest[0], rest[1], topic if zero else b"\xff", message)
        return self._plain(made)

    def _bad(self, op: int) -> list[Allowed]:
        """Return what follows a datagram that cannot be read to its end."""
        return [_answer(op, BAD)] if op in (ASKS, ASKS_NOT) else SILENCE

    def _published(
        self, rights: GrantedRights | None, content: tuple[int, int, bytes, bytes], size: int, clause: str
    ) -> list[Allowed]:
        """Return what follows (op, priority, topic, message); `clause` says that it is pushed as any other."""
        op, priority, topic, message = content
        if op not in (ASKS, ASKS_NOT) or not topic:
            return SILENCE
        if priority == 0 and self._requests.is_released:
            return SILENCE  # P14
        if rights is None:
            return [self._refused(op, topic, message, "PSRT-DATAGRAM-8")]
        options = self._requests.options
        over = size - options["udp_frame_size"]
        if over > 0 and not self._requests.is_released:
            return [_answer(op, BAD), *SILENCE]
        if over > 0:
            if over > len(message):
                return [_answer(op, BAD), *SILENCE]
            message = message[: len(message) - over]  # P28: cut, and published
        if not _is_text(topic):
            return [_answer(op, BAD)]
        name = plain(topic.decode())
        if name.count("/") > options["max_topic_depth"] or holds_wildcard(name):
            return [_answer(op, BAD)]
        if not rights.may_publish(name):
            return [self._refused(op, topic, message, "PSRT-SEALED-14" if "SEALED" in clause else "PSRT-DATAGRAM-9")]
        levels = name.split("/")
        return [_answer(op, OK)._replace(effect=lambda: self._requests.deliver(levels, priority, message, clause))]

    def _refused(self, op: int, topic: bytes, message: bytes, clause: str) -> Allowed:
        """Return the refusal of a message that nobody may get."""
        name = plain(topic.decode(errors="replace"))
        answer = _answer(op, DENIED)._replace(effect=lambda: self._requests.refuse(name, message, clause))
        return answer._replace(clause=clause) if op == ASKS else answer


def _answer(op: int, code: int) -> Allowed:
    """Return the reply with a code, or silence where the operation asks for none (P21)."""
    return Allowed(DatagramReply(1, code) if op == ASKS else None, clause="PSRT-DATAGRAM-5")


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
