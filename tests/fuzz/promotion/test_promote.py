"""Findings that come back as cases: the reference passes them, the server they were found on does not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from tests.places import ROOT
from wireproof.conformance.commands import vectors as vectors_command
from wireproof.conformance.model.actions import Open, Read, Shut, Sleep, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.mutation.recording import play
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.written import as_written
from wireproof.conformance.suite.yaml_documents import checked
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.findings_folder import save
from wireproof.fuzz.findings.shrink import fewer
from wireproof.fuzz.live.canaries import canary
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.live.simulated_plays import new_server, simulated
from wireproof.fuzz.parser_input import combinations
from wireproof.fuzz.promotion.promoted_steps import StepsError, steps_of
from wireproof.fuzz.script import Script
from wireproof.protocols import protocol

VECTORS = ROOT / "vectors"
CONTEXT = FuzzContext("throttr", "7.1.0", "uint16")
KEY = canary(1) + b"k"
INSERT = b"\x01\x09\x00\x04\x3c\x00\x0b" + KEY
QUERY = b"\x02\x0b" + KEY


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of vectors with clauses, schemas and no case yet."""
    root = tmp_path / "vectors"
    shutil.copytree(VECTORS / "schema", root / "schema")
    (root / "throttr" / "cases").mkdir(parents=True)
    for name in ("clauses.yaml", "probe.yaml"):
        shutil.copy(VECTORS / "throttr" / name, root / "throttr")
    modules = ("suite.cases", "suite.documents", "commands.vectors")
    for module in (
        *(f"wireproof.conformance.{one}" for one in modules),
        "wireproof.fuzz.promotion.writing",
        "wireproof.fuzz.commands.promote",
    ):
        monkeypatch.setattr(f"{module}.vectors_root", lambda: root)
    load_suite.cache_clear()
    yield root
    load_suite.cache_clear()


