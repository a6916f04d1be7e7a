"""Baselines: per cause and not per consequence, by case or clause, with reasons, stale and unknown told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.conformance.report.test_outputs import RUN, record
from wireproof.cli import command
from wireproof.conformance.report.baseline import Baseline, compare, read_baseline, written_baseline
from wireproof.conformance.report.outputs import RunFolder

PLACE = {"role": "server", "protocol": "throttr", "profile": "7.1.0", "variant": "uint16", "run_id": "0" * 16}
FIELD = {"reply_to": "QUERY", "field": "quota", "asked": "QUERY"}
CLAUSES = ["THR-QUERY-6", "THR-INSERT-1"]


def one(case: str, verdict: str = "pass", clause: str = "THR-QUERY-6", **more: Any) -> dict[str, Any]:
    blamed = None if verdict == "pass" else clause
    return record(case, verdict, **{**PLACE, "clauses": [clause], "blamed": blamed, "extra": {}, **more})


SHOWS = one("query/fields-of-the-answer", "fail", expected="QUERY_REPLY.quota = 7", got="5", byte=1, extra=FIELD)
FOLLOWS = one("insert/key-of-a-counter", "untestable", extra={"rests_on": "query/fields-of-the-answer"})
OTHER = one(
    "insert/status",
    "fail",
    "THR-INSERT-1",
    expected="01",
    got="00",
    extra={"reply_to": "INSERT", "field": "ok", "asked": "INSERT"},
)
ALL = [SHOWS, FOLLOWS, OTHER, one("query/missing")]
CASES = [each["case"] for each in ALL]


@pytest.mark.parametrize(
    ("names", "new"),
    [
        ((), ("insert/key-of-a-counter", "insert/status", "query/fields-of-the-answer")),
        (("query/fields-of-the-answer",), ("insert/status",)),
        (("THR-QUERY-6",), ("insert/status",)),
        (("insert/key-of-a-counter",), ("insert/status", "query/fields-of-the-answer")),
        (("THR-QUERY-6", "insert/status"), ()),
    ],
)
def test_an_entry_forgives_a_cause_and_its_consequences(names: tuple[str, ...], new: tuple[str, ...]) -> None:
    found = compare(Baseline.of(names), ALL, CASES, CLAUSES)

    assert (found.new, found.stale, found.unknown) == (new, (), ())


def test_stale_unknown_and_what_passes_sometimes(tmp_path: Path) -> None:
    (tmp_path / "known").write_text(
        "query/missing passes sometimes # racy, https://example.org/1\n"
        "query/other\nquery/missng\nTHR-QUERY-6 # reason\nTHR-QUERY-9\n"
    )
    mended = [one("query/missing"), one("query/other"), one("query/fields-of-the-answer")]
    known = read_baseline(tmp_path / "known")
    found = compare(known, mended, ["query/missing", "query/other", "query/fields-of-the-answer"], CLAUSES)

    assert known.entries["query/missing"].reason == "racy, https://example.org/1"
    assert found.stale == ("THR-QUERY-6", "query/other")
    assert found.unknown == ("THR-QUERY-9", "query/missng")
    assert found.is_out_of_date
    assert any(
        "query/missng is no case or clause of this version (did you mean query/missing" in line for line in found.lines
    )


def test_what_is_written_has_a_line_for_each_cause_and_keeps_reasons(tmp_path: Path) -> None:
    text = written_baseline([ALL, [SHOWS, FOLLOWS]])
    (tmp_path / "known").write_text(text.replace("failure [THR-QUERY-6] expected QUERY_REPLY.quota = 7; got 5", "why"))
    entries = read_baseline(tmp_path / "known").entries

    assert entries.keys() == {"query/fields-of-the-answer", "insert/status"}
    assert (entries["insert/status"].sometimes, entries["query/fields-of-the-answer"].sometimes) == (True, False)
    assert entries["query/fields-of-the-answer"].reason == "why"
    again = written_baseline([ALL], read_baseline(tmp_path / "known"))
    assert "query/fields-of-the-answer  # why" in again
    assert "insert/status passes sometimes  # failure" in again
    assert "THR-QUERY-6  # " in written_baseline([ALL], by_clause=True)


def run_in(folder: Path, *records: dict[str, Any]) -> str:
    with RunFolder(folder) as run:
        for each in records:
            run.add(each)
        run.finish(RUN.summary(list(records), 1), list(records))
    return str(folder)


def printed(*words: str) -> str:
    done = CliRunner().invoke(command, ["baseline", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_commands_write_and_prune(tmp_path: Path) -> None:
    file, bad, good = (
        str(tmp_path / "known"),
        run_in(tmp_path / "a", *ALL),
        run_in(tmp_path / "b", SHOWS, one("insert/status")),
    )

    assert "2 known failures" in printed("write", file, bad)
    Path(file).write_text(Path(file).read_text() + "# ours\nno/case\n")
    pruned = printed("prune", file, good)
    assert "removed insert/status" in pruned
    assert "removed no/case" in pruned
    assert "removed query/fields" not in pruned
    assert "# ours" in Path(file).read_text()
    assert CliRunner().invoke(command, ["baseline", "prune", str(tmp_path / "none"), good]).exit_code == 2


@pytest.mark.parametrize("line", ["what somebody wrote down", "query/status: known", "query/status sometimes # racy"])
def test_a_line_that_is_none_is_named_with_what_was_expected(tmp_path: Path, line: str) -> None:
    file, run = tmp_path / "known", run_in(tmp_path / "a", *ALL)
    file.write_text(f"# ours\nquery/status passes sometimes # racy\n{line}\n")
    done = CliRunner().invoke(command, ["baseline", "prune", str(file), run])

    assert done.exit_code == 2
    assert f"{file} line 3: expected the id of a case or clause, " in done.stderr
    assert line.partition("#")[0].strip() in done.stderr
    assert file.read_text().endswith(f"{line}\n")
