"""Deaths of one cause: which cases would do it again, and how many restarts each cause took."""

from __future__ import annotations

from tests.conformance.scripted import make_case
from wireproof.conformance.run.crashes.known_causes import ENOUGH, KnownCauses
from wireproof.conformance.suite.cases import Case

DEATH = ("died of SIGSEGV", "f at x.c:1")
REPORTED = "died of SIGSEGV in f at x.c:1"


def sends(*names: str, id: str = "made/one") -> Case:
    return make_case({"send": [{name: {"key": "$k"}} for name in names]}, id=id)


def after(known: KnownCauses, times: int, *names: str) -> KnownCauses:
    for number in range(times):
        known.died(DEATH, REPORTED)
        known.found(DEATH, REPORTED, sends(*names, id=f"made/{'-'.join(names)}.{number}"))
    return known


def test_what_only_cases_send_that_end_the_server_is_held_back() -> None:
    known = KnownCauses(100)
    known.passed(sends("QUERY"))
    after(known, ENOUGH - 1, "PURGE", "QUERY")
    assert known.would_do_it(sends("PURGE", id="made/other")) is None

    after(known, 1, "PURGE", "QUERY")
    held = known.would_do_it(sends("PURGE", id="made/another"))

    assert held is not None
    assert (held.cause.case, held.cause.detail, held.sends) == ("made/PURGE-QUERY.0", REPORTED, "PURGE")
    assert held.outcome.extra == {"held_back": "made/PURGE-QUERY.0", "sends": "PURGE"}
    assert known.would_do_it(sends("QUERY", id="made/right")) is None


def test_a_case_that_passes_sets_others_free() -> None:
    known = after(KnownCauses(100), ENOUGH, "PURGE")
    known.passed(sends("PURGE", id="made/passes"))

    assert known.would_do_it(sends("PURGE", id="made/other")) is None


def test_a_cause_that_took_a_quarter_of_the_restarts_holds_back_what_fits_best() -> None:
    known = KnownCauses(40)
    known.passed(sends("PURGE", id="made/passes"))
    known.passed(sends("QUERY", id="made/passes-too"))
    known.passed(sends("QUERY", id="made/passes-too"))

    after(known, 9, "PURGE", "QUERY")
    assert known.would_do_it(sends("PURGE", id="made/other")) is None

    after(known, 1, "PURGE", "QUERY")
    assert known.would_do_it(sends("PURGE", id="made/other")) is not None
    assert known.would_do_it(sends("QUERY", id="made/right")) is None


def test_what_many_cases_send_that_pass_is_not_taken_for_what_ends_the_server() -> None:
    known = KnownCauses(40)
    for number in range(40):
        known.passed(sends("PURGE", id=f"made/passes-{number}"))
    after(known, 12, "PURGE")

    assert known.is_spent(DEATH)
    assert known.would_do_it(sends("PURGE", id="made/other")) is None


def test_hangs_are_spent_sooner_than_deaths() -> None:
    known = KnownCauses(100)
    known.passed(sends("PURGE", id="made/passes"))
    for number in range(6):
        known.died(DEATH, REPORTED, hung=True)
        known.found(DEATH, REPORTED, sends("PURGE", id=f"made/{number}"))

    assert known.would_do_it(sends("PURGE", id="made/other")) is not None


def test_what_fits_what_ended_the_server_is_suspected_first() -> None:
    known = after(KnownCauses(40), 1, "PURGE")

    assert known.suspicion(sends("PURGE", id="made/a")) > known.suspicion(sends("QUERY", id="made/b"))


def test_restarts_are_counted_by_cause() -> None:
    known = after(KnownCauses(40), 3, "PURGE")
    known.died(("ended with exit code 1", ""), "ended with exit code 1")

    assert known.restarts() == f"3 because it {REPORTED}; 1 because it ended with exit code 1"
