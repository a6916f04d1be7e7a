"""Restarts in the stateful machine: the reference server agrees with its model over them, and mutants do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial

import pytest

pytest.importorskip("hypothesis")

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.state_machine import Preset, run
from wireproof.fuzz.step_failure import Setting, StepFailure
from wireproof.fuzz.store_steps import ConnectStep, RequestStep, RestartStep, describe_step
from wireproof.protocols.namechan import Replay
from wireproof.protocols.namechan.requests import Connect, HookCreate, HookPublish, Subscribe, Version

MADE = ("namechan", "1", "standard")
CONTEXT = FuzzContext(*MADE)
PERSISTENT = HookCreate(b"q", 0, 1, 0)


def played(mutant: str | None) -> StepFailure | None:
    transport = partial(InProcess, *MADE, mutant=mutant, is_lasting=True)
    return run(Setting(CONTEXT, transport, restarts=True, shrink_s=1.0), Preset(30, 20, derandomized=True))


@contextmanager
def checked(mutant: str | None, *, is_lasting: bool = True) -> Iterator[StoreCheck]:
    with closing(InProcess(*MADE, mutant=mutant, is_lasting=is_lasting)) as transport:
        yield StoreCheck(CONTEXT, transport, tolerance_ns=0, shared=False)


def replayed(found: StoreCheck, *, is_killed: bool) -> None:
    """Publish, end the server and start it again, and replay."""
    found.do(ConnectStep("h", "hook"))
    found.do(RequestStep("h", (PERSISTENT, HookPublish(b"q", b"one"), HookPublish(b"q", b"two"))))
    found.do(RestartStep(is_killed))
    found.do(ConnectStep("a"))
    found.do(RequestStep("a", (Version(), Connect(id=b"c"))))
    found.do(RequestStep("a", (Subscribe(b"q", Replay.FROM_BEGINNING),)))


def test_the_reference_server_agrees_over_restarts() -> None:
    assert played(None) is None


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_is_persistent_is_replayed_in_the_next_life(is_killed: bool) -> None:
    with checked(None) as found:
        before = found.transport.now_ns()

        replayed(found, is_killed=is_killed)

        assert RestartStep(is_killed) in found.done
        assert found.connections == ["a"]
        assert found.transport.now_ns() > before


@pytest.mark.parametrize("mutant", ["restart-begins-empty", "restart-last-twice", "restart-forgets-queues"])
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_server_that_forgets_does_not_agree(mutant: str, is_killed: bool) -> None:
    with checked(mutant) as found, pytest.raises(InvariantError):
        replayed(found, is_killed=is_killed)


def test_the_machine_finds_it_and_tells_the_restart() -> None:
    failure = played("restart-last-twice")

    assert failure is not None
    told = [describe_step(one) for one in failure.steps if isinstance(one, RestartStep)]
    assert told
    assert set(told) <= {"the server is killed, and starts again", "the server ends, and starts again"}


def test_a_server_that_keeps_nothing_is_not_started_again() -> None:
    with checked(None, is_lasting=False) as found:
        found.do(ConnectStep("h", "hook"))

        found.do(RestartStep(True))

        assert [type(one) for one in found.done] == [ConnectStep]
        assert found.connections == ["h"]


def test_its_folder_is_gone_in_the_end() -> None:
    transport = InProcess(*MADE, is_lasting=True)
    assert transport._folders is not None
    there = transport._folders.now.parent

    transport.close()

    assert not there.exists()
