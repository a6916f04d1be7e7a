"""A target that does not declare what a case needs is not asked, and that is neither green nor a failure."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from rich.console import Console

from wireproof.conformance.commands import test as command
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.report.baseline import Baseline, compare
from wireproof.conformance.report.console import score, show_table, unsupported_summary
from wireproof.conformance.report.outputs import step_summary, write_junit
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.runner import play_all, simulate
from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.conformance.verdict.records import Record, Run
from wireproof.reference_server.registry import create_service

FEATURES = {"tls": "TLS can be begun.", "udp": "Datagrams are answered."}


@pytest.fixture(name="suite")
def _suite() -> Suite:
    """The usual suite, two cases of it: one needs features."""
    suite = load_suite("throttr")
    first, second = [case for case in suite.cases if not case.exclusive and case.topic == "insert"][:2]
    return replace(suite, features=FEATURES, cases=(replace(first, needs=("tls", "udp")), second))


def records_of(suite: Suite, features: frozenset[str] | None, address: Address | None = None) -> list[Record]:
    run = Run("throttr", "7.1.0", "uint16", "made up", "made up")
    plan, found = Plan(run, suite, suite.cases, Settings(features=features)), list[Record]()
    if address is not None:
        asyncio.run(play_all(plan, address, found.append))
    else:
        simulate(
            plan,
            lambda clock: create_service("throttr", profile="7.1.0", variant="uint16", clock=clock),
            found.append,
        )
    return found


def test_all_features_are_there_unless_it_is_declared_which(suite: Suite) -> None:
    assert [one["verdict"] for one in records_of(suite, None)] == ["pass", "pass"]
    assert [one["verdict"] for one in records_of(suite, frozenset(FEATURES))] == ["pass", "pass"]


def test_what_is_not_declared_is_reported_by_name_and_nothing_is_asked(suite: Suite) -> None:
    needy, other = records_of(suite, frozenset({"udp"}))

    detail = (needy["verdict"], needy["expected"], needy["guilty"], needy["exchange"])
    assert detail == ("unsupported", "tls", "nobody", [])
    assert needy["got"] == "the target does not declare that it has it: TLS can be begun."
    assert other["verdict"] == "pass"


def test_over_sockets_nobody_is_asked_either(suite: Suite) -> None:
    only = replace(suite, cases=suite.cases[:1])
    (needy,) = records_of(only, frozenset(), Address("tcp", "127.0.0.1", 1))

    assert (needy["verdict"], needy["expected"]) == (Verdict.UNSUPPORTED, "tls, udp")


def test_every_output_counts_it_apart(suite: Suite, tmp_path: Path) -> None:
    records = records_of(suite, frozenset())
    run = Run("throttr", "7.1.0", "uint16", "made up", "made up")

    assert score(records) == "1/1 (1 left out)"
    listed = "(wireproof features throttr says what that is)"
    assert unsupported_summary(records) == f"1 case unsupported: the target does not declare tls, udp {listed}"
    assert unsupported_summary(records[1:]) == ""
    write_junit(tmp_path / "junit.xml", run, records)
    (skipped,) = ElementTree.parse(tmp_path / "junit.xml").iter("skipped")
    assert skipped.get("type") == "unsupported"
    assert "unsupported" not in step_summary(run, records)
    console = Console(record=True, width=100)
    show_table(console, run, records)
    assert "1/1 (1 left out)" in console.export_text()


@pytest.fixture(name="wireproof")
def _wireproof(suite: Suite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setattr(command, "load_suite", lambda name: suite)

    def call(*arguments: str) -> tuple[int, str, list[Record]]:
        out = tmp_path / "run"
        done = CliRunner().invoke(command.command, ["throttr", "simulation", *arguments, "--out", str(out)])
        found = (out / "records.jsonl").read_text().splitlines() if (out / "records.jsonl").is_file() else []
        return done.exit_code, done.output, [json.loads(one) for one in found]

    return call


def test_the_exit_code_does_not_change(wireproof: Any) -> None:
    code, output, records = wireproof("--feature", "tls", "--delivery", "whole")

    assert (code, [one["verdict"] for one in records]) == (0, ["unsupported", "pass"])
    assert "1 case unsupported: the target does not declare udp" in output
    assert "passed: 2 cases (1 unsupported); 0 MUST or SHOULD failed" in output


@pytest.mark.parametrize("named", [("--feature", "tls,udp"), ("--feature", "tls", "--feature", "udp")])
def test_features_are_declared_on_the_command_line(wireproof: Any, named: tuple[str, ...]) -> None:
    code, _, records = wireproof(*named, "--delivery", "whole")

    assert (code, [one["verdict"] for one in records]) == (0, ["pass", "pass"])


def test_a_feature_that_is_none_is_a_usage_error(wireproof: Any) -> None:
    code, output, _ = wireproof("--feature", "quic")

    assert code == 2
    assert "--feature: expected tls, udp; got 'quic'" in output


def test_a_known_failure_that_is_not_asked_is_not_stale(suite: Suite) -> None:
    needy, other = records_of(suite, frozenset())

    assert compare(Baseline.of([needy["case"]]), [needy, other], [needy["case"]]).stale == ()
    assert compare(Baseline.of([other["case"]]), [needy, other], [other["case"]]).stale == (other["case"],)
