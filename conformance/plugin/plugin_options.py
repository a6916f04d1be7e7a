"""What the options of the plugin say. What is wrong raises `pytest.UsageError`, which names the option."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wireproof.conformance.model.targets import Address
    from wireproof.conformance.model.verdict import Level
    from wireproof.conformance.run.segmentation_sample import SegmentationChoice
    from wireproof.conformance.suite.cases import Suite
    from wireproof.conformance.suite.requirement_sets import RequirementCheck, RequirementSet

SIMULATION = "simulation"
AUTO = "auto"
SPOKEN = pytest.StashKey[tuple[str, str, str]]()
OPTIONS = {
    "--wireproof-target": (None, "server to test: tcp://HOST:PORT, unix:///PATH or simulation"),
    "--wireproof-protocol": (None, "protocol whose cases are played (default: the first that wireproof has)"),
    "--wireproof-profile": (None, "profile the server speaks (default: what --wireproof-target says when asked)"),
    "--wireproof-variant": (None, "variant the server speaks (default: what --wireproof-target says when asked)"),
    "--wireproof-level": ("may", "lowest level to play: must, should or may"),
    "--wireproof-timeout": ("5", "seconds to wait for any one answer"),
    "--wireproof-feature": (
        "",
        "features the server has, with commas between; cases that need others are skipped. Without any it is asked",
    ),
    "--wireproof-requirements": (
        "",
        "requirement set, such as throttr-7.3.2@1; failures that it does not ask for skip",
    ),
    "--wireproof-delivery": ("whole", "how cases are sent, too, each as an item of its own: sample, all, or names"),
}


def option(config: pytest.Config, name: str) -> str:
    """Return what an option says, empty without it."""
    value = config.getoption(f"wireproof_{name}")
    return "" if value is None else str(value)


def required(config: pytest.Config, suite: Suite, profile: str) -> RequirementCheck | None:
    """Return the requirement set that is asked for; `pytest.UsageError` where it is not of this profile."""
    from wireproof.conformance.suite.requirement_sets import RequirementCheck
    from wireproof.conformance.verdict.records import levels_of

    wanted = wanted_set(config, suite.protocol)
    if wanted is not None and wanted.profile != profile:
        name = wanted.name
        raise pytest.UsageError(f"--wireproof-requirements: {name} is of profile {wanted.profile}, not of {profile}")
    return RequirementCheck(wanted, "server", levels_of(suite, profile)) if wanted else None


def wanted_set(config: pytest.Config, protocol: str) -> RequirementSet | None:
    """Return the requirement set that is named, if one is. Raises `pytest.UsageError`."""
    from wireproof.conformance.suite.requirement_sets import RequirementSetError, read_set

    name = option(config, "requirements")
    try:
        return read_set(name, [protocol]) if name else None
    except RequirementSetError as error:
        raise pytest.UsageError(f"--wireproof-requirements: {error}") from None


def address_of(target: str) -> Address | None:
    """Return the address of a target, None for simulation. Raises `pytest.UsageError`."""
    from wireproof.conformance.model.targets import TargetError, parse_address

    try:
        return None if target == SIMULATION else parse_address(target)
    except TargetError as error:
        raise pytest.UsageError(f"--wireproof-target: {error}; or simulation") from None


def level_of(config: pytest.Config) -> Level:
    """Return the lowest level to play. Raises `pytest.UsageError`."""
    from wireproof.conformance.model.verdict import Level

    level = option(config, "level").upper()
    if level not in Level.__members__:
        raise pytest.UsageError(f"--wireproof-level: expected must, should or may; got {level.lower()!r}")
    return Level[level]


def timeout_of(config: pytest.Config) -> float:
    """Return the seconds that one answer may take. Raises `pytest.UsageError`."""
    text = option(config, "timeout")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < 86_400.0:
        raise pytest.UsageError(f"--wireproof-timeout: expected seconds, more than 0; got {text!r}")
    return seconds


def features_of(config: pytest.Config) -> frozenset[str]:
    """Return the features that the target is declared to have. Raises `pytest.UsageError`."""
    from wireproof.conformance.suite.cases import CaseError, load_suite
    from wireproof.conformance.suite.declared import FeatureError, declared

    try:
        return declared([option(config, "feature")], load_suite(protocol_of(config)).features)
    except FeatureError as error:
        raise pytest.UsageError(f"--wireproof-feature: {error}") from None
    except CaseError as error:
        raise pytest.UsageError(f"wireproof: {error}") from None


def choice_of_segmentation(config: pytest.Config) -> SegmentationChoice:
    """Return the segmentations to play. Raises `pytest.UsageError`."""
    from wireproof.conformance.run.segmentation_sample import ChoiceError, choice_of

    try:
        return choice_of(option(config, "delivery"))
    except ChoiceError as error:
        raise pytest.UsageError(f"--wireproof-delivery: {error}") from None


def protocol_of(config: pytest.Config) -> str:
    """Return the protocol whose cases are played."""
    from wireproof.protocols.registry import DEFAULT

    return option(config, "protocol") or DEFAULT


def spoken_by(config: pytest.Config) -> tuple[str, str, str]:
    """Return protocol, profile and variant of the cases; asked once from a target that is named as an option."""
    if SPOKEN not in config.stash:
        config.stash[SPOKEN] = _asked(config)
    return config.stash[SPOKEN]


def _asked(config: pytest.Config) -> tuple[str, str, str]:
    from wireproof.conformance.run.probe import ProbeError, ask_spoken
    from wireproof.conformance.suite.cases import load_suite

    name, profile, variant = named(config)
    target = option(config, "target")
    address = address_of(target) if target else None
    wanted = [option(config, what) or AUTO for what in ("profile", "variant")]
    if address is None or AUTO not in wanted:
        return name, profile, variant
    try:
        spoken, _ = asyncio.run(ask_spoken(load_suite(name), address, timeout_of(config), *wanted))
    except (ProbeError, OSError) as error:
        raise pytest.UsageError(f"wireproof: {reason(error, target)}") from None
    return name, spoken.profile, spoken.variant


def reason(error: Exception, target: str) -> str:
    """Return in one line why a target cannot be tested."""
    from wireproof.conformance.run.probe import no_connection

    return f"nothing to test at {target}: {no_connection(error)}" if isinstance(error, OSError) else str(error)


def named(config: pytest.Config) -> tuple[str, str, str]:
    """Return protocol, profile and variant as they were named, else the usual ones. Raises `pytest.UsageError`."""
    from wireproof.protocols import protocol

    name = protocol_of(config)
    try:
        spoken = protocol(name)
    except KeyError as error:
        raise pytest.UsageError(f"--wireproof-protocol: {error.args[0]}") from None
    profile = option(config, "profile").replace(AUTO, "") or spoken.default_profile
    if profile not in spoken.profiles:
        raise pytest.UsageError(f"--wireproof-profile: expected {', '.join(spoken.profiles)}; got {profile!r}")
    variant = option(config, "variant").replace(AUTO, "") or spoken.default_variant
    variants = spoken.profiles[profile].variants
    if variant not in variants:
        raise pytest.UsageError(f"--wireproof-variant: expected {', '.join(variants)}; got {variant!r}")
    return name, profile, variant
