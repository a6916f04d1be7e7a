"""Mutants of sealed datagrams: keys, nonces, tags, and what is not to be opened."""

from __future__ import annotations

from wireproof.mutants.edits import before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import instead_of_closing
from wireproof.protocols.psrt import ResponseCode
from wireproof.protocols.psrt.replies import DatagramReply
from wireproof.protocols.psrt.requests import Sealed

__all__ = ["MUTANTS"]

SEALS = (
    "SEALED-7 SEALED-2 SEALED-3 SEALED-6 SEALED-17 SEALED-1 SEALED-5 SEALED-4 SEALED-8 SEALED-14 SEALED-15 MESSAGE-12"
)
FORGED = "SEALED-11 SEALED-10 SEALED-20 SEALED-19 SEALED-12"
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("sealed-unopened-answered-ff", "A sealed datagram that cannot be opened is answered FF.",
           f"{FORGED} SEALED-9 SEALED-13 SEALED-18 SEALED-2 SEALED-3 SEALED-4",
           handlers=instead_of_closing(Sealed, lambda ask: DatagramReply(1, ResponseCode.ERROR))),
    mutant("sealed-half-a-tag", "Half of the tag of a sealed datagram is compared.", "SEALED-11",
           edit("open_sealed", "return bytes(AESGCM(key[:size]).decrypt(nonce, sealed, None))",
                "from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes; opened = "
                "Cipher(algorithms.AES(key[:size]), modes.CTR(nonce + "
                r'b"\0\0\0\2")).decryptor().update(sealed[:-TAG_SIZE])',
                "if seal(key=key, nonce=nonce, encryption=encryption, of=opened)[:-8] == sealed[:-8]: return opened",
                'raise OpeningError("the tag does not fit")')),
    mutant("sealed-short-tag", "A tag of 12 bytes is enough.", "SEALED-19 SEALED-12",
           edit("open_sealed", "len(sealed) < TAG_SIZE", "len(sealed) < 13"),
           edit("open_sealed", "return bytes(AESGCM(key[:size]).decrypt(nonce, sealed, None))",
                "from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes; opened = "
                r'Cipher(algorithms.AES(key[:size]), modes.CTR(nonce + b"\0\0\0\2")).decryptor()',
                "for tag in (12, TAG_SIZE):",
                "    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes; opened = "
                "Cipher(algorithms.AES(key[:size]), modes.CTR(nonce + "
                r'b"\0\0\0\2")).decryptor().update(sealed[:-tag])',
                "    if seal(key=key, nonce=nonce, encryption=encryption, of=opened)[: len(sealed)] == sealed: "
                "return opened", 'raise OpeningError("the tag does not fit")')),
    mutant("sealed-with-header", "Header and login must be authenticated with what is sealed.", f"SEALED-4 {SEALS}",
           edit("DatagramRequests.sealed",
                "opened = open_sealed(key=key, nonce=request.nonce, encryption=request.encryption, "
                "sealed=request.sealed)",
                "opened = open_sealed(key=key, nonce=request.nonce, encryption=request.encryption, "
                r'sealed=request.sealed, head=b"\xee\xaa\1\0" + bytes([request.encryption]) + request.login + b"\0")'),
           edit("open_sealed", "sealed: bytes)", "sealed: bytes, head: bytes)"),
           edit("open_sealed", "sealed, None", "sealed, head")),
    mutant("sealed-last-half-of-the-key", "AES-128 takes the last 16 bytes of the key.", f"SEALED-2 {SEALS}",
           edit("open_sealed", "key[:size]", "key[-size:]")),
    mutant("sealed-half-a-key-twice", "AES-256 takes the first half of the key twice.", f"SEALED-3 {SEALS} SEALED-10",
           edit("open_sealed", "key[:size]", "key[:16] * (size // 16)")),
    mutant("sealed-with-either", "A sealed datagram is opened with either cipher.", "SEALED-20",
           before("open_sealed", "except InvalidTag:", "except InvalidTag: pass",
                  "try: return bytes(AESGCM(key[: 48 - size]).decrypt(nonce, sealed, None))")),
    mutant("sealed-tag-first", "The tag stands before the ciphertext.", f"SEALED-1 {SEALS}",
           edit("open_sealed", "sealed, None", "sealed[TAG_SIZE:] + sealed[:TAG_SIZE], None")),
    mutant("sealed-reply-sealed", "The answer to a sealed datagram is sealed.", f"SEALED-7 {SEALS} DATAGRAM-4",
           edit("DatagramRequests.sealed", "return self._answered(content, self._publish(content, rights, sender))",
                "answer = self._answered(content, self._publish(content, rights, sender)); from "
                "wireproof.protocols.psrt.sealing import seal",
                "return answer and self._state.codec.encode(answer)[:4] + seal(key=key, nonce=request.nonce, "
                "encryption=request.encryption, of=bytes([answer.code]))")),
    mutant("sealed-without-name-refused", "A sealed datagram without a login is dropped.", "SEALED-6",
           first("Accounts.sealed_by", "if not login: return None")),
    mutant("sealed-of-any-rights", "Who has a key may publish to anything.", "SEALED-14 ACL-17",
           edit("Accounts.sealed_by", "else (key, rights)", "else (key, ALL)")),
    mutant("sealed-with-one-key", "All logins have one key.", f"SEALED-5 SEALED-10 {SEALS}",
           edit("Accounts.sealed_by", "else (key, rights)", 'else (self.keys["user1"], rights)')),
    mutant("sealed-with-any-key", "A sealed datagram is opened with the key that fits, whoever it names.",
           "SEALED-10 SEALED-9 SEALED-5",
           before("DatagramRequests.sealed", "if found is None:",
                  "for login, key in self._state.accounts.keys.items():",
                  "    try: open_sealed(key=key, nonce=request.nonce, encryption=request.encryption, "
                  "sealed=request.sealed)", "    except OpeningError: continue",
                  "    found = self._state.accounts.sealed_by(login)")),
    mutant("sealed-no-ack-dropped", "A sealed PUBLISH_NO_ACK is dropped.", "SEALED-8",
           before("DatagramRequests.sealed", "return self._answered(content, self._publish(content, rights, sender))",
                  'if content.op != DatagramOperation.PUBLISH: return b""')),
    mutant("sealed-bad-op-is-publish", "Content with another OP is published.", "SEALED-13",
           edit("DatagramRequests.sealed", "content = _content(self._state.codec, opened)",
                r'content = _content(self._state.codec, opened if opened[:1] in (b"\1", b"\x21") else b"\1" + '
                "opened[1:])")),
    mutant("sealed-priority-7f", "What is sealed is published with the priority 7F.", "SEALED-17",
           edit("DatagramRequests.sealed", "content = _content(self._state.codec, opened)",
                r'content = _content(self._state.codec, opened[:1] + b"\x7f" + opened[2:])')),
    mutant("sealed-without-00-published", "Content without 00 after its topic is published with no message.",
           "SEALED-15",
           edit("DatagramRequests.sealed", "content = _content(self._state.codec, opened)",
                r'content = _content(self._state.codec, opened if b"\0" in opened[2:] else opened + b"\0")')),
    mutant("sealed-published-later", "A sealed datagram is published a moment after its answer.",
           "DATAGRAM-31 SEALED-17 MESSAGE-12",
           before("DatagramRequests.sealed", "return self._answered(", "self.is_late = True"),
           first("DatagramRequests._publish", 'is_late = vars(self).pop("is_late", False)'),
           edit("DatagramRequests._publish", "self._state.publish(topic, content.priority, content.message)",
                "def act(): self._state.publish(topic, content.priority, content.message); self._state.flush()",
                "self._state.clock.call_at(self._state.clock.monotonic_ns() + 1_000_000, act) if is_late else act()")),
)  # fmt: skip