def promote(finding: FuzzFinding, folder: Path, *arguments: str) -> Result:
    place = save(folder / "findings", finding) or folder / "findings" / finding.id
    result = CliRunner().invoke(fuzz, ["promote", str(place), *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def found_on(mutant: str) -> FuzzFinding:
    """Return the first suspicion about a mutant, with its script reduced; a largest number may be refused (T21)."""
    context = FuzzContext("throttr", "7.1.0", "uint16")
    seeds = [
        one
        for one in context.seeds()
        if len(one) < 16 and not any(b"\xff\xff" in action.data for action in one if isinstance(action, Write))
    ]
    Random(1).shuffle(seeds)
    for script in seeds:
        for what in judged(simulated(context, script, mutant)):

            def shows(some: object, key: tuple[str, str, str] = what.key) -> bool:
                return any(one.key == key for one in judged(simulated(context, tuple(some), mutant)))  # type: ignore[call-overload]

            small = tuple(fewer(script, shows))
            spoken = context.name, context.profile, context.variant
            return FuzzFinding(
                "server", what.oracle, what.detail, what.shape, *spoken, what.clause, script=small, seed=3
            ).rerun(3, 3)
    raise AssertionError(f"no seed shows {mutant}")


def outcome(name: str, mutant: str | None) -> Outcome:
    (case,) = (one for one in load_suite("throttr").cases if one.id == name)
    symbols = Symbols(protocol("throttr"), "7.1.0", "uint16", case=case.id, namespace="test")
    return play(Player(case, symbols, segmentation=WHOLE), new_server(CONTEXT, mutant).perform)


@pytest.mark.parametrize("mutant", ["quota-low-byte", "insert-overwrites-a-counter", "insert-stores-nothing"])
def test_the_case_passes_on_the_reference_and_fails_on_the_mutant(mutant: str, root: Path, tmp_path: Path) -> None:
    finding = found_on(mutant)

    result = promote(finding, tmp_path, "--clause", "THR-QUERY-6", "--id", "found/the-case")

    assert result.exit_code == 0, result.output
    load_suite.cache_clear()
    assert outcome("found/the-case", None).verdict is Verdict.PASS
    failed = outcome("found/the-case", mutant)
    assert (failed.verdict, failed.blamed) == (Verdict.FAIL, "THR-QUERY-6")
    built = CliRunner().invoke(vectors_command.command, ["build", "throttr"])
    assert "1 written" in built.output, built.output
    (entry,) = json.loads((root / "throttr/derived/found.json").read_text())["conversations"]
    assert entry["id"] == "found/the-case"


def test_a_case_says_where_it_comes_from(root: Path, tmp_path: Path) -> None:
    finding = replace(found_on("quota-low-byte"), clause="THR-QUERY-6")

    promote(finding, tmp_path)

    load_suite.cache_clear()
    (case,) = load_suite("throttr").cases
    path = root / "throttr/cases/found.yaml"
    rules = (VECTORS / "schema/cases.schema.json").read_text()
    assert case.found == finding.id
    assert checked(path.read_text(), rules, "found.yaml")["cases"][0]["found"] == {
        "finding": finding.id,
        "engine": "server",
        "oracle": finding.oracle,
        "at": finding.found_at,
        "by": finding.found_by,
        "seed": 3,
    }
    again = promote(replace(finding, shape="another"), tmp_path, "--id", case.id)
    assert f"the id {case.id!r} is already used" in again.output
    assert promote(replace(finding, shape="another"), tmp_path).exit_code == 0
    assert path.read_text().count("  - id: ") == 2


SERVER = FuzzFinding("server", "x", "detail", "x", "throttr", "7.1.0", "uint16", script=(Open("a"), Write("a", QUERY)))


@pytest.mark.parametrize(
    ("finding", "arguments", "message"),
    [
        (SERVER.rerun(0, 3), ("--clause", "THR-QUERY-6"), "is GONE: reproduced 0 of 3 times"),
        (SERVER, (), "the finding names no clause for 'x': give one with --clause"),
        (SERVER, ("--clause", "THR-NONE-1"), "there is no clause 'THR-NONE-1'"),
        (replace(SERVER, script=(Open("a"),)), ("--clause", "THR-QUERY-6"), "the script sends nothing"),
        (replace(SERVER, protocol="other"), (), "got 'other'"),
        (replace(SERVER, engine="scheduler", script=()), (), "without an input cannot be kept"),
        (SERVER, ("--clause", "THR-QUERY-6", "--id", "no id"), "cannot be extended"),
    ],
)
def test_what_cannot_be_promoted_is_reported(
    finding: FuzzFinding, arguments: tuple[str, ...], message: str, root: Path, tmp_path: Path
) -> None:
    result = promote(finding, tmp_path, *arguments)

    assert result.exit_code == 1
    assert message in result.output
    assert not list((root / "throttr/cases").iterdir())


def test_what_the_reference_shows_itself_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = found_on("quota-low-byte")
    monkeypatch.setattr(
        "wireproof.fuzz.live.live_reproduction.simulated",
        lambda context, script: simulated(context, script, "quota-low-byte"),
    )

    assert "the reference server fails, too" in promote(finding, tmp_path, "--clause", "THR-QUERY-6").output


def test_an_input_of_the_scheduler_is_kept_for_campaigns(root: Path, tmp_path: Path) -> None:
    finding = FuzzFinding("scheduler", "x", "detail", "x", "throttr", "7.1.0", "uint16", data=b"\1\2\3")

    result = promote(finding, tmp_path)

    assert result.exit_code == 0
    assert [one.read_bytes() for one in (root / "throttr/regressions/scheduler").iterdir()] == [b"\1\2\3"]


def test_what_the_parser_fails_on_is_sent_to_servers(root: Path, tmp_path: Path) -> None:
    number = next(at for at, one in enumerate(combinations("throttr")) if one.role == "server")
    finding = FuzzFinding(
        "parser", "x", "detail", "x", "throttr", "7.1.0", "uint16", data=bytes([number, 0, 0]) + b"\xff\xfe"
    )

    result = promote(finding, tmp_path, "--clause", "THR-ROBUSTNESS-1")

    assert result.exit_code == 0, result.output
    load_suite.cache_clear()
    (case,) = load_suite("throttr").cases
    assert as_written(case.steps) == [{"connect": "a"}, {"send": {"raw": "fffe"}}, {"alive": True}]


def test_a_bad_reply_is_a_frame_and_more_than_one_an_input(root: Path, tmp_path: Path) -> None:
    number = next(at for at, one in enumerate(combinations("throttr")) if one.role == "client")
    data = bytes([number, 200, 1, 0]) + b"\x07"
    finding = FuzzFinding("parser", "x", "detail", "x", "throttr", "7.1.0", "uint16", data=data)

    one = promote(finding, tmp_path, "--clause", "THR-FRAMING-2")
    more = promote(
        replace(finding, shape="y", data=bytes([number, 0, 2, 0, 0, 7])), tmp_path, "--clause", "THR-FRAMING-2"
    )

    assert (one.exit_code, more.exit_code) == (0, 0), one.output + more.output
    load_suite.cache_clear()
    (frame,) = load_suite("throttr").frames
    assert (frame.body.hex, frame.body.error) == ("07", "bad_status")
    assert len(list((root / "throttr/regressions/parser").iterdir())) == 1


def test_steps_wait_for_what_is_due_and_cut_nothing() -> None:
    script: Script = (
        Open("a"), Open("b"), Write("a", INSERT[:4]), Sleep(0.5), Write("a", INSERT[4:] + QUERY), Read("a", 0.1),
        Write("b", QUERY), Shut("b", "reset"), Open("b"), Write("b", b"\xff"), Shut("b", "half"), Write("b", b"lost"),
    )  # fmt: skip

    steps = steps_of(script, CONTEXT)

    own = {"join": ["$m1", "k"]}
    insert = {"INSERT": {"quota": 9, "ttl_type": "seconds", "ttl": 60, "key": own}}
    reply = {"QUERY_REPLY": {"quota": 9, "ttl_type": "seconds", "ttl": {"between": [40, 60]}}}
    assert steps == [
        {"connect": "a"},
        {"connect": "b"},
        {"wait": 0.5},
        {"send": [insert, {"QUERY": {"key": own}}], "expect": ["ok", reply]},
        {"send": {"QUERY": {"key": own}}, "on": "b", "expect": reply},
        {"reset": "b"},
        {"connect": "b-2"},
        {"send": {"raw": "ff"}, "on": "b-2"},
        {"half_close": "b-2"},
        {"alive": True},
    ]


def test_pushes_are_expected_where_they_come() -> None:
    channel = canary(7) + b"c"
    script: Script = (
        Open("a"), Write("a", b"\x11\x0b" + channel), Open("b"), Write("b", b"\x13\x0b\x02\x00" + channel + b"hi"),
    )  # fmt: skip

    steps = steps_of(script, CONTEXT)

    own = {"join": ["$m1", "c"]}
    assert steps[1] == {"send": {"SUBSCRIBE": {"channel": own}}, "expect": "ok"}
    assert steps[3:5] == [
        {"send": {"PUBLISH": {"channel": own, "payload": "hi"}}, "on": "b", "expect": "ok"},
        {"expect": {"push": {"payload": "hi"}}},
    ]


def test_a_script_that_sends_nothing_is_no_case() -> None:
    with pytest.raises(StepsError, match="sends nothing"):
        steps_of((Open("a"), Sleep(1)), CONTEXT)


def test_what_the_machine_finds_is_a_case_too(root: Path, tmp_path: Path) -> None:
    finding = replace(found_on("insert-overwrites-a-counter"), engine="machine", oracle="the answer is the model's")

    result = promote(finding, tmp_path, "--clause", "THR-INSERT-9", "--id", "found/by-the-machine")

    assert result.exit_code == 0, result.output
    load_suite.cache_clear()
    assert outcome("found/by-the-machine", None).verdict is Verdict.PASS
    assert outcome("found/by-the-machine", "insert-overwrites-a-counter").verdict is Verdict.FAIL
