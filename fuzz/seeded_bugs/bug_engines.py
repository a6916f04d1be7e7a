"""The engines that look for seeded bugs: each seeds one, runs from the default seeds, and counts executions."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from wireproof.conformance.run.processes import ServerProcess, parse_command
from wireproof.conformance.run.reference_target import serving_arguments
from wireproof.fuzz import corpus, coverage_guided, parser_input, property_based, store_input
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import TARGETS, CodeTarget
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.live_campaign import Campaign, CampaignLimits
from wireproof.fuzz.live.simulated_target import SimulatedTarget
from wireproof.fuzz.seeded_bugs.function_edits import Edit, applied
from wireproof.fuzz.seeded_bugs.seeded_bug import BugEntry
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.step_failure import Setting
from wireproof.protocols import protocol
from wireproof.reference_server.registry import limits_of

__all__ = ["ENGINES", "Engine", "EngineResult", "Task", "seeded"]

EXAMPLE_STEPS = 80
LARGEST_FRAME = 128 << 20
"""Largest frame in bytes of live servers: a smaller one, if reserved, would not stand out in their memory."""
MOST_SEEDS = 2000
SEEDED_BUG = "WIREPROOF_SEEDED_BUG"


@dataclass(frozen=True)
class Task:
    """One run of an engine."""

    protocol: str
    bug: BugEntry | None
    """None for a control run: no bug, and nothing may be found."""
    runs: int
    seed: int
    guided: bool = True
    """Whether to use coverage (atheris)."""

    @property
    def context(self) -> FuzzContext:
        """The protocol under the profile and variant in which the bug shows."""
        spoken, one = protocol(self.protocol), self.bug
        return FuzzContext(
            self.protocol,
            (one.profile if one else "") or spoken.default_profile,
            (one.variant if one else "") or spoken.default_variant,
        )

    @property
    def mutant(self) -> str | None:
        """The name of the mutant of the server."""
        return self.bug.mutant if self.bug else None


@dataclass(frozen=True)
class EngineResult:
    """The result of one run."""

    executions: int | None
    """Executions until something was found; None if nothing was."""
    detail: str = ""
    """What was found."""
    by: str = ""
    """What chose the inputs."""


Engine = Callable[[Task], EngineResult]


def own_code(target: str, task: Task) -> EngineResult:
    """Fuzz our own code with the bug in the fuzzer's process, or in this one under Hypothesis."""
    edits = task.bug.edits if task.bug else ()
    if not task.guided:
        with seeded(edits, task.protocol):
            return _by_hypothesis(TARGETS[target], task)
    crash, executions = _by_atheris(TARGETS[target], task, {SEEDED_BUG: task.mutant or ""})
    with seeded(edits, task.protocol):
        return _confirmed(TARGETS[target], task, crash, executions)


@contextmanager
def seeded(edits: tuple[Edit, ...], name: str) -> Iterator[None]:
    """Seed a bug in our code for the duration of a context, codecs included. Raises `ValueError`, see `Edit`.

    The seeds of the protocol are decoded by the right code before: a bug may read one of them without end.
    """
    parser_input.decode_seeds(name)
    with applied(edits):
        parser_input.rebuild_codecs(name)
        try:
            yield
        finally:
            parser_input.rebuild_codecs(name)
    parser_input.rebuild_codecs(name)


def store(task: Task) -> EngineResult:
    """Fuzz the reference server against the model of its document."""

    def check(name: str, data: bytes) -> None:
        store_input.check(name, data, task.mutant)

    known = TARGETS["store"]
    target = CodeTarget(known.name, known.module, check, known.seeds)
    if not task.guided:
        return _by_hypothesis(target, task)
    crash, executions = _by_atheris(target, task, {"WIREPROOF_MUTANT": task.mutant or ""})
    return _confirmed(target, task, crash, executions)


def _by_hypothesis(target: CodeTarget, task: Task) -> EngineResult:
    found = property_based.run(target, task.protocol, executions=task.runs, seed=task.seed)
    return _confirmed(target, task, found.crash, found.progress.executions, "Hypothesis")


def _by_atheris(target: CodeTarget, task: Task, environment: Mapping[str, str]) -> tuple[bytes | None, int]:
    with TemporaryDirectory(prefix="wireproof-seeded-bug-") as folder:
        corpus.seed(Path(folder), target.seeds(task.protocol), MOST_SEEDS, task.seed)
        found = coverage_guided.run(
            target, task.protocol, Path(folder), executions=task.runs, seed=task.seed, environment=environment
        )
    return found.crash, found.progress.executions


def _confirmed(
    target: CodeTarget, task: Task, crash: bytes | None, executions: int, by: str = "atheris"
) -> EngineResult:
    """Return the result if the input breaks something when it is checked alone; else nothing was found."""
    if crash is None:
        return EngineResult(None, by=by)
    try:
        target.check(task.protocol, crash)
    except InvariantError as violation:
        return EngineResult(executions, str(violation), by)
    return EngineResult(None, by=by)


def machine(task: Task) -> EngineResult:
    """Let Hypothesis choose steps; an execution is an example."""
    from wireproof.fuzz.state_machine import Preset, run

    context = task.context
    made = context.name, context.profile, context.variant
    setting = Setting(context, lambda: InProcess(*made, mutant=task.mutant), shrink_s=0)
    failure = run(setting, Preset(task.runs, EXAMPLE_STEPS, derandomized=False), seed=task.seed)
    return EngineResult(setting.examples if failure else None, str(failure.violation) if failure else "", "Hypothesis")


def server(task: Task) -> EngineResult:
    """Play mutated conversations on the reference server in this process."""
    with SimulatedTarget(task.context, task.mutant) as live:
        return _campaign(live, task)


def live(task: Task) -> EngineResult:
    """Play mutated conversations on a server process over sockets."""
    context, command = task.context, [sys.executable, "-m", "wireproof.mutants"]
    with TemporaryDirectory(prefix="wireproof-seeded-bug-") as scratch:
        command += serving_arguments(
            context.name, profile=context.profile, variant=context.variant, scratch=Path(scratch)
        )
        command += ["--max-frame", str(LARGEST_FRAME)] if "max_frame" in limits_of(context.name) else []
        command += ["--port", "0", *(["--mutant", task.mutant] if task.mutant else [])]
        with ServerProcess(parse_command(shlex.join(command))) as process, LiveTarget(context, None, process) as target:
            return _campaign(target, task)


def _campaign(target: LiveTarget, task: Task) -> EngineResult:
    campaign = Campaign(target, seed=task.seed, limits=CampaignLimits(runs=task.runs, findings=1, shrink_s=0))
    for found in campaign.run():
        suspicion = found.what.suspicion
        return EngineResult(found.executions, f"{suspicion.oracle}: {suspicion.detail}", "mutators")
    return EngineResult(None, by="mutators")


ENGINES: Mapping[str, Engine] = {
    "parser": partial(own_code, "parser"),
    "scheduler": partial(own_code, "scheduler"),
    "store": store,
    "machine": machine,
    "server": server,
    "live": live,
}
"""Name -> engine."""
