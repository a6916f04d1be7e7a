"""The conversations of cases that no file of the vectors holds: long, slow and exclusive ones.

They are played in simulation, where time costs nothing, against the reference server of this process.
"""

from __future__ import annotations

from collections.abc import Iterator

from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import StepEvent
from wireproof.conformance.player.player import Player
from wireproof.conformance.run import reference_target
from wireproof.conformance.suite.case_traits import is_concurrent
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbols import Symbols
from wireproof.fuzz.seeds import conversations
from wireproof.protocols import protocol
from wireproof.protocols.json_values import JsonObject

__all__ = ["played_cases"]

NAMESPACE = "v"


class _TooLongError(Exception):
    """Ends a play whose clients send too much."""


def played_cases(name: str, profile: str, variant: str, most_bytes: int) -> Iterator[list[JsonObject]]:
    """Yield the steps of each such case, in the form of the vectors, unless its clients send more than `most_bytes`.

    The variants of a profile share the cases: each has some of them.
    """
    suite, features = load_suite(name), reference_target.features(name)
    known = {one["id"] for one in conversations(name, profile, variant)}
    variants = list(protocol(name).profiles[profile].variants)
    mine = (
        case
        for case in suite.cases
        if profile in case.profiles
        and case.id not in known
        and features.issuperset(case.needs)
        and not (case.modelled or case.heavy or case.budget or is_concurrent(case))
    )
    for number, case in enumerate(mine):
        if number % len(variants) == variants.index(variant) and (not case.variants or variant in case.variants):
            yield _played(name, profile, variant, case, most_bytes)


def _played(name: str, profile: str, variant: str, case: Case, most_bytes: int) -> list[JsonObject]:
    """Return the steps of a case; none where it is too long. How it ends is for the engines to judge."""
    found: list[JsonObject] = []
    sent = 0

    def note(event: StepEvent) -> None:
        """Keep a step. Raises `_TooLongError`, which ends the play."""
        nonlocal sent
        sent += len(event.data) if event.do == "send" else 0
        if sent > most_bytes:
            found.clear()
            raise _TooLongError
        found.append(
            {
                "do": {"half": "half_close"}.get(event.do, event.do),
                "connection": event.connection,
                "link": event.link,
                "seconds": event.seconds,
                "hex": event.data.hex(),
            }
        )

    symbols = Symbols(protocol(name), profile, variant, case=case.id, namespace=NAMESPACE, variables=case.variables)
    player = Player(case, symbols, segmentation=SEGMENTATIONS["whole"], on_step=note)
    SimulationDriver(lambda clock: reference_target.service(name, profile=profile, variant=variant, clock=clock)).play(
        player
    )
    return found if sent <= most_bytes else []
