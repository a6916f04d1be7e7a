"""Replays findings of live servers."""

from __future__ import annotations

from wireproof.conformance.model.targets import TargetError
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.known_deaths import KnownDeaths
from wireproof.fuzz.live.observation import Play, Suspicion
from wireproof.fuzz.live.oracles import SAMPLED, judged
from wireproof.fuzz.live.reduction import PATIENCE
from wireproof.fuzz.live.simulated_plays import simulated

__all__ = ["in_reference", "shown"]


def shown(live: LiveTarget, found: FuzzFinding) -> str | None:
    """Return what the oracle of a finding reports now, None for nothing.

    Raises `TargetError` if the server serves nobody.
    """
    if not live.play((), patience=PATIENCE).serves:
        raise TargetError(f"{live.address} serves nobody")
    live.begin()
    return _seen(live.play(with_fresh_canaries(found.script), patience=PATIENCE, sample=found.oracle in SAMPLED), found)


def in_reference(found: FuzzFinding) -> str | None:
    """Return what the oracle of a finding reports for the reference server in simulation; None for nothing."""
    context = FuzzContext(found.protocol, found.profile, found.variant)
    return _seen(simulated(context, found.script), found)


def _seen(play: Play, found: FuzzFinding) -> str | None:
    """Return what the oracle of a finding reports for a play; a death without words is known by its script.

    The shape of one that was not reduced to its end leaves out what it asks again, and that of one that was never shown
    again all (known_deaths.py).
    """
    deaths = KnownDeaths(FuzzContext(found.protocol, found.profile, found.variant))
    key = found.oracle, found.shape

    def is_found(one: Suspicion) -> bool:
        ways: tuple[dict[str, bool], ...] = ({}, {"is_reduced": False}, {"is_shown": False})
        return any(deaths.distinguished(one, found.script, **way).key == key for way in ways)

    return next((one.detail for one in judged(play) if is_found(one)), None)
