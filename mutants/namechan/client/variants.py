"""Conforming variants: SDKs that do otherwise what the document leaves open. No case may fail them."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.mutant import ClientMutant
from wireproof.mutants.namechan.client.mutant import mutant, reading_from

__all__ = ["VARIANTS"]


def spelled(name: str, description: str, spelling: str) -> ClientMutant:
    """Return the SDK that writes its requests in a spelling of `wireproof.protocols.sexp_writing`."""
    return mutant(
        name,
        description,
        "",
        edit(
            "NamechanClient.send",
            "data = self.codec.encode(message)",
            f'data = self.codec.spellings(message).get("{spelling}", self.codec.encode(message))',
        ),
    )


VARIANTS = (
    spelled("spelled-in-lines", "Each atom stands on a line of its own.", "lines"),
    spelled("spelled-in-hexadecimal", "Every atom is in quotes, its bytes in hexadecimal.", "hexadecimal"),
    spelled("spelled-in-lower-case", "Constructors begin with a small letter.", "lower-case"),
    spelled("spelled-with-comments", "Expressions that are comments stand between the atoms.", "expression-comments"),
    mutant("blank-lines-between", "An empty line stands after each line.", "",
           edit("NamechanClient.send", "data = self.codec.encode(message)",
                "data = self.codec.encode(message) + (b'' if message.NAME == 'VERSION' else b'\\n')")),
    mutant("connects-at-once", "Version and Connect are sent together.", "",
           edit("TopicLink.greet", "(answer,) = self.ask([Version()])", "(answer,) = self.ask([Version()])",
                "self.send_unanswered([self._first_line])", "self._first_line = None")),
    mutant("acks-in-seconds", "An Ack has whole seconds, as the Ping had.", "",
           first("Codec.encode", "if message.NAME == 'ACK': return b'(Ack %d)\\n' % (message.time // 1000000)")),
    mutant("skips-unknown-types", "A frame of an unknown type is skipped.", "",
           edit("Codec.decode_frame", "raise MalformedFrameError(ErrorCode.UNKNOWN_TYPE, detail, at + SIZE)",
                *reading_from("stop"))),
    mutant("one-request-at-a-time", "While a request waits the next is not sent: several at once are unsupported.", "",
           edit("Client.ask", "async with self._deadline(request):", "async with self._deadline(request), self._publishing:")),
    mutant("replays-from-message-one", "A topic that is subscribed again is replayed from its first message.", "",
           edit("Client._continued", "return request", "return request if not last else Subscribe(request.topic, Replay.FROM_BEGINNING)")),
)  # fmt: skip
