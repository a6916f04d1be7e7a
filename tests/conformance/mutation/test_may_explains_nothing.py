"""In a kill matrix, as in a run, what a case of a MAY shows is no cause that makes a MUST untestable."""

from __future__ import annotations

import pytest

from wireproof.conformance.model.verdict import Level, Verdict
from wireproof.conformance.mutation.mutation_run import MutationRun
from wireproof.conformance.suite.cases import load_suite

CASES = ("message/pushed", "message/empty")


@pytest.mark.parametrize(("level", "verdict"), [(Level.MUST, Verdict.UNTESTABLE), (Level.MAY, Verdict.FAIL)])
def test_a_failure_is_the_consequence_of_one_that_counts(level: Level, verdict: Verdict) -> None:
    suite = load_suite("psrt")
    recorded = MutationRun(suite, "1", "standard").recorded_cases([one for one in suite.cases if one.id in CASES])
    recorded.__dict__["levels"] = {"message/pushed": level, "message/empty": Level.MUST}

    found = {one.case: one.verdict for one in recorded.findings("wire:MESSAGE.lead:another")}

    assert found["message/empty"] is verdict
