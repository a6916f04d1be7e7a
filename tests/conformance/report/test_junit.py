"""JUnit files: each play once, whatever causes it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.conformance.verdict.made_records import made
from wireproof.conformance.report.outputs import write_junit
from wireproof.conformance.verdict.records import Record, Run

RUN = Run("throttr", "7.1.0", "uint16", "tcp://h:1", "x", "1")


def record(case: str, verdict: str = "pass", level: str = "MUST", **changes: Any) -> Record:
    facts = {"title": case, "group": "INSERT", "duration_us": 1, "byte": None, "observed": None}
    return made(case, verdict, level=level, **facts, **changes)


def test_junit_has_each_play_once_where_its_record_has_several_causes(tmp_path: Path) -> None:
    ends = [{"how": how, "death": how, "under_way": ["insert/one"]} for how in ("died of SIGSEGV", "ended with 1")]
    stays_up = record("robustness/stays-up", "crash", "SHOULD", extra={"ends": ends})
    write_junit(tmp_path / "junit.xml", RUN, [record("insert/two"), stays_up, record("insert/three", "fail")])
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]

    assert [one.attrib["name"] for one in suite.findall("testcase")] == [
        "robustness/stays-up",
        "insert/three",
        "insert/two",
    ]
    assert len(suite.findall("properties/property")) == 3
