"""What is asked depends on the case alone, and is bounded."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.conformance.scripted import make_symbols
from wireproof.conformance.player.concurrency.workload import Workload
from wireproof.conformance.suite.steps import Concurrent, Step
from wireproof.conformance.suite.symbolic import steps_of
from wireproof.conformance.suite.symbols import SymbolError
from wireproof.protocols import Request

ASK = {"QUERY": {"key": "$k{key}"}}
STORE = {"INSERT": {"key": "$k{key}", "quota": "n", "ttl_type": "t", "ttl": "v"}}
DRAW = {"t": {"one_of": ["minutes", "hours"]}, "v": {"between": [60, 62]}}
SPEC: dict[str, Any] = {
    "connections": 3, "requests": 40, "depth": 4, "keys": 2, "draw": DRAW, "of": [ASK, {"times": 3, "of": STORE}]
}  # fmt: skip


def workload(**changes: Any) -> Workload:
    (step,) = steps_of([{"concurrent": {**SPEC, **changes}}])
    assert isinstance(step, Step)
    (verb,) = step.verbs
    assert isinstance(verb, Concurrent)
    return Workload(make_symbols(), verb.concurrent)


def names(requests: list[Request]) -> Counter[str]:
    return Counter(one.NAME for one in requests)


def test_the_same_seed_asks_the_same() -> None:
    assert workload(seed=5).burst(1, 40) == workload(seed=5).burst(1, 40)
    assert workload(seed=5).burst(1, 40) != workload(seed=6).burst(1, 40)


def test_the_first_requests_of_a_seed_never_change() -> None:
    load = workload(seed=1)

    assert [(one.NAME, one.key[-2:]) for one in load.burst(1, 6)] == [  # type: ignore[attr-defined]
        ("INSERT", b"k2"), ("INSERT", b"k1"), ("INSERT", b"k1"), ("INSERT", b"k1"), ("INSERT", b"k1"), ("INSERT", b"k1")
    ]  # fmt: skip
    assert load.shuffled([1, 2, 3, 4]) == [1, 3, 4, 2]


def test_messages_come_as_often_as_their_weight_on_every_key() -> None:
    asked = workload().burst(1, 400)

    assert 60 < names(asked)["QUERY"] < 140
    assert {one.key[-2:] for one in asked} == {b"k1", b"k2"}  # type: ignore[attr-defined]


def test_each_request_may_hold_its_own_number_and_drawn_values() -> None:
    stored: list[Any] = [one for one in workload().burst(1, 60) if one.NAME == "INSERT"]

    assert len({one.quota for one in stored}) == len(stored)
    assert {one.ttl for one in stored} == {60, 61, 62}
    assert {one.ttl_type for one in stored} == {5, 6}


def test_requests_asked_alone_are_on_a_key_of_their_own() -> None:
    load = workload(requests=5, begin=[STORE], end=[ASK])
    alone, begin, end = list(load.alone()), list(load.begin()), load.end(2)

    assert [len(alone), len(begin), len(end)] == [7, 2, 2]
    assert {one.key[-2:] for one in alone} == {b"k0"}  # type: ignore[attr-defined]
    assert [one.key[-2:] for one in begin] == [b"k1", b"k2"]  # type: ignore[attr-defined]
    assert names(end) == {"QUERY": 2}


def test_a_write_holds_at_least_one_request_and_no_more_than_asked_for() -> None:
    load = workload()

    assert {load.share(9) for _ in range(200)} == {1, 2, 3, 4}
    assert {load.share(2) for _ in range(50)} == {1, 2}


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"connections": 0}, "concurrent.connections: expected 1 to 64, got 0"),
        ({"requests": 10_001}, "concurrent.requests: expected 1 to 10000"),
        ({"flow": "rain"}, "concurrent.flow: expected waves or stream, got 'rain'"),
        ({"draw": {"v": {"between": [2, 1]}}}, "concurrent.draw: expected {between: "),
        ({"draw": {"v": {"one_of": []}}}, "concurrent.draw: expected {between: "),
        ({"of": ["ok"]}, "concurrent: expected requests, got STATUS"),
        ({"seed": "moon"}, "seed: .*moon"),
    ],
)
def test_what_cannot_be_asked_is_reported(changes: dict[str, Any], detail: str) -> None:
    with pytest.raises(SymbolError, match=detail):
        workload(**changes).burst(1, 1)
