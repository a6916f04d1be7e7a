"""A file shared by all profiles and variants says of each of them exactly what was derived for it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conformance.scripted import make_case, make_frame
from wireproof.conformance.report.derived_vectors import LONGEST, Deriver
from wireproof.conformance.report.vector_files import canonical, configurations, merged, selected
from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.protocols import protocol

REAL = load_suite("throttr")
PLACES = configurations(protocol("throttr"))
INSERT = {"INSERT": {"key": "$k", "quota": "MAX", "ttl_type": "seconds", "ttl": 100}}
QUERY = {"QUERY": {"key": "$k"}}
CASES = (
    make_case({"send": INSERT, "expect": "ok"}, {"send": QUERY, "expect": "QUERY_REPLY"}, id="made/width"),
    make_case({"send": "LIST", "expect": "LIST_REPLY"}, id="made/eight-bits", variants=("uint8",)),
    make_case({"wait": 1}, {"half_close": "a"}, {"closed": "a"}, id="made/late", variants=("uint64",)),
    make_case(
        {"send": {"times": 9, "of": QUERY}, "expect": {"times": 9, "of": "refused"}}, id="made/many", exclusive=True
    ),
    make_case({"send": "WHOAMI", "on": "b", "expect": "WHOAMI_REPLY"}, id="made/new", profiles=("7.3.2",)),
    make_case({"send": {"times": 900, "of": INSERT}, "expect": {"times": 900, "of": "any"}}, id="made/long"),
)  # fmt: skip


FRAMES = (
    make_frame("made/query", message=QUERY),
    make_frame("made/insert", message=INSERT, flags=["boundary"]),
    make_frame("made/some", ("uint16", "uint32"), message=QUERY),
    make_frame("made/status", message={"STATUS": {"ok": True}}, reply_to=INSERT),
)
ORDER = {name: place for place, name in enumerate([*(one.id for one in FRAMES), *(one.id for one in CASES)])}


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, Any]]:
    suite = Suite("throttr", REAL.clauses, CASES, FRAMES, REAL.probe)
    return {letter: Deriver(suite, *place).documents()["made"] for letter, place in PLACES.items()}


@pytest.fixture(scope="module")
def shared(documents: dict[str, dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(canonical(merged(documents, ORDER)))
    return found


@pytest.mark.parametrize("letter", PLACES)
def test_a_shared_file_gives_back_what_each_configuration_had(
    letter: str, documents: dict[str, dict[str, Any]], shared: dict[str, Any]
) -> None:
    assert selected(shared, *PLACES[letter]) == documents[letter]


def test_a_configuration_that_a_file_does_not_speak_of_has_nothing_there(documents: dict[str, dict[str, Any]]) -> None:
    assert selected(merged({"a": documents["a"]}), *PLACES["b"]) is None


def test_rows_stand_in_the_order_of_the_suite(shared: dict[str, Any]) -> None:
    assert [one["id"] for one in shared["conversations"]] == [case.id for case in CASES[:-1]]
    assert {one["id"] for one in shared["left_out"]} == {"made/long"}


def test_the_first_case_of_a_clause_may_be_longer_than_others() -> None:
    steps = {"send": {"times": 120, "of": QUERY}, "expect": {"times": 120, "of": "refused"}}
    cases = [make_case(steps, id=f"made/{name}") for name in ("first", "second")]
    suite = Suite("throttr", REAL.clauses, tuple(cases), (), REAL.probe)

    document = Deriver(suite, *PLACES["b"]).documents()["made"]

    assert sum(len(bytes.fromhex(one.get("hex", ""))) for one in document["conversations"][0]["steps"]) > LONGEST
    assert ([one["id"] for one in document["conversations"]], document["left_out"]) == (["made/first"], ["made/second"])


def test_what_is_the_same_everywhere_stands_there_once(shared: dict[str, Any]) -> None:
    frames = {one["id"]: one for one in shared["frames"]}

    assert frames["made/query"].keys().isdisjoint({"in", "flags"})
    assert frames["made/some"]["in"] == "bcfg"
    assert isinstance(frames["made/query"]["hex"], str)


def test_where_only_the_bytes_differ_the_message_stands_there_once() -> None:
    one = make_frame("made/one", message={"INSERT": {**INSERT["INSERT"], "quota": 1}})
    suite = Suite("throttr", REAL.clauses, (), (one,), REAL.probe)
    documents = {letter: Deriver(suite, *place).documents()["made"] for letter, place in PLACES.items()}

    (row,) = merged(documents)["frames"]
    assert list(row["hex"]) == ["ae", "bf", "cg", "dh"]


def test_equal_steps_that_follow_each_other_are_one_row(shared: dict[str, Any]) -> None:
    (many,) = (one for one in shared["conversations"] if one["id"] == "made/many")

    assert [step.get("times") for step in many["steps"]] == [None, None, 9]
    assert many["exclusive"]


def test_a_canonical_file_has_one_step_a_line(shared: dict[str, Any]) -> None:
    lines = canonical(shared).splitlines()

    assert sum(line.startswith('{"do":"wait"') for line in lines) == 1
    assert max(line.count('"do":') for line in lines) == 1
