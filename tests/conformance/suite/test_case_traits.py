"""What is told of a case without playing it: waits, last requests, requests, and the deliveries it can have."""

from typing import Any

import pytest

from tests.conformance.scripted import ASK, INSERT, make_case
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.sdk.play.sdk_suite import sdk_cases
from wireproof.conformance.suite.case_traits import (
    _walked,
    applies,
    keeps_to_itself,
    last_request,
    longest,
    parts,
    patience,
    reads_tables,
    requests,
    waits,
)
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.sdk_case_traits import asks_at_once
from wireproof.conformance.suite.segmentation import SEGMENTATIONS as ALL_SEGMENTATIONS
from wireproof.protocols import protocol

REFUSED = {"send": ASK, "expect": "refused"}
SEGMENTATIONS = {name: one for name, one in ALL_SEGMENTATIONS.items() if not one.respells}
"""Those of a protocol whose requests have one spelling."""
OTHERS = [name for name in SEGMENTATIONS if name != "whole"]


SPOKEN = protocol("throttr")


def segmentations(*steps: Any, **changes: Any) -> list[str]:
    case = make_case(*steps, **changes)
    return [name for name, one in SEGMENTATIONS.items() if applies(case, one, SPOKEN)]


def test_an_ordinary_case_is_played_under_all() -> None:
    assert segmentations(REFUSED) == list(SEGMENTATIONS)


@pytest.mark.parametrize(
    ("changes", "without"),
    [
        ({"fresh_server": True, "exclusive": True}, OTHERS),
        ({"budget": True, "exclusive": True}, OTHERS),
        ({"exclusive": True}, ["joined", "dripped"]),
        ({"slow": True}, ["dripped"]),
        ({"heavy": True}, ["dripped"]),
    ],
)
def test_what_a_case_needs_rules_deliveries_out(changes: dict[str, bool], without: list[str]) -> None:
    assert segmentations(REFUSED, **changes) == [name for name in SEGMENTATIONS if name not in without]


@pytest.mark.parametrize(
    ("steps", "without"),
    [
        (({"connect": "a"}, {"closed": "a"}), OTHERS),
        (({"connect": {"name": "a", "unread": True}}, REFUSED), OTHERS),
        (({"concurrent": {"connections": 2, "requests": 2, "of": [ASK]}},), OTHERS),
        (({"wait": 1}, REFUSED), ["dripped"]),
        (({"repeat": {"each": {"i": [1, 2]}, "steps": [{"wait": 1}, REFUSED]}},), ["dripped", "half-closed"]),
        ((REFUSED, {"closed": "a"}), ["half-closed"]),
    ],
)
def test_what_a_case_does_rules_deliveries_out(steps: tuple[Any, ...], without: list[str]) -> None:
    assert segmentations(*steps) == [name for name in SEGMENTATIONS if name not in without]


def test_a_case_that_looks_at_what_a_neighbour_moves_has_none() -> None:
    assert "joined" in segmentations({"send": "INFO", "expect": {"INFO_REPLY": {"total_get": 7}}})
    assert "joined" not in segmentations({"send": "INFO", "expect": {"INFO_REPLY": {"total_query": 7}}})


def test_a_quiet_server_s_counts_are_not_looked_at_slowly() -> None:
    counts = {"send": "INFO", "expect": {"INFO_REPLY": {"keys": 7}}}

    assert segmentations(counts) == list(SEGMENTATIONS)
    assert segmentations(counts, exclusive=True) == ["whole", "half-closed"]


def test_the_fields_that_move_are_fields() -> None:
    for profile in SPOKEN.profiles.values():
        codec = SPOKEN.codec(profile, "uint16")
        kinds = [*profile.messages.values(), SPOKEN.message(profile.name, "CONNECTIONS_REPLY")]
        known = {name for kind in kinds for name, _ in codec.layout(kind).fields}
        rows = {name for kind in kinds for name in _row_fields(codec, kind)}

        assert SPOKEN.counted_with_noops | SPOKEN.time_moves <= known | rows


def _row_fields(codec: Any, kind: Any) -> set[str]:
    found = set()
    for _, how in codec.layout(kind).fields:
        for inner in (getattr(how, "row", None), getattr(how, "part", None)):
            if inner is not None:
                found |= {name for name, _ in codec.layout(inner).fields} | _row_fields(codec, inner)
    return found


@pytest.mark.parametrize(
    ("steps", "number"),
    [
        ((REFUSED,), 0),
        (({"send": INSERT}, {"expect": "ok"}), 0),
        ((REFUSED, {"silent": "a"}), 1),
        ((REFUSED, {"alive": True}), 1),
        ((REFUSED, {"send": INSERT, "on": "b", "expect": "ok"}), 1),
        (({"send": INSERT, "on": "b"}, {"push": {}, "on": "c"}, {"expect": "ok", "on": "b", "given": True}), 0),
        ((REFUSED, {"wait": 1}), None),
        ((REFUSED, {"closed": "a"}), None),
        ((REFUSED, {"half_close": "a"}), None),
        (({"send": INSERT}, {"push": {}}), None),
        (({"send": INSERT, "expect": [{"push": {}}, "ok"]},), None),
        (({"send": INSERT, "observe": {"x": "ok"}},), None),
        (({"send": INSERT, "expect": "ok", "or_closed": True},), None),
        ((REFUSED, {"repeat": {"each": {"i": [1, 2]}, "steps": [REFUSED]}}), None),
        ((REFUSED, {"by_profile": {"7.1.0": REFUSED, "else": {"connect": "b"}}}), None),
        (({"connect": "a"},), None),
        ((), None),
    ],
)
def test_the_last_request_is_one_that_only_replies_follow(steps: tuple[Any, ...], number: int | None) -> None:
    assert last_request(make_case(*steps).steps) == number


