"""Each reference server passes every case over loopback, as does each reference client and an SDK of another hand.

One profile of each; the others, and mutants beside them, are nightly (tox.ini).
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.gates.conftest import Passes
from wireproof.conformance.run import reference_target
from wireproof.protocols import protocol as registered

SERVERS = [
    ("throttr", "7.3.2", "uint64"),
    ("psrt", "psrtd-0.3", ""),
    ("tmqp", "doc", ""),
    ("namechan", "1+publish", ""),
]
FEATURED = SERVERS[1:]
"""Those that have features; they play every case with all of them, and a case a clause without any."""
CLIENTS = [("throttr", "7.3.2", "uint64"), ("psrt", "1", ""), ("tmqp", "doc", ""), ("namechan", "1+publish", "")]


@pytest.mark.parametrize(("protocol", "profile", "variant"), SERVERS)
def test_a_reference_server_passes_as_users_start_it(
    protocol: str, profile: str, variant: str, passes: Passes, tmp_path: Path
) -> None:
    serve = f"{sys.executable} -m reference_server {protocol} --profile {profile} --port {{port}}"
    serve += f" --width {variant}" if variant else ""
    effort = ["--effort", "smoke", "--max-time", "200"] if (protocol, profile, variant) in FEATURED else []

    passes(
        "wireproof", "test", *place(protocol, profile, variant), *effort, "--target-command", serve, "--out", tmp_path
    )


@pytest.mark.parametrize(("protocol", "profile", "variant"), FEATURED)
def test_a_reference_server_passes_with_all_its_features(
    protocol: str, profile: str, variant: str, passes: Passes, tmp_path: Path
) -> None:
    served = variant or registered(protocol).default_variant
    with TemporaryDirectory() as scratch:
        words = reference_target.serving_arguments(protocol, profile=profile, variant=served, scratch=Path(scratch))
        serve = shlex.join([sys.executable, "-m", "reference_server", *words])
        features = [f"--feature={one}" for one in sorted(reference_target.features(protocol))]
        beside = reference_target.listeners(protocol, Path(scratch))
        more = [*features, *(f"--listener={name}=unix://{at}" for name, at in beside.items())]
        target = ["--target-command", f"{serve} --port {{port}}", "--out", tmp_path]

        passes("wireproof", "test", *place(protocol, profile, variant), *target, *more)


def place(protocol: str, profile: str, variant: str) -> list[str]:
    return [protocol, "--profile", profile, *(["--variant", variant] if variant else [])]


@pytest.mark.parametrize(("protocol", "profile", "variant"), CLIENTS)
def test_a_reference_client_passes(protocol: str, profile: str, variant: str, passes: Passes, tmp_path: Path) -> None:
    driver = f"{sys.executable} -m wireproof.reference_client {protocol} --driver"

    passes("wireproof", "test-sdk", *place(protocol, profile, variant), "--driver", driver, "--out", tmp_path)


def test_the_driver_of_another_hand_s_sdk_is_right(passes: Passes) -> None:
    passes("wireproof", "driver", "check", f"{sys.executable} docs/drivers/psrt-py/driver.py")


def test_cases_are_items_of_pytest(passes: Passes) -> None:
    words = ["--pyargs", "wireproof.conformance", "--wireproof-target", "simulation", "-k", "query or purge"]
    passes("pytest", *words, "-q", "--timeout", "120", "-p", "no:randomly", lines=1)
