"""Consequences: what rests on a failed case is untestable; what stands by itself keeps its failure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.cases import Case, Suite, load_suite
from conformance.foundations import explained
from conformance.outcome import Outcome, Place
from conformance.trace import Trace
from conformance.verdicts import Guilty, Verdict

REAL = load_suite("throttr")
SUITE = Suite("throttr", REAL.clauses, (), (), {}, ("INSERT", "QUERY", "UPDATE"))
TEMPLATE = REAL.cases[0]


def failure(
    name: str, clause: str, place: tuple[str, str], *asked: str, foundation: bool = False, how: Verdict = Verdict.FAIL
) -> tuple[Case, Outcome]:
    case = replace(TEMPLATE, id=name, clauses=(clause,), foundation=foundation)
    where = Place(*place, frozenset(asked))
    return case, Outcome(how, Trace(), Guilty.TARGET, clause, got="what came", place=where)


LOW = failure("low", "THR-QUERY-6", ("QUERY", "quota"), "INSERT", "QUERY")


@pytest.mark.parametrize(
    ("other", "is_explained"),
    [
        (failure("above", "THR-UPDATE-9", ("QUERY", "quota"), "INSERT", "UPDATE", "QUERY"), True),
        (failure("another field", "THR-UPDATE-9", ("QUERY", "ttl"), "INSERT", "UPDATE", "QUERY"), False),
        (failure("another reply", "THR-UPDATE-9", ("UPDATE", "ok"), "INSERT", "UPDATE", "QUERY"), False),
        (failure("without it", "THR-UPDATE-9", ("QUERY", "quota"), "INSERT", "UPDATE"), False),
        (failure("below", "THR-INSERT-2", ("QUERY", "quota"), "INSERT", "QUERY"), False),
        (failure("beside", "THR-QUERY-7", ("QUERY", "quota"), "INSERT", "QUERY"), False),
        (failure("crash", "THR-UPDATE-9", ("QUERY", "quota"), "QUERY", how=Verdict.CRASH), False),
    ],
    ids=lambda one: one[0].id if isinstance(one, tuple) else "",
)
def test_a_failure_at_the_same_place_higher_up_rests_on_the_lower_one(
    other: tuple[Case, Outcome], is_explained: bool
) -> None:
    found = explained(SUITE, [other, LOW])

    assert (other[0].id in found) is is_explained


def test_what_uses_the_request_of_a_failed_foundation_rests_on_it_wherever_it_stopped() -> None:
    root = failure("root", "THR-QUERY-1", ("QUERY", ""), "QUERY", foundation=True)
    above = failure("above", "THR-UPDATE-9", ("UPDATE", "ok"), "QUERY", "UPDATE")
    beside = failure("beside", "THR-QUERY-6", ("QUERY", "quota"), "QUERY")
    second = failure("second", "THR-QUERY-2", ("QUERY", ""), "QUERY", foundation=True)

    assert set(explained(SUITE, [second, above, beside, root])) == {"above", "beside"}


def test_a_consequence_is_untestable_and_names_its_cause() -> None:
    above = failure("above", "THR-UPDATE-9", ("QUERY", "quota"), "QUERY", "UPDATE")

    outcome = explained(SUITE, [above, LOW])["above"]

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.TARGET)
    assert outcome.got == "what came; rests on low, which fails (THR-QUERY-6)"
