"""Turns a finding into a case or frame of the suite, and checks that conforming servers pass it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
from wireproof.fuzz.findings.finding import STEP_ENGINE, FuzzFinding
from wireproof.fuzz.live.context import PAUSE, FuzzContext
from wireproof.fuzz.live.live_reproduction import in_reference
from wireproof.fuzz.live.required_features import links_in, needs_of
from wireproof.fuzz.live.simulated_plays import new_server
from wireproof.fuzz.live_settings import broken_now
from wireproof.fuzz.parser_input import Endpoint, combinations
from wireproof.fuzz.promotion.naming import Naming
from wireproof.fuzz.promotion.promoted_steps import steps_of
from wireproof.fuzz.script import Restart, Script
from wireproof.mutants.registry import server_mutants
from wireproof.protocols import ErrorCode, Request, protocol
from wireproof.protocols.json_values import JsonObject

__all__ = ["PromotionError", "check_frame", "conforming_case", "entry_of", "refuse_what_is_gone"]


Entry = JsonObject
MOST_OPENED = 24
"""How often an expectation is relaxed before the case is given up."""


class PromotionError(ValueError):
    """Raised for a finding that cannot be promoted; the message says why and what would help."""


def refuse_what_is_gone(found: FuzzFinding, suite: Suite, clause: str | None) -> str:
    """Return the clause that a finding breaks. Raises `PromotionError` if it is gone or no clause is known."""
    seen, of = found.reproduced
    if of and not seen:
        raise PromotionError(f"{found.id} is GONE: reproduced 0 of {of} times")
    if found.script and (detail := _in_reference(found)) is not None:
        raise PromotionError(f"the reference server fails, too ({detail}): fix it first")
    named = clause or found.clause
    if named is None:
        raise PromotionError(f"the finding names no clause for {found.oracle!r}: give one with --clause")
    if named not in suite.clauses:
        raise PromotionError(f"--clause: there is no clause {named!r} (docs/{found.protocol}-clauses.md)")
    return named


def _in_reference(found: FuzzFinding) -> str | None:
    if found.engine == STEP_ENGINE:
        return broken_now(found, FuzzContext(found.protocol, found.profile, found.variant), None)
    return in_reference(found)


def entry_of(found: FuzzFinding, clause: str, name: str | None) -> tuple[str, Entry] | None:
    """Return (`cases` or `frames`, the entry) for a finding; None if only its input can be kept.

    Raises `StepsError` for a script that no case can express, `PromotionError` for one that restarts the server.
    """
    if any(isinstance(step, Restart) for step in found.script):
        raise PromotionError("the finding restarts its server, which no case can")
    if found.script:
        context = FuzzContext(found.protocol, found.profile, found.variant)
        return "cases", _case(found, clause, name, context, steps_of(found.script, context))
    if found.engine != "parser":
        return None
    if len(found.data) < 4:
        return None
    endpoint, pending, stream = _read(found.protocol, found.data)
    context = FuzzContext(found.protocol, endpoint.profile, endpoint.variant)
    if endpoint.role == "server":
        return "cases", _case(found, clause, name, context, steps_of(_sending(endpoint, stream), context))
    return None if context.by_state else _frame(found, clause, name, context, pending, stream)


def _read(name: str, data: bytes) -> tuple[Endpoint, Sequence[Request], bytes]:
    """Return the endpoint, pending requests and stream of an input of the parser's target."""
    endpoints = combinations(name)
    endpoint = endpoints[data[0] % len(endpoints)]
    return endpoint, *endpoint.parts(data)


def _sending(endpoint: Endpoint, stream: bytes) -> Script:
    """Return a script that sends a stream in the state of an endpoint."""
    usual = endpoint.link is protocol(endpoint.protocol).link
    steps: list[Action] = [Open("a", "" if usual else endpoint.link_name, endpoint.link.transport)]
    for request in (one for one in endpoint.path if isinstance(one, Request)):
        steps += [Write("a", endpoint.codec.encode(request)), Read("a", PAUSE)]
    return (*steps, Write("a", stream))


def _head(found: FuzzFinding, clause: str, name: str | None, context: FuzzContext) -> dict[str, object]:
    return {
        "id": name or f"found/{_slug(found.oracle)}-{found.id[:6]}",
        "title": f"Found by fuzzing: {found.oracle}",
        "clauses": [clause],
        "profiles": [context.profile],
        "variants": [context.variant],
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
    found: FuzzFinding, clause: str, name: str | None, context: FuzzContext, steps: list[dict[str, object]]
) -> Entry:
    return {**_head(found, clause, name, context), "steps": steps}


