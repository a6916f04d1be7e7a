"""Every budget case finds out the server that wastes what it is about; a server that does not passes all of them."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from tests.places import ROOT
from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.processes import ServerProcess, parse_command
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.steps import AnyStep, Measure, Step, Verb
from wireproof.conformance.suite.symbols import Symbols
from wireproof.mutants.throttr.server.waste import MUTANTS
from wireproof.protocols import protocol

CASES = {case.id.removeprefix("budget/"): case for case in load_suite("throttr").cases if case.budget}
KILLERS = {
    "memory-of-announced-length": ("announced-and-not-sent", "of memory more"),
    "connection-leaves-descriptor": ("connections-come-and-go", "32 descriptors more"),
    "connection-leaves-buffer": ("connections-come-and-go", "of memory more"),
    "busy-while-idle": ("idle", "of CPU more"),
    "busy-without-descriptors": ("more-clients-than-descriptors", "of CPU more"),
    "expired-stays-in-memory": ("short-lived-records", "of memory more"),
    "one-client-at-a-time": ("answers-while-others-drip", "refused"),
}


def hurried(steps: tuple[AnyStep, ...]) -> tuple[AnyStep, ...]:
    """Return steps with one round instead of several: what a wasteful server does shows in each."""
    return tuple(
        msgspec.structs.replace(step, verbs=tuple(_in_one_round(one) for one in step.verbs))
        for step in steps
        if isinstance(step, Step)
    )


def _in_one_round(verb: Verb) -> Verb:
    return Measure(msgspec.structs.replace(verb.measure, rounds=1)) if isinstance(verb, Measure) else verb


@contextmanager
def server(mutant: str, *options: str) -> Iterator[ServerProcess]:
    script = [sys.executable, str(ROOT / "tests/conformance/wasteful.py"), mutant, "--port", "{port}", *options]
    with ServerProcess(parse_command(shlex.join(script))) as process:
        yield process


def play(case: Case, process: ServerProcess, *, profile: str, variant: str = "uint16", steps: Any = None) -> Outcome:
    symbols = Symbols(protocol("throttr"), profile, variant, case=case.id, namespace="t", variables=case.variables)
    steps = case.steps if steps is None else steps
    changed = Case(**{**{name: getattr(case, name) for name in case.__slots__}, "steps": tuple(steps)})
    player = Player(changed, symbols, segmentation=SEGMENTATIONS["whole"], timeout=2.0)
    return asyncio.run(SocketDriver(process.address, timeout=2.0, process=process).play(player))


def test_every_waste_has_a_case_and_every_case_a_waste_or_a_reason() -> None:
    assert {one.name for one in MUTANTS} == set(KILLERS)
    assert {case for case, _ in KILLERS.values()} == {name for name, case in CASES.items() if not case.no_fault}


QUICK = ("memory-of-announced-length", "one-client-at-a-time")
"""Those that every run of the tests finds; the others take longer and are for the night."""


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(one, marks=() if one.name in QUICK else pytest.mark.nightly, id=one.name) for one in MUTANTS],
)
def test_a_wasteful_server_is_found_out_and_the_broken_clause_blamed(mutant: Any) -> None:
    name, expected = KILLERS[mutant.name]
    with server(mutant.name) as process:
        outcome = play(CASES[name], process, profile="7.1.0", steps=hurried(CASES[name].steps))

    assert outcome.verdict in (Verdict.FAIL, Verdict.HANG)
    assert expected in str(outcome.expected)
    assert outcome.blamed in mutant.clauses


@pytest.mark.parametrize(("name", "profile"), [(name, ("7.1.0", "7.3.2")[at % 2]) for at, name in enumerate(CASES)])
def test_a_right_server_passes(name: str, profile: str) -> None:
    script = shlex.join([sys.executable, "-m", "reference_server", "throttr", "--profile", profile, "--port", "{port}"])
    with ServerProcess(parse_command(script)) as process:
        outcome = play(CASES[name], process, profile=profile)

    assert (outcome.verdict, outcome.got) == (Verdict.PASS, None)
