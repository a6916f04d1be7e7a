"""The cases of profiles that no model of a server follows: their own expectations say what a server does there.

They are played in simulation, once by a server with the usual sizes and once by one that does little at a time.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from wireproof.conformance.drivers.simulation import Simulation
from wireproof.conformance.mutation.mutant_result import RED
from wireproof.conformance.mutation.mutation_run import MutationRun
from wireproof.conformance.mutation.recorded_suite import factory_of
from wireproof.conformance.mutation.recording import play
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.records import weigh
from wireproof.fuzz.invariants.ending import ending
from wireproof.fuzz.invariants.invariant_error import InvariantError, unexpected_as_findings
from wireproof.fuzz.small_bounds import small_portions
from wireproof.protocols import protocol
from wireproof.reference_server.registry import has_server_model

__all__ = ["check_unmodelled_profiles"]


def check_unmodelled_profiles(name: str) -> None:
    """Play every case of the profiles of a protocol that have no model of a server. Raises `InvariantError`."""
    for profile in protocol(name).profiles.values():
        for variant in profile.variants:
            if not has_server_model(name, profile=profile.name, variant=variant):
                for sizes in (nullcontext(), small_portions(name)):
                    _check(MutationRun(load_suite(name), profile.name, variant), sizes)


def _check(run: MutationRun, sizes: AbstractContextManager[None]) -> None:
    suite = run.recorded
    factory = factory_of(suite.plan, None)
    with sizes:
        for case in suite.plan.cases:
            with unexpected_as_findings(f"while {case.id} was played"), ending():
                outcome = play(suite.plan.player(case), Simulation(factory).perform)
            if weigh(outcome, suite.levels[case.id]) in RED:
                detail = f"{case.id} of {run.profile} {run.variant}: expected {outcome.expected}, got {outcome.got}"
                raise InvariantError("cases hold where no model says more", detail[:600], case.id, outcome.blamed)
