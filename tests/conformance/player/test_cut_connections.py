"""Whatever case is played and wherever a target cuts its connections, the harness is never at fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import msgspec
import pytest

from wireproof.conformance.drivers.simulation import Simulation, carried_out
from wireproof.conformance.model.actions import Action, Answer, Open, Read, Secure, Shut, Sleep, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.player.player import Player
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.case_traits import applies, requests
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.verdict.records import Run
from wireproof.protocols import protocol

PLAYS, FEW = 40, 12


class Cut:
    """The reference in simulation, whose peer cuts one connection after some actions, and perhaps takes no other."""

    def __init__(self, plan: Plan, chance: Random) -> None:
        run = plan.run
        self._server = Simulation(
            lambda clock: reference_target.service(run.protocol, profile=run.profile, variant=run.variant, clock=clock)
        )
        self._chance = chance
        self._left = chance.choice([chance.randint(0, 6), chance.randint(0, 40)])
        self._returns = chance.random() < 0.5
        self._victim: str | None = None
        self._how = chance.choice([Kind.ENDED, Kind.RESET])
        self._has_sent = False

    def play(self, player: Player) -> Outcome:
        """Run one case to its outcome."""
        return carried_out(player.play(), self._answer)

    def _answer(self, action: Action) -> Answer:
        self._left -= 1
        name = getattr(action, "connection", None)
        if name and self._left < 0 and self._victim is None and not isinstance(action, Open | Shut):
            self._victim = name
        if isinstance(action, Open) and self._victim is not None and not self._returns:
            return self._gone(Kind.RESET)
        if isinstance(action, Open) and name == self._victim:
            self._victim = ""
        if name != self._victim or not isinstance(action, Read | Write | Secure):
            return self._server.perform(action)
        return self._last_words(action) if isinstance(action, Read) else self._gone(Kind.RESET)

    def _last_words(self, action: Read) -> Answer:
        """Return the beginning of what the server says, once, then the end."""
        sent = self._server.perform(action)
        some = sent.data[: self._chance.randint(0, len(sent.data))] if sent.kind is Kind.RECEIVED else b""
        if self._has_sent or not some:
            return msgspec.structs.replace(sent, kind=self._how, data=b"")
        self._has_sent = True
        return msgspec.structs.replace(sent, data=some)

    def _gone(self, kind: Kind) -> Answer:
        return Answer(kind, self._server.perform(Sleep(0.0)).now, b"closed")


def chosen(plan: Plan, cases: list[Case], chance: Random) -> Iterator[Case]:
    """Yield cases under any segmentation, without end."""
    spoken = protocol(plan.run.protocol)
    while True:
        case, segmentation = chance.choice(cases), chance.choice(list(SEGMENTATIONS.values()))
        if segmentation.plain or applies(case, segmentation, spoken):
            yield replace(case, segmentation=segmentation.name)


@pytest.mark.parametrize(
    ("name", "profile", "variant"),
    [("throttr", "7.1.0", "uint8"), ("throttr", "7.3.2", "uint64"), ("psrt", "1", "standard")],
)
def test_a_cut_connection_is_never_the_harness_s_fault(name: str, profile: str, variant: str) -> None:
    suite, chance = load_suite(name), Random(f"{name} {profile}")
    plan = Plan(Run(name, profile, variant, "t", "t"), suite, (), Settings())
    cases = [one for one in select(suite, profile, variant, slow=False, heavy=False) if requests(one) <= FEW]
    for case, _ in zip(chosen(plan, cases, chance), range(PLAYS), strict=False):
        outcome = Cut(plan, chance).play(plan.player(case))

        if "too late to decide" in (outcome.got or ""):
            continue  # seconds went by until the end of the connection; nobody is blamed for what is asked after them
        assert outcome.guilty is not Guilty.HARNESS, f"{case.id} [{case.segmentation}]: {outcome.got}"
