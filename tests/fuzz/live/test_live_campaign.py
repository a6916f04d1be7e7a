"""Campaigns against servers that are wrong in one way: found within a number of executions, attributed, replayed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from tests.collector import no_collector
from tests.places import ROOT
from wireproof.conformance.model.actions import Open, Read, Write
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.run.processes import ServerProcess, Usage, parse_command
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.commands.replay_finding import command as replay
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.finding_files import write_evidence
from wireproof.fuzz.findings.findings_folder import load, load_all
from wireproof.fuzz.live import live_campaign
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.simulated_target import SimulatedTarget
from wireproof.fuzz.script import Script, from_json
from wireproof.protocols import protocol
from wireproof.protocols.throttr.requests import Insert, List

SCHEMA = ROOT / "reports" / "schema" / "finding.schema.json"
WITHIN = 2500
"""Executions, of which a campaign takes the fewest: it ends at its first finding.

That a connection is stuck shows only in a valid request after the trigger: seeds 1 to 12 took 2 to 494 executions, and
how many it is depends on the timing, too."""
SPOKEN = ("--profile", "7.1.0", "--variant", "uint16")


def wrong(kind: str) -> str:
    return f"{sys.executable} {Path(__file__).with_name('wrong_server.py')} {kind} {{port}}"


REFERENCE = f"{sys.executable} -m reference_server throttr --profile 7.1.0 --width uint16"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(live_campaign, "SAMPLE", 10)
    monkeypatch.setattr(live_campaign, "PATIENCE", 0.5)
    monkeypatch.setattr("wireproof.fuzz.live.reduction.PATIENCE", 0.5)
    real = live_campaign.CampaignLimits
    monkeypatch.setattr(
        "wireproof.fuzz.commands.server.CampaignLimits",
        lambda seconds, runs, rate, restarts: real(seconds, runs, rate, 1, restarts, shrink_s=0.5),
    )


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(fuzz, ["server", "throttr", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def found_in(command: str, folder: Path) -> tuple[Result, FuzzFinding]:
    result = run("--target-command", command, "--runs", str(WITHIN), "--findings", str(folder), *SPOKEN)
    found = list(load_all(folder))
    assert len(found) == 1, result.output
    assert result.exit_code == 1
    return result, found[0]


@pytest.mark.parametrize(
    ("kind", "oracle"),
    [
        ("is_reported_by_a_sanitizer", "a sanitizer is silent"),
        pytest.param("is_stuck", "a connection is served on", marks=pytest.mark.nightly),
        pytest.param("grows", "memory is linear in the input", marks=pytest.mark.nightly),
        pytest.param("spins", "an idle server rests", marks=pytest.mark.nightly),
    ],
)
def test_each_wrongness_is_found(kind: str, oracle: str, tmp_path: Path) -> None:
    _, finding = found_in(wrong(kind), tmp_path)

    assert finding.oracle == oracle
    assert finding.clause
    assert finding.reproduced[0] >= 1


def test_a_finding_keeps_what_the_process_printed_last(tmp_path: Path) -> None:
    _, finding = found_in(wrong("is_reported_by_a_sanitizer"), tmp_path)
    text, _, printed = (tmp_path / finding.id / "exchange.txt").read_text().partition("The process printed last:\n")

    assert text.splitlines()[1] == f"THR-ROBUSTNESS-1, {finding.label}"
    assert {"SUMMARY: AddressSanitizer" in line for line in printed.splitlines()} == {
        True
    }  # a line each time it was met


def test_a_death_is_found_made_small_kept_and_replayed(tmp_path: Path) -> None:
    _, finding = found_in(wrong("dies"), tmp_path)
    place = tmp_path / finding.id

    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(
        json.loads((place / "finding.json").read_text())
    )
    assert (finding.oracle, finding.reproduced) == ("the process stays", (3, 3))
    assert finding.clause == "THR-ROBUSTNESS-1"
    assert "SIGSEGV" in finding.detail
    assert "ffff" in (place / "finding.json").read_text()
    again = CliRunner().invoke(replay, [str(place), "--target-command", wrong("dies")])
    assert (again.exit_code, again.output.split()[0]) == (1, "REPRODUCED")
    fixed = CliRunner().invoke(replay, [str(place), "--target-command", REFERENCE])
    assert (fixed.exit_code, fixed.output.split()[0]) == (0, "GONE")
    assert load(place) == finding


@pytest.mark.parametrize(("command", "code", "message"), [(wrong("hangs"), 1, "REPRODUCED"), (REFERENCE, 0, "GONE")])
def test_the_script_of_a_finding_needs_python_alone(command: str, code: int, message: str, tmp_path: Path) -> None:
    script = from_json([
        {"do": "open", "connection": "a"},
        {"do": "write", "connection": "a", "hex": "01ffff041e00017e"},
        {"do": "read", "connection": "a", "seconds": 0.2},
    ])  # fmt: skip
    finding = FuzzFinding(
        "server", "others are served", "detail", "unanswered", "throttr", *SPOKEN[1::2], script=script
    )
    write_evidence(tmp_path, finding, FuzzContext("throttr", *SPOKEN[1::2]), Trace())

    with ServerProcess(parse_command(command)) as server:
        port = str(server.address.port)
        played = subprocess.run(
            [sys.executable, "-I", "replay.py", "127.0.0.1", port],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
        )

    assert (played.returncode, played.stdout.split()[-1]) == (code, message), played.stdout + played.stderr


def test_the_reference_reports_nothing_at_a_bounded_rate(tmp_path: Path) -> None:
    result = run("--target-command", REFERENCE, "--runs", "40", "--rate", "200", "--findings", str(tmp_path))

    assert result.exit_code == 0, result.output
    assert result.output.startswith("40 executions")
    assert list(tmp_path.iterdir()) == []


def test_the_rate_stands_beside_that_of_an_empty_client(tmp_path: Path) -> None:
    result = run("--target-command", REFERENCE, "--runs", "40", "--findings", str(tmp_path))

    assert result.exit_code == 0, result.output
    assert re.match(r"40 executions, \d+ a second \(an empty client: [1-9]\d+\), \d+ states", result.output)
    assert re.search(
        r"^processor time: \d+\.\d\d ms an execution here, \d+\.\d\d ms in the target$", result.output, re.M
    )
    assert re.search(
        r"^drawn: \d+ frames .* sums that wrap at 2\^16, .*\d+ resets, \d+ several connections$", result.output, re.M
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tcp://192.0.2.1:9000",), "is no loopback address: give --allow-remote"),
        (("simulation",), "a simulation is no live server"),
        (("tcp://127.0.0.1:1",), "nothing to fuzz at"),
        ((), "expected a TARGET"),
        (("tcp://127.0.0.1:1", "--profile", "9"), "--profile: expected auto, 7.1.0"),
        (("tcp://127.0.0.1:1", "--profile", "7.1.0", "--variant", "x"), "--variant: expected auto, uint8"),
    ],
)
def test_what_cannot_be_fuzzed_is_reported(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert message in result.output


def test_a_finding_of_a_server_is_replayed_on_one_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "finding.json").write_text(
        json.dumps(FuzzFinding("server", "others are served", "detail", "x", "throttr", "7.1.0", "uint16").to_json())
    )

    result = CliRunner().invoke(replay, [str(tmp_path)])

    assert result.exit_code == 2
    assert "expected a TARGET" in result.output


class Mortal(SimulatedTarget):
    """Dies of every script."""

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        return replace(super().play(script, patience=patience, sample=sample), death="died of SIGSEGV")


class Spinning(SimulatedTarget):
    """Is busy when it is idle, from its first play on; notes after how many plays it was measured."""

    def __init__(self, context: FuzzContext) -> None:
        super().__init__(context)
        self.server = cast(Any, SimpleNamespace(usage=lambda: Usage(0, 0, 0.0)))
        self.spins, self.plays, self.measured = True, 0, list[int]()

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        """Play in simulation; a measurement takes longer."""
        self.plays += 1
        if sample:
            self.measured.append(self.plays)
            time.sleep(0.02)
        idle = 0.9 if sample and self.spins else None
        return replace(super().play(script, patience=patience), idle_cpu=idle)


def test_the_idle_process_is_measured_again_at_the_end_of_a_run() -> None:
    with Spinning(FuzzContext("throttr", "7.1.0", "uint16")) as target:
        played = live_campaign.Campaign(target, seed=1, limits=live_campaign.CampaignLimits(runs=7, shrink_s=0.1))
        found = [one.what.suspicion.oracle for one in played.run()]

    assert (found, played.progress.executions) == (["an idle server rests"], 7)


def test_a_short_run_measures_the_idle_process_often() -> None:
    with Spinning(FuzzContext("throttr", "7.1.0", "uint16")) as target:
        target.spins = False
        list(live_campaign.Campaign(target, seed=1, limits=live_campaign.CampaignLimits(runs=45)).run())

    assert target.measured == [10, 20, 30, 40, 46]


def test_looking_into_a_death_takes_no_restart_from_the_campaign() -> None:
    with Mortal(FuzzContext("throttr", "7.1.0", "uint16")) as target:
        played = live_campaign.Campaign(
            target, seed=1, limits=live_campaign.CampaignLimits(runs=20, restarts=3, shrink_s=0.5)
        )
        seen = [one.what.seen for one in played.run()]

    assert seen == [3]
    assert played.progress.executions == 4
    assert "restarted 4 times" in played.stopped


@dataclass(frozen=True)
class GrownPlay(Play):
    """A play on a process that took 64 MiB, whose probe is not answered in so little time."""

    @property
    def serves(self) -> bool:
        """Whether there was time."""
        return self.patience > live_campaign.PATIENCE and super().serves

    @property
    def memory(self) -> int:
        """Resident bytes."""
        return 64 << 20


class GrowingSlowly(SimulatedTarget):
    """Takes memory, and so long for it that a new connection waits longer than the fuzzer."""

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        """Play in simulation."""
        play = super().play(script, patience=patience)
        return GrownPlay(script, play.trace, self.context, patience, before=Usage(0, 0, 0.0))


def test_what_a_slow_server_does_beside_being_slow_is_found() -> None:
    with GrowingSlowly(FuzzContext("throttr", "7.1.0", "uint16")) as target:
        played = live_campaign.Campaign(target, seed=1, limits=live_campaign.CampaignLimits(runs=1, shrink_s=0.1))
        found = [one.what.suspicion.oracle for one in played.run()]

    assert found == ["memory is linear in the input"]


def test_reductions_are_brief_once_they_took_their_share_of_a_run() -> None:
    limits = live_campaign.CampaignLimits(seconds=200, shrink_s=20)
    with SimulatedTarget(FuzzContext("throttr", "7.1.0", "uint16")) as target:
        campaign = live_campaign.Campaign(target, seed=1, limits=limits)

        before = campaign._shrink_s()
        campaign._attributing._spent = 100.0
        after = campaign._shrink_s()

    assert (before, after) == (20.0, 1.0)


class Emptied(SimulatedTarget):
    """Notes why it was restarted."""

    def __init__(self, context: FuzzContext) -> None:
        super().__init__(context)
        self.reasons = list[str]()

    def restart(self, why: str) -> bool:
        """Restart in simulation."""
        self.reasons.append(why)
        return super().restart(why)


def test_a_server_that_answers_with_large_tables_is_emptied_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    given_back = list[bool]()
    monkeypatch.setattr(live_campaign, "give_back", lambda: given_back.append(True))
    context = FuzzContext("throttr", "7.1.0", "uint16")
    kept = b"".join(context.encode(Insert(1, 4, 60, b"%06d" % number)) for number in range(300))
    asked = context.encode(List()) * 200
    small, large = ((Open("a"), Write("a", kept), Write("a", tables), Read("a", 1.0)) for tables in (asked[:1], asked))

    for script, reasons in ((small, []), (large, ["to empty it"])):
        with Emptied(context) as target:
            played = live_campaign.Campaign(target, seed=1, limits=live_campaign.CampaignLimits(runs=1))
            played.begin_with([script])
            list(played.run())
        assert target.reasons == reasons
        assert len(given_back) == len(reasons)


class Remembering(SimulatedTarget):
    """Notes which plays are still there when the next one begins."""

    def __init__(self, context: FuzzContext) -> None:
        super().__init__(context)
        self.plays = list[weakref.ref[Play]]()
        self.kept = 0

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        """Play in simulation."""
        self.kept += sum(one() is not None for one in self.plays)
        play = super().play(script, patience=patience)
        self.plays.append(weakref.ref(play))
        return play


@pytest.mark.parametrize("name", ["throttr", "psrt"])
def test_a_play_is_freed_before_the_next_one(name: str) -> None:
    """A play may hold megabytes of answers: what one kept took hundreds of megabytes until cycles were looked for."""
    spoken = protocol(name)
    context = FuzzContext(name, spoken.default_profile, spoken.default_variant)
    with no_collector(), Remembering(context) as target:
        list(live_campaign.Campaign(target, seed=1, limits=live_campaign.CampaignLimits(runs=120)).run())

    assert len(target.plays) >= 120
    assert target.kept == 0
