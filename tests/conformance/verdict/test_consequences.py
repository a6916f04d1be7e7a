"""Consequences: what rests on a failed case is untestable; what stands by itself keeps its failure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wireproof.conformance.model.outcome import AT_END, FailurePlace, Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.run.together import PASSES_AGAIN
from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.conformance.verdict.consequences import Consequences, FailedPlay, explained
from wireproof.conformance.verdict.records import Record, Run, record

REAL = load_suite("throttr")
SUITE = Suite("throttr", REAL.clauses, (), (), {}, ("INSERT", "QUERY", "UPDATE"))
TEMPLATE = REAL.cases[0]


def failure(name: str, clause: str, place: tuple[str, str], *asked: str, prerequisite: bool = False) -> FailedPlay:
    case = replace(TEMPLATE, id=name, clauses=(clause,), prerequisite=prerequisite)
    return FailedPlay(name, case, FailurePlace(*place, frozenset(asked)), clause)


LOW = failure("low", "THR-QUERY-6", ("QUERY", "quota"), "INSERT", "QUERY")


@pytest.mark.parametrize(
    ("other", "is_explained"),
    [
        (failure("above", "THR-UPDATE-9", ("QUERY", "quota"), "INSERT", "UPDATE", "QUERY"), True),
        (failure("another field", "THR-UPDATE-9", ("QUERY", "ttl"), "INSERT", "UPDATE", "QUERY"), False),
        (failure("after the last step", "THR-UPDATE-9", ("QUERY", AT_END), "UPDATE", "QUERY"), False),
        (failure("another reply", "THR-UPDATE-9", ("UPDATE", "ok"), "INSERT", "UPDATE", "QUERY"), False),
        (failure("a history", "THR-CONCURRENCY-1", ("*", ""), "QUERY"), True),
        (failure("another history", "THR-CONCURRENCY-1", ("*", ""), "GET"), False),
        (failure("without it", "THR-UPDATE-9", ("QUERY", "quota"), "INSERT", "UPDATE"), False),
        (failure("below", "THR-INSERT-2", ("QUERY", "quota"), "INSERT", "QUERY"), False),
        (failure("beside", "THR-QUERY-7", ("QUERY", "quota"), "INSERT", "QUERY"), False),
    ],
    ids=lambda one: one.key if isinstance(one, FailedPlay) else "",
)
def test_a_failure_at_the_same_place_higher_up_rests_on_the_lower_one(other: FailedPlay, is_explained: bool) -> None:
    assert (other.key in explained(SUITE, [other, LOW])) is is_explained


def test_what_came_after_the_last_step_explains_no_answer() -> None:
    low = failure("low", "THR-QUERY-6", ("QUERY", AT_END), "INSERT", "QUERY")
    above = failure("above", "THR-UPDATE-9", ("QUERY", ""), "INSERT", "UPDATE", "QUERY")
    after = failure("after", "THR-UPDATE-9", ("QUERY", AT_END), "INSERT", "UPDATE", "QUERY")

    assert set(explained(SUITE, [after, above, low])) == {"after"}


def test_a_clause_about_a_field_of_whatever_message_explains_what_stops_at_that_field() -> None:
    clauses = {**REAL.clauses, "THR-QUERY-6": replace(REAL.clauses["THR-QUERY-6"], fields=frozenset({"ttl"}))}
    suite = replace(SUITE, clauses=clauses)
    low = failure("low", "THR-QUERY-6", ("QUERY", "ttl"), "QUERY")
    above = failure("above", "THR-UPDATE-9", ("UPDATE", "ttl"), "UPDATE")
    elsewhere = failure("elsewhere", "THR-UPDATE-9", ("UPDATE", "quota"), "UPDATE")
    below = failure("below", "THR-INSERT-2", ("INSERT", "ttl"), "INSERT")

    assert set(explained(suite, [above, elsewhere, below, low])) == {"above"}
    assert not explained(suite, [above, replace(low, place=FailurePlace("QUERY", "quota", frozenset()))])
    assert not explained(SUITE, [above, low])


def test_what_uses_the_request_of_a_failed_foundation_rests_on_it_wherever_it_stopped() -> None:
    root = failure("root", "THR-QUERY-1", ("QUERY", ""), "QUERY", prerequisite=True)
    above = failure("above", "THR-UPDATE-9", ("UPDATE", "ok"), "QUERY", "UPDATE")
    beside = failure("beside", "THR-QUERY-6", ("PURGE", ""), "PURGE")
    elsewhere = failure("elsewhere", "THR-INSERT-2", ("QUERY", ""), "QUERY", prerequisite=True)
    suite = replace(SUITE, cases=(root.case, elsewhere.case))

    assert set(explained(suite, [elsewhere, above, beside, root])) == {"above", "beside"}


def test_a_foundation_rests_on_those_of_its_group_that_come_before_it() -> None:
    first = failure("first", "THR-QUERY-2", ("QUERY", ""), "QUERY", prerequisite=True)
    second = failure("second", "THR-QUERY-1", ("QUERY", "quota"), "QUERY", prerequisite=True)
    above = failure("above", "THR-QUERY-6", ("QUERY", "quota"), "QUERY")
    suite = replace(SUITE, cases=(first.case, second.case))

    assert explained(suite, [above, second, first]) == {"second": first, "above": first}
    assert explained(suite, [above, second]) == {"above": second}


def test_a_low_case_that_sent_the_request_of_the_higher_group_hides_no_cause_there() -> None:
    low = failure("low", "THR-GET-7", ("GET", "ttl"), "SET", "UPDATE", "GET")
    high = failure("high", "THR-UPDATE-25", ("GET", "ttl"), "SET", "UPDATE", "GET")
    without = failure("without", "THR-GET-7", ("GET", "ttl"), "SET", "GET")
    elsewhere = failure("elsewhere", "THR-GET-9", ("GET", "value"), "SET", "GET")
    usual = failure("usual", "THR-SET-3", ("GET", "ttl"), "SET", "GET")
    first = failure("first", "THR-GET-2", ("GET", "ttl"), "SET", "UPDATE", "GET", prerequisite=True)
    suite = replace(REAL, cases=(*REAL.cases, first.case))

    assert not explained(REAL, [high, low, elsewhere])
    assert explained(REAL, [high, low, without]) == {"high": low}
    assert explained(REAL, [usual, low]) == {"usual": low}
    assert explained(suite, [high, first]) == {"high": first}


def test_everything_rests_on_a_prerequisite_of_all() -> None:
    prerequisite_of_all = failure("of-all", "THR-FRAMING-1", ("INFO", "keys"), "INFO")
    prerequisite_of_all = replace(prerequisite_of_all, case=replace(prerequisite_of_all.case, prerequisite_of_all=True))
    root = failure("root", "THR-INSERT-1", ("INSERT", ""), "INSERT", prerequisite=True)

    assert explained(SUITE, [LOW, root, prerequisite_of_all]) == {
        "low": prerequisite_of_all,
        "root": prerequisite_of_all,
    }


def test_what_cannot_be_read_rests_on_the_form_of_such_replies() -> None:
    form = failure("form", "THR-FRAGMENT-2", ("LIST", ""), "INSERT", "LIST")
    form = replace(form, case=replace(form.case, prerequisite_of=("LIST", "STATS")))
    unread = failure("unread", "THR-LIST-11", ("LIST", ""), "INSERT", "LIST")
    carried = failure("carried", "THR-EVENT-2", ("EVENT", ""), "EVENT", "STATS")
    behind = failure("behind", "THR-INFO-3", ("QUERY", ""), "LIST", "QUERY")
    read = failure("read", "THR-LIST-11", ("LIST", "rows"), "INSERT", "LIST")
    other = failure("other", "THR-GET-7", ("GET", ""), "SET", "GET")
    before = failure("before", "THR-LIST-3", ("LIST", ""), "LIST", prerequisite=True)
    suite = replace(REAL, cases=(before.case, form.case))

    assert set(explained(suite, [other, read, behind, carried, unread, form])) == {"unread", "carried", "behind"}
    assert explained(suite, [form, before]) == {"form": before}


def test_an_aspect_rests_on_the_one_before_it_at_the_same_place() -> None:
    psrt = load_suite("psrt")
    topic = failure("topic", "PSRT-TOPIC-7", ("SUBSCRIBE", "code"), "SUBSCRIBE")
    right = failure("right", "PSRT-ACL-10", ("SUBSCRIBE", "code"), "SUBSCRIBE")
    elsewhere = failure("elsewhere", "PSRT-ACL-10", ("PUBLISH", "code"), "SUBSCRIBE", "PUBLISH")
    limit = failure("limit", "PSRT-LIMIT-1", ("SUBSCRIBE", "code"), "SUBSCRIBE")
    first = replace(topic, key="first", case=replace(topic.case, id="first", prerequisite=True))

    assert explained(psrt, [limit, elsewhere, right, topic]) == {"right": topic}
    assert set(explained(replace(psrt, cases=(first.case,)), [elsewhere, first])) == {"elsewhere"}


def test_groups_that_are_not_on_the_ladder_stand_on_top_of_it() -> None:
    top = failure("top", "THR-TTL-1", ("QUERY", "quota"), "QUERY")

    assert explained(SUITE, [top, LOW])["top"] is LOW


def played(case: str, verdict: Verdict, place: FailurePlace | None) -> Record:
    run = Run("throttr", "7.1.0", "uint16", "here", "x")
    found = next(one for one in REAL.cases if one.id == case)
    outcome = Outcome(verdict, Trace(), Guilty.TARGET, found.clauses[0], got="what came", place=place)
    return record(run, REAL, found, outcome, duration_us=1)


def test_records_of_consequences_are_untestable_and_name_their_cause() -> None:
    place = FailurePlace("QUERY", "quota", frozenset({"INSERT", "QUERY", "UPDATE"}))
    low = played("query/starts-with-02", Verdict.FAIL, place)
    high = played("update/change-patch", Verdict.FAIL, place)
    crash = played("update/change-increase", Verdict.CRASH, place)
    passed = played("update/change-decrease", Verdict.PASS, None)

    consequences = Consequences(REAL, ())
    final = [one for record in (low, high, crash, passed) for one in consequences.add(record)]
    root, explained_one, *others = final

    assert (root, *others) == (low, crash, passed)
    assert (explained_one["verdict"], explained_one["guilty"]) == ("untestable", "target")
    assert explained_one["got"] == "what came; rests on query/starts-with-02, which fails (THR-QUERY-1)"
    assert explained_one["extra"]["rests_on"] == "query/starts-with-02"


def test_what_passed_each_time_that_it_was_seen_again_explains_nothing() -> None:
    place = FailurePlace("QUERY", "quota", frozenset({"INSERT", "QUERY", "UPDATE"}))
    low = played("query/starts-with-02", Verdict.FAIL, place)
    low["extra"][PASSES_AGAIN] = True
    high = played("update/change-patch", Verdict.FAIL, place)
    consequences = Consequences(REAL, ())

    assert [one for record in (low, high) for one in consequences.add(record)] == [low, high]
