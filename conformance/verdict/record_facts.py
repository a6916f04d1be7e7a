"""What one record says of its play: where it stopped, what it asked for, how the target ended. Pure functions."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from wireproof.conformance.model.outcome import ANYWHERE, BY_MODEL
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.suite.generated_cases import is_generated
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.crashes import ends_in_words
from wireproof.protocols.json_values import JsonObject

if TYPE_CHECKING:
    from wireproof.conformance.verdict.records import Record

__all__ = [
    "CauseKind",
    "asked_in",
    "awaited_in_vain",
    "ends_apart",
    "entry_of",
    "extra_of",
    "follows",
    "group_of",
    "is_about_its_request",
    "is_lost",
    "is_modelled",
    "kind_of",
    "let_time_pass",
    "manner_of",
    "meet",
    "place_of",
    "plain",
    "process_of",
    "shared_keys",
    "signature",
    "size_of",
    "stays_open",
    "unreadable",
]

LARGE = 1 << 7
"""From here on a number is large enough that two failures which read it at one place have one cause."""
UNREADABLE = re.compile(r"\w+ at byte \d+: (?P<why>.*? \[[\w-]+\])")
"""What came and is no message of the protocol: its code, where, why, and the clause that says so."""
VARIES = re.compile(r"0x[0-9a-fA-F]+|\d+|b'[^']*'|\"[^\"]*\"")
WAITED, ENDS = "waited", ("closed", "reset")
OPEN = "still open after "
SILENT, SILENCE = "silent", re.compile(r"nothing (in|beyond) ")


class CauseKind(StrEnum):
    """What a cause is; in this order they are shown."""

    DEATH = "death"
    HANG = "hang"
    FAILURE = "failure"
    PRECONDITION = "precondition"
    """A step that only prepares failed, and no case that asks for the same fails."""
    UNDECIDED = "undecided"
    """Nobody's fault as far as known: asked too late, or lost with others."""
    HARNESS = "harness"
    """wireproof's own fault."""


def signature(process: JsonObject) -> tuple[str, str]:
    """Return what is the same in all deaths of one cause: its end and what it printed; "" for no words."""
    death = str(process.get("death") or "")
    if process.get("frame"):
        return death, str(process["frame"])
    return death, plain(process.get("said")) if process.get("names_a_cause") else ""


def process_of(record: Record) -> JsonObject | None:
    """Return what is known of the process that ended, or answered nobody, during the play; None where none did."""
    extra = extra_of(record)
    if extra.get("process"):
        return dict(extra["process"])
    return dict(extra["ends"][0]) if extra.get("ends") else None


def ends_apart(record: Record) -> list[Record]:
    """Return a record for each way in which the target ended, where no case is known to do it; else the record alone.

    The case that stands for the run has one record of all its ends, which may be deaths and hangs.
    """
    ways: dict[tuple[str, ...], list[JsonObject]] = {}
    for one in extra_of(record).get("ends") or ():
        ways.setdefault((str(bool(one.get("hang") or one.get("silent"))), *signature(one)), []).append(one)
    if len(ways) < 2:
        return [record]
    extra = extra_of(record)
    return [{**record, "got": ends_in_words(ends), "extra": {**extra, "ends": ends}} for ends in ways.values()]


def follows(record: Record) -> bool:
    """Say whether the play was found to be a consequence of another while the run was judged."""
    return "rests_on" in extra_of(record) or "held_back" in extra_of(record)


def kind_of(record: Record) -> CauseKind:
    """Return what kind of cause the play shows by itself."""
    match Verdict(record["verdict"]):
        case Verdict.HARNESS_ERROR:
            return CauseKind.HARNESS
        case Verdict.CRASH:
            return CauseKind.DEATH
        case Verdict.HANG:
            return CauseKind.HANG
        case Verdict.UNTESTABLE:
            prepared = record["guilty"] != Guilty.HARNESS and record["step"] is not None
            return CauseKind.PRECONDITION if prepared else CauseKind.UNDECIDED
    return CauseKind.FAILURE


def shared_keys(record: Record) -> list[tuple[object, ...]]:
    """Return what a failure shares with others of the same cause; what the model judged, the clause that it names."""
    kind, whole = kind_of(record), record["delivery"] == WHOLE.name and "together" not in extra_of(record)
    found = _shared_keys(record)
    if whole and kind is CauseKind.FAILURE and is_modelled(record):
        found.append((kind, record["blamed"]))
    elif whole and not is_generated(record["case"]) and "hang" not in extra_of(record) and "." in record["case"]:
        found.append((record["blamed"], entry_of(record)))
    return found


