"""The files of a run: readable by their readers whatever texts a target sends, and plain errors when they cannot be."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

from wireproof.conformance.report.baseline import (
    NOTHING,
    Baseline,
    BaselineError,
    Comparison,
    compare,
    failing,
    read_baseline,
)
from wireproof.conformance.report.console import (
    closing_line,
    console_of,
    score,
    segmentation_summary,
    show_causes,
    show_table,
)
from wireproof.conformance.report.outputs import (
    JOURNAL,
    KeptEvidence,
    OutputError,
    RunFolder,
    is_incomplete,
    step_summary,
    write_junit,
    write_step_summary,
)
from wireproof.conformance.run.segmentation_sample import Tally
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.crashes import ended_early, held_back, not_played
from wireproof.conformance.verdict.records import Run, completed

RUN = Run("throttr", "7.1.0", "uint16", "tcp://h:1", "x|y<b>", "`1`")
HOSTILE = "a\x00b\x1b[31m|<script>&\"'\n\r\t[link](x) `c` \ud800 \uffff \U0001f600 [red]x[/red] ]]>"


def record(case: str = "insert/one", verdict: str = "pass", level: str = "MUST", **changes: Any) -> dict[str, Any]:
    found = {
        "case": case, "delivery": "whole", "title": HOSTILE, "group": "INSERT", "level": level,
        "clauses": ["THR-INSERT-1"], "verdict": verdict, "blamed": None, "guilty": None, "observed": None,
        "step": 0, "byte": None,
        "expected": HOSTILE, "got": HOSTILE, "duration_us": 1500, "record_id": "0123456789ab",
        "exchange": [
            {"at_us": 1, "connection": "a", "direction": "received", "hex": "ab" * 4096, "text": ""},
            {"at_us": 2, "connection": "a", "direction": "event", "hex": "", "text": HOSTILE},
        ],
    }  # fmt: skip
    return {**found, **changes}


EVERY = [
    record(f"insert/{verdict}-{level.lower()}", verdict, level)
    for verdict in ("pass", "lenient", "fail", "unsupported", "untestable", "crash", "hang", "harness_error")
    for level in ("MUST", "SHOULD", "MAY")
]


def test_what_was_not_begun_is_counted_apart_from_what_failed() -> None:
    left = [not_played("died once more after 40 restarts"), held_back("a/b", "died", "QUERY"), ended_early("no time")]
    unplayed = [
        record(f"insert/{number}", "untestable", expected=one.expected, got=one.got) for number, one in enumerate(left)
    ]
    line = closing_line(
        "failed", [record("insert/bad", "fail"), record("insert/unprepared", "untestable"), *unplayed], RUN, ""
    )

    assert line.startswith("failed: 5 cases; 1 MUST or SHOULD failed, 1 untestable; 3 not played; ")


def test_junit_is_xml_whatever_the_texts_hold(tmp_path: Path) -> None:
    write_junit(tmp_path / "sub" / "junit.xml", RUN, EVERY)
    (suite,) = ElementTree.parse(tmp_path / "sub" / "junit.xml").getroot()

    assert suite.attrib["tests"] == str(len(suite.findall("testcase"))) == "24"
    assert {key: suite.attrib[key] for key in ("failures", "errors", "skipped")} == {
        "failures": "8", "errors": "3", "skipped": "6",
    }  # fmt: skip


def test_junit_reports_verdict_clause_and_bytes(tmp_path: Path) -> None:
    write_junit(tmp_path / "junit.xml", RUN, [record(verdict="fail", blamed="THR-INSERT-9")])
    case = ElementTree.parse(tmp_path / "junit.xml").getroot()[0].findall("testcase")[0]

    assert case.attrib == {"classname": "throttr.7.1.0.uint16.INSERT", "name": "insert/one", "time": "0.001500"}
    assert case[0].attrib["message"].startswith("fail [THR-INSERT-9] expected a?b")
    assert "a < abab" in str(case[0].text)


def test_the_sentence_of_the_clause_stands_beside_its_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failed = record(verdict="fail", protocol="throttr", role="server")
    write_junit(tmp_path / "junit.xml", RUN, [failed])
    show_causes(console_of(quiet=False), causes_of([failed]))
    case = ElementTree.parse(tmp_path / "junit.xml").getroot()[0].findall("testcase")[0]
    sentence = load_suite("throttr").clauses["THR-INSERT-1"].text

    assert f"THR-INSERT-1: {sentence}" in str(case[0].text)
    assert f"the clause  {sentence}" in capsys.readouterr().out


def test_a_pass_is_written_without_what_says_nothing(tmp_path: Path) -> None:
    whole = record(
        title="a" * 100, extra={"wire": {}}, observed="refused", protocol="throttr", run_id="1", expected=None
    )
    failed = {**whole, "verdict": "fail"}
    with RunFolder(tmp_path, evidence=KeptEvidence.FAILURES) as folder:
        folder.add(whole)
        folder.add(failed)
    shown, bad = map(json.loads, (tmp_path / "records.jsonl").read_text(encoding="utf-8").splitlines())

    assert shown.keys().isdisjoint({"exchange", "extra", "blamed", "guilty", "byte", "expected"})
    assert shown["observed"] == "refused"
    assert len(shown["title"]) < 100
    assert bad == json.loads(json.dumps(failed))
    assert completed(shown).keys() >= whole.keys()


DRAWN = {"history": f"not linearizable: {HOSTILE}\n> p1 ├──┤  #3 QUERY -> {HOSTILE}"}


def test_a_drawn_history_is_shown_by_junit_and_the_console(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = record(verdict="fail", extra=DRAWN)
    write_junit(tmp_path / "junit.xml", RUN, [drawn])
    show_causes(console_of(quiet=False), causes_of([drawn]))
    case = ElementTree.parse(tmp_path / "junit.xml").getroot()[0].findall("testcase")[0]
    shown = capsys.readouterr().out

    assert "> p1 ├──┤  #3 QUERY -> a?b" in str(case[0].text)
    assert "    > p1 ├──┤  #3 QUERY -> a·b" in shown
    assert "abab" not in shown


DELIVERED = [
    record("insert/one"), record("insert/two"), record("insert/three", "fail"),
    record("insert/one", level="SHOULD", delivery="bytes"),
    record("insert/two", "lenient", "SHOULD", delivery="bytes", blamed="THR-ROBUSTNESS-6"),
    record("insert/two", "hang", "SHOULD", delivery="half-closed"),
    record("insert/one", "harness_error", "SHOULD", delivery="joined"),
]  # fmt: skip


def test_plays_under_other_deliveries_are_named_in_junit(tmp_path: Path) -> None:
    write_junit(tmp_path / "junit.xml", RUN, DELIVERED)
    names = [case.attrib["name"] for case in ElementTree.parse(tmp_path / "junit.xml").getroot()[0].iter("testcase")]

    assert {"insert/three", "insert/one [bytes]", "insert/two [bytes]"} < set(names)
    assert len(set(names)) == len(DELIVERED)


def test_plays_under_other_deliveries_are_counted_apart_from_cases() -> None:
    text = step_summary(RUN, DELIVERED)
    assert "| group | MUST | SHOULD | MAY observed | other segmentations |" in text
    assert "| INSERT | 2/3 |  |  | 1/3 (1 left out) ≠ bytes ≠ joined ≠ half-closed |" in text
    summary = RUN.summary(DELIVERED, 1)
    assert summary["counts"] == {"MUST": {"pass": 2, "fail": 1}}
    assert summary["deliveries"] == {
        "bytes": {"pass": 1, "lenient": 1}, "joined": {"harness_error": 1}, "half-closed": {"hang": 1},
    }  # fmt: skip


def test_the_console_marks_the_deliveries_that_fail(capsys: pytest.CaptureFixture[str]) -> None:
    console = console_of(quiet=False)
    show_causes(console, causes_of(DELIVERED))
    show_table(console, RUN, DELIVERED)
    console.print(segmentation_summary(DELIVERED, Tally(recorded=4, same=2, not_judged=1)))
    shown = capsys.readouterr().out

    assert "insert/two [bytes] SHOULD clause THR-ROBUSTNESS-6" in shown
    assert "≠ bytes, joined, half-closed" in shown
    assert "4 plays under other segmentations: 2 bytes, 1 joined, 1 half-closed; 2 left no cut" in shown
    assert "1 could not be judged" in shown


def test_a_long_name_of_a_target_can_be_copied_whole(capsys: pytest.CaptureFixture[str]) -> None:
    run = replace(RUN, implementation="my-server --port {port} " + "x" * 90)
    show_table(Console(width=80, highlight=False), run, DELIVERED)

    assert f"{run.implementation} {run.implementation_version}: " in capsys.readouterr().out


def test_a_play_that_decides_nothing_is_no_failure_in_the_last_line() -> None:
    line = closing_line("failed", [record(verdict="fail"), record("b", "untestable")], RUN, None)

    assert "; 1 MUST or SHOULD failed, 1 untestable; " in line


def test_where_only_whole_was_played_nothing_is_reported_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(console_of(quiet=False), RUN, DELIVERED[:3])

    assert "deliver" not in capsys.readouterr().out
    assert segmentation_summary(DELIVERED[:3], Tally()) == ""


def test_a_case_of_the_baseline_may_fail_under_any_delivery() -> None:
    comparison = compare(Baseline.of(["insert/two", "insert/one"]), DELIVERED, ["insert/one", "insert/two"])

    assert (comparison.new, comparison.stale) == (("insert/three",), ("insert/one",))


def test_the_step_summary_lists_groups_by_name_as_the_console_does() -> None:
    records = [{**EVERY[0], "group": name} for name in ("WIDTH", "GET", "INSERT")]
    rows = [line.split(" | ")[0] for line in step_summary(RUN, records).splitlines() if line.startswith("| ")]

    assert rows[1:4] == ["| GET", "| INSERT", "| WIDTH"]


def test_the_step_summary_is_a_table_whatever_the_texts_hold() -> None:
    lines = step_summary(RUN, EVERY).splitlines()
    rows = [line for line in lines if line.startswith("| fail")]

    assert len(rows) == 3
    assert all(row.replace("\\|", "").count("|") == 6 for row in rows)
    assert not any("<script>" in line or "[link](" in line for line in lines)
    assert lines[0] == r"### wireproof: x\|y\<b\> \`1\`, throttr 7.1.0 uint16"


def test_the_step_summary_is_appended_where_the_job_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    write_step_summary(RUN, EVERY)
    write_step_summary(RUN, EVERY)

    assert (tmp_path / "summary.md").read_text(encoding="utf-8").count("### wireproof") == 2


def test_no_step_summary_without_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    write_step_summary(RUN, EVERY)


def test_records_are_there_line_by_line_before_the_run_ends(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "new" / "run") as folder:
        folder.add(record("one/a"))
        folder.add(record("one/b"))
        lines = (folder.folder / "records.jsonl").read_text(encoding="utf-8").split("\n")
        folder.finish({"ok": HOSTILE})

    assert [json.loads(line)["case"] for line in lines[:-1]] == ["one/a", "one/b"]
    assert json.loads((tmp_path / "new" / "run" / "run.json").read_text(encoding="utf-8"))


def test_the_journal_is_there_until_the_run_is_complete(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as folder:
        folder.note(record("one/a"))
        lines = (tmp_path / JOURNAL).read_text(encoding="utf-8").splitlines()
        folder.finish({"finished_at": None})
        interrupted = is_incomplete(tmp_path)
        folder.finish({"finished_at": "now"})

    assert [json.loads(line)["case"] for line in lines] == ["one/a"]
    assert (interrupted, is_incomplete(tmp_path)) == (True, False)


def test_a_new_run_in_an_old_folder_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("old")
    (tmp_path / "records.jsonl").write_text("old\n")
    RunFolder(tmp_path).__exit__(None, None, None)

    assert not (tmp_path / "run.json").exists()
    assert (tmp_path / "records.jsonl").read_text() == ""


@pytest.mark.parametrize("place", ["file/below", "file"])
def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("no folder")

    with pytest.raises(OutputError, match=r"cannot write to .*file.*: (Not a directory|File exists)"):
        RunFolder(tmp_path / place)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").symlink_to("/dev/full")
    with RunFolder(tmp_path) as folder, pytest.raises(OutputError, match=r"records\.jsonl: No space left on device"):
        folder.add(record())
    (tmp_path / "run.json").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=r"run\.json: No space left"):
        folder.finish({})
    with pytest.raises(OutputError, match="full: No space left"):
        write_junit(Path("/dev/full"), RUN, EVERY)


def test_a_summary_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))

    with pytest.raises(OutputError, match="Is a directory"):
        write_step_summary(RUN, EVERY)


def test_a_score_is_k_of_n_and_what_n_leaves_out() -> None:
    assert score([record(), record(verdict="fail"), record(verdict="untestable")]) == "1/2 (1 left out)"
    assert score([]) == "0/0"


def test_the_console_shows_evidence_in_lines_that_are_not_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    console = console_of(quiet=False)
    show_causes(console, causes_of([record(verdict="fail", got="00" * 5000)]))
    show_table(console, RUN, EVERY)
    lines = capsys.readouterr().out.splitlines()

    assert max(map(len, lines)) < 400
    assert any(line.startswith("    a < abab") and line.endswith("…") for line in lines)
    assert any("[red]x[/red]" in line for line in lines)
    assert any("[31m" in line for line in lines) and not any("\x1b" in line for line in lines)  # noqa: PT018


def test_the_console_says_where_the_target_broke_the_protocol_first(capsys: pytest.CaptureFixture[str]) -> None:
    seen = {"first": "target", "connection": "b", "offset": 3, "error": "x", "clause": "C-1", "told": "got 07"}
    detail = [record(verdict="hang", extra={"monitor": one}) for one in (seen, {**seen, "first": "nobody"})]
    show_causes(console_of(quiet=False), causes_of(detail))

    line = "the target broke the protocol first: connection b, byte 3 of what it sent: got 07 [C-1]"
    assert capsys.readouterr().out.count(line) == 1


def test_a_quiet_console_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show_causes(console_of(quiet=True), causes_of(EVERY))

    assert capsys.readouterr().out == ""


def test_many_causes_are_cut_and_say_how_many(capsys: pytest.CaptureFixture[str]) -> None:
    many = [record(f"a/{n}", "fail", blamed=f"THR-INSERT-{n}") for n in range(40)]
    show_causes(console_of(quiet=False), causes_of(many))

    assert "and 15 more causes: see --out" in capsys.readouterr().out


def test_what_follows_from_a_cause_is_named_and_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    many = [record(f"a/{n}", "fail", blamed="THR-INSERT-2", got="b") for n in range(9)]
    show_causes(console_of(quiet=False), causes_of(many), tmp_path)
    shown = capsys.readouterr().out
    write_junit(tmp_path / "junit.xml", RUN, [record(), *many])
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    names = [case.attrib["name"] for case in suite.iter("testcase")]

    assert shown.startswith("cause 1 of 1: failure [THR-INSERT-2] expected ")
    assert "8 more follow from it: a/1, a/2, a/3, a/4, a/5, a/6, … (all are in run.json)" in shown
    assert "fail a/1 " not in shown
    assert suite.find("properties/property").attrib["name"] == "cause 1 of 1"  # type: ignore[union-attr]
    assert names[:2] == ["a/0", "insert/one"]
    assert "follows from a/0" in suite.findall("testcase/failure")[1].attrib["message"]
    assert RUN.summary(many, 1)["causes"][0]["following"] == [f"a/{n}" for n in range(1, 9)]
    assert step_summary(RUN, many).splitlines()[2].startswith("1. a/0: failure")


def test_red_is_what_is_not_green_at_must_and_should() -> None:
    red = ("lenient", "fail", "untestable", "crash", "hang")

    assert {one["case"] for one in failing(EVERY)} == {
        f"insert/{verdict}-{level}" for verdict in red for level in ("must", "should")
    }


def test_a_baseline_has_an_id_a_line_and_comments(tmp_path: Path) -> None:
    (tmp_path / "known").write_text("# known\n insert/one \n\nquery/two # why\n")

    assert read_baseline(tmp_path / "known").entries.keys() == {"insert/one", "query/two"}


UNREADABLE: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.exists(),
    "a folder": Path.mkdir,
    "no text": lambda path: path.write_bytes(b"\xff\xfe"),
}  # fmt: skip


@pytest.mark.parametrize("how", UNREADABLE)
def test_a_baseline_that_cannot_be_read_is_reported(tmp_path: Path, how: str) -> None:
    UNREADABLE[how](tmp_path / "known")

    with pytest.raises(BaselineError, match="cannot read the baseline"):
        read_baseline(tmp_path / "known")


def test_a_baseline_forgives_known_failures_and_reports_what_is_new_and_stale() -> None:
    records = [record("a/known", "fail"), record("a/new", "hang"), record("a/mended"), record("a/may", "fail", "MAY")]
    known = Baseline.of(["a/known", "a/mended", "a/not-played", "a/no-case"])

    assert compare(known, records, ["a/known", "a/mended", "a/not-played", "a/new"]) == Comparison(
        new=("a/new",),
        stale=("a/mended",),
        unknown=("a/no-case",),
        known=("a/known",),
        hints=(" (did you mean a/not-played?)",),
    )
    assert compare(NOTHING, [], []) == Comparison((), ())
