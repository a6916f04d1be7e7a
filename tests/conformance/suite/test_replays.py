"""A server may drop what came before (P30), in another case or run: what must be answered is new each time."""

from __future__ import annotations

import re

from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.steps import Expect

SEALED = re.compile(r"Raw\(raw='eeaa01000[23]")


def test_no_case_needs_an_answer_to_a_sealed_datagram_that_is_always_the_same() -> None:
    steps = [(case.id, step) for case in load_suite("psrt").cases for step in case.steps]
    fixed = [(case, step) for case, step in steps if SEALED.search(repr(step))]

    assert fixed
    assert not [case for case, step in fixed if any(isinstance(verb, Expect) for verb in step.verbs)]
