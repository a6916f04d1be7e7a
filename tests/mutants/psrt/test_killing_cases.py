"""A few wrong servers against the case that is to find each; the whole of it is `wireproof self-check psrt`."""

from __future__ import annotations

from functools import cache

import pytest

from wireproof.conformance.mutation.mutation_run import MutationRun
from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.mutants.psrt.server import DEMONSTRATION


@cache
def suite() -> Suite:
    return load_suite("psrt")


@pytest.mark.parametrize(
    ("mutant", "case", "clause"),
    [
        (DEMONSTRATION[0], "subscribe/several", "PSRT-SUBSCRIBE-3"),
        (DEMONSTRATION[1], "topic/hash-not-itself", "PSRT-TOPIC-15"),
        # What stands after a PUBLISH_REPL is read once it is answered: a tape cannot tell that it was asked.
        ("replicated-unanswered", "replication/answered-at-its-end", "PSRT-REPL_DATA-2"),
        ("tls-takes-clear-text", "starttls/clear-text-behind-the-greeting", "PSRT-STARTTLS-7"),
    ],
)
def test_it_is_found_and_the_clause_blamed(mutant: str, case: str, clause: str) -> None:
    chosen = [one for one in suite().cases if one.id == case]
    found = MutationRun(suite(), "1", "standard").recorded_cases(chosen).findings(mutant)

    assert [(one.case, one.blamed, one.kills) for one in found] == [(case, clause, True)]


def test_a_legal_one_is_not() -> None:
    chosen = [one for one in suite().cases if one.id.startswith("data/")][:20]

    assert (
        MutationRun(suite(), "1", "standard").recorded_cases(chosen).findings("legal-attach-refused-by-closing") == []
    )
