"""Finds which scripts reproduce a suspicion and reduces them: fewer scripts, fewer steps, fewer bytes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from wireproof.conformance.model.actions import Open, Shut, Write
from wireproof.conformance.run.processes import StartError
from wireproof.fuzz.findings.shrink import fewer, smaller
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.observation import Play, Suspicion
from wireproof.fuzz.live.oracles import NEEDS_FRESH_PROCESS, SAMPLED, STAYS, WAITS, judged
from wireproof.fuzz.live.token_substitution import on_other_connections
from wireproof.fuzz.script import Script, ScriptStep

__all__ = ["Attributed", "Attribution", "asking_only", "joined", "no_requests_alone", "without_last_closes"]

REPLAYS = 3
"""How often the reduced script is replayed at the end, each time on a new process where we started it."""
PATIENCE = 2.0
"""Seconds to wait for a reply before a suspicion is confirmed."""
BRIEFLY = 0.5
"""The same while a hang is reduced: each try waits, and what is left is confirmed with patience."""
BRIEFEST, LONGER = 0.1, 4
"""A try waits four times as long as the longest play that showed nothing; 0.1 s at least, BRIEFLY at most."""
SHRINK_TRIES = 400


@dataclass(frozen=True)
class Attributed:
    """A suspicion, the script that reproduces it, and how often it did: `seen` of `of` times."""

    suspicion: Suspicion
    script: Script
    seen: int
    of: int
    play: Play | None
    is_reduced: bool = True
    """Whether the reduction had time to end."""


class Attribution:
    """Attributes one suspicion; reduction takes at most `seconds`. Raises `StartError` if the server does not start."""

    def __init__(
        self, live: LiveTarget, suspicion: Suspicion, *, seconds: float, guesses: Iterable[frozenset[str]] = ()
    ) -> None:
        """`guesses`: kinds of requests that may be all that it needs, since another one like it needed no more."""
        self._live = live
        self._guesses = tuple(guesses)
        self._suspicion = suspicion
        self._seconds = seconds
        self._deadline = 0.0
        self._play: Play | None = None
        self._is_fresh = False
        self._longest = 0.0
        """Seconds of the longest play that showed nothing."""
        self._is_patient = False
        """Tries were too brief: what they showed was not confirmed."""

    def of(self, recent: Sequence[Script]) -> Attributed:
        """Return the smallest script that reproduces the suspicion.

        `recent` holds the last scripts played on that process; the last one is the suspect.
        """
        few = self._shortest(recent)
        if few is None:
            return Attributed(self._suspicion, with_fresh_canaries(recent[-1]), 0, REPLAYS, None)
        self._deadline = time.monotonic() + self._seconds
        few = fewer(few, self._shows, tries=SHRINK_TRIES) if len(few) > 1 else few
        whole = self._unclosed(joined(few))
        small = self._small(whole)
        if self._suspicion.oracle in WAITS and small != whole and not self._shows([small], ignore_deadline=True):
            self._is_patient, self._deadline = True, time.monotonic() + self._seconds
            small = self._small(whole)
        is_reduced = not self._late
        found = dataclasses.replace(self._verified(small), is_reduced=is_reduced)
        too_slow = found.seen > 0 and time.monotonic() > self._deadline + self._seconds
        if found.seen == found.of or small == whole or too_slow:
            return found
        other = self._verified(whole)
        return other if other.seen > found.seen else found

    def _shortest(self, recent: Sequence[Script]) -> Sequence[Script] | None:
        """Return the last 1, 8 or 64 scripts: the fewest that reproduce it; None if none do."""
        number = 1
        while True:
            some = recent[-number:]
            if self._shows(some, ignore_deadline=True):
                return some
            unclosed = (*some[:-1], without_last_closes(some[-1]))
            if unclosed[-1] != some[-1] and self._shows(unclosed, ignore_deadline=True):
                return unclosed
            if number >= len(recent):
                return None
            number *= 8

    @property
    def _late(self) -> bool:
        return time.monotonic() > self._deadline

    def _unclosed(self, script: Script) -> Script:
        """Return the script without its last closes if it reproduces the suspicion like that."""
        unclosed = without_last_closes(script)
        return unclosed if unclosed != script and self._shows([unclosed], ignore_deadline=True) else script

    def _small(self, whole: Script) -> Script:
        script = whole
        if not self._shows([script]):
            return script
        if self._suspicion.oracle == STAYS or self._suspicion.oracle in WAITS:
            for alone in no_requests_alone(script, self._live.context):
                if self._shows([alone], ignore_deadline=True):
                    return alone
            script = self._until_the_end(script)
        for guess in self._guesses:
            guessed = asking_only(script, guess, self._live.context)
            if guessed != script and self._shows([guessed], ignore_deadline=True):
                script = guessed
        script = tuple(fewer(script, lambda steps: self._shows([tuple(steps)]), tries=SHRINK_TRIES))
        for at in range(len(script)):
            step = script[at]
            if isinstance(step, Write):
                script = (*script[:at], replace(step, data=self._fewer_bytes(script, at, step)), *script[at + 1 :])
        return script

    def _until_the_end(self, script: Script) -> Script:
        """Return the script to the request that ends or hangs the server, found by halves."""
        apart = script if self._live.context.by_state else self._live.context.apart(script)
        if len(apart) > len(script) and self._shows([apart]):
            script = apart
        least, most = 0, len(script)
        while least < most and not self._late:
            middle = (least + most) // 2
            if self._shows([script[:middle]]):
                most = middle
            else:
                least = middle + 1
        return script[:most]

    def _fewer_bytes(self, script: Script, at: int, step: Write) -> bytes:
        def holds(data: bytes) -> bool:
            return self._shows([(*script[:at], replace(step, data=data), *script[at + 1 :])])

        return smaller(step.data, holds, tries=SHRINK_TRIES)

    def _verified(self, script: Script) -> Attributed:
        seen = 0
        for _ in range(REPLAYS):
            seen += self._seen([script], afresh=True)
        return Attributed(self._suspicion, script, seen, REPLAYS, self._play)

    def _shows(self, scripts: Sequence[Script], ignore_deadline: bool = False) -> bool:
        """Return whether the scripts reproduce the suspicion; after the deadline False, unless it is ignored.

        Ignoring the deadline also asks for a new process.
        """
        if self._late and not ignore_deadline:
            return False
        oracle = self._suspicion.oracle
        afresh = ignore_deadline or oracle in NEEDS_FRESH_PROCESS or len(scripts) > 1
        patience = self._brief if oracle in WAITS and not ignore_deadline else PATIENCE
        return self._seen(scripts, afresh=afresh, patience=patience)

    @property
    def _brief(self) -> float:
        """Seconds that a try waits for a reply while a hang is reduced."""
        if self._is_patient or not self._longest:
            return BRIEFLY
        return min(BRIEFLY, max(BRIEFEST, LONGER * self._longest))

    def _seen(self, scripts: Sequence[Script], *, afresh: bool, patience: float = PATIENCE) -> bool:
        if not scripts:
            return False
        if not self._is_fresh and (afresh or self._is_down()):
            self._restart()
        sampled = self._suspicion.oracle in SAMPLED
        if sampled:
            self._live.begin()
        self._is_fresh = False
        for number, script in enumerate(scripts, 1):
            sample = sampled and number == len(scripts)
            began = time.monotonic()
            play = self._live.play(with_fresh_canaries(script), patience=patience, sample=sample)
            took = time.monotonic() - began
            self._down = play.death is not None or not play.serves
            found = self._found_in(play)
            is_last = number == len(scripts)
            if found is None and is_last and self._suspicion.oracle == STAYS and play.death is None:
                play = self._live.ended_late(play)
                self._down, found = self._down or play.death is not None, self._found_in(play)
            if found is not None:
                self._suspicion, self._play = found, play
                return True
            self._longest = max(self._longest, took)
        return False

    def _found_in(self, play: Play) -> Suspicion | None:
        """Return the same suspicion about a play; deaths alike are the same where only one of them has words.

        What a process printed last may be a line about something else, which a new process does not print.
        """
        before = self._suspicion
        for one in judged(play):
            is_like = one.oracle == before.oracle == STAYS and one.is_wordless != before.is_wordless
            if one.key == before.key or (is_like and _how(one) == _how(before)):
                return one
        return None

    _down = True

    def _is_down(self) -> bool:
        return self._down

    def _restart(self) -> None:
        try:
            self._live.restart("to reproduce a suspicion")
        except StartError:
            self._live.restart("to reproduce a suspicion, second attempt")


def _how(death: Suspicion) -> str:
    """Return how a process ended, without its words."""
    return death.shape.partition(" | ")[0]


def without_last_closes(script: Script) -> Script:
    """Return the script without the closes after which a connection is not opened again.

    A close with unread replies resets the connection, and the server may lose what was written just before: whether it
    met that depends on its speed.
    """
    kept: list[ScriptStep] = []
    opened_again: set[str] = set()
    for step in reversed(script):
        if isinstance(step, Open):
            opened_again.add(step.connection)
        if not isinstance(step, Shut) or step.how == "half" or step.connection in opened_again:
            kept.append(step)
    return tuple(reversed(kept))


def asking_only(script: Script, kinds: frozenset[str], context: FuzzContext) -> Script:
    """Return the script without the writes that hold a request of another kind, or none; all are told apart first.

    Where decoding depends on earlier messages it stays as it is.
    """
    if context.by_state:
        return script
    kept: list[ScriptStep] = []
    for step in context.apart(script):
        asked = context.requests(step.data)[0] if isinstance(step, Write) else []
        if not isinstance(step, Write) or (asked and {one.NAME for one in asked} <= kinds):
            kept.append(step)
    return tuple(kept)


def no_requests_alone(script: Script, context: FuzzContext) -> list[Script]:
    """Return a script for each connection that sends what is no request: that alone, read across its writes.

    Where decoding depends on earlier messages there is none.
    """
    sent: dict[str, bytes] = {}
    for step in script:
        if isinstance(step, Write):
            sent[step.connection] = sent.get(step.connection, b"") + step.data
    found: list[Script] = []
    for name, data in sent.items() if not context.by_state else ():
        requests, is_whole = context.requests(data)
        rest = data[sum(len(context.encode(one)) for one in requests) :]
        if not is_whole and len(rest) < len(data):
            found.append((Open(name), Write(name, rest)))
    return found


def joined(scripts: Sequence[Script]) -> Script:
    """Return the scripts as one; each uses connections of its own, which are closed at its end."""
    if len(scripts) == 1:
        return tuple(scripts[0])
    steps: list[ScriptStep] = []
    for number, script in enumerate(scripts):
        steps += on_other_connections(script, lambda name, number=number: f"{number}.{name}")  # type: ignore[misc]
        names = dict.fromkeys(step.connection for step in script if isinstance(step, Open))
        steps += [Shut(f"{number}.{name}", "close") for name in names]
    return tuple(steps)
