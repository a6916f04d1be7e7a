"""The clause list of psrt speaks of both profiles, and docs/errata.md says where the upstream server differs."""

from __future__ import annotations

import re
from typing import Any

import yaml

from tests.places import ROOT
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.declared import load_features

FOLDER = ROOT / "vectors/psrt"
CLAUSES: list[dict[str, Any]] = yaml.load((FOLDER / "clauses.yaml").read_text(), yaml.CSafeLoader)["clauses"]
DEVIATIONS = re.compile(r"^\| (PSRT-[^|]*) \|", re.MULTILINE)


def test_every_clause_speaks_of_both_profiles() -> None:
    assert {tuple(clause["profiles"]) for clause in CLAUSES} == {("1", "psrtd-0.3")}


def test_where_levels_differ_the_page_says_what_the_upstream_server_does() -> None:
    detail = DEVIATIONS.findall((ROOT / "docs/errata.md").read_text().split("## What the upstream server does")[1])
    differing = {clause["id"] for clause in CLAUSES if isinstance(clause["level"], dict)}

    assert {one for row in detail for one in row.split(", ")} == differing


def test_every_feature_is_needed() -> None:
    needed = {feature for case in load_suite("psrt").cases for feature in case.needs}

    assert needed == set(load_features(FOLDER / "features.yaml"))
