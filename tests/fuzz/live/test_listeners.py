"""Links at listeners of their own: scripts keep where a connection goes to, in this process and over sockets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from tests.places import ROOT
from wireproof.conformance.model.actions import Open
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.findings.evidence import write_evidence
from wireproof.fuzz.findings.finding import FuzzFinding
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
    assert "HOST PORT hook=PORT" in done.stdout
