"""The clause list of each protocol is well formed, and docs/errata.md says which clauses state each reading."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import pytest
import yaml

from tests.places import ROOT
from wireproof.conformance.sdk.play.sdk_suite import load_sdk_suite
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.declared import load_features, load_parameters
from wireproof.protocols import protocol
from wireproof.reference_server.registry import options_of

LETTERS = {"throttr": "T", "psrt": "P", "tmqp": "E", "namechan": "N"}
"""Protocol -> what its errata begin with on the page."""
PAGE = (ROOT / "docs/errata.md").read_text()
Clause = dict[str, Any]


def clauses_of(name: str) -> list[Clause]:
    found: list[Clause] = yaml.load((ROOT / f"vectors/{name}/clauses.yaml").read_text(), yaml.CSafeLoader)["clauses"]
    return found


def errata_of(name: str) -> dict[str, str]:
    return dict(re.findall(rf"^\| ({LETTERS[name]}\d+) \|(.*)\|$", PAGE, re.MULTILINE))


CLAUSES = {name: clauses_of(name) for name in LETTERS}
ERRATA = {name: errata_of(name) for name in LETTERS}
each_protocol = pytest.mark.parametrize("name", LETTERS)


def prefix_of(name: str) -> str:
    return str(CLAUSES[name][0]["id"]).partition("-")[0]


@each_protocol
def test_ids_are_dense_from_one_and_groups_stand_together(name: str) -> None:
    expected = [
        f"{prefix_of(name)}-{group}-{position}"
        for group, clauses in groupby(CLAUSES[name], key=lambda clause: clause["group"])
        for position, _ in enumerate(clauses, start=1)
    ]

    assert [clause["id"] for clause in CLAUSES[name]] == expected


@each_protocol
def test_no_two_clauses_of_one_group_and_profile_say_the_same(name: str) -> None:
    printed = [(one["group"], profile, one["text"]) for one in CLAUSES[name] for profile in one["profiles"]]

    assert len(printed) == len(set(printed))


@each_protocol
def test_profiles_of_a_clause_are_known_and_in_order(name: str) -> None:
    known = list(protocol(name).profiles)
    odd = [one["id"] for one in CLAUSES[name] if one["profiles"] != [each for each in known if each in one["profiles"]]]

    assert odd == []


@each_protocol
def test_a_level_map_has_its_profiles_as_keys_and_levels_that_differ(name: str) -> None:
    maps = [one for one in CLAUSES[name] if isinstance(one["level"], dict)]

    assert [one["id"] for one in maps if list(one["level"]) != one["profiles"]] == []
    assert [one["id"] for one in maps if len(set(one["level"].values())) == 1] == []


@each_protocol
def test_the_page_numbers_its_errata_without_a_gap(name: str) -> None:
    assert list(ERRATA[name]) == [f"{LETTERS[name]}{number}" for number in range(1, len(ERRATA[name]) + 1)]


@pytest.mark.parametrize(("name", "erratum"), [(name, one) for name, errata in ERRATA.items() for one in errata])
def test_the_row_of_an_erratum_lists_the_clauses_that_cite_it(name: str, erratum: str) -> None:
    citing = [clause["id"] for clause in CLAUSES[name] if erratum in clause.get("errata", [])]

    assert re.findall(rf"{prefix_of(name)}-[A-Z_]+-\d+", ERRATA[name][erratum]) == citing


@each_protocol
def test_clauses_cite_only_errata_of_the_page_in_order(name: str) -> None:
    order = list(ERRATA[name])
    cited = [clause.get("errata", []) for clause in CLAUSES[name]]

    assert {one for errata in cited for one in errata} <= set(order)
    assert [errata for errata in cited if errata != sorted(errata, key=order.index)] == []


@each_protocol
def test_every_clause_that_can_be_broken_has_a_case_in_each_of_its_profiles(name: str) -> None:
    suite, named = load_suite(name), re.compile(rf"{prefix_of(name)}-[A-Z_]+-\d+")
    judged = {
        (clause, profile)
        for case in (*suite.cases, *load_sdk_suite(name).cases)
        for clause in (*case.clauses, *named.findall(repr(case.steps)))
        for profile in case.profiles
    }
    broken = [(one.id, profile) for one in suite.clauses.values() if not one.no_fault for profile in one.levels]

    assert [one for one in broken if one not in judged] == []


@each_protocol
def test_cases_need_only_features_that_are_named(name: str) -> None:
    needed = {feature for case in load_suite(name).cases for feature in case.needs}

    assert needed <= set(load_features(ROOT / f"vectors/{name}/features.yaml"))


@each_protocol
def test_every_parameter_names_an_option_of_the_reference_server(name: str) -> None:
    options = {option.name for option in options_of(name)}

    assert {one.option for one in load_parameters(ROOT / f"vectors/{name}/parameters.yaml").values()} <= options
