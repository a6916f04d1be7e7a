"""Where an SDK goes wrong only while several requests are under way: which answer is in the way of others, if one is.

An answer that is read wrongly within a stream spoils what comes after it, and one that is given to another request
spoils two. What goes wrong where nothing else was asked for is no matter of streams. Pure functions of records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.verdict.record_facts import asked_in, extra_of, place_of, plain

if TYPE_CHECKING:
    from wireproof.conformance.verdict.records import Record

__all__ = ["GOES_WRONG", "RIGHT_AFTER", "SENT", "SEVERAL", "Key", "Streams", "asks_alone", "is_wrong_alone", "manner"]

ANY, SEVERAL = "*", 2
SWAPPED = "swapped"
TIMED_OUT = "the error timeout"
SENT = " (the server sent "
RIGHT_AFTER = "; it was asked right after "
"""What is said of an answer that went wrong after another one only."""
UNTOLD = ("the event message", "event.")
GOES_WRONG = (Verdict.FAIL, Verdict.LENIENT, Verdict.HANG)
Key = tuple[object, ...]


def asks_alone(record: Record) -> bool:
    """Say whether a play asked for one kind of request, one after the other, and stopped at it."""
    return asked_in(record) == {extra_of(record).get("reply_to")} and "at_once" not in extra_of(record)


class Streams:
    """The streams of one run of an SDK."""

    def __init__(self, records: Sequence[Record]) -> None:
        """`records`: what failed or hung and is of no other kind that is known."""
        self._swapped = _swapped(records)
        self._alone, alike = _alone(records), {manner(one) for one in records if is_wrong_alone(one)}
        wrong = {place_of(one) for one in records if not extra_of(one).get("behind") and extra_of(one).get("field")}
        apart = [one for one in records if one.get("record_id", "") not in self._swapped and _is_an_answer(one)]
        self._disturbed = _disturbers([one for one in apart if place_of(one) not in wrong and manner(one) not in alike])
        kinds = {one for one in self._disturbed.values() if one != ANY}
        loose = [one for one in records if self._is_loose(one)]
        stopped = {extra_of(one).get("reply_to") for one in loose}
        unexplained = [one for one in loose if one["record_id"] not in self._disturbed and not asked_in(one) & kinds]
        if ANY in self._disturbed.values() or (len(stopped) > SEVERAL and unexplained):
            self._disturbed = {one["record_id"]: ANY for one in loose} | dict.fromkeys(self._disturbed, ANY)
        else:
            more = {one["record_id"]: sorted(asked_in(one) & kinds) for one in loose}
            self._disturbed = {key: found[0] for key, found in more.items() if found} | dict(self._disturbed)

    def _is_loose(self, record: Record) -> bool:
        """Say whether a play goes wrong while several requests are under way, at one that is answered well alone."""
        extra = extra_of(record)
        several = extra.keys() & {"at_once", "behind", SWAPPED}
        return bool(several) and _is_an_answer(record) and extra.get("reply_to") not in self._alone

    def keys_of(self, record: Record) -> Sequence[Key]:
        """Return what a play shares with others whose streams go wrong alike; nothing where it is none of them."""
        key = record.get("record_id", "")
        found: list[Key] = [(SWAPPED,)] if key in self._swapped else []
        if key in self._disturbed:
            return [*found, ("behind", self._disturbed[key])]
        in_the_way = "pushes" in extra_of(record) and _is_an_answer(record)
        return [*found, ("pushes",)] if in_the_way and extra_of(record).get("reply_to") not in self._alone else found


def manner(record: Record) -> Key:
    """Return where a play of an SDK stopped, and how, without what differs from play to play."""
    expected = str(record["expected"]).partition(SENT)[0]
    return place_of(record), plain(expected), plain(str(record["got"]).partition(RIGHT_AFTER)[0])


def _is_an_answer(record: Record) -> bool:
    """Say whether a play stopped at an answer: not at what was sent, or at a push."""
    return record.get("byte") is None and not str(record["expected"]).startswith(UNTOLD)


def is_wrong_alone(record: Record) -> bool:
    """Say whether a right answer went wrong where nothing else was asked for or pushed."""
    extra = extra_of(record)
    if record.get("role") != "client" or record["verdict"] not in GOES_WRONG or {"odd", "pushes"} & extra.keys():
        return False
    return asks_alone(record) and record.get("byte") is None


def _alone(records: Sequence[Record]) -> Collection[object]:
    """Return the requests whose right answers go wrong where nothing else was asked for."""
    return {extra_of(one).get("reply_to") for one in records if is_wrong_alone(one)}


def _swapped(records: Sequence[Record]) -> Collection[str]:
    """Return the record_ids of plays in which an answer was given to another request that was under way.

    An answer that goes wrong where nothing else was asked for is read wrongly: it equals the other one by chance.
    Where answers were given to others, a request of a stream that ends without one lost it in the same way.
    """
    wrong = [one for one in records if one["verdict"] in GOES_WRONG and SWAPPED not in extra_of(one)]
    alone = {extra_of(one).get("reply_to") for one in wrong if asks_alone(one) and TIMED_OUT not in str(one["got"])}
    found = [one for one in records if SWAPPED in extra_of(one) and extra_of(one).get("reply_to") not in alone]
    if not found:
        return ()
    late = [one for one in records if len(asked_in(one)) > 1 and str(one["got"] or "").startswith(TIMED_OUT)]
    return {one.get("record_id", "") for one in (*found, *late)}


def _disturbers(records: Sequence[Record]) -> Mapping[str, str]:
    """Return record_id -> the answer that explains why an SDK went wrong within a stream of answers.

    Either the answer at which it went wrong is read wrongly after others, or the one before it ends at another place.
    The answer that explains most of these plays is taken for all that it explains, then the next. Where answers spoil
    the next of their own kind, and several kinds do, it is none of them: the SDK reads no stream. Nor does one that
    needs more than two kinds to be explained.
    """
    streams = [one for one in records if extra_of(one).get("behind")]
    left = {one["record_id"]: _pair(one) for one in streams}
    if len({one for one, other in left.values() if one == other}) >= SEVERAL:
        return dict.fromkeys(left, ANY)
    found: dict[str, str] = {}
    while left:
        counted = Counter(name for pair in left.values() for name in dict.fromkeys(pair))
        before = Counter(pair[0] for pair in left.values())
        name = max(sorted(counted), key=lambda one: (counted[one], before[one]))
        found |= {key: name for key, pair in left.items() if name in pair}
        left = {key: pair for key, pair in left.items() if name not in pair}
    return dict.fromkeys(found, ANY) if len({*found.values()}) > SEVERAL else found


def _pair(record: Record) -> tuple[str, str]:
    return str(extra_of(record)["behind"]), str(extra_of(record)["reply_to"])
