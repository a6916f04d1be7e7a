"""`--requirements SET`: which requirement set decides the exit code, for `wireproof test` and `wireproof test-sdk`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wireproof.conformance.run.selection import SelectionError
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.requirement_sets import RequirementCheck, RequirementSet, RequirementSetError, read_set
from wireproof.conformance.verdict.records import levels_of

__all__ = ["asked_beside", "asked_of", "known_cases", "with_profile_of_set"]


def with_profile_of_set(protocol: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with the profile of the requirement set that they name.

    Raises `SelectionError` where there is no such set, or where they name another profile.
    """
    name = options["requirements"]
    if not name:
        return dict(options)
    profile = _read(name, protocol).profile
    if options["profile"] not in ("auto", profile):
        raise SelectionError(f"--requirements: {name} is of profile {profile}, not of {options['profile']}")
    return {**options, "profile": profile}


def asked_of(options: Mapping[str, Any], role: str, suite: Suite) -> RequirementCheck | None:
    """Return the set that the options name beside the cases of a suite, None where they name none.

    `role`: server or client, to whom the cases are played. Raises `SelectionError`.
    """
    name = options["requirements"]
    return asked_beside(_read(name, suite.protocol), role, suite) if name else None


def asked_beside(wanted: RequirementSet, role: str, suite: Suite) -> RequirementCheck:
    """Return a set beside the cases of a suite."""
    return RequirementCheck(wanted, role, levels_of(suite, wanted.profile))


def known_cases(suite: Suite, asked: RequirementCheck | None) -> set[str]:
    """Return the ids that a baseline may name: those of today, and those of the set."""
    old = asked.of.cases.get(asked.role, {}) if asked else {}
    return {*(case.id for case in suite.cases), *old}


def _read(name: str, protocol: str) -> RequirementSet:
    try:
        return read_set(name, [protocol])
    except RequirementSetError as error:
        raise SelectionError(f"--requirements: {error}") from None