def _frame(
    found: FuzzFinding, clause: str, name: str | None, context: FuzzContext, pending: Sequence[Request], stream: bytes
) -> tuple[str, Entry] | None:
    """Return a frame for a stream of one invalid reply; None for any other."""
    if len(pending) != 1:
        return None
    request = pending[0]
    error = read_back(protocol(found.protocol), context.symbols.codec, "reply", stream, request)
    if not isinstance(error, str) or error not in list(ErrorCode):
        return None
    body = {"reply_to": Naming(context).literal(request), "hex": stream.hex(), "error": error}
    return "frames", {**_head(found, clause, name, context), **body}


def conforming_case(entry: Entry, suite: Suite, context: FuzzContext) -> tuple[Entry, tuple[str, ...]]:
    """Return the case with every expectation relaxed that a conforming variant fails, and those variants.

    Raises `PromotionError` if the reference does not pass it, or a variant fails it even when it expects nothing.
    """
    variants, left_open = list(_conforming_variants(suite, context)), dict[str, None]()
    if needs := sorted(set().union(*(needs_of(suite).links.get(one, ()) for one in links_in(entry["steps"])))):
        entry = {**entry, "needs": needs}
    for _ in range(MOST_OPENED):
        (case,) = cases_in({"cases": [dict(entry)]}, suite.context, "the case")
        try:
            Deriver(suite, context.profile, context.variant).conversation(case)
        except DeriveError as error:
            raise PromotionError(f"no case can express it: {error}") from None
        failed = next(((one, outcome) for one in variants if (outcome := _failure(case, suite, context, one))), None)
        if failed is None:
            return entry, tuple(left_open)
        left_open[failed[0]] = None
        entry = _with_less(entry, failed[1], failed[0])
    raise PromotionError(f"too many conforming variants fail the case: {', '.join(left_open)}")


def _failure(case: Case, suite: Suite, context: FuzzContext, variant: str) -> Outcome | None:
    symbols = Symbols(protocol(context.name), context.profile, context.variant, case=case.id, namespace="promote")
    perform = new_server(context, variant).perform
    outcome = play(Player(case, symbols, segmentation=WHOLE), perform)
    return outcome if weigh(outcome, level_of(case, suite, context.profile)) in RED else None


def _with_less(entry: Entry, outcome: Outcome, variant: str) -> Entry:
    """Return the case without the expectation that a variant failed: one field, or all replies of the step."""
    steps = list(entry["steps"])
    at, field = outcome.step, outcome.place.field if outcome.place else ""
    if at is None or "expect" not in steps[at]:
        detail = f"expected {outcome.expected}, got {outcome.got}"
        raise PromotionError(f"the conforming variant {variant} fails the case: {detail}")
    asked = steps[at]["expect"]
    less = _without(asked, field)
    steps[at] = {**steps[at], "expect": less if less != asked else _anything(asked)}
    if steps[at]["expect"] == asked:
        raise PromotionError(f"the conforming variant {variant} sends more or fewer replies than the reference")
    return {**entry, "steps": steps}


def _without(pattern: object, field: str) -> object:
    if isinstance(pattern, list):
        return [_without(one, field) for one in pattern]
    if isinstance(pattern, dict) and "times" in pattern:
        return {**pattern, "of": _without(pattern["of"], field)}
    if isinstance(pattern, dict):
        return {name: {key: one for key, one in fields.items() if key != field} for name, fields in pattern.items()}
    return pattern


def _anything(pattern: object) -> object:
    if isinstance(pattern, list):
        return [_anything(one) for one in pattern]
    return {**pattern, "of": "any"} if isinstance(pattern, dict) and "times" in pattern else "any"


def _conforming_variants(suite: Suite, context: FuzzContext) -> Iterator[str]:
    legal = [one for one in server_mutants(context.name).values() if one.is_legal and not one.live]
    yield from (one.name for one in applicable(legal, suite, context.profile, context.variant))


def check_frame(frame: Frame, suite: Suite, context: FuzzContext) -> None:
    """Raise `PromotionError` unless our codec reads the frame as it says."""
    try:
        Deriver(suite, context.profile, context.variant).frame(frame)
    except DeriveError as error:
        raise PromotionError(f"no frame can express it: {error}") from None
