"""Says where a difference between two servers is held against neither: conforming variants answer otherwise there, too.

A conforming variant (`mutants/`) is the reference server with one other choice that the document allows. A server that
answers as one of them does, with the same values, made a legal choice, or shows what follows from it: another reply,
a closed connection, other counts later on. What is compared are the values, not the kind of the difference: a server
that answers in a third way is not excused by a variant that differs at the same field.
"""

from __future__ import annotations

from collections.abc import Sequence

from wireproof.fuzz.differential.compared_servers import SimulatedServer
from wireproof.fuzz.differential.comparison import AnswerDifference, agree_at
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.script import Script
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.registry import server_mutants

__all__ = ["ConformingVariants"]


class ConformingVariants:
    """The reference server of a profile and its conforming variants, each made when it is first asked."""

    def __init__(self, context: FuzzContext) -> None:
        self._context = context
        self._names = [one.name for one in server_mutants(context.name).values() if one.is_legal and self._is_here(one)]

    def _is_here(self, one: Mutant) -> bool:
        profile, variant = self._context.profile, self._context.variant
        return not one.live and profile in (one.profiles or (profile,)) and variant in (one.variants or (variant,))

    def allow(self, found: AnswerDifference, plays: Sequence[Play], script: Script) -> bool:
        """Return whether each of `plays` is answered at the place of the difference as a conforming server answers.

        `script` is what was played, and is played on new servers.
        """
        return all(self._one_agrees(found, play, script) for play in plays)

    def _one_agrees(self, found: AnswerDifference, play: Play, script: Script) -> bool:
        for name in (None, *self._names):
            right = SimulatedServer(name or "reference", self._context, name)
            if agree_at(found, play, right.play(script)):
                return True
        return False
