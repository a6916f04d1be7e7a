"""Who gets what only one of several subscribers gets: any of them may be the first, but then each has its turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from wireproof.conformance.interop.scenario import SUBSCRIBE, Roles, ScenarioStep
from wireproof.protocols.plain import Plain

__all__ = ["Receivers"]


@dataclass
class Receivers:
    """The subscribers of one scene, and which of them stands for which one of the reference."""

    plain: Plain
    _members: list[str] = field(default_factory=list)
    _known: dict[str, str] = field(default_factory=dict)
    """Connection at the reference -> at the server under test, since subscribers last changed."""

    def asked(self, step: ScenarioStep) -> None:
        """Note what a client asks: when somebody comes or goes, turns begin anew."""
        if step.operation == SUBSCRIBE and step.connection not in self._members:
            self._members.append(step.connection)
        elif step.operation in Roles(self.plain).leavers and step.connection in self._members:
            self._members.remove(step.connection)
        else:
            return
        self._known.clear()

    def candidates(self, mine: str, *, is_alone: bool) -> list[str]:
        """Return the connections to which may come what the reference pushed to `mine`, and to nobody else."""
        if not is_alone or mine not in self._members:
            return [mine]
        if mine in self._known:
            return [self._known[mine]]
        free = [one for one in self._members if one not in self._known.values()]
        return sorted(free, key=lambda one: one != mine)

    def learn(self, mine: str, name: str) -> None:
        """Note that what the reference pushed to `mine` came to `name`."""
        self._known[mine] = name
