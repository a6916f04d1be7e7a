"""Links at listeners of their own: scripts keep where a connection goes to, in this process and over sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from tests.places import ROOT
from wireproof.cli import command as wireproof
from wireproof.conformance.model.actions import Open, Shut
from wireproof.fuzz.commands import campaign
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.finding_files import write_evidence
from wireproof.fuzz.findings.findings_folder import load, save
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.live_campaign import Campaign, CampaignLimits
from wireproof.fuzz.live.simulated_target import SimulatedTarget
from wireproof.fuzz.script import from_json, to_json

NAMECHAN = FuzzContext("namechan", "1", "standard")
SCHEMA = ROOT / "reports" / "schema" / "finding.schema.json"


def test_a_script_keeps_its_listeners_as_json() -> None:
    script = (Open("h", "hook", listener="hook"), Open("a"))

    assert from_json(to_json(script)) == script
    assert "listener" not in to_json(script)[1]


def test_every_seed_goes_to_the_listener_of_its_link() -> None:
    opened = [step for script in NAMECHAN.seeds() for step in script if isinstance(step, Open)]

    assert {step.listener for step in opened if step.link == "hook"} == {"hook"}
    assert {step.listener for step in opened if step.link != "hook"} == {""}


def test_nothing_is_found_in_simulation_with_all_features() -> None:
    campaign = Campaign(SimulatedTarget(NAMECHAN), seed=1, limits=CampaignLimits(runs=60, findings=1, shrink_s=0))

    assert [found.what.suspicion for found in campaign.run()] == []


def run(folder: Path, options: str, *more: str) -> Result:
    served = f"{sys.executable} -m wireproof serve namechan --port {{port}} {options}"
    given = ["--target-command", served, "--runs", "80", "--findings", str(folder), "--feature", "hook", *more]
    return CliRunner().invoke(fuzz, ["server", "namechan", *given])


def test_a_listener_of_a_live_server_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = run(tmp_path, "--hook")

    assert result.exit_code == 0, result.output
    assert "80 executions" in result.output


def test_a_listener_that_is_not_known_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = run(tmp_path, "")

    assert result.exit_code == 2
    assert "--listener hook=ADDRESS" in result.output


def test_a_finding_keeps_its_listeners_and_its_replay_asks_for_them(tmp_path: Path) -> None:
    script = (Open("h", "hook", listener="hook"), Open("a"))
    spoken = NAMECHAN.name, NAMECHAN.profile, NAMECHAN.variant
    finding = FuzzFinding("server", "the process stays", "it died", "died", *spoken, script=script)
    folder = save(tmp_path, finding)
    assert folder is not None
    write_evidence(folder, finding, NAMECHAN, ())

    jsonschema_rs.validate(json.loads(SCHEMA.read_text()), json.loads((folder / "finding.json").read_text()))
    assert load(folder).script == script
    done = subprocess.run([sys.executable, folder / "replay.py", "127.0.0.1", "1"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "HOST PORT hook=PORT|PATH" in done.stdout


def test_the_script_of_a_finding_goes_to_the_path_of_a_listener(tmp_path: Path, served: tuple[str, str]) -> None:
    address, hook = served
    folder = Path(kept(tmp_path, "server"))
    write_evidence(folder, load(folder), NAMECHAN, ())

    port, path = address.rpartition(":")[2], hook.removeprefix("unix://")
    words = [sys.executable, folder / "replay.py", "127.0.0.1", port, f"hook={path}"]
    done = subprocess.run(words, capture_output=True, text=True)

    assert "h opened\na opened\n" in done.stdout


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    with serving(tmp_path_factory.mktemp("served") / "hook") as found:
        yield found


@contextmanager
def serving(hook: Path) -> Iterator[tuple[str, str]]:
    """Yield the address of a server, and that of its hook."""
    words = [sys.executable, "-m", "wireproof", "serve", "namechan", "--port", "0", "--publish-command-socket", hook]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}) as server:
        assert server.stdout is not None
        lines = [server.stdout.readline().split() for _ in range(2)]
        yield lines[0][1], lines[1][2]
        server.terminate()


def printed(code: int, *words: str) -> str:
    done = CliRunner().invoke(wireproof, list(words))
    assert done.exit_code == code, done.output
    return done.output


def kept(folder: Path, engine: str) -> str:
    script = (Open("h", "hook", listener="hook"), Open("a"), Shut("h", "close"), Shut("a", "close"))
    spoken = NAMECHAN.name, NAMECHAN.profile, NAMECHAN.variant
    found = FuzzFinding(engine, "the process stays", "it died", "died", *spoken, state="somewhere", script=script)
    folder = save(folder, found) or folder
    return str(folder)


@pytest.mark.parametrize("engine", ["server", "differential"])
def test_a_finding_is_replayed_where_its_listeners_are(engine: str, tmp_path: Path, served: tuple[str, str]) -> None:
    address, hook = served
    finding = kept(tmp_path, engine)

    assert "expected --listener hook=ADDRESS: the finding connects there" in printed(2, "replay", finding, address)
    assert "GONE" in printed(0, "replay", finding, address, "--listener", f"hook={hook}")


def test_a_case_is_played_again_where_the_listeners_are(served: tuple[str, str]) -> None:
    address, hook = served
    again = "replay", "hook/publish"

    assert f"--listener hook={hook}" in printed(0, *again, address, "--listener", f"hook={hook}")


def test_a_campaign_knows_the_listeners_of_its_server(
    tmp_path: Path, served: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "TARGETS", {})
    address, hook = served
    places = ("--corpus", str(tmp_path / "corpus"), "--findings", str(tmp_path / "findings"), "--runs", "5")
    words = ("fuzz", "campaign", "namechan", address, *places)

    assert "expected --listener hook=ADDRESS" in printed(2, *words, "--feature", "hook")
    assert "server done: 5 executions" in printed(0, *words, "--listener", f"hook={hook}")


def test_servers_are_compared_at_the_listeners_of_each(tmp_path: Path) -> None:
    with serving(tmp_path / "hook") as (address, hook):
        _compared(tmp_path, address, hook)


def _compared(tmp_path: Path, address: str, hook: str) -> None:
    words = ("fuzz", "diff", "namechan", "simulation", address, "--runs", "2", "--findings", str(tmp_path))

    assert "expected --listener hook=ADDRESS" in printed(2, *words, "--feature", "hook")
    assert " 0 findings" in printed(0, *words, "--listener", f"hook={hook}")
    assert "once, or once for each of 1 servers" in printed(2, *words, *("--listener", f"hook={hook}") * 2)
