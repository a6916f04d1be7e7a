"""Mutants of datagrams in clear: what is read, what is published, what is answered."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import encoded, field_kind, instead_of_closing, taking, with_answer
from wireproof.protocols.fields import U8
from wireproof.protocols.psrt import ResponseCode
from wireproof.protocols.psrt.enums import DatagramOperation
from wireproof.protocols.psrt.replies import DatagramReply
from wireproof.protocols.psrt.requests import Datagram, Sealed

__all__ = ["MUTANTS"]

OKS = (
    "DATAGRAM-5 DATAGRAM-2 DATAGRAM-1 DATAGRAM-24 DATAGRAM-25 DATAGRAM-26 DATAGRAM-29 DATAGRAM-30 "
    "DATAGRAM-31 DATAGRAM-3 SEALED-7 SEALED-2 SEALED-3 SEALED-6 SEALED-17 SEALED-1 SEALED-5 SEALED-4"
)
FFS = "DATAGRAM-10 DATAGRAM-11 DATAGRAM-12 DATAGRAM-13 SEALED-15"
FES = "DATAGRAM-8 DATAGRAM-9 ACL-17 ACL-11 SEALED-14 ACL-3 ACL-12 ACL-13"
ANSWERED = f"{OKS} {FFS} {FES}"
SILENCES = (
    "DATAGRAM-14 DATAGRAM-15 DATAGRAM-16 DATAGRAM-17 DATAGRAM-18 DATAGRAM-20 DATAGRAM-21 DATAGRAM-22 "
    "SEALED-12 SEALED-9 SEALED-10 SEALED-11 SEALED-13 SEALED-18 SEALED-19 SEALED-20"
)
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("datagram-reply-of-4-bytes", "The answer to a datagram has a version of one byte.", f"DATAGRAM-4 {ANSWERED}",
           handlers=with_answer((Datagram, Sealed), lambda answer, ask: encoded(answer, ask)[:3] + encoded(answer, ask)[4:] if answer else answer)),
    mutant("datagram-no-ack-errors-answered", "PUBLISH_NO_ACK is answered where it is refused.", "DATAGRAM-6 SEALED-8",
           edit("DatagramRequests._answered", "== DatagramOperation.PUBLISH else",
                "== DatagramOperation.PUBLISH or code != ResponseCode.OK else")),
    mutant("datagram-unwanted-unanswered", "A datagram that nobody gets is not answered.", f"DATAGRAM-5 {OKS} SEALED-7",
           first("DatagramRequests._answered",
                 "if code == ResponseCode.OK and not "
                 'self._state.subscriptions.match(normalised(content.topic.decode())): return b""')),
    mutant("datagram-errors-unanswered", "A datagram to a bad topic is not answered.", f"{FFS}",
           first("DatagramRequests._answered", 'if code == ResponseCode.ERROR: return b""')),
    mutant("datagram-malformed-answered-ff", "A datagram that cannot be read is answered FF.",
           f"{SILENCES} DATAGRAM-29",
           first("Codec.decode_datagram",
                 r'if data[:4] != b"\xee\xaa\1\0" or data[4:5] not in (b"\0", b"\2", b"\3"): return Datagram(1, 0, '
                 'b"", b"", 1, 1, b"", b"")'),
           before("Codec._plain_datagram", "raise UnfinishedTopicError",
                  'if not (ended and len(rest) >= 2): return Datagram(1, 0, b"", b"", 1, 1, b"", b"")'),
           handlers=instead_of_closing((Datagram, Sealed), lambda ask: DatagramReply(1, ResponseCode.ERROR))),
    mutant("datagram-version-of-1-byte", "The version of a datagram has 1 byte.", f"DATAGRAM-1 DATAGRAM-2 {OKS}",
           profile=field_kind(Datagram, "version", U8)),
    mutant("datagram-low-byte-of-version", "The upper byte of a datagram's version is not looked at.", "DATAGRAM-16",
           first("Codec.decode_datagram", r'data = data[:3] + b"\0" + data[4:] if len(data) >= 4 else data')),
    mutant("datagram-data-header", "A datagram may begin with EE AB.", "DATAGRAM-15",
           first("Codec.decode_datagram", r'data = b"\xee\xaa" + data[2:] if data[:2] == b"\xee\xab" else data')),
    mutant("datagram-cipher-01-is-plain", "Byte 4 of a datagram may be 01, too.", "DATAGRAM-17",
           first("Codec.decode_datagram", r'data = data[:4] + b"\0" + data[5:] if data[4:5] == b"\1" else data')),
    mutant("datagram-cut-at-64", "A datagram is cut after 64 bytes.", "DATAGRAM-25 DATAGRAM-28 SEALED-17 SEALED-15",
           first("Codec.decode_datagram", "data = data[:64]")),
    mutant("datagram-login-replaced", "Bytes of a datagram's login that are no UTF-8 are left out.", "DATAGRAM-18",
           handlers=taking(Datagram, login=lambda login: login.decode(errors="ignore").encode())),
    mutant("datagram-empty-topic-published", "A datagram to the empty topic is answered 01.", "DATAGRAM-22",
           handlers=taking(Datagram, topic=lambda topic: topic or b"/")),
    mutant("datagram-any-op", "An OP that there is not is PUBLISH.", "DATAGRAM-21 SEALED-13",
           handlers=taking(Datagram, op=lambda op: op if op in list(DatagramOperation) else 1)),
    mutant("datagram-message-ends-at-00", "The message of a datagram ends at its first 00.", "DATAGRAM-25",
           handlers=taking(Datagram, message=lambda message: message.partition(b"\0")[0])),
    mutant("datagram-priority-7f", "A datagram is published with the priority 7F.", "DATAGRAM-24 DATAGRAM-31",
           handlers=taking(Datagram, priority=lambda priority: 0x7F)),
    mutant("datagram-without-00-published", "A datagram without 00 after its topic is published with no message.",
           "DATAGRAM-13 SEALED-15",
           first("Codec.decode_datagram",
                 r'data = data + b"\0" if data[4:5] == b"\0" and data.count(0, 5) == 2 else data')),
    mutant("datagram-login-without-password", "A datagram that ends within login or password is anonymous.",
           "DATAGRAM-20",
           first("Codec.decode_datagram",
                 r'data = b"\xee\xaa\1\0\0\0\0\1\x7ft\0" if data[:5] == b"\xee\xaa\1\0\0" and data.count(0, 5) < 2 '
                 "else data")),
    mutant("datagram-short-one-answered", "A datagram of fewer than 5 bytes is answered.", "DATAGRAM-14",
           first("Codec.decode_datagram", r'data = b"\xee\xaa\1\0\0\0\0\1\x7ft\0" if len(data) < 5 else data')),
    mutant("datagram-no-ack-dropped", "PUBLISH_NO_ACK is not published.", "DATAGRAM-7 SEALED-8 DATAGRAM-31 DATAGRAM-6",
           edit("DatagramRequests._publish", "self._state.publish(topic, content.priority, content.message)",
                "if content.op == DatagramOperation.PUBLISH: self._state.publish(topic, content.priority, "
                "content.message)")),
    mutant("datagram-of-any-rights", "The rights of a datagram's login are not looked at.",
           "DATAGRAM-9 ACL-17 SEALED-14 ACL-3 ACL-12 ACL-13",
           edit("DatagramRequests._publish", "not rights.may_publish(topic)", "False")),
    mutant("datagram-of-any-password", "A datagram of an unknown login, or with a wrong password, is published.",
           "DATAGRAM-8 ACL-11 ACL-17", edit("DatagramRequests._publish", "if rights is None:", "if False:"),
           edit("DatagramRequests._publish", "not rights.may_publish(topic)",
                "rights and not rights.may_publish(topic)")),
    mutant("datagram-to-a-mask", "A datagram to a mask is published.", "DATAGRAM-10 SEALED-15",
           edit("DatagramRequests._publish", " or is_mask(topic)", "")),
    mutant("datagram-of-any-depth", "A datagram to a topic that is too deep is published.",
           "DATAGRAM-11 SEALED-15 TOPIC-9",
           edit("DatagramRequests._publish", "depth(topic) > self._state.max_depth or ", "")),
    mutant("datagram-not-normalised", "The topic of a datagram is taken as it is written.",
           "DATAGRAM-26 SEALED-17 DATAGRAM-11 DATAGRAM-5 SEALED-14 ACL-17",
           edit("DatagramRequests._publish", "normalised(content.topic.decode())", "content.topic.decode()")),
    mutant("datagram-refused-is-the-last", "Once a datagram was refused its sender is answered no more.",
           "DATAGRAM-29 ROBUSTNESS-2",
           first("DatagramRequests.plain",
                 'if sender.peer.port in vars(self).setdefault("stuck", set()): raise RefusedError("stuck")',
                 "self.stuck.add(sender.peer.port)"),
           after("DatagramRequests.plain", "checked(content, self._state)", "self.stuck.discard(sender.peer.port)")),
    mutant("datagram-each-50th-dropped", "Every 50th datagram is dropped.", "DATAGRAM-5 DATAGRAM-7 DATAGRAM-29",
           first("DatagramRequests._publish", 'self.count = vars(self).get("count", 0) + 1',
                 'if self.count % 50 == 0: raise RefusedError("busy")')),
    mutant("datagram-not-to-its-account", "A datagram of an account does not reach its sessions.", "MESSAGE-12",
           edit("DatagramRequests._publish", "self._state.publish(topic, content.priority, content.message)",
                "own = [(one, one.data) for one in self._state.clients.values() if one.login and one.rights is rights]",
                "for one, _ in own: one.data = None",
                "self._state.publish(topic, content.priority, content.message)",
                "for one, data in own: one.data = data")),
)  # fmt: skip
