"""What a campaign replays before it fuzzes: corpora, inputs and cases made from findings, kept findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from wireproof.conformance.commands.target_options import Target
from wireproof.conformance.drivers.simulation import carried_out
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.mutation.mutant_result import RED
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.verdict.records import level_of, weigh
from wireproof.fuzz import corpus as corpora
from wireproof.fuzz.differential.diff_reproduction import unlike_reference
from wireproof.fuzz.findings.finding import SCRIPT_ENGINES, STEP_ENGINE, FuzzFinding
from wireproof.fuzz.findings.of_own_code import broken
from wireproof.fuzz.known_targets import CodeTarget
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.live_reproduction import shown
from wireproof.fuzz.live.simulated_plays import new_server
from wireproof.fuzz.live_settings import broken_now
from wireproof.fuzz.promotion.writing import regressions
from wireproof.protocols import protocol

__all__ = ["Replayed", "cases_made_of_findings", "inputs", "kept_findings"]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of one replay."""

    name: str
    failure: str | None = None
    """What fails, as text; None if nothing does."""
    data: bytes = b""
    """An input that breaks an invariant."""
    skipped: str = ""
    """Why it was not played; "" if it was."""


def inputs(target: CodeTarget, name: str, corpus: Path) -> Iterator[Replayed]:
    """Check the inputs of an engine's corpus and those made from findings. Raises `OSError`."""
    for folder in (corpus, regressions(name, target.name)):
        if folder.is_dir():
            for file, data in corpora.inputs(folder).items():
                found = broken(target, name, data)
                yield Replayed(f"{target.name}/{file}", None if found is None else str(found), data if found else b"")


def cases_made_of_findings(suite: Suite, context: FuzzContext, live: LiveTarget | None) -> Iterator[Replayed]:
    """Play the promoted cases on the target, or on the reference server if there is none."""
    for case in suite.cases:
        if case.found and context.profile in case.profiles and context.variant in (case.variants or (context.variant,)):
            outcome = _outcome(case, context, live)
            wrong = weigh(outcome, level_of(case, suite, context.profile)) in RED
            failure = f"expected {outcome.expected}, got {outcome.got}" if wrong else None
            yield Replayed(f"case {case.id}", failure)


def _outcome(case: Case, context: FuzzContext, live: LiveTarget | None) -> Outcome:
    where = protocol(context.name), context.profile, context.variant
    symbols = Symbols(*where, case=case.id, namespace=token_hex(3), variables=case.variables)
    play = Player(case, symbols, segmentation=WHOLE).play()
    return carried_out(play, new_server(context).perform) if live is None else live.perform(play)


def kept_findings(
    kept: list[tuple[Path, FuzzFinding]], targets: Mapping[str, CodeTarget], live: LiveTarget | None
) -> Iterator[Replayed]:
    """Replay findings: those of our own code by `targets`; those of servers are skipped without a live server.

    Raises `TargetError`, `StartError`.
    """
    for _, one in kept:
        name = f"finding {one.id}"
        if one.engine in targets:
            found = broken(targets[one.engine], one.protocol, one.data)
            yield Replayed(name, None if found is None else str(found))
        elif one.engine == STEP_ENGINE and not one.target:
            yield Replayed(name, broken_now(one, FuzzContext(one.protocol, one.profile, one.variant), None))
        elif one.engine not in (*SCRIPT_ENGINES, STEP_ENGINE):
            yield Replayed(name, skipped=f"campaigns do not replay findings of engine {one.engine}")
        elif live is None:
            yield Replayed(name, skipped="it needs a target")
        elif (one.protocol, one.profile, one.variant) != (
            live.context.name,
            live.context.profile,
            live.context.variant,
        ):
            yield Replayed(name, skipped=f"it is about {one.protocol} {one.profile} {one.variant}")
        elif missing := live.unknown_listeners(one.script):
            yield Replayed(name, skipped=f"it needs --listener {missing[0]}=ADDRESS")
        else:
            yield Replayed(name, _on_server(one, live))
            _serving(live)


def _on_server(found: FuzzFinding, live: LiveTarget) -> str | None:
    if found.engine == STEP_ENGINE:
        return broken_now(found, live.context, Target("", live.address, live.server))
    return shown(live, found) if found.engine == "server" else unlike_reference(live, found)


def _serving(live: LiveTarget) -> None:
    """Restart the server if the last play ended it or keeps it from serving."""
    probe = live.play((), patience=1.0)
    if probe.death is not None or not probe.serves:
        live.restart("after a finding was replayed")
