"""Bugs seeded in the TTL scheduler."""

from __future__ import annotations

from wireproof.fuzz.seeded_bugs.function_edits import Edit
from wireproof.fuzz.seeded_bugs.seeded_bug import BugEntry
from wireproof.reference_server import buckets, scheduler

__all__ = ["BUGS"]

BUDGET = 60_000


def _bug(name: str, description: str, *edits: Edit, budget: int = BUDGET) -> BugEntry:
    return BugEntry(
        mutant=name, description=description, part="scheduler", engine="scheduler", budget=budget, edits=edits
    )


def _edit(function: str, old: str, new: str) -> Edit:
    return Edit(scheduler, f"Scheduler.{function}", old, new)


BUGS = (
    _bug("early-by-a-tick", "An instant is rounded down to its tick.",
           _edit("_file", "tick = (when_ns + self._mask) >> self._shift", "tick = when_ns >> self._shift")),
    _bug("lost-on-reschedule", "A record moved to an earlier instant is cancelled and not filed again.",
           _edit("schedule", "self.cancel(item)\n", "self.cancel(item)\n            return\n")),
    _bug("delivered-twice", "The last record of a slice is delivered again.",
           _edit("_deliver_tick", "self._call_back(item)\n",
                 "self._call_back(item)\n                    if handled >= FEW + 1: self._call_back(item)\n")),
    _bug("expiry-re-entered", "A record cancelled while its tick is delivered is delivered nevertheless.",
           _edit("_deliver_tick", "if item.bucket is bucket:", "if True:"),
           _edit("_deliver_tick", "del bucket[item]", "bucket.pop(item, None)")),
    _bug("unordered-in-a-bucket", "The records of one tick are delivered in the order of filing.",
           Edit(buckets, "by_instant", "items.sort(key=by_due)", "items = list(bucket)")),
    _bug("ties-in-reverse", "Of records with equal instants the one filed last is delivered first.",
           Edit(buckets, "by_instant", "items = list(bucket)", "items = list(bucket)[::-1]")),
    _bug("cancel-of-a-moved-one-lost", "A record moved later, then cancelled while delivered, is filed again.",
           _edit("_deliver_tick", "if item.bucket is bucket:\n",
                 "if item.bucket is None and item.due > end_ns: self._file(item, item.due)\n"
                 "            elif item.bucket is bucket:\n")),
    _bug("lost-in-a-split", "The last record of a chunk is lost when its span is split.",
           _edit("_split_span", "if item.bucket is bucket:", "if item.bucket is bucket and (count % 3 or count < 3):")),
    _bug("timer-not-moved", "The timer is not rearmed when an earlier record is scheduled.",
           _edit("_open", "if wake_ns < self._armed_ns:", "if self._timer is None and wake_ns < self._armed_ns:")),
    _bug("filed-in-the-open-tick", "A record with a past instant is filed in the tick that is being delivered.",
           _edit("_file", "if tick <= self._opened:", "if tick < self._opened:"),
           _edit("_file", "tick = self._opened + 1", "tick = self._opened")),
    _bug("instant-wraps-at-64-bits", "An instant is taken modulo 2^64.",
           _edit("schedule", "self._file(item, when_ns)", "self._file(item, when_ns & 0xFFFFFFFFFFFFFFFF)"),
           _edit("schedule", "        item.due = when_ns\n        self._file",
                 "        item.due = when_ns & 0xFFFFFFFFFFFFFFFF\n        self._file")),
)  # fmt: skip
