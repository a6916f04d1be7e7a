"""The exit code of a run that came to its end."""

from __future__ import annotations

import pytest

from wireproof.conformance.commands.closing_report import FAILURES, HARNESS, PASSED, STALE, USAGE, exit_code
from wireproof.conformance.report.baseline import Comparison

NONE = Comparison((), ())
OLD = Comparison((), ("insert/one",))


@pytest.mark.parametrize(
    ("verdicts", "comparison", "code"),
    [
        (("pass", "unsupported"), NONE, PASSED),
        (("unsupported", "unsupported"), NONE, USAGE),
        (("unsupported", "fail"), Comparison(("insert/one",), ()), FAILURES),
        (("unsupported", "harness_error"), NONE, HARNESS),
        (("harness_error", "fail"), Comparison(("insert/one",), ()), FAILURES),
        (("pass",), OLD, STALE),
    ],
)
def test_what_came_of_the_cases_is_the_exit_code(verdicts: tuple[str, ...], comparison: Comparison, code: int) -> None:
    assert exit_code([{"case": "insert/one", "verdict": one} for one in verdicts], comparison) == code
