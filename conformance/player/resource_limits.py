"""What a target may take while steps play: memory, descriptors, CPU and time, held against the limits of a case.

A limit is for the growth from before the steps to after them. Rounds are there for runtimes whose heap grows until it
is collected, and for a machine that is busy for a moment: one round that keeps every limit is enough.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from wireproof.conformance.model.actions import Answer, LimitDescriptors, ReadUsage
from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.connections import ActionGenerator, CaseConnections
from wireproof.conformance.suite.steps import Measured, Resource
from wireproof.conformance.suite.values import Number

MIB = 1 << 20
Reading = Mapping[str, float]


class Budget:
    """The limits of one `measure` step, and what was taken in each round so far."""

    def __init__(self, talk: CaseConnections, measured: Measured) -> None:
        self._talk = talk
        self._limits = measured.at_most
        self._name = measured.save
        self._asks = self._name is not None or bool(set(self._limits) - {"seconds"})
        self._taken: list[Reading] = []
        self._over: set[Resource] = set()
        self.rounds = talk.symbols.integer(measured.rounds, "rounds")

    def reading(self) -> ActionGenerator[Reading]:
        """Return every resource now; stops the case where a figure is wanted and nobody can give it.

        Raises `Stopped` if a required figure is not available.
        """
        if not self._asks:
            return {"seconds": self._talk.now}
        answer = yield from self._talk.do(ReadUsage())
        _check(answer)
        figures: dict[str, float] = msgspec.json.decode(answer.data)
        return {**figures, "seconds": self._talk.now}

    def limited(self, spare: Number | None) -> ActionGenerator[None]:
        """Let the target open so many more descriptors than it has; None: as many as it could before.

        Raises `Stopped` if nobody can limit them.
        """
        count = None if spare is None else self._talk.symbols.integer(spare, "spare_descriptors")
        _check((yield from self._talk.do(LimitDescriptors(count))))

    def is_kept(self, before: Reading, after: Reading) -> bool:
        """Say whether a round from `before` to `after` keeps every limit; saves its figures."""
        taken = {name: after[name] - before[name] for name in after}
        self._taken.append(taken)
        if self._name is not None:
            self._talk.symbols.saved.update({f"{self._name}_{name}": figure for name, figure in taken.items()})
        over = {name for name in self._limits if taken[name] > self._limit(name)}
        self._over |= over
        return not over

    def exceeded(self) -> Stopped:
        """Return what to stop the case with when no round kept the limits."""
        over = [name for name in self._limits if name in self._over]
        wanted = ", ".join(f"at most {_figure_text(name, self._limit(name))}" for name in over)
        got = "; ".join(", ".join(_figure_text(name, taken[name]) for name in over) for taken in self._taken)
        in_one = f" in one of {self.rounds} rounds" if self.rounds > 1 else ""
        return Stopped(Verdict.FAIL, f"{wanted} more{in_one}", got)

    def _limit(self, name: Resource) -> float:
        return float(self._talk.symbols.number(self._limits[name], name))


def _check(answer: Answer) -> None:
    if not answer.data:
        raise Stopped(Verdict.UNTESTABLE, "a server that wireproof started", "nothing here can measure the target")


def _figure_text(name: str, figure: float) -> str:
    match name:
        case "memory":
            return f"{figure / MIB:.1f} MiB of memory"
        case "descriptors":
            return f"{figure:g} descriptors"
        case "cpu":
            return f"{figure:.2f} s of CPU"
    return f"{figure:.2f} s"
