"""Sequences: `perform` becomes steps while cases load, and what cannot is told with file and case."""

from pathlib import Path
from typing import Any

import pytest

from wireproof.conformance.suite.documents import CaseError
from wireproof.conformance.suite.sequence_documents import load_sequences
from wireproof.conformance.suite.sequences import Sequence, SequenceError, expanded

LOGIN = Sequence(
    {"as": "a", "login": "", "password": None},
    (
        {"connect": {"name": "<as>", "link": "control"}},
        {"send": {"LOGIN": {"login": "<login>", "password": "<password>"}}, "on": "<as>", "expect": {"TOKEN": {}}},
        {"silent": "<as>", "given": False},
        {"mark": "since-<as>", "clause": "X-1"},
    ),
)


def steps(*written: Any, **known: Sequence) -> list[Any]:
    return expanded(written, {"login": LOGIN, **known})


def test_a_sequence_stands_for_its_steps_and_only_prepares_unless_it_says_so() -> None:
    assert steps({"wait": 1}, {"perform": {"login": {"as": "b", "password": {"hex": "00"}}}}) == [
        {"wait": 1},
        {"given": True, "connect": {"name": "b", "link": "control"}},
        {
            "given": True,
            "send": {"LOGIN": {"login": "", "password": {"hex": "00"}}},
            "on": "b",
            "expect": {"TOKEN": {}},
        },
        {"given": False, "silent": "b"},
        {"given": True, "mark": "since-b", "clause": "X-1"},
    ]


def test_what_stands_beside_perform_holds_for_its_steps() -> None:
    found = steps({"perform": {"login": {"password": "x"}}, "given": False, "clause": "X-2"})

    assert [one["given"] for one in found] == [False] * 4
    assert [one["clause"] for one in found] == ["X-2", "X-2", "X-2", "X-1"]


def test_it_may_stand_in_a_repetition_and_in_another_sequence() -> None:
    twice = Sequence(
        {}, ({"perform": {"login": {"as": "x", "password": "p"}}}, {"perform": {"login": {"password": 5}}})
    )
    (step,) = steps({"repeat": {"each": {"i": [1, 2]}, "steps": [{"perform": "twice"}]}}, twice=twice)

    assert [one["on"] for one in step["repeat"]["steps"] if "send" in one] == ["x", "a"]
    assert step["repeat"]["steps"][5]["send"] == {"LOGIN": {"login": "", "password": 5}}


def test_what_stands_beside_perform_holds_for_the_sequences_within() -> None:
    outer = Sequence({}, ({"perform": {"login": {"password": "p"}}}, {"perform": "held", "given": True}))
    held = Sequence({}, ({"silent": "b"},))
    found = steps({"perform": "outer", "given": False, "clause": "X-2"}, outer=outer, held=held)

    assert [one["given"] for one in found] == [False, False, False, False, True]
    assert [one["clause"] for one in found] == ["X-2", "X-2", "X-2", "X-1", "X-2"]


@pytest.mark.parametrize(
    ("step", "detail"),
    [
        ({"perform": "nothing"}, "no such sequence: nothing; there is login"),
        ({"perform": "login"}, "login: password must be given"),
        ({"perform": {"login": {"pass": 1}}}, "takes as, login, password; got pass"),
        ({"perform": {"login": {"password": 1}}, "on": "b"}, "expected given and clause beside it, got on"),
        ({"perform": {"login": {"password": 1, "as": {"hex": "00"}}}}, "<as> inside 'since-<as>': expected a text"),
        ({"perform": "loop"}, "the sequence loop performs itself"),
    ],
)
def test_what_cannot_be_performed_is_reported(step: dict[str, Any], detail: str) -> None:
    with pytest.raises(SequenceError) as error:
        steps(step, loop=Sequence({}, ({"perform": "loop"},)))

    assert detail in str(error.value)


def test_a_file_of_sequences_is_read_and_its_names_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "sequences.yaml"
    assert load_sequences(path, "psrt") == {}

    path.write_text("ask: {with: {as: b}, steps: [{send: BYE, on: <as>}]}\n")
    assert load_sequences(path, "psrt") == {"ask": Sequence({"as": "b"}, ({"send": "BYE", "on": "<as>"},))}

    path.write_text("ask: {steps: [{send: BYE, on: <as>}]}\n")
    with pytest.raises(
        CaseError, match=r"sequences\.yaml:1: ask.steps.0.on: <as> is not among its `with`; expected none"
    ):
        load_sequences(path, "psrt")


def test_every_wrong_line_of_a_file_of_sequences_is_found_at_once(tmp_path: Path) -> None:
    path = tmp_path / "sequences.yaml"
    path.write_text(
        "ask:\n  with: {as: a, key: null}\n  steps:\n"
        "    - {sned: BYE}\n"
        "    - {send: {SUBSCRIBE: {topic: <key>}}}\n"
        "    - {send: BYE, on: <keyy>}\n"
        "Loop:\n  steps: [{perform: Loop}]\n"
        "other:\n  step: []\n"
        "third:\n  steps:\n    - {send: {SUBSCRIBE: {topic: t}}, on: 3}\n    - {perform: {ask: {as: b}}}\n"
    )

    with pytest.raises(CaseError) as raised:
        load_sequences(path, "psrt")

    detail = str(raised.value)
    assert "sequences.yaml:6: ask.steps.2.on: <keyy> is not among its `with` (did you mean key?)" in detail
    assert "sequences.yaml:4: ask.steps.0.sned: unknown verb 'sned' (did you mean send" in detail
    assert "sequences.yaml:5: ask.steps.1.send.SUBSCRIBE.topic: unknown field of SUBSCRIBE 'topic'" in detail
    assert "sequences.yaml:7: Loop: expected" in detail
    assert "sequences.yaml:10: other.step: unknown key 'step' (did you mean steps?)" in detail
    assert "sequences.yaml:13: third.steps.0" in detail
    assert "sequences.yaml:14: third.steps.1.perform: ask: key must be given" in detail
