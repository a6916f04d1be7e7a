"""The closed set of verdicts and levels; a score is always "k of n" with what n leaves out."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """How binding a clause is; levels never mix in one number."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Verdict(StrEnum):
    """What became of a case."""

    PASS = "pass"
    LENIENT = "lenient"
    """A SHOULD was missed."""
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    """The target declares that it lacks an optional feature."""
    UNTESTABLE = "untestable"
    """A prerequisite failed or the harness came too late to decide; never green."""
    CRASH = "crash"
    """The target stopped serving."""
    HANG = "hang"
    """No answer within the deadline."""
    HARNESS_ERROR = "harness_error"
    """wireproof itself is at fault; never counted against a target."""


class Guilty(StrEnum):
    """Whose fault a verdict is."""

    TARGET = "target"
    HARNESS = "harness"
    NOBODY = "nobody"


GREEN = frozenset({Verdict.PASS, Verdict.UNSUPPORTED})
UNSCORED = frozenset({Verdict.UNSUPPORTED, Verdict.UNTESTABLE, Verdict.HARNESS_ERROR})
