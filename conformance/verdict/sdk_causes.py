"""What failures of an SDK share with others of the same cause. Pure functions of the records of a run.

An SDK meets a server that says everything on purpose, so one defect shows in many answers: a refusal that is missing
for one request is missing for all, and what reads an answer wrong in a stream spoils whatever comes after it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.verdict.record_facts import asked_in, extra_of, is_lost, place_of, plain, shared_keys

if TYPE_CHECKING:
    from wireproof.conformance.verdict.records import Record

__all__ = ["RIGHT_AFTER", "SdkKeys", "is_connecting", "shown_as_played", "with_spoiled"]

ALWAYS = re.compile(r"(?![0-9a-f… ]+$|.*[{\d])[^\d]+")
"""What is expected of every request alike: no bytes, no values."""
ANY, SEVERAL = "*", 2
MOST_SPOIL = 3
UNREPORTED = "the event message"
NONE = "none in "
A_RESULT, AN_ERROR = "the result ", "the error "
SENT = " (the server sent "
RIGHT_AFTER = "; it was asked right after "
"""What is said of an answer that went wrong after another one only."""
DIFFER, REPORTS = "they differ at byte", "then it reports "
CONNECTED = "a connection"
SWAPPED = "swapped"
INTERLEAVED = "interleaved"
TIMED_OUT = "the error timeout"
LEFT_OUT = ", got nothing"
GOES_WRONG = (Verdict.FAIL, Verdict.LENIENT, Verdict.HANG)
RESTS = {"rests_on", "held_back", "lost", "spoils"}
"""What says where a play follows from, or that it shows a cause."""
Key = tuple[object, ...]


def with_spoiled(records: Sequence[Record]) -> list[Record]:
    """Return the records; what went wrong after a request that spoils the next answer rests on the play that shows it.

    Such a play asks for that request and then for something else, and for nothing more. Where most requests seem to
    spoil the next answer, it is that one which is read wrongly, and nothing is reported.
    """
    records = _without_false_spoils(records)
    found: dict[str, Record] = {}
    for one in sorted(records, key=lambda one: len(asked_in(one))):
        if name := extra_of(one).get("spoils"):
            found.setdefault(str(name), one)
    if len(found) > MOST_SPOIL:
        return list(records)
    return [_spoiled(one, found) for one in records]


def _without_false_spoils(records: Sequence[Record]) -> list[Record]:
    """Return the records; an answer that goes wrong where nothing else was asked for was spoilt by no other.

    Where it is right in other cases, it must go wrong in the same way: cases send answers that are wrong on purpose.
    """
    alone = [one for one in records if _asks_alone(one) and one["verdict"] in GOES_WRONG]
    works = {extra_of(one).get("reply_to") for one in records if "works" in extra_of(one)}
    always = {extra_of(one).get("reply_to") for one in alone} - works
    alike = set(map(_manner, alone))
    found = []
    for one in records:
        extra = extra_of(one)
        if "spoils" in extra and (extra.get("reply_to") in always or _manner(one) in alike):
            one = {**one, "extra": {name: value for name, value in extra.items() if name != "spoils"}}
        found.append(one)
    return found


def _manner(record: Record) -> Key:
    """Return where a play of an SDK stopped, and how, without what differs from play to play."""
    expected = str(record["expected"]).partition(SENT)[0]
    return place_of(record), plain(expected), plain(str(record["got"]).partition(RIGHT_AFTER)[0])


def _asks_alone(record: Record) -> bool:
    """Say whether a play of an SDK asked for one kind of request, and stopped at it."""
    return record.get("role") == "client" and asked_in(record) == {extra_of(record).get("reply_to")}


def _spoiled(record: Record, found: Mapping[str, Record]) -> Record:
    extra = extra_of(record)
    if record["verdict"] not in GOES_WRONG or extra.keys() & RESTS or "asked" not in extra:
        return record
    of_a_push = str(record["expected"]).startswith(UNREPORTED)
    for name, shows in found.items():
        if name in asked_in(record) and shows["case"] != record["case"] and (of_a_push or name != extra["reply_to"]):
            return {**record, "extra": {**extra, "rests_on": shows["case"]}}
    return record


class SdkKeys:
    """What the failures and hangs of an SDK share with others of their causes."""

    def __init__(self, records: Iterable[Record]) -> None:
        found = [one for one in records if one.get("role") == "client"]
        self._swapped = _swapped(found)
        self._disturbed = _disturbers([one for one in found if one.get("record_id", "") not in self._swapped])
        self._streams = {one["blamed"] for one in found if self._disturbed.get(one.get("record_id", "")) == ANY}
        """The clauses that are broken by an SDK that reads no stream of answers."""
        self._cut = {one["blamed"] for one in found if "cut" in extra_of(one)}
        """The clauses that are broken where answers come in pieces."""
        self._opened = {_error_of(one): place_of(one) for one in found if _is_opening(one)}
        self._unsent = {_error_of(one): str(extra_of(one)["reply_to"]) for one in found if _is_unsent(one)}

    def of(self, record: Record) -> Sequence[Key]:
        """Return what a failure or hang shares with others of its cause."""
        if record.get("role") != "client":
            return shared_keys(record)
        if known := _keys_of_a_kind(record):
            return known
        extra = extra_of(record)
        in_stream: Sequence[Key] = [("behind", ANY)] if self._is_of_a_stream(record) else []
        if record.get("record_id", "") in self._swapped:
            return [(SWAPPED,), *in_stream]
        if in_stream:
            return in_stream
        if is_connecting(record):
            error = plain(record["got"])
            return [("sent", *opened) if (opened := self._opened.get(error)) else ("connects", error)]
        if (disturber := self._disturbed.get(record.get("record_id", ""))) is not None:
            return [("behind", disturber)]
        pieces = [("cut push",)] if extra.get("pushes") and record["blamed"] in self._cut else []
        if record["verdict"] == Verdict.HANG:
            return [*(_keys_of_a_hang(record) or shared_keys(record)), *pieces, *_idea(record)]
        if record.get("byte") is not None and (missing := self._unsent.get(_error_of(record))):
            return [("sent", missing, "")]
        return pieces or [*(_keys_of_a_failure(record) or shared_keys(record)), *_idea(record)]

    def _is_of_a_stream(self, record: Record) -> bool:
        """Say whether a play had several requests under way, and breaks what an SDK breaks that reads no stream."""
        extra = extra_of(record)
        return record["blamed"] in self._streams and "at_once" in extra and "pushes" not in extra


def _swapped(records: Sequence[Record]) -> Collection[str]:
    """Return the record_ids of plays in which an answer was given to another request that was under way.

    An answer that goes wrong where nothing else was asked for is read wrongly: it equals the other one by chance.
    Where answers were given to others, a request of a stream that ends without one lost it in the same way.
    """
    wrong = [one for one in records if one["verdict"] in GOES_WRONG and SWAPPED not in extra_of(one)]
    alone = {extra_of(one).get("reply_to") for one in wrong if _asks_alone(one) and TIMED_OUT not in str(one["got"])}
    found = [one for one in records if SWAPPED in extra_of(one) and extra_of(one).get("reply_to") not in alone]
    if not found:
        return ()
    late = [one for one in records if len(asked_in(one)) > 1 and str(one["got"] or "").startswith(TIMED_OUT)]
    return {one.get("record_id", "") for one in (*found, *late)}


def _error_of(record: Record) -> str:
    """Return the error that was reported instead of a request that was not sent, without its numbers; "" for none."""
    _, reports, error = str(record["got"] or "").partition(REPORTS)
    return plain(error) if reports else ""


def _is_opening(record: Record) -> bool:
    """Say whether an SDK sent something else while it connected, before it was asked for anything."""
    return record.get("byte") is not None and place_of(record) is not None and not asked_in(record)


def _is_unsent(record: Record) -> bool:
    """Say whether nothing was asked for but one request, which ended with an error and was not sent."""
    return record.get("byte") == 0 and _asks_alone(record) and bool(_error_of(record))


def _disturbers(records: Iterable[Record]) -> Mapping[str, str]:
    """Return record_id -> the answer that explains why an SDK went wrong within a stream of answers.

    Either the answer at which it went wrong is read wrongly after others, or the one before it ends at another place.
    The answer that explains most of these plays is taken for all that it explains, then the next. Where answers spoil
    the next of their own kind, and several kinds do, it is none of them: the SDK reads no stream. Nor does one that
    needs more than two kinds to be explained. A field that is wrong where nothing came before is no matter of streams.
    """
    records = list(records)
    always = {place_of(one) for one in records if not extra_of(one).get("behind") and extra_of(one).get("field")}
    streams = [one for one in records if extra_of(one).get("behind") and place_of(one) not in always]
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


def _keys_of_a_kind(record: Record) -> Sequence[Key]:
    """Return what a play shares with all that the player found to be of one kind."""
    extra = extra_of(record)
    if is_lost(record):
        return [("lost", record["verdict"] == Verdict.HANG or plain(record["got"]))]
    for name in ("misread", "spoils", INTERLEAVED):
        if extra.get(name):
            return [(name, "" if extra.get("by_name") else extra[name])]
    return ()


def _keys_of_a_hang(record: Record) -> Sequence[Key]:
    extra = extra_of(record)
    if extra.get("hang", {}).get("busy"):
        return [("busy", name) for name in asked_in(record)]
    return [("hangs", record["blamed"])] if extra.get("works") else []


def _idea(record: Record) -> Sequence[Key]:
    """Return what plays share that differ in a value alone, ask for the same and break the same clause."""
    entry, value, _ = str(record["case"]).partition(".")
    return [("idea", entry, record["blamed"], extra_of(record).get("reply_to"))] if value else []


def _keys_of_a_failure(record: Record) -> Sequence[Key]:
    extra, expected, got = extra_of(record), str(record["expected"] or ""), str(record["got"] or "")
    if _is_unreported(record):
        return [("unreported", record["blamed"] if extra.get("works") else "")]
    if ALWAYS.fullmatch(expected):
        return [("always", record["blamed"], expected)]
    if expected.startswith(A_RESULT) and got.startswith(AN_ERROR) and extra.get("reply_to"):
        error = re.sub(r"\d+", "#", got)
        return [("error", extra["reply_to"], error), ("error", plain(expected), error)]
    if _is_sent_wrongly(record):
        return [("sent", extra["reply_to"], extra["field"])]
    if not extra.get("field"):
        return ()
    if f".{extra['field']}: expected " in got and got.endswith(LEFT_OUT):
        return [("left out", extra["field"])]
    place = extra["reply_to"], extra["field"]
    same_field = [("field", *place)] if expected.startswith(("result.", "event.")) else []
    return [("clause", record["blamed"], *place), *same_field]


def shown_as_played(record: Record) -> bool:
    """Say whether plays like this one show their cause the better the earlier they were played.

    They are about what any case needs: a connection, a request that is sent, a push that is told of.
    """
    if record.get("role") != "client":
        return False
    return is_connecting(record) or _is_unreported(record) or _is_sent_wrongly(record)


def is_connecting(record: Record) -> bool:
    """Say whether an SDK did not connect."""
    return record.get("role") == "client" and record["expected"] == CONNECTED


def _is_unreported(record: Record) -> bool:
    return str(record["expected"] or "").startswith(UNREPORTED) and str(record["got"] or "").startswith(NONE)


def _is_sent_wrongly(record: Record) -> bool:
    """Say whether a request was sent otherwise than it should be, or left out; not where the connection was gone."""
    extra = extra_of(record)
    if record.get("byte") is None or not extra.get("reply_to") or ALWAYS.fullmatch(str(record["expected"] or "")):
        return False
    return bool(extra.get("field")) or not asked_in(record) or _asks_alone(record) or DIFFER in str(record["got"])


def _pair(record: Record) -> tuple[str, str]:
    return str(extra_of(record)["behind"]), str(extra_of(record)["reply_to"])
