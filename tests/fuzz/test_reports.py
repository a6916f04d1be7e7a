"""Findings for other tools: SARIF by the essential parts of its schema, JUnit XML, captures that scapy reads back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from wireproof.conformance.model.actions import Open, Write
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.report import capture
from wireproof.fuzz.commands import notes
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.findings import finding_files
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.finding_files import write_evidence
from wireproof.fuzz.findings.findings_folder import save
from wireproof.fuzz.live.context import FuzzContext

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
URI = {"type": "object", "required": ["uri"], "properties": {"uri": {"type": "string", "format": "uri-reference"}}}
RULE = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "shortDescription": TEXT}}
DRIVER = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "semanticVersion": {"type": "string"},
        "rules": {"type": "array", "uniqueItems": True, "items": RULE},
    },
}
PLACE = {"type": "object", "required": ["artifactLocation"], "properties": {"artifactLocation": URI}}
RESULT = {
    "type": "object",
    "required": ["message", "ruleId", "locations", "partialFingerprints"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": TEXT,
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
        "locations": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "physicalLocation": PLACE,
                    "logicalLocations": {"type": "array", "uniqueItems": True, "items": {"type": "object"}},
                },
            },
        },
    },
}
RUN = {
    "type": "object",
    "required": ["tool", "results"],
    "additionalProperties": False,
    "properties": {
        "tool": {"type": "object", "required": ["driver"], "properties": {"driver": DRIVER}},
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": RESULT},
    },
}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "items": RUN},
    },
}
"""The parts of SARIF 2.1.0 that are used here, as its schema has them."""
FINDING = FuzzFinding(
    "server", "the process stays", "it died\x00 of <this> & [b]that[/b]", "x", "throttr", "7.1.0", "uint16", seed=1
).rerun(3, 3)
FLAKY = replace(FINDING, clause="THR-QUERY-6", shape="y").rerun(1, 3)
TRACE = Trace(
    [
        TraceEvent(0, "a", Kind.OPENED, b"50000"),
        TraceEvent(1000, "a", Kind.SENT, b"\x02\x01k" * 25_000),
        TraceEvent(1500, "b", Kind.OPENED, b"50001"),
        TraceEvent(2000, "a", Kind.RECEIVED, b"\x00"),
        TraceEvent(2000, "", Kind.WAITED),
        TraceEvent(2500, "a", Kind.SILENT),
        TraceEvent(3000, "a", Kind.ENDED),
        TraceEvent(4000, "b", Kind.CLOSED),
    ]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(tmp_path / "found", FINDING)
    save(tmp_path / "found", FLAKY)
    return tmp_path / "found"


def report(folder: Path, *arguments: str) -> Result:
    result = CliRunner().invoke(fuzz, ["report", str(folder), *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_findings_are_listed(folder: Path) -> None:
    result = report(folder)

    assert result.exit_code == 0
    assert FLAKY.id in result.output
    assert "[b]that[/b]" in result.output
    assert result.output.endswith(f"2 findings in {folder}\n")


def test_sarif_has_a_rule_of_each_clause_and_a_result_of_each_finding(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "found.sarif"

    assert report(folder, "--sarif", str(path)).exit_code == 0

    message = json.loads(path.read_text())
    jsonschema_rs.validator_for(SARIF).validate(message)
    (run,) = message["runs"]
    rules = {rule["id"]: rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]}
    assert rules["the-process-stays"] == "the process stays"
    assert rules["THR-QUERY-6"].endswith(".")
    by_id = {one["partialFingerprints"]["wireproofFinding/v1"]: one for one in run["results"]}
    assert (by_id[FINDING.id]["level"], by_id[FLAKY.id]["level"]) == ("error", "warning")
    assert by_id[FLAKY.id]["ruleId"] == "THR-QUERY-6"
    uri = by_id[FLAKY.id]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (folder / FLAKY.id / "finding.json").as_uri()


def test_below_the_working_directory_places_are_relative(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)

    report(folder, "--sarif", "found.sarif")

    assert f'"uri": "found/{FINDING.id}/finding.json"' in Path("found.sarif").read_text()


def test_junit_has_a_failure_of_each_finding(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "found.xml"

    report(folder, "--junit", str(path))

    (suite,) = ElementTree.parse(path).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    names = {case.get("name"): case for case in suite}
    case = names[f"the-process-stays {FINDING.id}"]
    assert case.get("classname") == "wireproof.fuzz.throttr.server"
    assert "it died? of <this>" in (case[0].get("message") or "")


@pytest.mark.parametrize(
    ("text", "message"), [("{", "expected JSON"), ('{"schema": "x"}', "expected a finding of schema")]
)
def test_a_folder_that_holds_something_else_is_reported(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "finding.json").write_text(text)

    result = report(tmp_path)

    assert result.exit_code == 1
    assert message in result.output


def test_a_file_that_cannot_be_written_is_reported(folder: Path) -> None:
    result = report(folder, "--junit", str(folder / FINDING.id / "finding.json" / "x.xml"))

    assert result.exit_code == 1
    assert "cannot write" in result.output


def test_a_capture_is_read_back_with_its_streams_and_times(tmp_path: Path) -> None:
    pytest.importorskip("scapy")
    from scapy.layers.inet import TCP
    from scapy.utils import rdpcap

    finding = replace(FINDING, script=(Open("a"), Write("a", b"x")))
    write_evidence(tmp_path, finding, FuzzContext("throttr", "7.1.0", "uint16"), TRACE)

    packets = list(rdpcap(str(tmp_path / "capture.pcapng")))
    first = [packet for packet in packets if 40000 in (packet[TCP].sport, packet[TCP].dport)]
    sent = b"".join(bytes(packet[TCP].payload) for packet in first if packet[TCP].dport == 9000)
    came = b"".join(bytes(packet[TCP].payload) for packet in first if packet[TCP].sport == 9000)
    assert (sent, came) == (b"\x02\x01k" * 25_000, b"\x00")
    assert [str(packet[TCP].flags) for packet in first] == ["S", "SA", "A", "PA", "PA", "PA", "FA"]
    assert [round(float(packet.time) * 1e6) for packet in first] == [0, 0, 0, 1000, 1000, 2000, 3000]
    mine = [packet[TCP] for packet in first if packet[TCP].dport == 9000]
    assert [packet.seq - mine[0].seq for packet in mine] == [0, 1, 1, 60_001]
    assert len(packets) == len(first) + 4


def test_without_scapy_it_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(capture, "find_spec", lambda name: None)
    notes.say_what_is_missing.cache_clear()

    write_evidence(tmp_path, FINDING, FuzzContext("throttr", "7.1.0", "uint16"), TRACE)
    notes.say_what_is_missing()
    notes.say_what_is_missing()

    assert not (tmp_path / "capture.pcapng").exists()
    assert (tmp_path / "exchange.txt").exists()
    assert capsys.readouterr().err == "capture.pcapng is not written: scapy is not installed (extra wireproof[fuzz])\n"
    notes.say_what_is_missing.cache_clear()
    assert finding_files.is_available is capture.is_available
