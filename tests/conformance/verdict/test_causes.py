"""The causes of a run: what did not pass, grouped, with the smallest play first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.verdict.made_records import died, grouped, made
from wireproof.conformance.model.outcome import AT_END, BY_MODEL
from wireproof.conformance.verdict.causes import CauseKind, causes_of
from wireproof.conformance.verdict.records import Record


def test_what_passed_has_no_cause() -> None:
    assert causes_of([made("a", "pass"), made("b", "unsupported")]) == []


def test_the_smallest_play_comes_first_and_consequences_follow() -> None:
    high = made("high", "untestable", sent=1, extra={"rests_on": "low"})
    (cause,) = causes_of([made("same", sent=20), high, made("low")])

    assert [one["case"] for one in cause.records] == ["low", "same", "high"]
    assert cause.following == ["same", "high"]
    assert (cause.kind, cause.clause, cause.common) == (CauseKind.FAILURE, "C-1", ["INSERT", "QUERY"])


def test_what_somebody_wrote_stands_before_what_combinations_alone_show() -> None:
    pairs = [made(f"path/pairs-{at}", blamed="C-2", place=("GET", "")) for at in range(3)]
    written = made("stopped", blamed="C-3", place=("LIST", "rows"), sent=99)

    assert grouped(*pairs, written) == [["stopped"], [one["case"] for one in pairs]]


def test_what_steps_expect_stands_before_what_the_model_judges() -> None:
    judged = [{**made(f"judged{at}", blamed="C-2", place=("LIST", "rows")), "expected": BY_MODEL} for at in range(3)]
    written = made("stopped", blamed="C-3", place=("GET", ""), sent=99)

    assert grouped(*judged, written)[0] == ["stopped"]


@pytest.mark.parametrize(("clause", "causes"), [("C-1", 1), ("C-2", 2)])
def test_a_walk_whose_clause_a_written_case_shows_follows_it(clause: str, causes: int) -> None:
    walk = made("records/walk-0a0b0c0d", blamed=clause, place=("GET", ""), expected=BY_MODEL)

    assert len(causes_of([walk, made("written")])) == causes


@pytest.mark.parametrize(("clause", "causes"), [("C-2", 1), ("C-3", 2)])
def test_what_the_model_judges_has_one_cause_for_each_clause_that_it_names(clause: str, causes: int) -> None:
    one = made("records/walk-0a0b0c0d", blamed="C-2", place=("GET", ""), expected=BY_MODEL)
    other = made("get/pairs-1", blamed=clause, place=("CHANNEL", ""), expected=BY_MODEL, got="another thing")

    assert len(causes_of([one, other])) == causes


def test_what_came_after_the_last_step_stands_after_what_a_step_shows() -> None:
    late = [made(f"late{at}", blamed="C-2", place=("GET", AT_END)) for at in range(3)]
    stopped = made("stopped", blamed="C-3", place=("LIST", "rows"), sent=99)

    assert grouped(*late, stopped)[0] == ["stopped"]


@pytest.mark.parametrize(("level", "first"), [("SHOULD", "stopped"), ("MAY", "path/pairs-0")])
def test_what_somebody_wrote_of_a_should_stands_before_combinations_of_a_must(level: str, first: str) -> None:
    pairs = made("path/pairs-0", blamed="C-2", place=("GET", ""))
    written = made("stopped", blamed="C-3", place=("LIST", "rows"), level=level)

    assert grouped(pairs, written)[0] == [first]


def test_what_may_be_is_no_first_example_of_what_must_be() -> None:
    assert grouped(made("may", level="MAY", sent=1), made("must")) == [["must", "may"]]


def test_a_consequence_of_a_consequence_is_in_the_group_of_both() -> None:
    pairs = made("a/pairs-1", blamed="C-2", place=("QUERY", ""))
    high = made("high", "untestable", extra={"rests_on": "a/pairs-1"})

    assert grouped(high, pairs, made("low")) == [["low", "a/pairs-1", "high"]]


@pytest.mark.parametrize(
    ("other", "together"),
    [
        (made("b"), True),
        (made("b", blamed="C-2"), False),
        (made("b", blamed="C-2", place=("GET", "value")), False),
        (made("b", place=("QUERY", "ttl")), False),
        (made("b/pairs-1", blamed="C-2"), True),
        (made("b/pairs-1", blamed="C-2", place=("QUERY", "")), True),
        (made("b/pairs-1", blamed="C-2", place=("GET", "")), False),
        (made("b", "untestable", guilty="nobody", blamed="C-2"), True),
        (made("b", "untestable", guilty="nobody", place=("GET", "")), False),
        (made("b", "hang", place=("QUERY", "")), False),
        (made("b", delivery="bytes", blamed="C-6"), False),
    ],
)
def test_two_failures_have_one_cause_where_sentence_and_place_agree(other: Record, together: bool) -> None:
    assert len(causes_of([made("a"), other])) == 2 - together


def test_a_large_number_that_was_read_wrong_is_one_cause() -> None:
    large = str(2**63 - 1)
    other = made("b", blamed="C-2", got=large)

    assert len(causes_of([made("a", got=large), other])) == 1
    assert len(causes_of([made("a", got="7"), made("b", blamed="C-2", got="7")])) == 2


def test_what_fails_only_when_cut_is_one_cause() -> None:
    cut = [made(f"c/{n}", blamed="C-6", delivery="bytes", place=("QUERY", str(n))) for n in range(3)]

    assert grouped(*cut, made("a")) == [["c/0", "c/1", "c/2"], ["a"]]


def test_a_failed_preparation_that_nothing_explains_is_a_cause() -> None:
    orphan = made("a", "untestable", guilty="nobody", place=("SET", ""))
    late = made("b", "untestable", guilty="harness", got="asked too late")

    assert [one.kind for one in causes_of([late, orphan])] == [CauseKind.PRECONDITION, CauseKind.UNDECIDED]


def test_a_preparation_follows_a_failure_that_expected_the_same_and_got_the_same() -> None:
    lone = made("a", "untestable", place=None, expected="an error", got="the connection", asked="")
    fails = made("b", "lenient", place=None, expected="an error", got="the connection", asked="")

    assert grouped(lone, fails) == [["b", "a"]]
    assert grouped(lone, {**fails, "got": "no answer"}) == [["b"], ["a"]]


def test_a_history_that_could_not_begin_follows_what_fails() -> None:
    history = made("h", "untestable", guilty="nobody", place=("GET", ""), extra={"history": "drawn"})

    assert grouped(history, made("a")) == [["a", "h"]]


def test_large_numbers_that_are_read_wrong_are_one_cause_and_break_the_clause_about_them() -> None:
    extreme = {"extreme": "C-9"}
    large = [made("a", extra=extreme), made("b", blamed="C-2", place=("GET", "ttl"), extra=extreme)]

    assert [one.clause for one in causes_of(large)] == ["C-9"]
    assert [one.clause for one in causes_of([*large, made("c")])] == ["C-1"]


def test_a_combination_that_uses_a_request_which_is_never_answered_follows_it() -> None:
    hang = made("stat", "hang", place=("STAT", ""), asked="STAT")
    shifted = made("b/pairs-1", "hang", blamed="C-2", place=("WHOAMI", ""), asked="STAT WHOAMI")
    shifted_too = made("b/pairs-2", blamed="C-2", place=("WHOAMI", ""), asked="STAT WHOAMI")
    other = made("b/pairs-3", "hang", blamed="C-2", place=("WHOAMI", ""), asked="WHOAMI")

    assert grouped(hang, shifted, other, shifted_too) == [["stat", "b/pairs-1", "b/pairs-2"], ["b/pairs-3"]]


def test_a_connection_that_stays_open_stands_among_failures() -> None:
    stays = made(
        "stays", "hang", place=None, level="SHOULD", blamed="C-8", expected="the end", got="still open after 2 s"
    )
    others = made(
        "other", "hang", place=None, level="SHOULD", blamed="C-8", expected="the end", got="still open after 5 s"
    )

    assert [one.clause for one in causes_of([stays, others, made("a")])] == ["C-1", "C-8"]


def test_worst_first() -> None:
    found = causes_of([made("a"), made("b", "hang", place=("GET", "")), died("c")])

    assert [one.kind for one in found] == [CauseKind.DEATH, CauseKind.HANG, CauseKind.FAILURE]


def test_cases_that_the_run_ended_before_are_no_cause() -> None:
    outcome = {"guilty": "nobody", "step": None, "place": None}
    unplayed = [made(f"u/{n}", "untestable", exchange=[], got="the run ended: too long", **outcome) for n in range(3)]
    once = made("once", "untestable", got="it was not played again, the run ended: too long", **outcome)

    assert grouped(*unplayed, once) == [["once"]]


def test_every_bad_record_is_in_exactly_one_cause() -> None:
    verdicts = ("fail", "lenient", "crash", "hang", "untestable", "harness_error")
    places = [None, ("QUERY", ""), ("QUERY", "quota"), ("*", ""), ("", "")]
    records = [made(f"{v}/{n}", v, place=place) for v in verdicts for n, place in enumerate(places)]
    records += [made("x", "untestable", extra={"rests_on": "nobody"})]
    found = [one["case"] for cause in causes_of(records) for one in cause.records]

    assert sorted(found) == sorted(one["case"] for one in records)


def unanswered(case: str, to: str = "QUERY", **changes: Any) -> Record:
    return made(case, "untestable", place=(to, ""), got="nothing in 5 s", **changes)


def unanswered_consequences(count: int, rests_on: str = "low") -> list[Record]:
    return [unanswered(f"high-{one}", extra={"rests_on": rests_on}) for one in range(count)]


def test_a_step_that_prepares_follows_from_a_request_that_consequences_find_unanswered() -> None:
    low = made("low", place=("WHOAMI", ""), asked="QUERY WHOAMI")

    assert len(grouped(low, *unanswered_consequences(2), unanswered("prepares"))) == 1


@pytest.mark.parametrize(
    "other",
    [
        unanswered("prepares", to="GET", asked="GET"),
        made("prepares", "untestable", place=("QUERY", ""), got="another way"),
    ],
    ids=["at another request", "in another way"],
)
def test_a_step_that_prepares_and_stops_elsewhere_stands_by_itself(other: Record) -> None:
    low = made("low", place=("WHOAMI", ""), asked="WHOAMI")

    assert grouped(low, *unanswered_consequences(2), other)[1] == ["prepares"]


def test_a_smaller_group_explains_no_larger_one() -> None:
    low = made("low", place=("WHOAMI", ""), asked="WHOAMI")
    prepare = [unanswered(f"prepares-{one}") for one in range(3)]

    assert len(grouped(low, *unanswered_consequences(2), *prepare)) == 2


def test_what_fails_in_other_segments_at_a_request_that_goes_wrong_whole_follows_from_that() -> None:
    low = made("low", place=("WHOAMI", ""), asked="QUERY WHOAMI")
    joined = made("joined", "lenient", delivery="joined", place=("INSERT", "ok"), blamed="C-2")

    assert len(grouped(low, *unanswered_consequences(2), joined)) == 1
    assert len(grouped(low, *unanswered_consequences(2), made("cut", delivery="bytes", asked="GET"))) == 2


def waited(case: str, clause: str, got: str, **changes: Any) -> Record:
    one = made(case, place=("QUERY", ""), blamed=clause, got=got, **changes)
    event = {"at_us": 2, "connection": "", "direction": "event", "hex": "", "text": "waited"}
    return {**one, "exchange": [*one["exchange"], event]}


def test_what_is_still_there_after_a_wait_is_one_cause_whatever_sentence_speaks_of_it() -> None:
    late = [waited(f"unit{n}", f"C-{n}", f"QUERY_REPLY(quota=1, ttl_type={n}, ttl=0)") for n in range(3)]
    other = waited("other", "C-9", "STATUS(ok=False)")
    at_once = made("at-once", place=("QUERY", ""), blamed="C-8", got=late[0]["got"])

    assert sorted(map(sorted, grouped(*late, other, at_once))) == [["at-once"], ["other"], ["unit0", "unit1", "unit2"]]


def test_a_combination_follows_what_stopped_at_just_its_place_before_a_history() -> None:
    histories = [made(f"concurrency/{n}", place=None, blamed="C-2", extra={"history": "x"}) for n in range(3)]
    combination = made("query/pairs-00000000", place=("QUERY", "ttl"), blamed="C-3")
    exact = made("expiry/query", place=("QUERY", "ttl"), blamed="C-4")

    assert ["expiry/query", "query/pairs-00000000"] in grouped(*histories, combination, exact)


def test_a_combination_that_waited_follows_what_stays_after_a_wait_wherever_it_asked() -> None:
    late = [waited(f"unit{n}", f"C-{n}", "QUERY_REPLY(quota=1)") for n in range(2)]
    other = [made(f"event/{n}", place=("EVENT", ""), blamed="C-7") for n in range(5)]
    combination = {
        **waited("list/pairs-00000000", "C-9", "LIST has a row"),
        "extra": {"reply_to": "EVENT", "field": ""},
    }

    assert ["unit0", "unit1", "list/pairs-00000000"] in grouped(*late, *other, combination)


def test_a_clause_that_two_ideas_show_stands_before_one_that_values_of_one_case_show() -> None:
    values = [made(f"unit/each.{n}", blamed="C-2", place=("GET", "ttl")) for n in range(5)]

    assert [one.clause for one in causes_of([*values, made("change"), made("more")])] == ["C-1", "C-2"]


def test_of_two_causes_alike_the_one_with_the_smallest_play_stands_first() -> None:
    found = causes_of([made("a", sent=30), made("b", blamed="C-2", place=("GET", "ttl"), sent=20)])

    assert [one.clause for one in found] == ["C-2", "C-1"]


def test_what_fails_in_another_spelling_alone_comes_after_what_fails_as_it_stands() -> None:
    spelled = [made(f"message/{n}", delivery="spelled", blamed="C-8", place=("PUT", str(n))) for n in "abc"]
    whole = made("line/of-digits", blamed="C-5", place=("PUT", "digits"))

    causes = causes_of([*spelled, whole])

    assert causes[0].clause == "C-5"


def test_what_was_not_played_again_before_the_run_ended_is_one_cause() -> None:
    why = "it was not played again, the run ended: the time for it is over (--max-time 9)"
    found = [
        made(
            name,
            "untestable",
            blamed=f"C-{name}",
            guilty="nobody",
            step=None,
            got=f"{why}; the first time: fail, {name}",
        )
        for name in ("b", "a")
    ]

    assert len(causes_of(found)) == 1


@pytest.mark.parametrize(
    ("blamed", "level", "causes"),
    [
        ("THR-ROBUSTNESS-9", "SHOULD", 1),
        ("THR-ROBUSTNESS-9", "MUST", 3),
        ("THR-QUERY-9", "SHOULD", 3),
        ("THR-CLIENT-9", "SHOULD", 1),
    ],
)
def test_what_is_recommended_whatever_is_asked_for_is_one_cause_wherever_it_shows(
    blamed: str, level: str, causes: int
) -> None:
    facts = {"blamed": blamed, "level": level}
    found = [
        made("a", "lenient", place=("QUERY", ""), **facts),
        made("b", "hang", place=("SET", ""), **facts),
        made("c", "lenient", place=("LIST", "rows"), delivery="half-closed", **facts),
    ]

    assert len(causes_of(found)) == causes
