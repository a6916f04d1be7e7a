"""How many connections a case opens together, and how many answers it waits for, is counted without a play."""

from typing import Any

import pytest

from tests.conformance.scripted import make_case, make_symbols
from wireproof.conformance.suite.case_needs import needs_of

ASK = {"send": {"QUERY": {"key": "k"}}, "expect": "refused"}


def each(*steps: Any) -> dict[str, Any]:
    return {"repeat": {"each": {"i": [1, 5]}, "steps": list(steps)}}


@pytest.mark.parametrize(
    ("steps", "connections", "round_trips"),
    [
        ([ASK, ASK], 1, 2),
        ([ASK, {**ASK, "on": "b"}], 2, 2),
        ([{**ASK, "on": "b"}, {"close": "b"}, {**ASK, "on": "c"}], 1, 2),
        ([each({**ASK, "on": "s{i}"})], 5, 5),
        ([each({**ASK, "on": "s{i}"}, {"reset": "s{i}"})], 1, 5),
        ([{"connect": "a"}, {"connect": {"name": "b", "unread": True}}], 2, 2),
        ([ASK, {"alive": True}], 2, 2),
        ([ASK, {"silent": "a"}], 1, 2),
    ],
)
def test_connections_and_round_trips(steps: list[Any], connections: int, round_trips: int) -> None:
    found = needs_of(make_case(*steps), make_symbols())

    assert (found.connections, found.round_trips) == (connections, round_trips)
