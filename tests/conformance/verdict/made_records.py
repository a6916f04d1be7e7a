"""Records of failures, for tests of causes."""

from __future__ import annotations

from typing import Any

from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.records import Record


def made(
    case: str,
    verdict: str = "fail",
    *,
    place: tuple[str, str] | None = ("QUERY", "quota"),
    asked: str = "INSERT QUERY",
    sent: int = 10,
    **changes: Any,
) -> Record:
    extra = changes.pop("extra", {})
    where = {"reply_to": place[0], "field": place[1], "asked": asked} if place else {}
    event = {"at_us": 1, "connection": "a", "direction": "sent", "hex": "00" * sent, "text": ""}
    return {
        "record_id": case,
        "role": "server",
        "case": case,
        "level": "MUST",
        "clauses": ["C-1"],
        "verdict": verdict,
        "blamed": "C-1",
        "guilty": "target",
        "delivery": "whole",
        "step": 0,
        "expected": "1",
        "got": "2",
        "exchange": [event],
        **changes,
        "extra": {**where, **extra},
    }


def died(case: str, death: str = "died of SIGABRT", frame: str = "", printed: str = "", **changes: Any) -> Record:
    process = {"death": death, "frame": frame, "said": printed, "names_a_cause": bool(printed)}
    return made(case, "crash", extra={"process": process}, **changes)


def grouped(*records: Record) -> list[list[str]]:
    return [[one["case"] for one in cause.records] for cause in causes_of(records)]


def of_sdk(case: str, verdict: str = "fail", **changes: Any) -> Record:
    return made(case, verdict, **{"expected": "{'quota': '1'} (the server sent 01)", **changes}, role="client")


def behind(case: str, reply_to: str, answer: str, verdict: str = "fail", **changes: Any) -> Record:
    return of_sdk(case, verdict, place=(reply_to, ""), extra={"behind": answer}, **changes)
