"""What failures of an SDK share with others of the same cause. Pure functions of the records of a run.

An SDK meets a server that says everything on purpose, so one defect shows in many answers: a refusal that is missing
for one request is missing for all, and what reads an answer wrong in a stream spoils whatever comes after it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.verdict.record_facts import (
    asked_in,
    entry_of,
    extra_of,
    is_lost,
    place_of,
    plain,
    shared_keys,
)
from wireproof.conformance.verdict.sdk_streams import (
    GOES_WRONG,
    RIGHT_AFTER,
    SENT,
    SEVERAL,
    Key,
    Streams,
    asks_alone,
    is_wrong_alone,
    manner,
)

if TYPE_CHECKING:
    from wireproof.conformance.verdict.records import Record

__all__ = ["SdkKeys", "is_connecting", "names_its_request", "names_its_value", "shown_as_played", "with_spoiled"]

ALWAYS = re.compile(r"(?![0-9a-f… ]+$|.*[{\d])[^\d]+")
"""What is expected of every request alike: no bytes, no values."""
WORD = re.compile(r"(?:result|event)[\w.]* '([a-z_]+)'")
VALUE = re.compile(r"(?:result|event)[\w.]* '(\w+)'")
"""A name of a number that was reported: where it is another name or number, the same table is wrong in every answer."""
MOST_SPOIL = 3
UNREPORTED = "the event message"
NONE = "none in "
A_RESULT, AN_ERROR = "the result ", "the error "
DIFFER, REPORTS = "they differ at byte", "then it reports "
CONNECTED = "a connection"
MISREAD, INTERLEAVED, BEGAN = "misread", "interleaved", "began again"
"""What an outcome keeps of why its play stopped, as `SdkOperations` names it."""
LEFT_OUT = ", got nothing"
RESTS = {"rests_on", "held_back", "lost", "spoils"}
"""What says where a play follows from, or that it shows a cause."""


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
    records = _with_always_wrong(records)
    return list(records) if len(found) > MOST_SPOIL else [_spoiled(one, found) for one in records]


def _with_always_wrong(records: Sequence[Record]) -> Sequence[Record]:
    """Return the records; a batch that goes wrong rests on a request in it whose answers are always read wrongly."""
    shows = {str(extra_of(one)["reply_to"]): one for one in reversed(records) if is_wrong_alone(one)}
    works = {extra_of(one).get("reply_to") for one in records if "works" in extra_of(one)}
    found = []
    for one in records:
        extra, names = extra_of(one), sorted(asked_in(one) & shows.keys() - works)
        if names and "at_once" in extra and extra["reply_to"] not in shows and not extra.keys() & RESTS:
            one = {**one, "extra": {**extra, "rests_on": shows[names[0]]["case"]}}
        found.append(one)
    return found


def _without_false_spoils(records: Sequence[Record]) -> list[Record]:
    """Return the records; an answer that goes wrong where nothing else was asked for was spoilt by no other.

    Where it is right in other cases, it must go wrong in the same way: cases send answers that are wrong on purpose.
    """
    alone = [one for one in records if is_wrong_alone(one)]
    works = {extra_of(one).get("reply_to") for one in records if "works" in extra_of(one)}
    always = {extra_of(one).get("reply_to") for one in alone} - works
    alike = set(map(manner, alone))
    found = []
    for one in records:
        extra = extra_of(one)
        if "spoils" in extra and (extra.get("reply_to") in always or manner(one) in alike):
            got = str(one["got"]).partition(RIGHT_AFTER)[0]
            one = {**one, "got": got, "extra": {name: value for name, value in extra.items() if name != "spoils"}}
        found.append(one)
    return found


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
        self._streams = Streams([one for one in found if not _keys_of_a_kind(one)])
        self._cut = {one["blamed"] for one in found if "cut" in extra_of(one)}
        """The clauses that are broken where answers come in pieces."""
        kinds = {extra_of(one).get("reply_to") for one in found if "cut" in extra_of(one) and is_wrong_alone(one)}
        self._in_pieces = len(kinds) > SEVERAL
        """Whether pieces are put together for next to no kind of answer."""
        self._opened = {_error_of(one): place_of(one) for one in found if _is_opening(one)}
        wrong = {(extra_of(one)["reply_to"], extra_of(one).get("field")) for one in found if _is_sent_wrongly(one)}
        self._of_frames = {field for field, number in Counter(field for _, field in wrong).items() if number > SEVERAL}
        """Fields that are sent wrongly in requests of many kinds: they share them."""
        self._unsent = {_error_of(one): str(extra_of(one)["reply_to"]) for one in found if _is_unsent(one)}

    def of(self, record: Record) -> Sequence[Key]:
        """Return what a failure or hang shares with others of its cause."""
        if record.get("role") != "client":
            return shared_keys(record)
        if known := _keys_of_a_kind(record):
            return known
        hangs = _keys_of_a_hang(record) if record["verdict"] == Verdict.HANG else ()
        pieces = "pushes" in extra_of(record) and record["blamed"] in self._cut
        found: Sequence[Key] = [("cut push",)] if pieces else ()
        if self._in_pieces and record["blamed"] in self._cut and not pieces:
            return [("in pieces",)]
        if is_busy(record):
            return [*found, *hangs]
        if found := found or self._streams.keys_of(record):
            return found
        if is_connecting(record):
            error = plain(record["got"])
            return [("sent", *opened) if (opened := self._opened.get(error)) else ("connects", error)]
        if record["verdict"] == Verdict.HANG:
            return [*(hangs or shared_keys(record)), *_idea(record)]
        if record.get("byte") is not None and (missing := self._unsent.get(_error_of(record))):
            return [("sent", missing, "")]
        return [*(_keys_of_a_failure(record) or shared_keys(record)), *_idea(record), *self._shared_field(record)]

    def _shared_field(self, record: Record) -> Sequence[Key]:
        field = extra_of(record).get("field")
        return [("sent", field)] if field and field in self._of_frames and _is_sent_wrongly(record) else []


def _error_of(record: Record) -> str:
    """Return the error that was reported instead of a request that was not sent, without its numbers; "" for none."""
    _, reports, error = str(record["got"] or "").partition(REPORTS)
    return plain(error) if reports else ""


def _is_opening(record: Record) -> bool:
    """Say whether an SDK sent something else while it connected, before it was asked for anything."""
    return record.get("byte") is not None and place_of(record) is not None and not asked_in(record)


def _is_unsent(record: Record) -> bool:
    """Say whether nothing was asked for but one request, which ended with an error and was not sent."""
    return record.get("byte") == 0 and asks_alone(record) and bool(_error_of(record))


def _keys_of_a_kind(record: Record) -> Sequence[Key]:
    """Return what a play shares with all that the player found to be of one kind."""
    extra = extra_of(record)
    if is_lost(record):
        return [("lost", record["verdict"] == Verdict.HANG or plain(record["got"]))]
    for name in (MISREAD, "spoils", INTERLEAVED, BEGAN):
        if extra.get(name):
            return [(name, "" if extra.get("by_name") else extra[name])]
    return ()


def _keys_of_a_hang(record: Record) -> Sequence[Key]:
    if is_busy(record):
        return [("busy", name) for name in asked_in(record)]
    return [("hangs", record["blamed"])] if extra_of(record).get("works") else []


def is_busy(record: Record) -> bool:
    """Say whether a driver was busy while it did not answer."""
    return record["verdict"] == Verdict.HANG and bool(extra_of(record).get("hang", {}).get("busy"))


def _idea(record: Record) -> Sequence[Key]:
    """Return what plays share that differ in a value alone, ask for the same and break the same clause."""
    entry = entry_of(record)
    return [("idea", entry, record["blamed"], extra_of(record).get("reply_to"))] if entry != record["case"] else []


def _keys_of_a_failure(record: Record) -> Sequence[Key]:
    extra, expected, got = extra_of(record), str(record["expected"] or ""), str(record["got"] or "")
    if _is_unreported(record):
        return [("unreported", ("answering" in extra or record["blamed"]) if extra.get("works") else "")]
    if (words := WORD.match(expected)) and (other := VALUE.match(f"result {got}")):
        return [("word", extra.get("field"), words[1], other[1]), ("field", extra.get("reply_to"), extra.get("field"))]
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


def names_its_request(record: Record) -> bool:
    """Say whether a play blames a clause of the request at whose answer it stopped, and no type or bytes are why."""
    is_bytes = "{'hex': " in str(record["expected"]).partition(SENT)[0]
    extra, words = extra_of(record), str(record["blamed"]).split("-")
    return extra.get("reply_to") in words and not (is_bytes or MISREAD in extra)


def names_its_value(record: Record) -> bool:
    """Say whether a play is one of several that differ in the value that was expected: they are about it."""
    found = VALUE.match(str(record["expected"] or ""))
    return found is not None and found[1].upper() in str(record["case"]).upper().split(".")[1:]


def shown_as_played(record: Record) -> bool:
    """Say whether plays like this one show their cause the better the earlier they were played.

    They are about what any case needs: a connection, a request that is sent, a push that is reported.
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
    return bool(extra.get("field")) or not asked_in(record) or asks_alone(record) or DIFFER in str(record["got"])
