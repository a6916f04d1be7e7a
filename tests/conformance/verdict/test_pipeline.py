"""The way of a verdict: what each step makes of an outcome, and each record written once, as soon as it is final."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof.conformance.model.outcome import ANYWHERE, FailurePlace, Outcome
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.verdict.consequences import FailedPlay, consequence, explained
from wireproof.conformance.verdict.crashes import ProcessEnd
from wireproof.conformance.verdict.pipeline import STEPS, Evidence, Verdicts, decide, undeclared
from wireproof.conformance.verdict.records import Record, Run, record

SUITE = load_suite("throttr")
RUN = Run("throttr", "7.1.0", "uint16", "here", "x")
CASES = [case for case in SUITE.cases if "7.1.0" in case.profiles]
BY_ID = {case.id: case for case in CASES}
GROUPS = sorted({clause.group for clause in SUITE.clauses.values()})
FAIL = Outcome(Verdict.FAIL, Trace(), Guilty.TARGET, got="wrong")
HANG = Outcome(Verdict.HANG, Trace(), Guilty.TARGET, got="nothing")
CRASH = Outcome(Verdict.CRASH, Trace(), Guilty.TARGET, got="gone")
PASS = Outcome(Verdict.PASS, Trace())
END = ProcessEnd("was killed by SIGSEGV", ["oops"], "THR-QUERY-1", {"start": 1})
LOW, HIGH = BY_ID["query/starts-with-02"], BY_ID["update/change-patch"]
PLACE = FailurePlace("QUERY", "quota", frozenset({"INSERT", "QUERY", "UPDATE"}))


def played(case: Case, verdict: Verdict = Verdict.FAIL, place: FailurePlace | None = PLACE) -> Record:
    outcome = Outcome(verdict, Trace(), Guilty.TARGET, case.clauses[0], got="what came", place=place)
    return record(RUN, SUITE, case, outcome, duration_us=1)


@pytest.mark.parametrize("outcome", [PASS, FAIL, HANG, CRASH])
@pytest.mark.parametrize("step", STEPS)
def test_a_step_without_evidence_changes_nothing(step: object, outcome: Outcome) -> None:
    assert callable(step)
    assert step(outcome, Evidence()) is outcome


@pytest.mark.parametrize(
    ("outcome", "evidence", "verdict", "guilty", "got"),
    [
        (
            FAIL,
            Evidence(end=END),
            Verdict.CRASH,
            Guilty.TARGET,
            "it was killed by SIGSEGV; wrong; its last words: oops",
        ),
        (HANG, Evidence(serves_nobody=True), Verdict.CRASH, Guilty.TARGET, "nothing; the target answers nobody"),
        (FAIL, Evidence(serves_nobody=True), Verdict.FAIL, Guilty.TARGET, "wrong; the target answers nobody any more"),
        (CRASH, Evidence(others=2), Verdict.UNTESTABLE, Guilty.NOBODY, "gone; 2 other cases were under way"),
        (FAIL, Evidence(use_by_others="busy"), Verdict.UNSUPPORTED, Guilty.NOBODY, "busy; wrong"),
        (CRASH, Evidence(use_by_others="busy"), Verdict.CRASH, Guilty.TARGET, "gone"),
        (FAIL, Evidence(whole=PASS), Verdict.FAIL, Guilty.TARGET, "wrong"),
        (FAIL, Evidence(whole=HANG), Verdict.UNTESTABLE, Guilty.NOBODY, "wrong; whole it does not pass any more"),
        (HANG, Evidence(serves_nobody=True, others=1), Verdict.UNTESTABLE, Guilty.NOBODY, "nothing; the target"),
    ],
)
def test_evidence_decides(outcome: Outcome, evidence: Evidence, verdict: Verdict, guilty: Guilty, got: str) -> None:
    found = decide(outcome, evidence)

    assert (found.verdict, found.guilty) == (verdict, guilty)
    assert found.got is not None
    assert found.got.startswith(got)


def waited_for(seconds: float, answers: int, outcome: Outcome) -> Outcome:
    """The same after so many answers that came so late."""
    step, trace = round(seconds * 1e6), Trace()
    for number in range(answers):
        trace.append(TraceEvent(step * number, "a", Kind.SENT))
        trace.append(TraceEvent(step * (number + 1), "a", Kind.RECEIVED))
    return replace(outcome, trace=trace)


LATE = replace(FAIL, verdict=Verdict.UNTESTABLE, guilty=Guilty.HARNESS)
GIVEN = replace(FAIL, verdict=Verdict.UNTESTABLE, guilty=Guilty.NOBODY)


@pytest.mark.parametrize(
    ("outcome", "evidence", "verdict"),
    [
        (FAIL, Evidence(round_trip=0.2), Verdict.FAIL),
        (LATE, Evidence(round_trip=0.2), Verdict.UNSUPPORTED),
        (LATE, Evidence(), Verdict.UNTESTABLE),
        (GIVEN, Evidence(round_trip=0.2), Verdict.UNTESTABLE),
        (GIVEN, Evidence(round_trip=0.2, timed=True), Verdict.UNSUPPORTED),
        (waited_for(0.2, 20, FAIL), Evidence(round_trip=0.2), Verdict.UNSUPPORTED),
        (waited_for(0.2, 5, FAIL), Evidence(round_trip=0.2), Verdict.FAIL),
        (waited_for(0.001, 20, FAIL), Evidence(round_trip=0.2), Verdict.FAIL),
        (replace(PASS, trace=waited_for(0.2, 20, FAIL).trace), Evidence(round_trip=0.2), Verdict.PASS),
        (FAIL, Evidence(narrow="it serves 3"), Verdict.UNSUPPORTED),
        (PASS, Evidence(narrow="it serves 3"), Verdict.PASS),
    ],
)
def test_what_the_way_to_a_target_explains_is_unsupported(
    outcome: Outcome, evidence: Evidence, verdict: Verdict
) -> None:
    found = decide(outcome, evidence)

    assert found.verdict is verdict
    if verdict is Verdict.UNSUPPORTED:
        assert (found.guilty, found.blamed) == (Guilty.NOBODY, None)
        assert str(found.expected).startswith("a target that ")


def test_the_use_of_others_changes_nothing_about_a_case_that_passed() -> None:
    assert decide(PASS, Evidence(use_by_others="busy")) is PASS


def test_a_case_that_ended_the_server_blames_its_own_clause_and_keeps_the_evidence() -> None:
    found = decide(PASS, Evidence(end=END))

    assert (found.blamed, found.expected, found.extra) == (
        "THR-QUERY-1",
        "a target that stays up",
        {"process": {"start": 1}},
    )


def test_what_a_target_lacks_is_unsupported_and_nobodys_fault() -> None:
    found = undeclared(("tls", "events"), {"tls": "It speaks TLS."})

    assert (found.verdict, found.guilty, found.expected) == (Verdict.UNSUPPORTED, Guilty.NOBODY, "tls, events")
    assert found.got == "the target does not declare that it has it: It speaks TLS. "


def test_what_can_never_change_is_written_at_once() -> None:
    written: list[Record] = []
    verdicts = Verdicts(SUITE, CASES, written.append)
    records = [
        played(LOW, Verdict.PASS, None),
        played(HIGH, Verdict.CRASH),
        played(replace(LOW, segmentation="bytes")),
        played(BY_ID["update/change-increase"], Verdict.FAIL, None),
    ]
    for number, one in enumerate(records, 1):
        verdicts.add(one)
        assert written == records[:number]
    assert verdicts.finish() == records == written


def test_a_failure_waits_until_every_case_that_may_explain_it_is_decided() -> None:
    written: list[Record] = []
    verdicts = Verdicts(SUITE, [LOW, HIGH], written.append)
    high, low = played(HIGH), played(LOW)
    verdicts.add(high)
    assert written == []
    verdicts.add(low)

    assert [(one["case"], one["verdict"]) for one in written] == [(LOW.id, "fail"), (HIGH.id, "untestable")]
    assert [one["case"] for one in verdicts.finish()] == [HIGH.id, LOW.id]
    assert len(written) == 2


def test_a_failure_that_nothing_can_explain_any_more_is_written_while_the_run_goes_on() -> None:
    written: list[Record] = []
    verdicts = Verdicts(SUITE, [LOW, HIGH, BY_ID["update/change-increase"]], written.append)
    high = played(HIGH)
    verdicts.add(high)
    verdicts.add(played(LOW, Verdict.PASS, None))

    assert written[1:] == [high]


def test_a_run_that_is_cut_short_writes_what_was_played() -> None:
    written: list[Record] = []
    verdicts = Verdicts(SUITE, CASES, written.append)
    high = played(HIGH)
    verdicts.add(high)

    assert written == []
    assert verdicts.finish() == [high] == written


PLACES = st.builds(
    FailurePlace,
    st.sampled_from(["QUERY", "UPDATE", ANYWHERE]),
    st.sampled_from(["quota", "ok"]),
    st.frozensets(st.sampled_from(GROUPS), max_size=4),
)
FAILURES = st.lists(
    st.tuples(st.sampled_from(CASES), PLACES, st.sampled_from([Verdict.FAIL, Verdict.HANG, Verdict.PASS])),
    unique_by=lambda one: one[0].id,
    max_size=40,
)


@given(FAILURES, st.booleans())
def test_each_record_is_written_once_and_as_if_all_had_been_known_from_the_start(
    plays: list[tuple[Case, FailurePlace, Verdict]], is_whole_run: bool
) -> None:
    records = [played(case, verdict, place) for case, place, verdict in plays]
    failing = [one for one in records if one["verdict"] in ("fail", "lenient", "hang")]
    failures = [
        FailedPlay(one["record_id"], BY_ID[one["case"]], FailurePlace.of(one["extra"]), one["blamed"])
        for one in failing
        if "asked" in one["extra"]
    ]
    causes = explained(SUITE, failures)
    expected = [consequence(one, causes[one["record_id"]]) if one["record_id"] in causes else one for one in records]
    written: list[Record] = []
    verdicts = Verdicts(SUITE, [case for case, _, _ in plays] if is_whole_run else CASES, written.append)
    for one in records:
        verdicts.add(one)
    if is_whole_run:
        assert len(written) == len(records)

    assert verdicts.finish() == expected
    assert sorted(one["record_id"] for one in written) == sorted(one["record_id"] for one in records)
