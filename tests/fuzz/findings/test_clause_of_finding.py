"""The clause of a finding whose oracle names none."""

from __future__ import annotations

import pytest

from wireproof.fuzz.findings.clause_of_finding import clause_of
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.observation import Suspicion
from wireproof.fuzz.live.oracles import ANSWERED, SERVED, SERVED_ON


@pytest.mark.parametrize(
    ("protocol", "profile", "variant", "oracle", "clause"),
    [
        ("throttr", "7.3.2", "uint16", SERVED_ON, "THR-ROBUSTNESS-5"),
        ("throttr", "7.3.2", "uint16", ANSWERED, "THR-ROBUSTNESS-5"),
        ("psrt", "1", "standard", SERVED_ON, "PSRT-ROBUSTNESS-10"),
        ("throttr", "7.3.2", "uint16", SERVED, "THR-ROBUSTNESS-1"),
    ],
)
def test_a_request_without_an_answer_breaks_the_clause_about_that(
    protocol: str, profile: str, variant: str, oracle: str, clause: str
) -> None:
    about = ("SUBSCRIBE", "") if oracle != SERVED else ("", "")
    found = Suspicion(oracle, "nothing came", "", about=about)

    assert clause_of(found, FuzzContext(protocol, profile, variant)) == clause
