"""`wireproof fuzz campaign`: what is known is replayed first, all engines get their share, corpora stay."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tests.conformance.scripted import make_case
from tests.places import ROOT
from wireproof.conformance.model.actions import Open, Read, Write
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.symbolic import steps_of
from wireproof.fuzz import corpus as corpora
from wireproof.fuzz import coverage_guided, property_based
from wireproof.fuzz.campaign import engines
from wireproof.fuzz.campaign.board import EngineRow
from wireproof.fuzz.campaign.campaign_history import CampaignHistory
from wireproof.fuzz.campaign.engines import FEWEST_SEEDS, MOST_SEEDS, seeds_in, shares, time_left
from wireproof.fuzz.campaign.regressions import Replayed, cases_made_of_findings, inputs
from wireproof.fuzz.commands import campaign as module
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.findings_folder import load_all, save
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import CodeTarget
from wireproof.fuzz.live.canaries import canary
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.script import to_json
from wireproof.protocols.throttr.requests import Query

REFERENCE = f"{sys.executable} -m reference_server throttr --profile 7.1.0 --width uint16"
SPOKEN = ("--profile", "7.1.0", "--variant", "uint16")
CONTEXT = FuzzContext("throttr", "7.1.0", "uint16")
KEY = canary(5) + b"k"


def no_sevens(name: str, data: bytes) -> None:
    if b"\x07" in data:
        raise InvariantError("no sevens", f"7 at {data.index(7)}", "seven")


def anything(name: str, data: bytes) -> None:
    return None


@pytest.fixture(autouse=True)
def without_atheris(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(coverage_guided, "find_spec", lambda name: None)
    monkeypatch.setattr(property_based, "BATCH", 20)


def use_target(monkeypatch: pytest.MonkeyPatch, check: Callable[[str, bytes], None]) -> None:
    known = {"parser": CodeTarget("parser", "none", check, lambda name: [b"fine", b"\x07 is not"])}
    monkeypatch.setattr(module, "TARGETS", known)


def run(folder: Path, *arguments: str) -> Result:
    places = ("--corpus", str(folder / "corpus"), "--findings", str(folder / "findings"), "--runs", "20")
    result = CliRunner().invoke(fuzz, ["campaign", "throttr", *places, *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_nothing_found_is_reported_with_a_line_of_each_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_target(monkeypatch, anything)

    result = run(tmp_path, "--interval", "0.1", "--junit", str(tmp_path / "x.xml"))

    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[:2] == [
        "replayed: 0, 0 of them fail",
        "atheris is not installed: fuzzing with Hypothesis, without coverage",
    ]
    assert lines[2] == "parser replays its seeds"
    assert lines[-2].startswith("parser done: 20 executions")
    assert lines[-1] == "nothing found"
    (suite,) = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert [case.get("name") for case in suite] == ["engine parser"]


def test_what_was_found_is_replayed_until_it_is_fixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_target(monkeypatch, no_sevens)
    first = run(tmp_path)
    (found,) = load_all(tmp_path / "findings")
    again = run(tmp_path, "--sarif", str(tmp_path / "x.sarif"))
    use_target(monkeypatch, anything)
    fixed = run(tmp_path, "--junit", str(tmp_path / "x.xml"))

    assert (first.exit_code, again.exit_code, fixed.exit_code) == (1, 1, 0), fixed.output
    assert f"kept in {tmp_path / 'findings' / found.id}" in first.output
    assert f"finding {found.id} fails: no sevens" in again.output
    assert again.output.endswith("1 finding\n")
    assert found.id in (tmp_path / "x.sarif").read_text()
    assert "replayed: 1, 0 of them fail" in fixed.output
    (suite,) = ElementTree.parse(tmp_path / "x.xml").getroot()
    assert (suite.get("failures"), suite[0].get("name")) == ("0", f"finding {found.id}")


def test_a_corpus_is_replayed_and_what_breaks_there_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpora.merge(tmp_path / "corpus" / "parser", [b"fine", b"0\x070"])
    use_target(monkeypatch, no_sevens)

    result = run(tmp_path)

    assert result.exit_code == 1
    assert "replayed: 2, 1 of them fail" in result.output
    (found,) = load_all(tmp_path / "findings")
    assert (found.oracle, found.data) == ("no sevens", b"\x07")


def test_inputs_made_of_findings_are_replayed_whatever_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof.fuzz.promotion.writing.vectors_root", lambda: tmp_path)
    corpora.merge(tmp_path / "throttr" / "regressions" / "parser", [b"\x07"])
    target = CodeTarget("parser", "none", no_sevens, lambda name: [])

    (one,) = inputs(target, "throttr", tmp_path / "nowhere")

    assert one.data == b"\x07"
    assert one.failure is not None


def test_cases_made_of_findings_are_played() -> None:
    ok = make_case({"send": {"QUERY": {"key": "$k"}}, "expect": "refused"}, id="found/right")
    suite = replace(load_suite("throttr"), cases=(
        replace(ok, found="0" * 16),
        replace(ok, id="found/wrong", found="1" * 16,
                steps=steps_of([{"send": {"QUERY": {"key": "$k"}}, "expect": "ok"}])),
        replace(ok, id="found/elsewhere", found="2" * 16, profiles=("7.3.2",)),
        replace(ok, id="written/by-hand"),
    ))  # fmt: skip

    right, wrong = cases_made_of_findings(suite, CONTEXT, None)

    assert right == Replayed("case found/right")
    assert (wrong.name, wrong.failure) == ("case found/wrong", "expected STATUS.ok = True, got False")


def test_a_server_is_fuzzed_and_its_scripts_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_target(monkeypatch, anything)
    folder = tmp_path / "corpus" / "server" / "7.1.0-uint16"
    script = [{"do": "open", "connection": "a"}, {"do": "write", "connection": "a", "hex": "18"}]
    corpora.merge(folder, [json.dumps(script).encode(), b"no script"])

    result = run(tmp_path, "--target-command", REFERENCE, *SPOKEN)

    assert result.exit_code == 0, result.output
    assert "server done: 20 executions" in result.output
    assert len(corpora.inputs(folder)) > 2


def test_scripts_are_written_while_a_server_is_fuzzed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_target(monkeypatch, anything)
    monkeypatch.setattr(engines, "SAVED_S", 0.0)
    folder = tmp_path / "corpus" / "server" / "7.1.0-uint16"
    written: list[int] = []
    add = CampaignHistory.add

    def added(self: CampaignHistory, row: EngineRow, *, is_last: bool = False) -> None:
        if row.engine == engines.SERVER and not is_last:
            written.append(len(corpora.inputs(folder)))
        add(self, row, is_last=is_last)

    monkeypatch.setattr(CampaignHistory, "add", added)
    run(tmp_path, "--target-command", REFERENCE, *SPOKEN)

    assert written[0] > 0  # who kills the campaign now loses nothing


def test_a_finding_is_played_on_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_target(monkeypatch, anything)
    script = Open("a"), Write("a", b"\x01\x39\x30\x04\x64\x00\x0b" + KEY + b"\x02\x0b" + KEY), Read("a", 1.0)
    spoken = "throttr", "7.1.0", "uint16"
    shape = "QUERY: QUERY_REPLY.quota differs"
    found = {"state": "QUERY: QUERY_REPLY.quota", "script": script}
    mine = FuzzFinding("differential", "servers answer alike", "detail", shape, *spoken, **found)  # type: ignore[arg-type]
    save(tmp_path / "findings", mine)
    save(tmp_path / "findings", replace(mine, variant="uint8", shape="x"))
    save(tmp_path / "findings", replace(mine, engine="another"))
    monkeypatch.setattr("wireproof.fuzz.commands.campaign.fuzz_server", lambda *arguments: "")

    wrong = run(tmp_path, "--target-command", f"{REFERENCE} --fault quota-low-byte", *SPOKEN)
    alone = run(tmp_path)

    assert wrong.exit_code == 1
    assert (
        f"finding {mine.id} fails: the answer to QUERY is quota = 57, the reference's is quota = 12345" in wrong.output
    )
    assert "1 of them fail, 2 skipped" in wrong.output
    assert (alone.exit_code, "replayed: 0, 0 of them fail, 3 skipped" in alone.output) == (0, True)


def test_what_a_replay_shows_again_is_steered_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_target(monkeypatch, anything)
    mine = FuzzFinding(
        "server", "the process stays", "detail", "died", "throttr", "7.1.0", "uint16", script=(Open("a"),)
    )
    gone = replace(mine, shape="no longer shown")
    for one in (mine, gone):
        save(tmp_path / "findings", one)
    monkeypatch.setattr(
        module,
        "kept_findings",
        lambda kept, targets, live: (
            Replayed(f"finding {one.id}", "dead" if one.shape == "died" else None) for _, one in kept
        ),
    )
    given: list[list[FuzzFinding]] = []
    monkeypatch.setattr(module, "fuzz_server", lambda *arguments: given.append(arguments[-1]) or "")

    result = run(tmp_path, "--target-command", REFERENCE, *SPOKEN)

    assert result.exit_code == 1, result.output
    assert [[one.id for one in some] for some in given] == [[mine.id]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulation",), "a simulation is no live server"),
        (("tcp://127.0.0.1:1",), "nothing to fuzz at"),
        (("tcp://192.0.2.1:9000",), "is no loopback address"),
    ],
)
def test_what_cannot_be_fuzzed_is_reported(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = run(tmp_path, *arguments)

    assert result.exit_code == 2
    assert message in result.output


def test_without_any_engine_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(property_based, "IS_AVAILABLE", False)

    result = run(tmp_path)

    assert result.exit_code == 2
    assert "python -m pip install 'wireproof[fuzz]'" in result.output


def test_a_broken_finding_is_reported(tmp_path: Path) -> None:
    (tmp_path / "findings" / "x").mkdir(parents=True)
    (tmp_path / "findings" / "x" / "finding.json").write_text("{")

    assert (run(tmp_path).exit_code, "expected JSON" in run(tmp_path).output) == (2, True)


@pytest.mark.parametrize(
    ("engines", "seconds", "given"),
    [
        (["parser", "scheduler", "server"], 100, [("parser", 25), ("scheduler", 25), ("server", 50)]),
        (["parser", "scheduler", "store"], 100, [("parser", 34), ("scheduler", 33), ("store", 33)]),
        (["parser", "server"], 1, [("parser", 1), ("server", 1)]),
        (["server"], 9, [("server", 9)]),
        (["parser"], 0, [("parser", 0)]),
    ],
)
def test_time_is_shared_out(engines: list[str], seconds: int, given: list[tuple[str, int]]) -> None:
    assert shares(engines, seconds) == given


@pytest.mark.parametrize(
    ("share", "spent", "left"), [(60, 10.2, 50), (60, 45.0, 30), (7, 100.0, 4), (1, 5.0, 1), (0, 9.0, 0)]
)
def test_seeds_take_at_most_half_of_the_time_of_an_engine(share: int, spent: float, left: int) -> None:
    assert time_left(share, spent) == left


def test_on_a_terminal_the_board_is_drawn_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(module, "Console", lambda **options: Console(file=file, force_terminal=True, width=120))
    use_target(monkeypatch, anything)

    result = run(tmp_path)

    assert result.exit_code == 0
    assert "exec/s" in file.getvalue()


@pytest.mark.parametrize(
    ("seconds", "per_second", "number"),
    [(0, 5.0, MOST_SEEDS), (1, 1_000.0, FEWEST_SEEDS), (60, 1_000.0, 1_500), (3_600, 10_000.0, MOST_SEEDS)],
)
def test_seeds_fill_half_of_the_time_at_most(seconds: int, per_second: float, number: int) -> None:
    assert seeds_in(seconds, per_second) == number


def test_the_page_shows_all_campaigns_on_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.html"
    use_target(monkeypatch, anything)
    run(tmp_path)
    use_target(monkeypatch, no_sevens)
    result = run(tmp_path, "--html", str(page))

    assert result.exit_code == 1, result.output
    points = [json.loads(line) for line in (tmp_path / "corpus" / "history.jsonl").read_text().splitlines()]
    assert [(one["run"], one["engine"], one["findings"]) for one in (points[0], points[-1])] == [
        (1, "parser", 0),
        (2, "parser", 1),
    ]
    assert all(before["at"] <= after["at"] for before, after in pairwise(points))
    text = page.read_text(encoding="utf-8")
    (found,) = load_all(tmp_path / "findings")
    assert "2 campaigns" in text
    assert found.id in text
    assert "no sevens" in text
    assert text.count("<svg") == 2
    assert re.search(r"<figcaption><b>parser</b> [0-9,]+ (edges|states)", text)
    assert "<b>all engines</b> 1 finding<" in text
    assert not re.search(r"(?:src|href)=|@import|url\(", text)


def test_a_finding_of_an_earlier_campaign_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_target(monkeypatch, no_sevens)
    run(tmp_path)
    run(tmp_path)

    points = [json.loads(line) for line in (tmp_path / "corpus" / "history.jsonl").read_text().splitlines()]
    assert points[-1]["run"] == 2
    assert points[-1]["findings"] == len(list(load_all(tmp_path / "findings"))) == 1


def test_a_corpus_is_minimised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def longer_codes(name: str, data: bytes) -> None:
        CONTEXT.requests(data)

    query = CONTEXT.encode(Query(b"key"))
    use_target(monkeypatch, longer_codes)
    corpora.merge(tmp_path / "corpus" / "parser", [query, query + b"", CONTEXT.encode(Query(b"yek")), query * 2])
    before = len(corpora.inputs(tmp_path / "corpus" / "parser"))
    result = run(tmp_path, "--minimise")

    assert result.exit_code == 0, result.output
    assert 0 < len(corpora.inputs(tmp_path / "corpus" / "parser")) < before


def test_scripts_that_show_nothing_new_leave_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_target(monkeypatch, anything)
    server = ["--target-command", f"{REFERENCE} --port {{port}}", *SPOKEN]
    folder = tmp_path / "corpus" / "server" / "7.1.0-uint16"
    twice = [to_json((Open(name), Write(name, CONTEXT.encode(Query(KEY))), Read(name, 0.1))) for name in "ab"]
    corpora.merge(folder, (json.dumps(one, separators=(",", ":")).encode() for one in twice))
    given = set(corpora.inputs(folder))
    run(tmp_path, "--minimise", *server)

    assert len(given & set(corpora.inputs(folder))) == 1