def _shared_keys(record: Record) -> list[tuple[object, ...]]:
    kind, place = kind_of(record), place_of(record)
    if "together" in extra_of(record):
        return [("together", record["blamed"])]
    if record["delivery"] != WHOLE.name:
        return [("segmentation", record["blamed"])]
    hang = extra_of(record).get("hang") if kind is CauseKind.HANG else None
    if place is None:
        return [(kind, record["expected"]) if hang else (kind, record["blamed"], plain(record["got"]))]
    if hang:
        return [(kind, place[0], hang["busy"])]
    if kind is CauseKind.HANG:
        return [(kind, place[0], record["blamed"]) if is_generated(record["case"]) else (kind, place[0])]
    found: list[tuple[object, ...]] = [(kind, record["blamed"], place)]
    if let_time_pass(record):
        found.append((kind, place, plain(record["expected"]), plain(record["got"])))
    if why := unreadable(record):
        found.append((kind, why))
    if "extreme" in extra_of(record):
        found.append((kind, extra_of(record)["extreme"]))
    number = re.fullmatch(r"(\d+)", str(record["got"]).split(";")[0].strip())
    if number and int(number[1]) >= LARGE and place[1]:
        found.append((kind, place, number[1]))
    return found


def unreadable(record: Record) -> str:
    """Return why what came is no message of the protocol, without what differs from play to play; "" if it is one."""
    found = UNREADABLE.match(str(record["got"]))
    return plain(found["why"]) if found else ""


def awaited_in_vain(record: Record) -> str:
    """Return the name of the message that did not come, where no request names the place; "" for all else."""
    if place_of(record) is not None or not SILENCE.match(str(record["got"])):
        return ""
    return str(record["expected"]).partition("(")[0]


def entry_of(record: Record) -> str:
    """Return the entry that a case was written as: those of one entry differ in a value alone."""
    return str(record["case"]).partition(".")[0]


def extra_of(record: Record) -> JsonObject:
    """Return what a record has beyond what every record has."""
    return record.get("extra") or {}


def is_modelled(record: Record) -> bool:
    """Say whether the model of the document judged what came: then the clause is the one that it names."""
    return bool(record["expected"] == BY_MODEL)


def let_time_pass(record: Record) -> bool:
    """Say whether the play waited before the answer that was wrong: then time is why, whatever clause is blamed."""
    return any(one["direction"] == "event" and one["text"] == WAITED for one in record["exchange"])


def place_of(record: Record) -> tuple[str, str] | None:
    """Return the reply and the field at which the play stopped; `ANYWHERE` for one judged by many replies."""
    extra = extra_of(record)
    if "history" in extra:
        return ANYWHERE, ""
    return (str(extra["reply_to"]), str(extra["field"])) if extra.get("reply_to") else None


def meet(one: tuple[str, str] | None, other: tuple[str, str] | None) -> bool:
    """Say whether two plays stopped at the same place, as far as it is known."""
    if one is None or other is None:
        return False
    return ANYWHERE in (one[0], other[0]) or (one[0] == other[0] and (one[1] == other[1] or not (one[1] and other[1])))


def is_about_its_request(record: Record) -> bool:
    """Say whether the target ended, or was silent, at the request that the case is about."""
    return bool(group_of(record)) and group_of(record) == extra_of(record).get("reply_to")


def group_of(record: Record) -> str:
    """Return the group of requests that the case belongs to; "" for none."""
    return str(record.get("group", ""))


def asked_in(record: Record) -> frozenset[str]:
    """Return the kinds of requests that were sent until the play stopped."""
    return frozenset(str(extra_of(record).get("asked", "")).split())


def plain(text: object) -> str:
    """Return a text without what differs from play to play."""
    return VARIES.sub("#", str(text or ""))


def size_of(record: Record) -> tuple[bool, int, int, int, str]:
    """Return what orders plays from small to large: whole ones, of a MUST, with few bytes and few writes."""
    sent = [one for one in record["exchange"] if one["direction"] == "sent"]
    size = sum(len(one["hex"]) for one in sent)
    return (
        record["delivery"] != WHOLE.name or not (sent or is_lost(record)),
        size,
        len(sent),
        -len(record["clauses"]),
        record["case"],
    )


def stays_open(record: Record) -> bool:
    """Say whether all that did not come is the end of a connection."""
    return str(record["got"] or "").startswith(OPEN)


def is_lost(record: Record) -> bool:
    """Say whether an SDK waited on after its connection had ended, or reported a result then."""
    if record["verdict"] == Verdict.HANG:
        return bool(extra_of(record).get("lost"))
    if record.get("role") != "client" or not str(record["got"] or "").startswith("the result "):
        return False
    ended = any(one["direction"] == "event" and one["text"] in ENDS for one in record["exchange"])
    return ended and str(record["expected"] or "").startswith("an error")


def manner_of(record: Record) -> str:
    """Return how the play stopped, without what differs from play to play.

    That is what made the first byte wrong that the target sent; all waits in vain are one.
    """
    monitor, got = extra_of(record).get("monitor") or {}, str(record["got"] or "")
    if monitor.get("first") == Guilty.TARGET and monitor.get("error"):
        return str(monitor["error"])
    waited = record["verdict"] == Verdict.HANG or SILENCE.match(got)
    return SILENT if waited else plain(got.partition("; rests on ")[0])
