"""Walks become cases: their moves are filled in, ids depend on the text alone, what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from wireproof.conformance.suite.cases import CaseError, load_suite, vectors_root
from wireproof.conformance.suite.generated_cases import is_generated
from wireproof.conformance.suite.walks import read_walks, walk_case, walk_cases, walks_path
from wireproof.protocols import protocol_names

SUITE = load_suite("tmqp")
WRITTEN = """
protocol: tmqp
sets:
  rooms:
    clauses: [TMQP-PRODUCE-1]
    begin: [{perform: {hello: {}}}]
    moves:
      push:
        counts: message
        fields: {queue: {"1": 1, "2": 2}, priority: {normal: 0, high: 1}}
        steps: [{send: {PRODUCE: {id: m<message>, high_priority: <priority>, target: $c, content_type: <queue>}}}]
      acknowledge:
        fields: {which: {last: m<message>, former: m<message_before>}}
        steps: [{send: [{ACKNOWLEDGE: {id: <which>, target: $c, content_type: 1}}, PING]}]
    end: [{send: PING}]
"""
WALK = "push 1 high; push 2 normal; acknowledge last; acknowledge former"


def file_of(tmp_path: Path, *walks: str, text: str = WRITTEN) -> Path:
    path = tmp_path / "walks.yaml"
    path.write_text(text)
    (tmp_path / "walks").mkdir(exist_ok=True)
    (tmp_path / "walks" / "rooms.txt").write_text("".join(f"{one}\n" for one in walks))
    return path


def test_a_walk_begins_moves_and_ends(tmp_path: Path) -> None:
    (case,) = walk_cases(file_of(tmp_path, WALK), SUITE.context)

    assert (case.modelled, case.title, len(case.steps)) == (True, f"a walk: {WALK}", 6)
    assert is_generated(case.id)


def test_words_and_counters_are_filled_in(tmp_path: Path) -> None:
    file = read_walks(file_of(tmp_path))
    assert file is not None
    _, one, two, last, former, _ = walk_case("rooms", file.sets["rooms"], WALK)["steps"]  # type: ignore[misc]

    assert one == {"send": {"PRODUCE": {"id": "m1", "high_priority": 1, "target": "$c", "content_type": 1}}}
    assert two == {"send": {"PRODUCE": {"id": "m2", "high_priority": 0, "target": "$c", "content_type": 2}}}
    assert [step["send"][0]["ACKNOWLEDGE"]["id"] for step in (last, former)] == ["m2", "m1"]


def test_the_id_depends_on_the_text_of_the_walk_alone(tmp_path: Path) -> None:
    (before,) = walk_cases(file_of(tmp_path, WALK), SUITE.context)
    more = WRITTEN.replace("      acknowledge:\n", "      nothing: {steps: [{send: PING}]}\n      acknowledge:\n")
    other, after = walk_cases(file_of(tmp_path, "push 1 normal", WALK, text=more), SUITE.context)

    assert before.id == after.id != other.id


@pytest.mark.parametrize(
    ("walk", "why"),
    [
        ("psh 1 high", "no such move: psh.*push"),
        ("push 1", "expected push <queue> <priority>"),
        ("push 1 hgh", "no such priority: hgh.*high"),
    ],
)
def test_what_is_no_move_is_named(tmp_path: Path, walk: str, why: str) -> None:
    with pytest.raises(CaseError, match=why):
        walk_cases(file_of(tmp_path, walk), SUITE.context)


def test_a_protocol_without_the_file_has_no_walks(tmp_path: Path) -> None:
    assert walk_cases(tmp_path / "walks.yaml", SUITE.context) == ()


@pytest.mark.parametrize("name", protocol_names())
def test_each_walk_that_is_kept_is_a_case_of_its_own(name: str) -> None:
    path = vectors_root() / name / "walks.yaml"
    file = read_walks(path)
    kept = [walks_path(path, one).read_text().splitlines() for one in (file.sets if file is not None else {})]
    titles = [case.title for case in load_suite(name).cases if "/walk-" in case.id]

    assert titles == [f"a walk: {walk}" for walks in kept for walk in walks]
    assert len(set(titles)) == len(titles)
