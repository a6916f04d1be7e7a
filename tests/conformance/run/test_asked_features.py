"""A target is asked for the features that nobody declared: one fault hides none, and what it lacks fails nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import servers
from wireproof.conformance.model.targets import Address, parse_address
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.asked_features import can_be_asked, features_found
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.processes import module_command, running_server
from wireproof.conformance.run.runner import simulate
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.records import Record, Run
from wireproof.protocols import protocol, protocol_names
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Service, seeded_ids

ASKED = [name for name in protocol_names() if can_be_asked(load_suite(name))]
CONFIGURED = frozenset({"tmqp", "psrt"})


def run_of(name: str, profile: str = "") -> Run:
    return Run(name, profile or protocol(name).default_profile, "standard", "made up", "made up")


async def found_at(address: Address, name: str, profile: str = "") -> frozenset[str]:
    return await features_found(load_suite(name), run_of(name, profile), address, Settings(features=frozenset({"tcp"})))


def test_the_cases_that_show_a_feature_are_there_and_need_it() -> None:
    assert set(ASKED) == CONFIGURED
    for name in ASKED:
        suite = load_suite(name)
        cases = {case.id: case for case in suite.cases}
        for feature, shown_by in suite.probe["features"].items():
            assert feature in suite.features
            for one in shown_by:
                assert feature in cases[one].needs, one


@pytest.mark.parametrize("name", ASKED)
def test_all_that_a_server_was_set_up_with_is_found(name: str, tmp_path: Path) -> None:
    place = {"profile": protocol(name).default_profile, "variant": "standard"}
    command = module_command(
        "wireproof.reference_server", *reference_target.serving_arguments(name, **place, scratch=tmp_path)
    )
    with running_server([*command, "--port", "0"]) as address:
        assert asyncio.run(found_at(parse_address(address), name)) == can_be_asked(load_suite(name))


async def found_in_a_plain_one(name: str, profile: str, options: Mapping[str, Any]) -> frozenset[str]:
    async with servers.plain(name, profile, options) as address:
        return await found_at(address, name, profile)


@pytest.mark.parametrize(
    ("name", "profile", "options", "expected"),
    [
        ("tmqp", "doc", {}, {"admin", "deliveries"}),
        ("tmqp", "twino-3.0.0", {}, {"admin", "deliveries"}),
        ("tmqp", "doc", {"admin": False}, {"deliveries"}),
        ("psrt", "1", {}, set()),
        ("psrt", "psrtd-0.3", {}, set()),
    ],
)
def test_a_server_that_was_not_set_up_has_what_is_found(
    name: str, profile: str, options: Mapping[str, Any], expected: set[str]
) -> None:
    assert asyncio.run(found_in_a_plain_one(name, profile, options)) == expected


@pytest.mark.parametrize("mutant", ["sent-means-received", "deleted-channel-stays"])
def test_a_fault_in_a_feature_does_not_hide_it(mutant: str) -> None:
    async def found() -> frozenset[str]:
        async with servers.reference_of("tmqp", "doc", mutant) as address:
            return await found_at(address, "tmqp")

    assert asyncio.run(found()) == {"admin", "deliveries", "routers", "authorization"}


def test_a_target_that_ended_is_asked_nothing() -> None:
    async def found() -> frozenset[str]:
        nobody, settings = Address("tcp", "127.0.0.1", 1), Settings(features=frozenset())
        return await features_found(load_suite("tmqp"), run_of("tmqp"), nobody, settings, alive=lambda: False)

    assert asyncio.run(found()) == frozenset()


@pytest.mark.parametrize(
    ("name", "profile", "lacks", "options"),
    [
        ("tmqp", "doc", {"admin"}, {"admin": False}),
        ("tmqp", "twino-3.0.0", {"admin"}, {"admin": False}),
        ("psrt", "1", {"accounts", "encryption", "replication"}, {"users": None, "acl": None, "keys": None}),
    ],
)
def test_a_right_server_without_a_feature_fails_no_case_that_does_not_need_it(
    name: str, profile: str, lacks: set[str], options: Mapping[str, Any]
) -> None:
    """Of TMQP 32 cases used what only administrators may, and did not say that they need it."""
    given = {key: value for key, value in (reference_target.options(name) | dict(options)).items() if value is not None}
    features, records = reference_target.features(name) - lacks, list[Record]()
    cases = select(load_suite(name), profile, "standard", features=features, heavy=False)

    def service(clock: Clock) -> Service:
        return create_service(name, profile=profile, variant="standard", clock=clock, ids=seeded_ids(1), options=given)

    simulate(Plan(run_of(name, profile), load_suite(name), cases, Settings(features=features)), service, records.append)
    assert len(records) > 500
    assert [(one["case"], one["expected"], one["got"]) for one in records if one["verdict"] != "pass"] == []
