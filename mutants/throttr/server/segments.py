"""Mutants of how requests are taken out of segments, answered together, and ended."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, after, around, before, edit, first
from wireproof.mutants.server import derived, taking
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import WIDE, byte_order, written
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr.replies import (
    ChannelsReply,
    ConnectionsReply,
    InfoReply,
    ListReply,
    StatsReply,
    WhoamiReply,
)
from wireproof.protocols.throttr.requests import Insert

__all__ = ["MUTANTS"]

COUNT = before(
    "ThrottrSession._answer_any", "self._at = stop",
    "of, number = vars(self).get('counted', (None, 0))",
    "self.counted = data, number + 1 if of is data else 1",
)  # fmt: skip
"""Count the requests of a segment: `self.counted[1]`."""
FILL = "self.data_received(bytes(self._tail[-1:]) * max(self._need - len(self._tail), 1))"
HANDLED = "answer = self._dispatch.handlers[type(request)](request, self, self._state.now)"


def _together(*lines: str) -> tuple[Edit, ...]:
    """Change `answers`, those to `requests`, before they are written together."""
    return (
        before("ThrottrSession._answer_any", "answers.append(answer)",
               "vars(self).setdefault('asked', []).append(request)"),
        before("ThrottrSession._answer", 'data = b"".join(answers)', "requests = vars(self).pop('asked', [])", *lines),
    )  # fmt: skip


def _at_most(number: int) -> tuple[Edit, ...]:
    """Lose what comes after as many requests of one segment."""
    lost = f"if self.counted[1] > {number}: self._data, self._at = b'', 0; return 0"
    return COUNT, before("ThrottrSession._answer_any", "self.fresh[data[at]] += 1", lost)


BARE = (ListReply, StatsReply, InfoReply, ConnectionsReply, ChannelsReply, WhoamiReply)


def _moved(profile: Profile) -> Profile:
    """Ask with 0a to 0f what is asked with 10 to 15."""
    leads = {request: profile.leads[request][0] for request in profile.replies}
    return profile.derive(
        profile.name, leads={request: bytes([byte - 6]) for request, byte in leads.items() if 0x10 <= byte <= 0x15}
    )


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("purge-overtakes-a-long-answer", "The answer to PURGE stands before the long answer of a GET before it.",
           "ROBUSTNESS-4 ROBUSTNESS-7",
           *_together("for at in range(1, len(answers)):", "    names = requests[at - 1].NAME, requests[at].NAME",
                      "    if names == ('GET', 'PURGE') and len(answers[at - 1]) > 200:",
                      "        answers[at - 1 : at + 1] = answers[at], answers[at - 1]")),
    mutant("whoami-overtakes-get", "The answer to GET stands after that to a WHOAMI that comes after it.",
           "ROBUSTNESS-7 ROBUSTNESS-4",
           *_together("for at in range(1, len(answers)):",
                      "    if (requests[at - 1].NAME, requests[at].NAME) == ('GET', 'WHOAMI'):",
                      "        answers[at - 1 : at + 1] = answers[at], answers[at - 1]")),
    mutant("answers-100-and-101-exchanged", "The answers 100 and 101 to a segment of over 300 requests change places.",
           "ROBUSTNESS-4 ROBUSTNESS-7",
           *_together("if len(answers) > 300: answers[99:101] = answers[100], answers[99]")),
    mutant("queries-last", "Among INSERT, UPDATE and PURGE in one segment a QUERY sees what those after it do.",
           "ROBUSTNESS-4 ROBUSTNESS-7 CONCURRENCY-2",
           around("ThrottrSession.data_received", "requests, at, whole = [], 0, not self._tail",
                  "try:",
                  "    while whole and at < len(data):",
                  "        request, at = self._dispatch.decode(data, at, len(data), FrameContext(self._max_frame))",
                  "        requests, whole = [*requests, request], request is not None",
                  "except MalformedFrameError: whole = False",
                  "if not whole or {one.NAME for one in requests} != {'INSERT', 'UPDATE', 'PURGE', 'QUERY'}:",
                  "    return self.correct_data_received(data)",
                  "self._begin(); self.read_bytes += len(data)",
                  "handle = lambda one: self._dispatch.handlers[type(one)](one, self, self._state.now)",
                  "places = sorted(range(len(requests)), key=lambda at: requests[at].NAME == 'QUERY')",
                  "answers = {at: handle(requests[at]) for at in places}",
                  "self._write(b''.join(answers[at] for at in sorted(answers)))")),
    mutant("answers-of-8096-bytes", "Of a segment with INFO only 8096 bytes of answers are sent.",
           "ROBUSTNESS-5 ROBUSTNESS-7",
           *_together("left, cut = 8096, any(one.NAME == 'INFO' for one in requests)",
                      "answers[:] = [one for one in answers if (left := left - len(one)) >= 0 or not cut]")),
    mutant("requests-up-to-1023", "Of one segment 1023 requests are answered.", "ROBUSTNESS-5 ROBUSTNESS-7",
           *_at_most(1023)),
    mutant("requests-up-to-1024", "Of one segment 1024 requests are answered.", "ROBUSTNESS-5 ROBUSTNESS-7",
           *_at_most(1024)),
    mutant("equal-updates-up-to-100", "Of UPDATEs that are the same and come together 100 count.",
           "ROBUSTNESS-5 ROBUSTNESS-7 ROBUSTNESS-22",
           edit("ThrottrSession._answer_any", HANDLED,
                "of, last, number = vars(self).get('same', (None, None, 0))",
                "self.same = data, request, number + 1 if of is data and last == request else 0",
                r"is_one = request.NAME == 'UPDATE' and self.same[2] >= 100",
                rf"answer = b'\1' if is_one else {HANDLED[9:]}")),
    mutant("nothing-behind-whoami", "What stands after WHOAMI in a long segment is lost.", "ROBUSTNESS-7 ROBUSTNESS-5",
           COUNT,
           after("ThrottrSession._answer_any", "answers.append(answer)",
                 "if request.NAME == 'WHOAMI' and self.counted[1] > 21: self._data, self._at = b'', 0")),
    mutant("forgets-after-six-pieces", "A request in more than six pieces is forgotten.", "ROBUSTNESS-6 ROBUSTNESS-8",
           first("ThrottrSession.data_received", "self.pieces = vars(self).get('pieces', 0) + 1 if self._tail else 0",
                 "if self.pieces > 6: self._tail.clear(); self.pieces = 0")),
    *(mutant(f"{name.lower()}-answered-again-later", f"The answer to {name} comes again 60 ms later.", "ROBUSTNESS-5",
             after("ThrottrSession._answer_any", "self._be_fresh()",
                   f"if request.NAME == '{name}':",
                   "    again = lambda: self.closed or self._write(answer)",
                   "    self._state.clock.call_at(self._clock_ns() + 60_000_000, again)"))
      for name in ("STAT", "CHANNELS", "SUBSCRIBE")),
    mutant("long-pieces-corrupted", "Bytes of a long request in several pieces are lost.", "ROBUSTNESS-6",
           around("ThrottrSession.data_received", "within = bool(self._tail)",
                  "self.correct_data_received(data)",
                  "if within and len(self._tail) > 200: self._tail[100:120] = bytes(20)")),
    mutant("beginning-behind-whole-requests-lost",
           "The beginning of a request is lost when whole ones stand before it.", "ROBUSTNESS-8 ROBUSTNESS-6",
           around("ThrottrSession.data_received", "self.correct_data_received(data)",
                  "if 0 < len(self._tail) < len(data): self._tail.clear()")),
    mutant("half-close-drops-answers", "Answers not yet sent are dropped when the client ends its side.",
           "ROBUSTNESS-9 ROBUSTNESS-10",
           written("due = vars(self).setdefault('due', [])",
                   "send = lambda: due and not self.closed and (write(b''.join(due)), due.clear())",
                   "due or state.clock.call_at(self._clock_ns() + 20_000_000, send)",
                   "due.append(data); self.send = send"),
           first("ThrottrSession.eof_received", "vars(self).get('due', []).clear()"),
           first("ThrottrSession.end", "if 'send' in vars(self): self.send()")),
    mutant("half-close-drops-what-waits", "Requests that wait behind a full buffer are dropped when the client ends its side.",
           "ROBUSTNESS-9", edit("ThrottrSession.eof_received", "if not self._waits:", "if True:")),
    mutant("half-close-without-end", "The server does not close when the client ends its side.",
           "ROBUSTNESS-9 ROBUSTNESS-10", first("ThrottrSession.eof_received", "return")),
    mutant("half-close-completes-a-request", "A request cut by a half close is filled up and carried out.",
           "ROBUSTNESS-10", first("ThrottrSession.eof_received", f"if self._tail and not self.closed: {FILL}")),
    mutant("close-completes-a-request", "A request cut by closing is filled up and carried out.", "ROBUSTNESS-11",
           first("ThrottrSession.eof_received", "self.is_half = True"),
           first("ThrottrSession.connection_lost",
                 f"if self._tail and not self.closed and 'is_half' not in vars(self): {FILL}")),
    mutant("unknown-type-drops-the-segment", "Requests in one segment with an unknown type after them are dropped.",
           "ROBUSTNESS-13",
           first("ThrottrSession.data_received", "at = 0",
                 "try:",
                 "    while at < len(data) and not self._tail:",
                 "        request, stop = self._dispatch.decode(data, at, len(data), FrameContext(self._max_frame))",
                 "        at = stop if request is not None else len(data)",
                 "except MalformedFrameError: data = data[at:]")),
    mutant("unfinished-requests-in-one-place", "All connections gather unfinished requests in the same place.",
           "ROBUSTNESS-22 ROBUSTNESS-6 ROBUSTNESS-4 ROBUSTNESS-11 ROBUSTNESS-19",
           after("ThrottrSession.__init__", "self._flows = True",
                 "for one in state.sessions.values(): self._tail = one._tail; break")),
    mutant("later-pieces-in-one-place", "The second and later pieces of a request lie where those of all connections do.",
           "ROBUSTNESS-6 ROBUSTNESS-22 ROBUSTNESS-11",
           edit("ThrottrSession._take", "self._tail += data",
                "shared = vars(self._state).setdefault('scratch', bytearray())",
                "held = vars(self).pop('borrowed', 0)",
                "self._tail[:held] = shared[:held]",
                "self._tail += data",
                "if len(self._tail) < self._need: self.borrowed = len(self._tail); shared[: self.borrowed] = self._tail")),
    mutant("size-by-its-first-byte", "Where the size of a PUBLISH comes in two pieces its first byte alone counts.",
           "ROBUSTNESS-6 ROBUSTNESS-8",
           after("ThrottrSession._answer_any", "self._need = stop",
                 r"self.is_short = self._tail[:1] == b'\x13' and len(self._tail) == 3"),
           after("ThrottrSession._take", "data = bytes(self._tail)",
                 "size = self._state.value_size",
                 "if vars(self).pop('is_short', False): data = data[:3] + bytes(size - 1) + data[2 + size :]"), variants=WIDE),
    mutant("numbers-big-endian", "All numbers are big-endian.", "FRAMING-1", profile=byte_order(">")),
    mutant("greets-with-00", "A byte 00 is sent to every new connection.", "FRAMING-2",
           after("ThrottrSession.__init__", "self._flows = True", r"write(b'\0')")),
    mutant("takes-a-version-first", "The first byte of a connection is taken for a version.", "FRAMING-2",
           first("ThrottrSession.data_received",
                 "if 'greeted' not in vars(self): self.greeted, data = True, data[1:]",
                 "if not data: return")),
    mutant("requests-padded-to-512", "After a PUBLISH of 500 to 511 bytes one byte is skipped.", "FRAMING-3 PUBLISH-5",
           after("ThrottrSession._answer_any", "self._at = stop",
                 "self._at += request.NAME == 'PUBLISH' and 500 <= len(request.channel) + len(request.payload) < 512")),
    mutant("closes-after-a-refusal", "The connection is closed after an answer 00.", "FRAMING-4",
           after("ThrottrSession._answer_any", "answers.append(answer)",
                 r"self._ended = self._ended or (answer == b'\0' and hasattr(request, 'key'))")),
    mutant("closes-after-200-requests", "The connection is closed after its 200th request.", "FRAMING-4 ROBUSTNESS-5",
           first("ThrottrSession.data_received", "self.segments = vars(self).get('segments', 0) + 1",
                 "if self.segments >= 200: self._ended, self._flows = True, False")),
    mutant("insert-counts-characters", "INSERT counts the characters of its key, not the bytes.",
           "FRAMING-11 INSERT-5 INSERT-6",
           handlers=taking(Insert, key=lambda key: key[: len(key.decode(errors="surrogateescape"))])),
    mutant("get-counts-characters", "GET sizes a value of text by its characters, and answers it whole.", "FRAMING-11 GET-8 GET-5",
           edit("RecordRequests.get", "len(value)) + value", "len(value.decode(errors='surrogateescape'))) + value")),
    mutant("stats-counts-characters", "STATS sizes keys of text by their characters.", "FRAMING-11 STATS-5",
           edit("Listings._stats_rows", "pack(size,", "pack(len(record.key.decode(errors='surrogateescape')),")),
    mutant("types-10-to-15-are-0a-to-0f-with-event", "The request types 10 to 15 are 0a to 0f.",
           "FRAMING-8 STATS-1 SUBSCRIBE-1 UNSUBSCRIBE-1 PUBLISH-1 CONNECTIONS-1 CONNECTION-1", profile=_moved),
    mutant("six-answers-without-status", "INFO, WHOAMI and the tables have no status byte, as in the document.",
           "FRAMING-10 LIST-3 STATS-3 INFO-3 CONNECTIONS-3 CHANNELS-3 WHOAMI-3",
           profile=derived(leads=dict.fromkeys(BARE, b""))),
)  # fmt: skip
