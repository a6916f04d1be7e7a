"""Plays what was found on a live server once more."""

from __future__ import annotations

from wireproof.conformance.model.targets import TargetError
from wireproof.fuzz.findings.finding import Finding
from wireproof.fuzz.live.attribution import PATIENCE
from wireproof.fuzz.live.canaries import fresh
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.oracles import SAMPLED, judged
from wireproof.fuzz.live.simulated import simulated

__all__ = ["in_reference", "shown"]


def shown(live: LiveTarget, found: Finding) -> str | None:
    """Return what the oracle of a finding says now, None when it is silent; raises `TargetError` for a dead target."""
    key = found.oracle, found.clause or "", found.shape
    if not live.play((), patience=PATIENCE).serves:
        raise TargetError(f"{live.address} serves nobody, before anything was played")
    live.begin()
    play = live.play(fresh(found.script), patience=PATIENCE, sample=found.oracle in SAMPLED)
    return next((one.told for one in judged(play) if one.key == key), None)


def in_reference(found: Finding) -> str | None:
    """Return what the oracle of a finding says of the reference server, in simulation; None when it is silent."""
    ground = Ground(found.protocol, found.profile, found.variant)
    key = found.oracle, found.clause or "", found.shape
    play = simulated(ground, found.script)
    return next((one.told for one in judged(play) if one.key == key), None)
