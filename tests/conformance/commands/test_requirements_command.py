"""`--requirements` and `wireproof requirements`: newer cases are played and shown, and never fail a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from tests.conformance.threads import in_thread_reference
from wireproof.cli import command
from wireproof.conformance.suite import requirement_sets

NAMED = ("--profile", "7.3.2", "--variant", "uint16", "-k", "query/ and not pairs", "--segmentation", "whole")
SET = ("--requirements", "throttr-7.3.2@1")
RUN = "test", "throttr"


def wireproof(*words: str) -> Result:
    done = CliRunner().invoke(command, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture(scope="module")
def wrong() -> Iterator[str]:
    with in_thread_reference("7.3.2", "uint16", "quota-low-byte") as address:
        yield str(address)


@pytest.fixture
def without_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put in the place of the set one without the cases about QUERY."""
    text = (requirement_sets._folder("throttr") / "7.3.2@1.txt").read_text()
    parts = [one for one in text.split("\n\n") if not one.startswith("[server query ")]
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "7.3.2@1.txt").write_text("\n\n".join(parts))
    monkeypatch.setattr(requirement_sets, "_folder", lambda protocol: tmp_path / "sets")


def test_a_failure_of_the_set_fails_the_run(wrong: str) -> None:
    done = wireproof(*RUN, wrong, *NAMED, *SET)

    assert done.exit_code == 1, done.output
    assert "not required" not in done.output


@pytest.mark.usefixtures("without_query")
def test_a_failure_newer_than_the_set_is_shown_and_fails_nothing(wrong: str, tmp_path: Path) -> None:
    out, junit, sarif, badge = (tmp_path / one for one in ("run", "junit.xml", "sarif.json", "badge.json"))
    files = ("--out", str(out), "--junit", str(junit), "--sarif", str(sarif), "--badge", str(badge))
    done = wireproof(*RUN, wrong, *NAMED, *SET, *files)

    records = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    failed = {one["case"] for one in records if one["verdict"] != "pass"}
    suite = next(ElementTree.parse(junit).iter("testsuite"))
    assert done.exit_code == 0, done.output
    assert failed
    assert {one["not_required"] for one in records} == {"newer than throttr-7.3.2@1"}
    assert "not required: newer than throttr-7.3.2@1" in done.output
    assert f"{len(failed)} not required (newer than throttr-7.3.2@1): " in done.stderr
    assert "passed: " in done.output.splitlines()[-1]
    assert "failed that are not required" in done.output.splitlines()[-1]
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("0", "0")
    assert "not required (newer than throttr-7.3.2@1): fail" in junit.read_text()
    assert {one["level"] for one in json.loads(sarif.read_text())["runs"][0]["results"]} == {"note"}
    assert json.loads(badge.read_text())["message"] == "nothing played"
    assert "newer than throttr-7.3.2@1" in (out / "index.html").read_text()
    assert json.loads((out / "run.json").read_text())["causes"][0]["not_required"] == "newer than throttr-7.3.2@1"


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--requirements", "throttr-7.3@1"), "no such requirement set: throttr-7.3@1 (did you mean throttr-7.3.2@1"),
        ((*SET, "--profile", "7.1.0"), "throttr-7.3.2@1 is of profile 7.3.2, not of 7.1.0"),
    ],
)
def test_a_set_that_does_not_fit_exits_2(words: tuple[str, ...], reported: str) -> None:
    done = wireproof(*RUN, "simulation", *words)

    assert (done.exit_code, reported in done.stderr) == (2, True), done.output
    done = wireproof("test-sdk", "throttr", "--driver", "false", *words)
    assert (done.exit_code, reported in done.stderr) == (2, True), done.output


def test_a_set_chooses_its_profile(tmp_path: Path) -> None:
    done = wireproof(
        *RUN, "simulation", "--requirements", "throttr-7.1.0@1", "-k", "query/status", "--out", str(tmp_path)
    )

    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "run.json").read_text())["profile"] == "7.1.0"


def test_sets_are_listed_shown_and_frozen(tmp_path: Path) -> None:
    listed, shown = wireproof("requirements", "list", "throttr"), wireproof("requirements", "show", "throttr-7.3.2@1")
    unknown = wireproof("requirements", "show", "throtr-7.3.2@1")

    assert "throttr-7.3.2@1" in listed.output
    assert "psrt" not in listed.output
    assert "server: " in shown.output
    assert "client: " in shown.output
    assert (unknown.exit_code, "did you mean throttr-7.3.2@1" in unknown.stderr) == (2, True)
    assert wireproof("requirements", "freeze", "namechan", "--profile", "x").exit_code == 2


@pytest.mark.usefixtures("without_query")
def test_what_changed_is_frozen_as_the_next_set(tmp_path: Path) -> None:
    first = wireproof("requirements", "freeze", "throttr", "--profile", "7.3.2", "--out", str(tmp_path / "sets"))
    again = wireproof("requirements", "freeze", "throttr", "--profile", "7.3.2", "--out", str(tmp_path / "sets"))

    assert "throttr-7.3.2@2: " in first.output
    assert again.output == "nothing changed since throttr-7.3.2@2\n"
    assert "server: " in wireproof("requirements", "show", "throttr-7.3.2@1", "--all").output
    assert ": newer than throttr-7.3.2@1" in wireproof("requirements", "show", "throttr-7.3.2@1", "--all").output
