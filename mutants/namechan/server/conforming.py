"""Legal servers that look unlike the reference: no MUST or SHOULD case may fail one of them."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.edits import Edit, edit
from wireproof.mutants.namechan.server.mutant import ServerMutant, mutant

__all__ = ["CONFORMING"]


def legal(name: str, description: str, *edits: Edit, **patches: Any) -> ServerMutant:
    """Return a variant."""
    return mutant(f"legal-{name}", description, "", *edits, **patches)


CONFORMING: tuple[ServerMutant, ...] = (
    legal("pings-often", "A client is pinged every half second.",
          edit("NamechanSession._set_deadline", "self._deadline.set(min(self._pinged + round(interval * (1 - EARLY)), silent))",
               "self._deadline.set(min(self._pinged + 500_000_000, silent))")),
    legal("pings-at-once", "A client is pinged when it connects.",
          edit("LineHandlers.connect", "return None",
               'session.push(session.connection.send(__import__("wireproof.protocols.namechan.replies", fromlist=["Ping"]).Ping(session.state.clock.wall_ns() // 10**9)))', "return None")),
    legal("constructors", "Records stand after their constructors.",
          edit("_record_codec", "return layout.lead + text_of(layout, message)", 'return layout.lead + b"(" + layout.message.NAME.capitalize().encode() + text_of(layout, message) + b")"')),
    legal("fields-in-another-order", "Records have the name first.",
          edit("_record_codec", "return layout.lead + text_of(layout, message)",
               'from wireproof.protocols.sexp import written_atom', 'return layout.lead + b"((topic " + written_atom(message.topic) + b")(id %d))" % message.id')),
    legal("spacious-records", "Records have spaces and line ends.",
          edit("_record_codec", "return layout.lead + text_of(layout, message)", 'return layout.lead + b" " + text_of(layout, message).replace(b"((id", b"( ( id\\n ") + b"\\n"')),
    legal("written-byte-by-byte", "Frames are written byte by byte.",
          edit("StreamSession.flush", "self._write(data)", "[self._write(data[at : at + 1]) for at in range(len(data))]")),
    legal("other-errors", "Errors have another text.",
          edit("_error", "{what}: {topic[:100].decode(errors='replace')}", "nön")),
    legal("small-chunks", "Replays are read by one message at a time.",
          edit("store.Store.read", "wanted = (topic, first, CHUNK)", "wanted = (topic, first, 1)")),
    legal("topic-ids-from-1000", "Topic ids begin at 1000.",
          edit("state.State.create", "topic = self._topics + 1", "topic = max(self._topics, 999) + 1")),
    legal("turns-from-the-last", "Round robin begins with who subscribed last.",
          edit("Queue.subscribe", "self.subscribers[session] = session.subscriptions[self.name] = found",
               "self.subscribers = {session: found, **self.subscribers}", "session.subscriptions[self.name] = found")),
    legal("unknown-escapes-are-kept", "A backslash that begins no escape stands for itself (N30).",
          edit("SexpReader._escape", 'raise SexpError("expected two hexadecimal or three decimal digits after \\\\", self._at)', "self._parts.extend((92, first)); self._at += 2; return True"),
          edit("SexpReader._escape", 'raise SexpError(f"expected an escape after \\\\, got {first:02x}", self._at)', "self._parts.extend((92, first))")),
    legal("zones-without-a-colon", "A zone may be +0100 or +1:00, too (N31).",
          edit("_time", "found = _TIME.fullmatch(text)",
               'text = re.sub(rb"(:\\d\\d(?:\\.\\d*)?)([+-])(\\d?\\d):?(\\d\\d)$", lambda it: b"%s%s%02d:%s" % (it[1], it[2], int(it[3]), it[4]), text)',
               "found = _TIME.fullmatch(text)")),
)  # fmt: skip
