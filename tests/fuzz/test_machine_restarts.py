"""Restarts in the stateful machine: the reference server agrees with its model over them, and mutants do not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner

pytest.importorskip("hypothesis")

from tests.fuzz.planting import plant
from tests.places import ROOT
from wireproof.cli import command
from wireproof.conformance.model.trace import Trace
from wireproof.fuzz import live_settings
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.finding_files import write_evidence
from wireproof.fuzz.findings.findings_folder import load, save
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.reproduction import play_steps
from wireproof.fuzz.restarting import after_restart, connecting
from wireproof.fuzz.script import Restart, ScriptError
from wireproof.fuzz.script import closing as played_to_the_end
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.state_machine import Preset, run
from wireproof.fuzz.step_failure import Setting, StepFailure
from wireproof.fuzz.store_steps import ConnectStep, RequestStep, RestartStep, describe_step, script_of, steps_of
from wireproof.protocols.namechan import Replay
from wireproof.protocols.namechan.requests import Connect, HookCreate, HookPublish, Subscribe, Version
from wireproof.reference_server.namechan.store import Store

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
        assert (found.transport.now_ns() == before) == is_killed  # nothing of it may be written later


@pytest.mark.parametrize("mutant", ["restart-begins-empty", "restart-last-twice", "restart-forgets-queues"])
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_server_that_forgets_does_not_agree(mutant: str, is_killed: bool) -> None:
    with checked(mutant) as found, pytest.raises(InvariantError):
        replayed(found, is_killed=is_killed)


def test_a_new_message_to_what_was_kept_shows_ids_that_are_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """All was delivered, so nothing is left to be asked for: seeds that went on to publish by chance were few."""
    plant(monkeypatch, Store, "queues", "max(last or 0, position)", "last or 0")
    with checked(None) as found:
        for step in connecting(found.model, {"h": "hook", "a": ""}):
            found.do(step)
        found.do(RequestStep("h", (HookCreate(b"q", 1, 1, 0),)))
        found.do(RequestStep("a", (Subscribe(b"q", Replay.FROM_CURRENT),)))
        found.do(RequestStep("h", (HookPublish(b"q", b"one"), HookPublish(b"q", b"two"))))
        found.do(RestartStep(is_killed=False))

        with pytest.raises(InvariantError, match="added"):
            done_after_restart(found)


def done_after_restart(found: StoreCheck) -> None:
    """Ask for what was kept, and add to it."""
    for step in after_restart(found, {"h": "hook", "a": ""}):
        found.do(step)


def test_the_machine_finds_it_and_reports_the_restart() -> None:
    failure = played("restart-last-twice")

    assert failure is not None
    reported = [describe_step(one) for one in failure.steps if isinstance(one, RestartStep)]
    assert reported
    assert set(reported) <= {"the server is killed, and starts again", "the server ends, and starts again"}


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


MUTANT = "restart-last-twice"
STEPS = (
    ConnectStep("h", "hook"),
    RequestStep("h", (PERSISTENT, HookPublish(b"q", b"one"))),
    RestartStep(True),
    ConnectStep("a"),
    RequestStep("a", (Version(), Connect(id=b"c"))),
    RequestStep("a", (Subscribe(b"q", Replay.FROM_BEGINNING),)),
)


@pytest.fixture
def finding(tmp_path: Path) -> Path:
    """The folder of a finding that the mutant shows after a restart."""
    failure = play_steps(STEPS, Setting(CONTEXT, partial(InProcess, *MADE, mutant=MUTANT, is_lasting=True)))
    assert failure is not None
    what = failure.violation
    script = tuple(failure.check.script)
    found = FuzzFinding("machine", what.invariant, what.detail, what.shape, *MADE, what.clause, script=script)
    folder = save(tmp_path, found)
    assert folder is not None
    write_evidence(folder, found, CONTEXT, failure.check.trace)
    return folder


def replay(finding: Path, *words: str) -> str:
    return CliRunner().invoke(command, ["replay", str(finding), *words]).output


def test_a_finding_holds_its_restarts(finding: Path) -> None:
    schema = json.loads((ROOT / "reports" / "schema" / "finding.schema.json").read_text())
    jsonschema_rs.validate(schema, json.loads((finding / "finding.json").read_text()))

    steps = list(steps_of(load(finding).script, CONTEXT))

    assert steps == list(STEPS)
    assert list(steps_of(script_of(steps, CONTEXT), CONTEXT)) == steps


def test_its_replay_restarts_the_server(finding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert replay(finding).startswith("GONE")

    monkeypatch.setattr(live_settings, "InProcess", partial(InProcess, mutant=MUTANT))
    again = replay(finding)

    assert again.startswith("REPRODUCED")
    assert "  3. the server is killed, and starts again\n" in again


def test_its_server_is_started_again_nowhere_else(finding: Path) -> None:
    assert "in this process only: name no target" in replay(finding, "tcp://127.0.0.1:1")
    with pytest.raises(ScriptError, match="restarts its server"):
        list(played_to_the_end((Restart(True),), Trace()))
    promoted = CliRunner().invoke(command, ["fuzz", "promote", str(finding), "--clause", "NCH-SUBSCRIBE-1"])
    assert "the finding restarts its server, which no case can" in promoted.output


def test_its_script_asks_for_the_restart(finding: Path) -> None:
    done = subprocess.run([sys.executable, finding / "replay.py"], capture_output=True, text=True)

    assert "It asks you to end the server and to start it again" in done.stdout
