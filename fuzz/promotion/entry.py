"""What a finding is written down as: a case, a frame, or an input that is replayed; and what speaks against it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wireproof.conformance.model.actions import Action, Open, Read, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.mutation.applicable import applicable
from wireproof.conformance.mutation.mutant_result import RED
from wireproof.conformance.mutation.recording import play
from wireproof.conformance.player.player import Player
from wireproof.conformance.report.derived_vectors import DeriveError, Deriver
from wireproof.conformance.suite.cases import Case, Frame, Suite, cases_in
from wireproof.conformance.suite.frame_decoding import read_back
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.verdict.records import level_of, weigh
from wireproof.fuzz.findings.finding import STEPWISE, Finding
from wireproof.fuzz.live.context import PAUSE, Ground
from wireproof.fuzz.live.live_reproduction import in_reference
from wireproof.fuzz.live.required_features import links_in, needs_of
from wireproof.fuzz.live.simulated import new_server
from wireproof.fuzz.live_settings import still
from wireproof.fuzz.parser_input import Side, combinations
from wireproof.fuzz.promotion.naming import Naming
from wireproof.fuzz.promotion.promoted_steps import steps_of
from wireproof.fuzz.script import Script
from wireproof.mutants.registry import server_mutants
from wireproof.protocols import ErrorCode, Request, protocol

__all__ = ["PromotionError", "check_frame", "entry_of", "legal_case", "refuse_what_is_gone"]


Entry = Mapping[str, Any]
MOST_OPENED = 24
"""Times that something is left open before a case is given up."""


class PromotionError(ValueError):
    """Raised for a finding that cannot be promoted; it says why, and what would help."""


def refuse_what_is_gone(found: Finding, suite: Suite, clause: str | None) -> str:
    """Return the clause that a finding breaks; `PromotionError` when it breaks none any more, or none is known."""
    seen, of = found.again
    if of and not seen:
        raise PromotionError(f"{found.id} is GONE: it never showed again ({of} times tried)")
    if found.script and (told := _in_reference(found)) is not None:
        raise PromotionError(f"the reference server shows it, too ({told}): mend that first")
    named = clause or found.clause
    if named is None:
        raise PromotionError(f"no clause is known that {found.oracle!r} breaks here: name one with --clause")
    if named not in suite.clauses:
        raise PromotionError(f"--clause: there is no clause {named!r} (docs/{found.protocol}-clauses.md)")
    return named


def _in_reference(found: Finding) -> str | None:
    if found.engine == STEPWISE:
        return still(found, Ground(found.protocol, found.profile, found.variant), None)
    return in_reference(found)


def entry_of(found: Finding, clause: str, name: str | None) -> tuple[str, Mapping[str, Any]] | None:
    """Return (`cases` or `frames`, the entry) for a finding; None where only its input can be kept."""
    if found.script:
        ground = Ground(found.protocol, found.profile, found.variant)
        return "cases", _case(found, clause, name, ground, steps_of(found.script, ground))
    if found.engine != "parser":
        return None
    if len(found.data) < 4:
        return None
    side, pending, stream = _read(found.protocol, found.data)
    ground = Ground(found.protocol, side.profile, side.variant)
    if side.role == "server":
        return "cases", _case(found, clause, name, ground, steps_of(_sending(side, stream), ground))
    return None if ground.by_state else _frame(found, clause, name, ground, pending, stream)


def _read(name: str, data: bytes) -> tuple[Side, Sequence[Request], bytes]:
    """Return what an input of the parser's target says: the side that reads, what it waits for, what comes."""
    sides = combinations(name)
    side = sides[data[0] % len(sides)]
    return side, *side.parts(data)


def _sending(side: Side, stream: bytes) -> Script:
    """Return a script that sends a stream where a server's side stands."""
    usual = side.link is protocol(side.protocol).link
    steps: list[Action] = [Open("a", "" if usual else side.link_name, side.link.transport)]
    for request in (one for one in side.way if isinstance(one, Request)):
        steps += [Write("a", side.codec.encode(request)), Read("a", PAUSE)]
    return (*steps, Write("a", stream))


def _head(found: Finding, clause: str, name: str | None, ground: Ground) -> dict[str, Any]:
    return {
        "id": name or f"found/{_slug(found.oracle)}-{found.id[:6]}",
        "title": f"Found by fuzzing: {found.oracle}",
        "clauses": [clause],
        "profiles": [ground.profile],
        "variants": [ground.variant],
        "found": {
            "finding": found.id,
            "engine": found.engine,
            "oracle": found.oracle,
            "at": found.found_at,
            "by": found.found_by,
            "seed": found.seed,
        },
    }


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _case(
    found: Finding, clause: str, name: str | None, ground: Ground, steps: list[dict[str, Any]]
) -> Mapping[str, Any]:
    return {**_head(found, clause, name, ground), "steps": steps}


