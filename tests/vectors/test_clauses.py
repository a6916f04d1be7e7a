"""The clause list of throttr is complete and well formed: everything the suite says cites one of its ids.

The rule: ids are dense, every request type and every erratum has clauses, and docs/errata.md agrees.
"""

import json
import re
from itertools import groupby
from typing import Any

import jsonschema_rs
import pytest
import yaml

from tests.places import ROOT

PROFILES = ["7.1.0", "7.3.2"]
REQUEST_TYPES = [
    "INSERT", "QUERY", "UPDATE", "PURGE", "SET", "GET", "LIST", "INFO", "STAT", "STATS",
    "SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH", "CONNECTIONS", "CONNECTION", "CHANNELS", "CHANNEL",
    "WHOAMI", "EVENT",
]  # fmt: skip
TOPICS = [
    "PUSH",
    "FRAMING",
    "WIDTH",
    "TTL",
    "EXPIRY",
    "RECORD",
    "FRAGMENT",
    "METRICS",
    "ROBUSTNESS",
    "CONCURRENCY",
    "BUDGET",
    "CLIENT",
]
ERRATUM_ROW = re.compile(r"^\| (T\d+) \|(.*)\|$", re.MULTILINE)

Clause = dict[str, Any]


def load_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((ROOT / "vectors/schema/clauses.schema.json").read_text())
    return schema


def load_document() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "vectors/throttr/clauses.yaml").read_text())
    return document


CLAUSES: list[Clause] = load_document()["clauses"]
ERRATA = dict(ERRATUM_ROW.findall((ROOT / "docs/errata.md").read_text()))


def number(identifier: str) -> int:
    return int(re.split(r"\D+", identifier)[-1])


def citing(erratum: str) -> list[str]:
    return [clause["id"] for clause in CLAUSES if erratum in clause.get("errata", [])]


def test_the_schema_is_a_valid_schema() -> None:
    jsonschema_rs.meta.validate(load_schema())


def test_the_clause_list_is_valid_under_its_schema() -> None:
    jsonschema_rs.Draft202012Validator(load_schema()).validate(load_document())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("level", "SHALL"),
        ("level", {"7.1.0": "MUST", "7.3.2": "OFTEN"}),
        ("level", {"7.1.0": "MUST"}),
        ("profiles", []),
        ("text", "x" * 300 + "."),
        ("text", "A sentence without its full stop"),
        ("id", "THR-INSERT-01"),
        ("errata", []),
        ("remark", "a field the schema does not know"),
    ],
)
def test_the_schema_refuses_a_malformed_clause(field: str, value: object) -> None:
    document = {"protocol": "throttr", "clauses": [CLAUSES[0] | {field: value}]}

    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.Draft202012Validator(load_schema()).validate(document)


def test_groups_stand_together_in_the_agreed_order() -> None:
    groups = [group for group, _ in groupby(CLAUSES, key=lambda clause: clause["group"])]

    assert groups == REQUEST_TYPES + TOPICS


def test_ids_are_dense_from_one_inside_each_group() -> None:
    ids = [clause["id"] for clause in CLAUSES]
    expected = [
        f"THR-{group}-{position}"
        for group, clauses in groupby(CLAUSES, key=lambda clause: clause["group"])
        for position, _ in enumerate(clauses, start=1)
    ]

    assert ids == expected


def test_no_two_clauses_of_one_group_and_profile_say_the_same() -> None:
    said = [(c["group"], profile, c["text"]) for c in CLAUSES for profile in c["profiles"]]

    assert len(said) == len(set(said))


def test_profiles_of_a_clause_are_known_and_in_order() -> None:
    odd = [c["id"] for c in CLAUSES if c["profiles"] != [p for p in PROFILES if p in c["profiles"]]]

    assert odd == []


def test_a_level_map_has_its_profiles_as_keys_and_levels_that_differ() -> None:
    maps = [c for c in CLAUSES if isinstance(c["level"], dict)]
    odd = [c["id"] for c in maps if list(c["level"]) != c["profiles"] or len(set(c["level"].values())) == 1]

    assert maps
    assert odd == []


@pytest.mark.parametrize("group", REQUEST_TYPES)
def test_every_request_type_has_a_clause_for_its_type_byte(group: str) -> None:
    texts = [c["text"] for c in CLAUSES if c["group"] == group]
    position = REQUEST_TYPES.index(group) + 1
    type_byte = f"{position if position < 10 else position + 6:02x}"

    assert any(re.search(rf"\bbyte {type_byte}\b", text, re.IGNORECASE) for text in texts)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_group_speaks_for_both_profiles(profile: str) -> None:
    assert {c["group"] for c in CLAUSES if profile in c["profiles"]} == {*REQUEST_TYPES, *TOPICS}


def test_robustness_clauses_are_never_a_must() -> None:
    assert {c["level"] for c in CLAUSES if c["group"] == "ROBUSTNESS"} == {"SHOULD"}


def test_the_errata_page_numbers_its_errata_without_a_gap() -> None:
    assert list(ERRATA) == [f"T{n}" for n in range(1, len(ERRATA) + 1)]


def test_clauses_cite_only_errata_of_the_errata_page() -> None:
    assert {e for c in CLAUSES for e in c.get("errata", [])} <= set(ERRATA)


@pytest.mark.parametrize("erratum", ERRATA)
def test_every_erratum_is_cited_and_its_row_lists_the_citing_clauses(erratum: str) -> None:
    listed = re.findall(r"THR-[A-Z]+-\d+", ERRATA[erratum])

    assert listed
    assert listed == citing(erratum)


def test_errata_of_a_clause_are_listed_in_order() -> None:
    odd = [c["id"] for c in CLAUSES if c.get("errata", []) != sorted(c.get("errata", []), key=number)]

    assert odd == []
