"""Fuzzing our own code: what is broken is found, shrunk, kept once, replayed; corpora grow and are minimised."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wireproof.fuzz import corpus, coverage_guided, known_targets
from wireproof.fuzz.commands import own_code
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.commands.replay_finding import command as replay
from wireproof.fuzz.findings.finding import FindingError
from wireproof.fuzz.findings.findings_folder import load, load_all
from wireproof.fuzz.findings.shrink import fewer, smaller
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import TARGETS, CodeTarget, default_protocol, dictionary


def check_seeded(name: str, data: bytes) -> None:
    if b"\x07" in data and len(data) > 4:
        raise InvariantError("no sevens", f"7 at {data.index(7)}", "seven")


PLANTED = CodeTarget("parser", "wireproof.fuzz.targets.parser", check_seeded, lambda name: [b"abcdef", b"ab\x06def"])


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> CodeTarget:
    known = {**TARGETS, "parser": PLANTED}
    for module in (known_targets, own_code):
        monkeypatch.setattr(module, "TARGETS", known)
    monkeypatch.setattr("wireproof.fuzz.commands.replay_finding.TARGETS", known)
    return PLANTED


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(fuzz, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_what_is_found_is_shrunk_kept_once_and_replayed(faulty: CodeTarget, tmp_path: Path) -> None:
    arguments = ("parser", "throttr", "--engine", "hypothesis", "--runs", "5000", "--findings", str(tmp_path))
    first, second = run(*arguments), run(*arguments)

    (found,) = load_all(tmp_path)
    assert (first.exit_code, second.exit_code) == (1, 1)
    assert f"already known as {found.id}" in second.output
    assert (len(found.data), found.data.count(7), found.reproduced) == (5, 1, (3, 3))
    assert set(found.data) == {0, 7}
    again = CliRunner().invoke(replay, [str(tmp_path / found.id)])
    assert (again.exit_code, again.output.split()[0]) == (1, "REPRODUCED")


def test_a_fixed_bug_is_gone(faulty: CodeTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("parser", "throttr", "--engine", "hypothesis", "--runs", "5000", "--findings", str(tmp_path))
    monkeypatch.setattr("wireproof.fuzz.commands.replay_finding.TARGETS", TARGETS)

    (found,) = load_all(tmp_path)
    result = CliRunner().invoke(replay, [str(tmp_path / found.id / "finding.json")])

    assert (result.exit_code, result.output.split()[0]) == (0, "GONE")


def test_the_corpus_is_replayed_before_anything_is_fuzzed(faulty: CodeTarget, tmp_path: Path) -> None:
    corpus.merge(tmp_path / "corpus", [b"fine", b"long and\x07 wrong"])

    result = run("parser", "throttr", "--runs", "1", "--corpus", str(tmp_path / "corpus"), "--findings", str(tmp_path))

    assert result.exit_code == 1
    assert "found after" in result.output


@pytest.mark.skipif(not coverage_guided.is_available(), reason="no atheris here")
def test_our_own_code_under_atheris_grows_a_corpus(tmp_path: Path) -> None:
    result = run("scheduler", "--runs", "2000", "--corpus", str(tmp_path / "grown"), "--findings", str(tmp_path / "f"))

    assert result.exit_code == 0, result.output
    assert "coverage" in result.output
    assert corpus.inputs(tmp_path / "grown")


@pytest.mark.skipif(not coverage_guided.is_available(), reason="no atheris here")
def test_what_the_starting_process_once_had_counts_against_no_input() -> None:
    resource = pytest.importorskip("resource")
    (limit,) = (one for one in coverage_guided._options(0, 1, 1) if one.startswith("-rss_limit_mb="))

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # a process that is started begins with it
    assert int(limit.partition("=")[2]) >= peak + 2048


def test_a_corpus_is_minimised_to_what_reaches_the_same(tmp_path: Path) -> None:
    all_of_it, small = tmp_path / "all", tmp_path / "small"
    seeds = list(TARGETS["parser"].seeds("throttr"))[:200]
    corpus.merge(all_of_it, [*seeds, *(seed + b"" for seed in seeds[:5])])

    first = run("corpus", "merge", str(all_of_it), "--into", str(small), "--target", "parser")
    again = run("corpus", "merge", str(all_of_it), "--into", str(small), "--target", "parser")

    assert 0 < len(corpus.inputs(small)) < len(corpus.inputs(all_of_it)) / 2, first.output
    assert again.output.startswith("0 inputs added")
    steps = [
        run("corpus", "coverage", str(one), "--target", "parser").output.splitlines() for one in (all_of_it, small)
    ]
    assert steps[0][:-1] == steps[1][:-1]
    assert any("generated code" in line for line in steps[0])


def test_without_atheris_the_other_engine_is_reported_and_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(coverage_guided, "find_spec", lambda name: None)
    used = run("scheduler", "--runs", "500", "--findings", str(tmp_path))
    refused = run("scheduler", "--runs", "500", "--findings", str(tmp_path), "--engine", "atheris")

    assert (used.exit_code, refused.exit_code) == (0, 2)
    assert "atheris is not installed: fuzzing with Hypothesis, without coverage" in used.output
    assert "pip install 'wireproof[fuzz]'" in refused.output


def test_without_hypothesis_either_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(own_code.property_based, "IS_AVAILABLE", False)
    result = run("store", "throttr", "--runs", "150", "--findings", str(tmp_path), "--engine", "hypothesis")

    assert result.exit_code == 2
    assert "Hypothesis is not installed: python -m pip install 'wireproof[fuzz]'" in result.output


@pytest.mark.nightly
def test_the_store_agrees_under_hypothesis(tmp_path: Path) -> None:
    result = run("store", "throttr", "--runs", "150", "--findings", str(tmp_path), "--engine", "hypothesis")

    assert result.exit_code == 0, result.output
    assert "store: nothing found" in result.output


def test_corpora_merge_by_content(tmp_path: Path) -> None:
    corpus.merge(tmp_path / "a", [b"1", b"2"])
    corpus.merge(tmp_path / "b", [b"2", b"3"])

    result = run("corpus", "merge", str(tmp_path / "a"), str(tmp_path / "b"), "--into", str(tmp_path / "c"))

    assert "3 inputs added" in result.output
    assert sorted(corpus.inputs(tmp_path / "c").values()) == [b"1", b"2", b"3"]
    assert corpus.seed(tmp_path / "d", (bytes([n]) for n in range(100)), 10) <= 10


def test_dictionaries_hold_the_enums_and_the_edges() -> None:
    words = dictionary("throttr")

    assert 'max_2="\\xff\\xff"' in words
    assert all(line.count("=") == 1 and line.endswith('"') for line in words.splitlines())


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "expected JSON"), ("[]", "expected a finding, got list"), ("{}", "expected a finding of schema")],
)
def test_what_is_no_finding_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "finding.json").write_text(text)

    with pytest.raises(FindingError, match=message):
        load(tmp_path)
    assert CliRunner().invoke(replay, [str(tmp_path)]).exit_code == 2


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FindingError, match="cannot read"):
        load(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("items", "needed", "kept"),
    [(range(100), {3, 50, 99}, [3, 50, 99]), (range(10), set(), []), (range(1), {0}, [0])],
)
def test_fewer_leaves_what_is_needed(items: range, needed: set[int], kept: list[int]) -> None:
    assert fewer(list(items), lambda some: needed <= set(some)) == kept


def test_smaller_zeroes_what_does_not_matter_and_stops_in_time() -> None:
    assert smaller(b"xxAxxB", lambda data: b"A" in data and len(data) > 2 and data[-1:] == b"B") == b"A\0B"
    assert smaller(b"\2\3abc", lambda data: data[:1] == b"\2" and len(data) > 1 and len(data) >= 2 + data[1]) == b"\2\0"
    calls = []
    smaller(bytes(200), lambda data: bool(calls.append(data)) or len(data) > 100, tries=30)
    assert len(calls) <= 31


@pytest.mark.parametrize("command", ["store", "machine"])
def test_what_has_no_model_is_not_compared_with_one(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("own_code", "machine"):
        monkeypatch.setattr(f"wireproof.fuzz.commands.{module}.has_model", lambda name: False)

    result = run(command, "throttr")

    assert result.exit_code == 2
    assert "throttr has no model of a whole server" in result.output


def test_where_no_protocol_is_named_the_one_that_every_engine_can_fuzz_is_intended() -> None:
    assert default_protocol() == "throttr"
