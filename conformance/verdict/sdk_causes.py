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
from wireproof.conformance.verdict.record_facts import asked_in, extra_of, is_lost

if TYPE_CHECKING:
    from wireproof.conformance.verdict.records import Record

__all__ = ["disturbers", "sdk_keys", "with_spoiled"]

ALWAYS = re.compile(r"(?![0-9a-f… ]+$|.*[{\d])[^\d]+")
"""What is expected of every request alike: no bytes, no values."""
ANY, SEVERAL = "*", 2
MOST_SPOIL = 3
UNREPORTED = "the event message"
NONE = "none in "
A_RESULT, AN_ERROR = "the result ", "the error "
GOES_WRONG = (Verdict.FAIL, Verdict.LENIENT, Verdict.HANG)
RESTS = {"rests_on", "held_back", "lost", "spoils"}
"""What says where a play follows from, or that it shows a cause."""
Key = tuple[object, ...]


def with_spoiled(records: Sequence[Record]) -> list[Record]:
    """Return the records; what went wrong after a request that spoils the next answer rests on the play that shows it.

    Such a play asks for that request and then for something else, and for nothing more. Where most requests seem to
    spoil the next answer, it is that one which is read wrongly, and nothing is reported.
    """
    found: dict[str, Record] = {}
    for one in sorted(records, key=lambda one: len(asked_in(one))):
        if name := extra_of(one).get("spoils"):
            found.setdefault(str(name), one)
    if len(found) > MOST_SPOIL:
        return list(records)
    return [_spoiled(one, found) for one in records]


def _spoiled(record: Record, found: Mapping[str, Record]) -> Record:
    extra = extra_of(record)
    if record["verdict"] not in GOES_WRONG or extra.keys() & RESTS or "asked" not in extra:
        return record
    of_a_push = str(record["expected"]).startswith(UNREPORTED)
    for name, shows in found.items():
        if name in asked_in(record) and shows["case"] != record["case"] and (of_a_push or name != extra["reply_to"]):
            return {**record, "extra": {**extra, "rests_on": shows["case"]}}
    return record


def disturbers(records: Iterable[Record]) -> Mapping[str, str]:
    """Return record_id -> the answer that explains why an SDK went wrong within a stream of answers.

    Either the answer at which it went wrong is read wrongly after others, or the one before it ends at another place.
    The answer that explains most of these plays is taken for all that it explains, then the next. Where answers spoil
    the next of their own kind, and several kinds do, it is none of them: the SDK reads no stream.
    """
    left = {
        one["record_id"]: _pair(one) for one in records if one.get("role") == "client" and extra_of(one).get("behind")
    }
    if len({one for one, other in left.values() if one == other}) >= SEVERAL:
        return dict.fromkeys(left, ANY)
    found: dict[str, str] = {}
    while left:
        counted = Counter(name for pair in left.values() for name in dict.fromkeys(pair))
        before = Counter(pair[0] for pair in left.values())
        name = max(sorted(counted), key=lambda one: (counted[one], before[one]))
        found |= {key: name for key, pair in left.items() if name in pair}
        left = {key: pair for key, pair in left.items() if name not in pair}
    return found


def sdk_keys(record: Record, disturber: str | None) -> Sequence[Key]:
    """Return what a failure or hang of an SDK shares with others of its cause; nothing where no rule is its own.

    `disturber`: what `disturbers` says of it.
    """
    if record.get("role") != "client":
        return ()
    extra = extra_of(record)
    if is_lost(record):
        return [("lost",)]
    for name in ("misread", "spoils"):
        if extra.get(name):
            return [(name, extra[name])]
    if disturber is not None:
        return [("behind", disturber)]
    if record["verdict"] == Verdict.HANG:
        return [("busy", name) for name in asked_in(record)] if extra.get("hang", {}).get("busy") else []
    return _keys_of_a_failure(record)


def _keys_of_a_failure(record: Record) -> Sequence[Key]:
    extra, expected, got = extra_of(record), str(record["expected"] or ""), str(record["got"] or "")
    if expected.startswith(UNREPORTED) and got.startswith(NONE):
        return [("unreported",)]
    if ALWAYS.fullmatch(expected):
        return [("always", record["blamed"], expected)]
    if expected.startswith(A_RESULT) and got.startswith(AN_ERROR) and extra.get("reply_to"):
        return [("error", extra["reply_to"], re.sub(r"\d+", "#", got))]
    if not extra.get("field"):
        return ()
    place = extra["reply_to"], extra["field"]
    same_field = [("field", *place)] if expected.startswith(("result.", "event.")) else []
    return [("clause", record["blamed"], *place), *same_field]


def _pair(record: Record) -> tuple[str, str]:
    return str(extra_of(record)["behind"]), str(extra_of(record)["reply_to"])