def _frame(
    found: Finding, clause: str, name: str | None, ground: Ground, pending: Sequence[Request], stream: bytes
) -> tuple[str, Mapping[str, Any]] | None:
    """Return a frame for a stream that is one bad reply; None for any other."""
    if len(pending) != 1:
        return None
    request = pending[0]
    error = read_back(protocol(found.protocol), ground.symbols.codec, "reply", stream, request)
    if not isinstance(error, str) or error not in list(ErrorCode):
        return None
    body = {"reply_to": Naming(ground).literal(request), "hex": stream.hex(), "error": error}
    return "frames", {**_head(found, clause, name, ground), **body}


def legal_case(entry: Entry, suite: Suite, ground: Ground) -> tuple[Entry, tuple[str, ...]]:
    """Return the case with everything left open that a right server may answer otherwise, and which servers these are.

    Raises `PromotionError` when the reference does not pass it, or a right server fails it however little it asks.
    """
    varieties, opened = list(_legal(suite, ground)), dict[str, None]()
    if needs := sorted(set().union(*(needs_of(suite).links.get(one, ()) for one in links_in(entry["steps"])))):
        entry = {**entry, "needs": needs}
    for _ in range(MOST_OPENED):
        (case,) = cases_in({"cases": [dict(entry)]}, suite.context, "the case")
        try:
            Deriver(suite, ground.profile, ground.variant).conversation(case)
        except DeriveError as error:
            raise PromotionError(f"no case can say it: {error}") from None
        failed = next(((one, outcome) for one in varieties if (outcome := _failure(case, suite, ground, one))), None)
        if failed is None:
            return entry, tuple(opened)
        opened[failed[0]] = None
        entry = _opened(entry, failed[1], failed[0])
    raise PromotionError(f"right servers would fail the case in too many ways: {', '.join(opened)}")


def _failure(case: Case, suite: Suite, ground: Ground, variety: str) -> Outcome | None:
    symbols = Symbols(protocol(ground.name), ground.profile, ground.variant, case=case.id, namespace="promote")
    perform = new_server(ground, variety).perform
    outcome = play(Player(case, symbols, delivery=WHOLE), perform)
    return outcome if weigh(outcome, level_of(case, suite, ground.profile)) in RED else None


def _opened(entry: Entry, outcome: Outcome, variety: str) -> Entry:
    """Return the case without what it asks where a right server failed it: one field, or all of that step's replies."""
    steps = list(entry["steps"])
    at, field = outcome.step, outcome.place.field if outcome.place else ""
    if at is None or "expect" not in steps[at]:
        told = f"expected {outcome.expected}, got {outcome.got}"
        raise PromotionError(f"a server that is right in another way ({variety}) would fail the case: {told}")
    asked = steps[at]["expect"]
    less = _without(asked, field)
    steps[at] = {**steps[at], "expect": less if less != asked else _anything(asked)}
    if steps[at]["expect"] == asked:
        raise PromotionError(
            f"a server that is right in another way ({variety}) answers more or less than the reference"
        )
    return {**entry, "steps": steps}


def _without(pattern: Any, field: str) -> Any:
    if isinstance(pattern, list):
        return [_without(one, field) for one in pattern]
    if isinstance(pattern, dict) and "times" in pattern:
        return {**pattern, "of": _without(pattern["of"], field)}
    if isinstance(pattern, dict):
        return {name: {key: one for key, one in fields.items() if key != field} for name, fields in pattern.items()}
    return pattern


def _anything(pattern: Any) -> Any:
    if isinstance(pattern, list):
        return [_anything(one) for one in pattern]
    return {**pattern, "of": "any"} if isinstance(pattern, dict) and "times" in pattern else "any"


def _legal(suite: Suite, ground: Ground) -> Iterator[str]:
    legal = [one for one in server_mutants(ground.name).values() if one.is_legal and not one.live]
    yield from (one.name for one in applicable(legal, suite, ground.profile, ground.variant))


def check_frame(frame: Frame, suite: Suite, ground: Ground) -> None:
    """Raise `PromotionError` unless our own codec reads the frame as it says."""
    try:
        Deriver(suite, ground.profile, ground.variant).frame(frame)
    except DeriveError as error:
        raise PromotionError(f"no frame can say it: {error}") from None