@pytest.mark.parametrize(
    ("steps", "number"),
    [
        ((REFUSED, {"silent": "a"}, {"wait": 1}, {"expect": "ok"}), 2),
        (({"send": [ASK, {"each": {"i": [1, 9]}, "of": ASK}, {"times": 3, "of": ASK}]},), 13),
        (({"repeat": {"each": {"i": [2, 4]}, "steps": [REFUSED, {"alive": True}]}},), 6),
        (({"send": {"each": {"i": [1, "n - 1"]}, "of": ASK}},), 19),
        (({"send": {"each": {"i": [1, "saved"]}, "of": ASK}},), 50),
        (({"by_profile": {"7.1.0": REFUSED}},), 1),
    ],
)
def test_requests_are_counted_as_far_as_can_be_known(steps: tuple[Any, ...], number: int) -> None:
    assert requests(make_case(*steps, variables={"n": 20})) == number


def test_waiting_is_found_however_deep() -> None:
    assert waits(make_case({"repeat": {"each": {"i": [1, 2]}, "steps": [{"wait": 1}]}}))
    assert waits(make_case({"by_profile": {"7.1.0": {"wait_until": {"mark": "m", "plus": 1}}}}))
    assert not waits(make_case(REFUSED))


def test_requests_with_several_spellings_are_played_in_others() -> None:
    spelled, asked = ALL_SEGMENTATIONS["spelled"], make_case(REFUSED)

    assert not applies(asked, spelled, SPOKEN)
    assert applies(asked, spelled, protocol("namechan"))


@pytest.mark.parametrize(("combined", "share"), [(False, 0.7), (True, 0.6)])
def test_most_cases_of_the_suite_can_be_delivered_in_every_way(combined: bool, share: float) -> None:
    """Of the combinations more wait, which none does that is delivered slowly: a record ages, a client has left."""
    every = applicable(load_suite("throttr"), "7.3.2", "uint32")
    cases = [case for case in every if ("/pairs-" in case.id) is combined]

    assert len(cases) > 1000
    for name in OTHERS:
        assert sum(applies(case, SEGMENTATIONS[name], SPOKEN) for case in cases) > share * len(cases), name


@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        ([{"send": "INFO"}], 0.0),
        ([{"wait": 0.5}, {"wait": "0.25 * 2"}], 1.0),
        ([{"mark": "m"}, {"wait_until": {"mark": "m", "plus": "0.5 + TOLERANCE", "latest": 9}}], 0.75),
        ([{"repeat": {"each": {"i": [1, 2]}, "steps": [{"wait": "ttl * 2"}]}}], 1.0),
    ],
)
def test_how_long_a_case_waits(steps: list[Any], seconds: float) -> None:
    assert patience(make_case(*steps)) == seconds


def test_what_looks_at_the_rows_of_a_table() -> None:
    assert reads_tables(make_case({"send": "LIST", "expect": {"LIST_REPLY": {"rows": {"count": 0}}}}))
    assert not reads_tables(make_case({"send": "LIST", "expect": "LIST_REPLY"}))


def test_the_longest_field_of_a_case() -> None:
    key = {"fill": 0x2E, "size": "m - 1", "prefix": "$k"}

    assert longest(make_case({"send": {"QUERY": {"key": key}}}, variables={"m": 200})) == 199
    assert longest(make_case({"send": {"QUERY": {"key": key}}})) == 0
    assert longest(make_case({"send": "INFO"})) == 0


@pytest.mark.parametrize(
    ("sends", "own"),
    [
        ({"QUERY": {"key": "$k"}}, True), ({"QUERY": {"key": "k"}}, False), ("INFO", True), ({"raw": "0201"}, False),
        ({"QUERY": {"key": {"fill": 1, "size": 9}}}, False),
        ({"QUERY": {"key": {"fill": 1, "size": 9, "prefix": "$k"}}}, True),
        ([{"QUERY": {"key": "$k"}}, {"PUBLISH": {"channel": "*", "payload": "p"}}], False),
        ({"each": {"i": [1, 2]}, "of": {"QUERY": {"key": "$k{i}"}}}, True), ({"raw": {"join": ["a", "$k"]}}, True),
    ],
)  # fmt: skip
def test_a_case_keeps_to_itself_when_all_it_asks_for_names_something_of_its_own(sends: Any, own: bool) -> None:
    assert keeps_to_itself(make_case({"send": sends})) is own
    assert keeps_to_itself(make_case({"repeat": {"each": {"i": [1, 2]}, "steps": [{"send": sends}]}})) is own


def test_the_parts_of_a_case_are_the_same_each_time_and_not_those_of_another() -> None:
    one, other = make_case({"send": INSERT}, {"wait": 1}), make_case({"send": INSERT}, {"wait": 2})

    for _ in range(2):
        assert [list(parts(case.steps)) for case in (one, other)] == [
            list(_walked(case.steps)) for case in (one, other)
        ]
        assert (patience(one), patience(other)) == (1, 2)


@pytest.mark.parametrize(
    ("case", "several"), [("sdk-connection/reply.whole", False), ("sdk-batch/every-kind.whole", True)]
)
def test_a_request_that_differs_by_profile_is_one(case: str, several: bool) -> None:
    (found,) = (one for one in sdk_cases("throttr") if one.id == case)

    assert asks_at_once(found, 0) is several
