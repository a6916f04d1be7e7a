"""Every budget case finds out the server that wastes what it is about; a server that does not passes all of them."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conformance.torn import Impatient, TornService
from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import parse_address
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.processes import ServerProcess, parse_command
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.steps import AnyStep, Measure, Step, Verb
from wireproof.conformance.suite.symbols import Symbols
from wireproof.mutants.registry import PACKAGES
from wireproof.protocols import protocol
from wireproof.reference_server.clock import VirtualClock

CASES = {name: {one.id: one for one in load_suite(name).cases if one.budget} for name in sorted(PACKAGES)}
WASTES = {name: import_module(f"{place}.server.waste").MUTANTS for name, place in sorted(PACKAGES.items())}
KILLERS = {
    "connection-leaves-descriptor": ("come-and-go", "32 descriptors more"),
    "connection-leaves-buffer": ("come-and-go", "of memory more"),
    "busy-while-idle": ("idle", "of CPU more"),
    "busy-without-descriptors": ("more-clients-than-descriptors", "of CPU more"),
    "waits-for-slow-senders": ("answers-while-others-drip", " s more"),
    "memory-of-announced-length": ("announced-and-not-sent", "of memory more"),
    "expired-stays-in-memory": ("short-lived-records", "of memory more"),
    "one-client-at-a-time": ("answers-while-others-drip", "refused"),
    "topics-stay-in-memory": ("topics-come-and-go", "of memory more"),
    "channels-stay-in-memory": ("channels-come-and-go", "of memory more"),
    "messages-stay-in-memory": ("messages-come-and-go", "of memory more"),
    "subscriptions-stay-in-memory": ("subscriptions-come-and-go", "of memory more"),
}
"""Waste -> the case that finds it, and what that expects."""
CONNECTIONS = {"throttr": "connections", "psrt": "sessions", "tmqp": "clients", "namechan": "clients"}
PROFILES = {"throttr": ("7.1.0", "7.3.2"), "psrt": ("1",), "tmqp": ("doc",), "namechan": ("1",)}
VARIANTS = {"throttr": "uint16", "psrt": "standard", "tmqp": "standard", "namechan": "standard"}
TIMEOUT = 5.0
"""Seconds; who keeps others waiting does so for 2.4."""
QUICK = {"memory-of-announced-length", "one-client-at-a-time", "waits-for-slow-senders"}
"""Those that every run of the tests finds; the others take longer and are for the night."""
QUICK_CASES = {"answers-while-others-drip"}
"""What the servers of every protocol pass in every run of the tests."""
LONG_CASES = {"connections-come-and-go", "refused-and-replaced", "short-lived-records", "unread-pushes"}
"""What those of Throttr pass at night only; they pass all others in every run of the tests."""


def killer(name: str, waste: str) -> tuple[str, str]:
    case, expected = KILLERS[waste]
    return f"budget/{CONNECTIONS[name]}-{case}" if case == "come-and-go" else f"budget/{case}", expected


def is_quick(name: str, case: str) -> bool:
    return case not in LONG_CASES if name == "throttr" else case in QUICK_CASES


def hurried(steps: tuple[AnyStep, ...]) -> tuple[AnyStep, ...]:
    """Return steps with one round where one may be enough: what a wasteful server does shows in each."""
    return tuple(
        msgspec.structs.replace(step, verbs=tuple(_in_one_round(one) for one in step.verbs))
        for step in steps
        if isinstance(step, Step)
    )


def _in_one_round(verb: Verb) -> Verb:
    if not isinstance(verb, Measure):
        return verb
    rounds = verb.measure.rounds if verb.measure.every_round else 1
    return Measure(msgspec.structs.replace(verb.measure, rounds=rounds, steps=hurried(verb.measure.steps)))


@contextmanager
def server(name: str, profile: str, folder: Path, waste: str | None = None) -> Iterator[ServerProcess]:
    script = ["-m", "wireproof.mutants", name] if waste else ["-m", "reference_server", name]
    options = ["--profile", profile, "--port", "{port}", *(["--mutant", waste] if waste else [])]
    if name == "namechan":
        options += ["--publish-command-socket", str(folder / "hook")]
    with ServerProcess(parse_command(shlex.join([sys.executable, *script, *options]))) as process:
        yield process


def player_of(name: str, case: Case, profile: str) -> Player:
    symbols = Symbols(protocol(name), profile, VARIANTS[name], case=case.id, namespace="t", variables=case.variables)
    return Player(case, symbols, segmentation=SEGMENTATIONS["whole"], timeout=TIMEOUT)


def play(name: str, case: Case, process: ServerProcess, folder: Path, *, profile: str, steps: Any = None) -> Outcome:
    steps = case.steps if steps is None else steps
    changed = Case(**{**{name: getattr(case, name) for name in case.__slots__}, "steps": tuple(steps)})
    player = player_of(name, changed, profile)
    listeners = {"hook": parse_address(f"unix://{folder / 'hook'}")} if name == "namechan" else {}
    driver = SocketDriver(process.address, timeout=TIMEOUT, process=process, listeners=listeners)
    return asyncio.run(driver.play(player))


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_every_waste_has_a_case_and_every_case_a_waste_or_a_reason(name: str) -> None:
    killers = {killer(name, one.name)[0] for one in WASTES[name]}

    assert killers == {case.id for case in CASES[name].values() if not case.no_fault}


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        pytest.param(name, one, marks=() if one.name in QUICK else pytest.mark.nightly, id=f"{name}-{one.name}")
        for name, wastes in WASTES.items()
        for one in wastes
    ],
)
def test_a_wasteful_server_is_found_out_and_the_broken_clause_blamed(name: str, mutant: Any, tmp_path: Path) -> None:
    case, expected = killer(name, mutant.name)
    profile = PROFILES[name][0]
    with server(name, profile, tmp_path, mutant.name) as process:
        found = CASES[name][case]
        outcome = play(name, found, process, tmp_path, profile=profile, steps=hurried(found.steps))

    assert outcome.verdict in (Verdict.FAIL, Verdict.HANG)
    assert expected in str(outcome.expected)
    assert outcome.blamed in mutant.clauses


@pytest.mark.parametrize(
    ("name", "case", "profile"),
    [
        pytest.param(
            name, case, PROFILES[name][at % len(PROFILES[name])], id=f"{name}-{case}",
            marks=() if is_quick(name, case.removeprefix("budget/")) else pytest.mark.nightly,
        )
        for name, cases in CASES.items()
        for at, case in enumerate(cases)
    ],
)  # fmt: skip
def test_a_right_server_passes(name: str, case: str, profile: str, tmp_path: Path) -> None:
    with server(name, profile, tmp_path) as process:
        outcome = play(name, CASES[name][case], process, tmp_path, profile=profile)

    assert (outcome.verdict, outcome.got) == (Verdict.PASS, None)


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_clients_that_drip_must_stay_connected_while_others_are_measured(name: str) -> None:
    profile, case = PROFILES[name][0], CASES[name]["budget/answers-while-others-drip"]

    def ends_them(clock: VirtualClock) -> TornService:
        return TornService(Impatient, clock, name, profile=profile, variant=VARIANTS[name])

    outcome = SimulationDriver(ends_them).play(player_of(name, case, profile))

    assert outcome.verdict is (Verdict.FAIL if name == "throttr" else Verdict.UNTESTABLE)
    assert "closed" in str(outcome.got)
