"""What is known of the deaths of one run: how often each cause cost a restart, and which cases would do it again.

Something that `ENOUGH` cases sent which ended the server in one way, and that no case sent which passed, is taken for
what ends it: other cases that send it are held back. They are untestable because of it, and the restarts are left for
others. A cause that took a quarter of all restarts is spent: from then on what each further case sends that ends the
server so, and that fits best, is taken for it too, although some cases passed that sent it, if it fits well enough.
Nobody looks for the case after a further end of a spent cause.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.suite.case_traits import sent_by
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.verdict.causes import signature
from wireproof.conformance.verdict.crashes import held_back
from wireproof.conformance.verdict.last_words import in_frame
from wireproof.protocols.json_values import JsonObject

__all__ = ["DeathCause", "HeldBack", "KnownCauses", "Signature", "end_of", "in_words"]

ENOUGH = 3
"""Cases known to end the server in one way that sent the same, after which others that send it are held back."""
SPENT = 4
"""The part of all restarts that one cause may take: one of so many."""
HUNG = 4
"""How many deaths a hang counts as: each costs twice the time to wait for an answer."""
SAID = 120
"""Characters of what a process said that are shown with the number of its restarts."""
FITS = 0.5
"""Ochiai's coefficient from which something that is sent may be taken for what ends the server."""
Signature = tuple[str, str]
"""How a process ended, and the words that are the same each time."""


@dataclass(slots=True)
class DeathCause:
    """One way in which the server ends."""

    detail: str
    """In words, as in "it ..."."""
    case: str = ""
    """The first case that is known to end it so; "" while none is."""
    restarts: int = 0
    guilty: int = 0
    """How many cases are known to end it so."""
    sent: Counter[str] = field(default_factory=Counter)
    """What they send -> how many of them."""
    spent: bool = False
    held: set[str] = field(default_factory=set)
    """What is taken for it since it is spent."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Why a case is not played: it sends what is taken for a cause."""

    cause: DeathCause
    sends: str
    """A message, or `NAME.field=value`."""

    @property
    def outcome(self) -> Outcome:
        """The outcome of the case."""
        return held_back(self.cause.case, self.cause.detail, self.sends)


class KnownCauses:
    """The causes of one run; `most` is how many restarts there are for all of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._causes: dict[Signature, DeathCause] = {}
        self._sent_and_passed: Counter[str] = Counter()
        """What is sent by cases that passed -> how many of them; without those in `_uncounted`."""
        self._uncounted: list[Case] = []
        """Cases that passed: what they send is not asked for before a server died."""
        self._sent: dict[str, frozenset[str]] = {}

    def died(self, signature: Signature, detail: str, *, hung: bool = False) -> None:
        """Note that a restart is needed because of a death, or of a hang, which costs more time."""
        one = self._causes.setdefault(signature, DeathCause(detail))
        one.restarts += 1
        most = self._most // (HUNG * SPENT if hung else SPENT)
        one.spent = one.restarts >= max(2 * ENOUGH, most)

    def passed(self, case: Case) -> None:
        """Note a case that passed."""
        self._uncounted.append(case)

    @property
    def _passed(self) -> Counter[str]:
        """What is sent by cases that passed -> how many of them."""
        for case in self._uncounted:
            self._sent_and_passed.update(self._sent_by(case))
        self._uncounted.clear()
        return self._sent_and_passed

    def found(self, signature: Signature, detail: str, case: Case) -> None:
        """Note a case that is known to end the server so."""
        one = self._causes.setdefault(signature, DeathCause(detail))
        one.case = one.case or case.id
        one.guilty += 1
        one.sent.update(self._sent_by(case))
        if one.spent and one.guilty >= ENOUGH and (sent := self._sent_by(case)):
            best = max(sorted(sent), key=lambda name: self._share(one, name))
            one.held |= {best} if self._share(one, best) >= FITS else set()

    def is_spent(self, signature: Signature) -> bool:
        """Say whether a cause took its part of the restarts, and a case is known that shows it."""
        return self.is_known(signature) and self._causes[signature].spent

    def is_known(self, signature: Signature) -> bool:
        """Say whether a case is known that ends the server so."""
        return signature in self._causes and bool(self._causes[signature].case)

    def would_do_it(self, case: Case) -> HeldBack | None:
        """Return why a case is held back; None where it is to be played."""
        sent = sorted(self._sent_by(case)) if self._causes else ()
        for one in self._causes.values():
            for name in sent:
                if name in one.held or (one.sent[name] >= ENOUGH and not self._passed[name]):
                    return HeldBack(one, name)
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
        return "; ".join(f"{one.restarts} because it {one.detail}" for one in found if one.restarts)

    def _sent_by(self, case: Case) -> frozenset[str]:
        if case.id not in self._sent:
            self._sent[case.id] = sent_by(case)
        return self._sent[case.id]

    def _share(self, one: DeathCause, name: str) -> float:
        """Return Ochiai's coefficient: how well sending something and ending the server go together."""
        count = one.sent[name]
        total = one.guilty * (count + self._passed[name])
        return float(count / total**0.5) if total else 0.0


def in_words(process: JsonObject) -> str:
    """Return how a process ended, with what it said and where, as in "it ..."."""
    words = f" ({str(process['said'])[:SAID]})" if process.get("names_a_cause") else ""
    return f"{process['death']}{in_frame(process)}{words}"


def end_of(crash: Outcome) -> tuple[Signature, str]:
    """Return what is the same in all ends of the cause of a crash, and that end in words."""
    process = crash.extra["process"]
    return signature(process), in_words(process)
