"""Cases for SDKs as types: one class a verb, and what is wrong is found when they are loaded."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.conformance.suite.cases import CaseError, load_suite, sdk_cases_in
from wireproof.conformance.suite.sdk_steps import (
    AskStep,
    CloseStep,
    Connection,
    OpenConnectionStep,
    SayStep,
    ScriptedMessage,
    WaitStep,
    answer_of,
    blamed_by,
)
from wireproof.conformance.suite.written import as_written

CLAUSES = {"throttr": "THR-QUERY-3", "psrt": "PSRT-CLIENT-12"}


def steps(*written: Any, protocol: str = "throttr", **more: Any) -> tuple[Any, ...]:
    entry = {"id": "sdk-test/case", "title": "a case of a test", "clauses": [CLAUSES[protocol]], **more}
    (made,) = sdk_cases_in({"cases": [{**entry, "steps": list(written)}]}, load_suite(protocol).context, "t.yaml")
    return made.script


def test_a_step_is_of_the_class_of_its_verb() -> None:
    asked, printed, closed, waited = steps(
        {"ask": {"QUERY": {"key": "$k"}}, "answer": "refused", "blame": {"key": "THR-QUERY-3"}},
        {"on": "b", "say": {"push": {"channel": "c", "payload": "p"}}},
        {"close": "a", "fails": ["closed"]},
        {"wait": 0.5},
    )

    assert isinstance(asked, AskStep)
    assert asked.ask == (ScriptedMessage("QUERY", {"key": "$k"}),)
    assert (answer_of(asked), blamed_by(asked)) == ((ScriptedMessage("refused", {}, True),), ("THR-QUERY-3",))
    assert isinstance(printed, SayStep)
    assert printed.on == "b"
    assert closed == CloseStep("a", ("closed",))
    assert waited == WaitStep(0.5)


def test_a_connection_keeps_the_protocol_s_own_fields_apart() -> None:
    written = {"connect": {"name": "a", "by_hand": True, "timeout": 3, "login": {"fill": 117, "size": 9}}}

    (step,) = steps(written, protocol="psrt")

    assert isinstance(step, OpenConnectionStep)
    assert isinstance(step.connect, Connection)
    assert (step.connect.name, step.connect.by_hand, list(step.connect.fields)) == ("a", True, ["timeout", "login"])
    assert as_written(step) == written


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"wait": 1, "answer": "ok"}, r"steps.0.answer: unknown key 'answer'.* expected wait, "),
        ({"close": "a", "blame": {"key": "THR-QUERY-3"}}, "unknown key 'blame'"),
        ({"ask": {"QUERY": {"key": "$k"}}, "say": "ok"}, "unknown key 'say'"),
        ({"given": True}, "a step without a verb; expected one of ask, say, receive, "),
        ({"given": True, "recieve": "LIST"}, r"unknown verb 'recieve' \(did you mean receive\?\)"),
        ({"connect": {"name": "a", "retries": 1}}, "unknown field of connect 'retries'; expected timeout"),
        ({"connect": {"by_hand": True}}, "'name' is missing"),
        ({"ask": {"QUERY": {"key": "$k"}}, "fails": ["gone"]}, "fails"),
        ({"ask": {"QUERY": {"key": "$k"}}, "cut": 0}, "cut"),
        ({"say": {"raw": "00", "at": 1}}, "unknown key 'at'"),
        ({"say": {"raw": "00", "as": "NOTHING"}}, "NOTHING"),
    ],
)  # fmt: skip
def test_a_wrong_step_is_found_when_it_is_loaded(step: dict[str, Any], expected: str) -> None:
    with pytest.raises(CaseError, match=expected):
        steps(step)


def test_every_wrong_step_of_a_case_is_found_at_once() -> None:
    with pytest.raises(CaseError) as raised:
        steps({"wait": 1, "cut": 3}, {"aks": "LIST"}, {"down": "a", "fails": "any"})

    assert len(str(raised.value).splitlines()) == 4
