"""The fuzzers of live servers ask for the features that nobody declared, as `wireproof test` does."""

from __future__ import annotations

from wireproof.conformance.commands.target_options import Target
from wireproof.conformance.model.targets import parse_address
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.processes import module_command, running_server
from wireproof.fuzz.commands.features_option import features_at
from wireproof.fuzz.commands.options import Options

SPOKEN = Spoken("doc", "standard")


def found(*options: str, declared: tuple[str, ...] = ()) -> frozenset[str]:
    words = ["serve", "tmqp", "--profile", SPOKEN.profile, "--port", "0", *options]
    with running_server(module_command("wireproof", *words)) as printed:
        address = parse_address(printed)
        given: Options = {"features": declared, "listeners": ()}
        return features_at("tmqp", given, Target(printed, address), address, SPOKEN)


def test_a_live_server_is_asked_for_its_features() -> None:
    assert found() == {"tcp", "admin", "deliveries"}


def test_a_server_without_administrators_is_not_taken_for_one_with_them() -> None:
    assert found("--no-admin") == {"tcp", "deliveries"}


def test_what_is_declared_is_not_asked_for() -> None:
    assert found(declared=("admin",)) == {"tcp", "admin"}
