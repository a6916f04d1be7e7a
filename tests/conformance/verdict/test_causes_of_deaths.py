"""Causes of deaths and hangs: one for each defect, as far as words, requests and the processor time show it."""

from __future__ import annotations

import pytest

from tests.conformance.verdict.made_records import died, grouped, made
from wireproof.conformance.verdict.causes import RARE, CauseKind, causes_of
from wireproof.conformance.verdict.crashes import Hang


def test_deaths_are_distinguished_by_their_words() -> None:
    stays_up = made("up", "crash", place=None, exchange=[], got="x", blamed=None)
    stays_up["extra"]["ends"] = [{"how": "died", "death": "died of SIGABRT", "frame": "f at x.c:1"}]
    one, two = died("a", frame="f at x.c:1"), died("b", frame="g at x.c:9")

    assert grouped(stays_up, one, two, made("c")) == [["a", "up"], ["b"], ["c"]]


def test_numbers_and_addresses_do_not_distinguish_deaths() -> None:
    words = ["bad index 7 at 0x7ffe", "bad index 12 at 0x8ffe"]

    assert len(causes_of([died(str(n), printed=printed) for n, printed in enumerate(words)])) == 1
    assert len(causes_of([died("a", printed="bad index"), died("b", printed="out of memory")])) == 2


def test_deaths_without_words_have_one_cause_while_they_have_a_request_in_common() -> None:
    get = [died("a", asked="GET SET"), died("b", asked="GET INSERT", sent=11)]

    assert grouped(*get, died("c", asked="LIST", sent=12)) == [["a", "b"], ["c"]]
    assert causes_of(get)[0].common == ["GET"]


def test_a_death_without_words_in_a_case_about_no_request_has_the_cause_of_others() -> None:
    raw = died("raw", asked="QUERY", group="ROBUSTNESS", sent=1)

    assert grouped(raw, died("a", place=("LIST", ""), asked="LIST", group="LIST")) == [["a", "raw"]]


def test_a_death_is_shown_by_a_case_about_the_request_at_which_it_happened() -> None:
    small = died("small", frame="f", place=("GET", ""), group="LIST")

    assert grouped(small, died("about", frame="f", place=("GET", ""), group="GET", sent=99)) == [["about", "small"]]


def test_what_is_held_back_follows_the_death() -> None:
    held = made("h", "untestable", place=None, exchange=[], step=None, extra={"held_back": "a"})

    assert grouped(held, died("a"), died("b", sent=11)) == [["a", "b", "h"]]


def test_a_hang_of_the_whole_server_is_a_hang_with_its_cpu() -> None:
    hang = died("a", "answered nobody any more")
    hang |= {"verdict": "hang"}
    hang["extra"]["hang"] = {"cpu": 4.9, "seconds": 5.0, "busy": True}
    (cause,) = causes_of([hang])

    assert cause.kind is CauseKind.HANG
    assert cause.as_json()["hang"] == {"cpu": 4.9, "seconds": 5.0, "busy": True}


@pytest.mark.parametrize(
    ("cpu", "runs", "detail"),
    [(4.9, False, "busy"), (0.1, True, "busy"), (0.0, False, "waiting"), (0.5, False, "slow")],
)
def test_a_hang_is_busy_where_it_used_or_always_wanted_the_processor(cpu: float, runs: bool, detail: str) -> None:
    hang = Hang(cpu, 5.0, runs)

    assert hang.detail.startswith(f"hangs: it answers nobody, and used {cpu:.1f} s of CPU in 5.0 s ({detail}")
    assert hang.busy is (detail == "busy")


def test_a_hang_that_no_case_repeats_is_a_hang_with_the_processor_time() -> None:
    hang = {"cpu": 0.0, "seconds": 2.0, "busy": False}
    stays_up = made("robustness/stays-up", "crash", place=None, sent=0)
    stays_up["extra"]["ends"] = [{"how": "answered nobody", "death": "answered nobody", "hang": hang}]
    known = made("alone", "hang", extra={"process": {"death": "answered nobody"}, "hang": hang})
    (alone,) = causes_of([stays_up])

    assert (alone.kind, alone.as_json()["hang"]) == (CauseKind.HANG, hang)
    assert grouped(stays_up, known) in ([["alone", "robustness/stays-up"]], [["robustness/stays-up", "alone"]])


def test_ends_that_no_case_repeats_are_one_cause_for_each_way_in_which_the_server_ended() -> None:
    hang = {"how": "answered nobody", "death": "answered nobody", "hang": {"cpu": 0.0, "seconds": 2.0, "busy": False}}
    died_once = {"how": "died of SIGSEGV", "death": "died of SIGSEGV", "under_way": ["a"]}
    stays_up = made("robustness/stays-up", "crash", place=None, sent=0)
    stays_up["extra"]["ends"] = [
        died_once,
        {**hang, "under_way": ["b", "c"]},
        {**hang, "under_way": ["c", "d"]},
    ]
    death, silence = causes_of([stays_up])

    assert (death.kind, death.first["got"]) == (
        CauseKind.DEATH,
        "it died of SIGSEGV, with 1 case (a) under way, none of which is known to do it",
    )
    assert (silence.kind, silence.first["got"]) == (
        CauseKind.HANG,
        "it answered nobody 2 times, each time with 1 case (c) under way, none of which is known to do it alone",
    )


def test_a_hang_of_few_cases_stands_behind_what_many_cases_fail() -> None:
    hang = made("h", "hang", place=("GET", ""), blamed="C-2")
    should = made("s", "hang", place=("GET", ""), blamed="C-2", level="SHOULD")
    many = [made(f"a{i}") for i in range(RARE)]

    assert [one.clause for one in causes_of([hang, *many])] == ["C-1", "C-2"]
    assert [one.clause for one in causes_of([hang, *many[1:]])] == ["C-2", "C-1"]
    assert [one.clause for one in causes_of([should, many[0]])] == ["C-1", "C-2"]
    assert [one.clause for one in causes_of([should])] == ["C-2"]


def test_a_hang_that_combinations_alone_show_stands_behind_what_a_case_fails() -> None:
    found = causes_of([made("x/pairs-0011aabb", "hang", place=("GET", ""), blamed="C-2"), made("a")])

    assert [one.clause for one in found] == ["C-1", "C-2"]
