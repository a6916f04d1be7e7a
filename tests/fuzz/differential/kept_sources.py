"""The conversations of a profile, made once for all tests of a process."""

from __future__ import annotations

from functools import cache

from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.fuzz.differential.conversations import Source, sources
from wireproof.fuzz.live.context import FuzzContext


def kept_sources(context: FuzzContext, suite: Suite) -> tuple[Source, ...]:
    """Return what `sources` yields of the cases of a protocol."""
    assert not context.tls
    return _made(context.name, context.profile, context.variant, context.features)


@cache
def _made(name: str, profile: str, variant: str, features: frozenset[str] | None) -> tuple[Source, ...]:
    return tuple(sources(FuzzContext(name, profile, variant, features=features), load_suite(name)))
