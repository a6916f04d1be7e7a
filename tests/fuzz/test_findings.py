"""Scripts and findings: what is stored is what is read, whatever is no finding is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest

from tests.places import ROOT
from wireproof.conformance.drivers.simulation import Simulation
from wireproof.conformance.model.actions import Action, Open, Read, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.fuzz.findings.finding import FindingError, FuzzFinding
from wireproof.fuzz.script import Script, ScriptError, closing, from_json, size, to_json
from wireproof.reference_server.registry import create_service

SCHEMA = ROOT / "reports" / "schema" / "finding.schema.json"
SCRIPT: Script = (
    Open("a"), Write("a", b"\x18"), Read("a", 0.5), Sleep(1.5), Shut("a", "half"), Shut("b", "close"),
    Shut("a", "close"), Write("a", b"never sent"), Open("c"),
)  # fmt: skip
FINDING = FuzzFinding(
    "server", "hang", "it hangs", "shape", "throttr", "7.1.0", "uint16", "THR-QUERY-1", script=SCRIPT, data=b"\0\xff"
)


def test_what_is_stored_is_what_is_read_and_keeps_the_schema() -> None:
    message = json.loads(json.dumps(FINDING.rerun(2, 3).to_json()))

    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(message)
    assert FuzzFinding.from_json(message) == FINDING.rerun(2, 3)
    assert from_json(to_json(SCRIPT)) == SCRIPT
    assert size(SCRIPT) == 11


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other/1"}, "expected a finding of schema wireproof.finding/1, got 'other/1'"),
        ({"data": "0"}, "no finding: ValueError"),
        ({"again": None}, "no finding: TypeError"),
        ({"script": [{"do": "dance"}]}, "secure, shut, wait or restart, got {'do': 'dance'}"),
        ({"script": [{"do": "open"}]}, "step 0: KeyError: 'connection'"),
        ({"script": [{"do": "shut", "connection": "a", "how": "slam"}]}, "step 0: expected open"),
    ],
)
def test_what_is_no_finding_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises((FindingError, ScriptError)) as caught:
        FuzzFinding.from_json({**FINDING.to_json(), **change})

    assert message in str(caught.value)


def test_the_same_bug_is_one_finding_and_another_one_is_not() -> None:
    assert replace(FINDING, detail="other words", executions=7, data=b"").id == FINDING.id
    for change in ({"oracle": "crash"}, {"shape": "x"}, {"state": "x"}, {"clause": None}, {"engine": "parser"}):
        assert replace(FINDING, **change).id != FINDING.id  # type: ignore[arg-type]


@pytest.mark.parametrize(("seen", "label"), [(3, "stable (3 of 3)"), (1, "flaky (1 of 3)"), (0, "gone (0 of 3)")])
def test_labels(seen: int, label: str) -> None:
    assert FINDING.rerun(seen, 3).label == label
    assert FINDING.label == "not re-run"


def test_a_script_is_played_and_ends_by_itself() -> None:
    simulation = Simulation(lambda clock: create_service("throttr", profile="7.1.0", variant="uint16", clock=clock))
    trace, performed = Trace(), list[Action]()
    asking = closing(SCRIPT, trace)
    try:
        action = next(asking)
        while True:
            performed.append(action)
            action = asking.send(simulation.perform(action))
    except StopIteration:
        pass

    assert [event.kind for event in trace] == [
        Kind.OPENED, Kind.SENT, Kind.RECEIVED, Kind.WAITED, Kind.HALF_CLOSED, Kind.CLOSED, Kind.OPENED,
    ]  # fmt: skip
    assert len(trace.received("a")) == 16
    assert performed[-1] == Shut("c", "close")
