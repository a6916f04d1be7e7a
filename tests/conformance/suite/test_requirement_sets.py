"""Requirement sets: what they hold, what decides nothing beside them, and that their files are read as written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conformance.scripted import make_case
from wireproof.conformance.model.verdict import Level
from wireproof.conformance.sdk.play.sdk_suite import sdk_cases
from wireproof.conformance.suite import requirement_sets
from wireproof.conformance.suite.cases import Case, load_suite, vectors_root
from wireproof.conformance.suite.requirement_sets import (
    Required,
    RequirementCheck,
    RequirementSet,
    RequirementSetError,
    digest_of,
    frozen,
    read_set,
    set_names,
    text_of,
)
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.protocols import protocol_names

SETS = set_names(protocol_names())
QUERY = {"send": {"QUERY": {"key": "$k"}}, "expect": "refused"}
GET = {"send": {"GET": {"key": "$k"}}, "expect": "refused"}


def named(name: str, *steps: dict[str, object]) -> Case:
    return replace(make_case(*steps), id=name)


def asked(cases: list[Case], now: list[Case], level: Level = Level.MUST, then: Level = Level.MUST) -> RequirementCheck:
    held = {"server": {one.id: Required(then, digest_of(one)) for one in cases}}
    found = RequirementSet("throttr", "7.3.2", 1, "0.1.0", ("whole", "bytes"), held)
    return RequirementCheck(found, "server", {one.id: (one, level) for one in now})


def test_a_case_that_is_as_it_was_decides() -> None:
    case = named("query/one", QUERY)

    assert asked([case], [case]).why_not("query/one") == ""
    assert asked([case], [replace(case, title="another title")]).why_not("query/one") == ""


def test_what_is_new_or_asks_for_something_else_decides_nothing() -> None:
    case, other = named("query/one", QUERY), named("query/one", GET)

    assert asked([], [case]).why_not("query/one") == "newer than throttr-7.3.2@1"
    assert asked([case], [other]).why_not("query/one") == "changed since throttr-7.3.2@1"
    assert asked([case], [replace(case, variants=("uint8",))]).why_not("query/one") == "changed since throttr-7.3.2@1"
    assert asked([case], [case], then=Level.MAY).why_not("query/one") == "a MAY in throttr-7.3.2@1"
    assert asked([case], [case], level=Level.MAY).why_not("query/one") == ""
    assert asked([case], [case]).why_not("query/one", "bytes") == ""
    assert asked([case], [case]).why_not("query/one", "fields") == "segmentation fields is newer than throttr-7.3.2@1"


def test_what_decides_nothing_is_last_and_what_went_is_named() -> None:
    old, new = named("query/old", QUERY), named("query/new", QUERY)
    found = asked([old, named("query/gone", QUERY)], [old, new])

    assert [one.id for one in found.in_order([new, old])] == ["query/old", "query/new"]
    assert found.gone == ["query/gone"]
    assert found.why_none(["query/new"]) == "newer than throttr-7.3.2@1"
    assert found.why_none(["query/new", "query/old"]) == found.why_none([]) == ""


@pytest.mark.parametrize("name", protocol_names())
def test_a_set_is_read_as_it_was_written(name: str) -> None:
    suite = load_suite(name)
    for profile in {one for case in suite.cases for one in case.profiles}:
        found = frozen(name, profile, {"server": suite.cases, "client": sdk_cases(name)}, lambda _: Level.MUST, "1")
        text = text_of(found)

        assert requirement_sets._parsed(text, found.name, name) == found
        assert len(text) < 80_000


def test_there_is_a_set_of_every_profile_and_all_can_be_read() -> None:
    assert len(SETS) >= 8
    for name in SETS:
        found = read_set(name, protocol_names())
        assert found.name == name
        assert found.cases["server"]
        assert set(found.segmentations) <= set(SEGMENTATIONS)


def test_the_ids_of_a_case_with_a_line_break_stay_on_one_line() -> None:
    assert any("\n" in one for name in SETS for one in read_set(name, protocol_names()).cases["server"])


def test_an_unknown_set_names_those_near_it() -> None:
    with pytest.raises(RequirementSetError, match=r"throttr-7.3@1 \(did you mean throttr-7.3.2@1"):
        read_set("throttr-7.3@1", ["throttr"])
    with pytest.raises(RequirementSetError, match="there is throttr-7"):
        read_set("xyz", ["throttr"])


def test_a_wrong_file_is_reported_with_its_line() -> None:
    with pytest.raises(RequirementSetError, match="line 3: expected a digest"):
        requirement_sets._parsed("set a-1@1\n[server query MUST]\nnonsense\n", "a-1@1", "a")
    with pytest.raises(RequirementSetError, match="the file says that it is 'a-1@2'"):
        requirement_sets._parsed("set a-1@2\n", "a-1@1", "a")


def test_the_sets_are_beside_the_cases() -> None:
    stems = {path.stem for path in (vectors_root() / "throttr" / "requirements").iterdir()}
    assert stems >= {"7.1.0@1", "7.3.2@1"}
