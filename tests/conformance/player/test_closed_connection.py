"""A target that closes a connection while the case still needs it: its fault, never the harness's."""

from typing import Any

import pytest

from tests.conformance.scripted import ASK, play
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty, Verdict

RAW = {"send": {"raw": "02 01 61", "as": {"QUERY": {"key": "a"}}}}
HALF = {"half_close": "a"}


@pytest.mark.parametrize("later", [{"send": ASK}, RAW, HALF], ids=["message", "bytes by hand", "half-close"])
@pytest.mark.parametrize("end", [Kind.ENDED, Kind.RESET])
def test_what_needs_a_connection_that_the_target_closed_is_the_target_s_failure(
    later: dict[str, Any], end: Kind
) -> None:
    outcome = play({"send": ASK}, {"closed": "a"}, later, reads=[end])

    assert (outcome.verdict, outcome.guilty) == (Verdict.FAIL, Guilty.TARGET)
    assert outcome.expected == "an open connection"
    assert outcome.got == f"the target closed the connection ({end})"
