"""A target is asked for the features that nobody declared: one fault hides none, and what it lacks fails nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import servers
from wireproof.conformance.model.targets import Address
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.asked_features import can_be_asked, features_found, limits_not_shown
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.processes import ServerProcess, module_command, module_environment
from wireproof.conformance.run.processes.servers import ServerCommand
from wireproof.conformance.run.runner import simulate
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.records import Record, Run
from wireproof.protocols import protocol, protocol_names
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Service, seeded_ids

ASKED = [name for name in protocol_names() if can_be_asked(load_suite(name))]


def run_of(name: str, profile: str = "") -> Run:
    return Run(name, profile or protocol(name).default_profile, "standard", "made up", "made up")


async def found_at(address: Address, name: str, profile: str = "") -> frozenset[str]:
    return await features_found(load_suite(name), run_of(name, profile), address, Settings(features=frozenset({"tcp"})))


def test_the_cases_that_show_a_feature_are_there_and_need_it() -> None:
    assert set(ASKED) == {"namechan", "psrt", "tmqp"}
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
    literally = ServerCommand((*command, "--port", "0"), filled=False)
    suite = load_suite(name)
    with ServerProcess(literally, environment=module_environment()) as server:
        settings = Settings(features=frozenset({"tcp", *server.announced_listeners()}))
        found = asyncio.run(features_found(suite, run_of(name), server.address, settings, server))
    assert found == can_be_asked(suite)


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


def test_a_server_that_ended_is_asked_nothing() -> None:
    command = module_command("wireproof", "serve", "tmqp", "--port", "0")
    with ServerProcess(ServerCommand(tuple(command), filled=False), environment=module_environment()) as server:
        server.kill()
        settings = Settings(features=frozenset())
        assert (
            asyncio.run(features_found(load_suite("tmqp"), run_of("tmqp"), server.address, settings, server)) == set()
        )


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


@pytest.mark.parametrize(("kept", "unlike"), [(20, set()), (10_000, {"MAX_KEPT"})])
def test_a_limit_that_nobody_declared_is_checked(kept: int, unlike: set[str]) -> None:
    """A namechan server that keeps more messages than is assumed failed five cases."""
    words = ["serve", "namechan", "--hook", "--max-kept", str(kept), "--port", "0"]
    command = ServerCommand(tuple(module_command("wireproof", *words)), filled=False)
    suite = load_suite("namechan")
    with ServerProcess(command, environment=module_environment()) as server:
        settings = Settings(features=frozenset(server.announced_listeners()))
        run, where = run_of("namechan"), server.address
        found = asyncio.run(limits_not_shown(suite, run, where, settings, {"MAX_KEPT"}, server))
        nobody = asyncio.run(limits_not_shown(suite, run, where, Settings(features=frozenset()), {"MAX_KEPT"}, server))
    assert found == unlike
    assert nobody == set()


def test_cases_that_count_on_a_limit_that_the_target_has_otherwise_are_unsupported() -> None:
    suite, settings = load_suite("namechan"), Settings(unlike=frozenset({"MAX_KEPT"}))
    plan = Plan(run_of("namechan"), suite, (), settings)
    outcomes = {case.id: plan.undeclared(case) for case in suite.cases}
    counting = {name for name, outcome in outcomes.items() if outcome is not None}
    assert {"round-robin/limit", "publish/full"} < counting
    assert len(counting) < 20
