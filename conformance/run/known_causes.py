"""What is known of the deaths of one run: how often each cause cost a restart, and which cases would do it again.

What all cases that ended the server in one way send, and no case that passed sends, is taken for what ends it. After
`ENOUGH` of them, cases that send all of that are held back: they are untestable because of it, and the restarts are
left for others. A cause that took half of all restarts is spent: then cases are held back that send what is most often
sent where it happens.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from wireproof.conformance.suite.case_traits import sent_by
from wireproof.conformance.suite.cases import Case

__all__ = ["DeathCause", "KnownCauses", "Signature"]

ENOUGH = 4
"""Cases known to end the server in one way, after which others are held back."""
Signature = tuple[str, str]
"""How a process ended, and the words that are the same each time."""


@dataclass(slots=True)
class DeathCause:
    """One way in which the server ends."""

    told: str
    """In words, as in "it ..."."""
    case: str = ""
    """The first case that is known to end it so; "" while none is."""
    restarts: int = 0
    guilty: int = 0
    """How many cases are known to end it so."""
    sent: Counter[str] = field(default_factory=Counter)
    """What they send -> how many of them."""
    spent: bool = False


class KnownCauses:
    """The causes of one run; `most` is how many restarts there are for all of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._causes: dict[Signature, DeathCause] = {}
        self._passed: Counter[str] = Counter()
        """What is sent by cases that passed -> how many of them."""
        self._sent: dict[str, frozenset[str]] = {}

    def died(self, signature: Signature, told: str) -> None:
        """Note that a restart is needed because of a death."""
        one = self._causes.setdefault(signature, DeathCause(told))
        one.restarts += 1
        one.spent = one.restarts >= max(ENOUGH, self._most // 2)

    def passed(self, case: Case) -> None:
        """Note a case that passed."""
        self._passed.update(self._sent_by(case))

    def found(self, signature: Signature, told: str, case: Case) -> None:
        """Note a case that is known to end the server so."""
        one = self._causes.setdefault(signature, DeathCause(told))
        one.case = one.case or case.id
        one.guilty += 1
        one.sent.update(self._sent_by(case))

    def is_known(self, signature: Signature) -> bool:
        """Say whether a case is known that ends the server so."""
        return signature in self._causes and bool(self._causes[signature].case)

    def would_do_it(self, case: Case) -> DeathCause | None:
        """Return the cause for which a case is held back; None where it is to be played."""
        sent = self._sent_by(case)
        for one in self._causes.values():
            trigger = self._trigger(one)
            if trigger and trigger <= sent:
                return one
        return None

    def suspicion(self, case: Case) -> float:
        """Return how much of what ended the server a case sends, from 0 to 1."""
        sent = self._sent_by(case)
        return max(
            (self._share(one, name) for one in self._causes.values() for name in sent & set(one.sent)), default=0
        )

    def restarts(self) -> str:
        """Return how many restarts each cause took, the most first."""
        found = sorted(self._causes.values(), key=lambda one: -one.restarts)
        return "; ".join(f"{one.restarts} because it {one.told}" for one in found if one.restarts)

    def _sent_by(self, case: Case) -> frozenset[str]:
        if case.id not in self._sent:
            self._sent[case.id] = sent_by(case)
        return self._sent[case.id]

    def _trigger(self, one: DeathCause) -> frozenset[str]:
        """Return what is sent where it happens and nowhere else; of a cause that is spent, what is likeliest."""
        if one.guilty < ENOUGH:
            return frozenset()
        always = {name for name, count in one.sent.items() if count == one.guilty}
        only = frozenset(name for name in always if not self._passed[name])
        if only or not one.spent or not one.sent:
            return only
        return frozenset({max(sorted(one.sent), key=lambda name: self._share(one, name))})

    def _share(self, one: DeathCause, name: str) -> float:
        """Return Ochiai's coefficient: how well sending something and ending the server go together."""
        count = one.sent[name]
        total = one.guilty * (count + self._passed[name])
        return float(count / total**0.5) if total else 0.0
