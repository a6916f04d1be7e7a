"""The clause list of namechan is well formed, and docs/errata.md says which clauses state each reading."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest
import yaml

from tests.places import ROOT
from wireproof.conformance.sdk.play.sdk_run import load_sdk_suite
from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.conformance.suite.declared import load_features, load_parameters
from wireproof.reference_server.registry import options_of

FOLDER = ROOT / "vectors/namechan"
CLAUSES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "clauses.yaml").read_text())["clauses"]
ERRATA = dict(re.findall(r"^\| (N\d+) \|(.*)\|$", (ROOT / "docs/errata.md").read_text(), re.MULTILINE))


def citing(erratum: str) -> list[str]:
    return [clause["id"] for clause in CLAUSES if erratum in clause.get("errata", [])]


def test_ids_are_dense_from_one_and_groups_stand_together() -> None:
    expected = [
        f"NCH-{group}-{position}"
        for group, clauses in groupby(CLAUSES, key=lambda clause: clause["group"])
        for position, _ in enumerate(clauses, start=1)
    ]

    assert [clause["id"] for clause in CLAUSES] == expected
    assert len({clause["text"] for clause in CLAUSES}) == len(CLAUSES)


def test_the_page_numbers_its_errata_without_a_gap() -> None:
    assert list(ERRATA) == [f"N{number}" for number in range(1, len(ERRATA) + 1)]


@pytest.mark.parametrize("erratum", ERRATA)
def test_the_row_of_an_erratum_lists_the_clauses_that_cite_it(erratum: str) -> None:
    assert re.findall(r"NCH-[A-Z_]+-\d+", ERRATA[erratum]) == citing(erratum)


def test_clauses_cite_only_errata_of_the_page() -> None:
    assert {one for clause in CLAUSES for one in clause.get("errata", [])} <= set(ERRATA)


@pytest.mark.parametrize(("load", "client"), [(load_suite, False), (load_sdk_suite, True)])
def test_every_clause_that_can_be_broken_has_a_case_in_each_of_its_profiles(
    load: Callable[[str], Suite], client: bool
) -> None:
    suite = load("namechan")
    judged = {(clause, profile) for case in suite.cases for clause in case.clauses for profile in case.profiles}
    without = [
        (one.id, profile)
        for one in suite.clauses.values()
        for profile in one.levels
        if (one.id, profile) not in judged and not one.no_fault and (one.group == "CLIENT") is client
    ]

    assert without == []


def test_cases_need_only_features_that_are_named() -> None:
    needed = {feature for case in load_suite("namechan").cases for feature in case.needs}

    assert needed <= set(load_features(FOLDER / "features.yaml"))


def test_every_parameter_names_an_option_of_the_reference_server() -> None:
    options = {option.name for option in options_of("namechan")}

    assert {one.option for one in load_parameters(FOLDER / "parameters.yaml").values()} <= options
