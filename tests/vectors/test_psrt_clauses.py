"""The clause list of psrt is well formed, and docs/errata.md says of each erratum which clauses state its reading."""

import re
from itertools import groupby
from typing import Any

import pytest
import yaml

from tests.places import ROOT
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.declared import load_features, load_parameters
from wireproof.reference_server.registry import options_of

PROFILES = ["1", "psrtd-0.3"]
FOLDER = ROOT / "vectors/psrt"
CLAUSES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "clauses.yaml").read_text())["clauses"]
ERRATA = dict(re.findall(r"^\| (P\d+) \|(.*)\|$", (ROOT / "docs/errata.md").read_text(), re.MULTILINE))
DEVIATIONS = re.compile(r"^\| (PSRT-[^|]*) \|", re.MULTILINE)


def citing(erratum: str) -> list[str]:
    return [clause["id"] for clause in CLAUSES if erratum in clause.get("errata", [])]


def test_ids_are_dense_from_one_and_groups_stand_together() -> None:
    expected = [
        f"PSRT-{group}-{position}"
        for group, clauses in groupby(CLAUSES, key=lambda clause: clause["group"])
        for position, _ in enumerate(clauses, start=1)
    ]

    assert [clause["id"] for clause in CLAUSES] == expected


def test_no_two_clauses_of_one_group_say_the_same() -> None:
    said = [(clause["group"], clause["text"]) for clause in CLAUSES]

    assert len(said) == len(set(said))


def test_every_clause_speaks_of_both_profiles() -> None:
    assert {tuple(clause["profiles"]) for clause in CLAUSES} == {tuple(PROFILES)}


def test_the_page_numbers_its_errata_without_a_gap() -> None:
    assert list(ERRATA) == [f"P{number}" for number in range(1, len(ERRATA) + 1)]


@pytest.mark.parametrize("erratum", ERRATA)
def test_every_erratum_is_cited_and_its_row_lists_the_citing_clauses(erratum: str) -> None:
    listed = re.findall(r"PSRT-[A-Z_]+-\d+", ERRATA[erratum])

    assert listed
    assert listed == citing(erratum)


def test_clauses_cite_only_errata_of_the_page() -> None:
    assert {one for clause in CLAUSES for one in clause.get("errata", [])} <= set(ERRATA)


def test_where_levels_differ_the_page_says_what_the_upstream_server_does() -> None:
    detail = DEVIATIONS.findall((ROOT / "docs/errata.md").read_text().split("## What the upstream server does")[1])
    differing = {clause["id"] for clause in CLAUSES if isinstance(clause["level"], dict)}

    assert {one for row in detail for one in row.split(", ")} == differing


def test_every_clause_a_server_can_break_has_a_case() -> None:
    suite = load_suite("psrt")
    judged = {clause for case in suite.cases for clause in case.clauses}
    judged |= {clause for case in suite.cases for clause in re.findall(r"PSRT-[A-Z_]+-\d+", repr(case.steps))}
    without = [
        one.id for one in suite.clauses.values() if one.id not in judged and one.group != "CLIENT" and not one.no_fault
    ]

    assert without == []


def test_cases_need_only_features_that_are_named_and_every_feature_is_needed() -> None:
    needed = {feature for case in load_suite("psrt").cases for feature in case.needs}

    assert needed == set(load_features(FOLDER / "features.yaml"))


def test_every_parameter_names_an_option_of_the_reference_server() -> None:
    options = {option.name for option in options_of("psrt")}

    assert {one.option for one in load_parameters(FOLDER / "parameters.yaml").values()} <= options
