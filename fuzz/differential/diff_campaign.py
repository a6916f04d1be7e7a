"""Plays the same scripts on several servers: learns first what the document leaves open, then looks for the rest."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from wireproof.conformance.model.actions import Action, Read, Sleep, Write
from wireproof.conformance.suite.cases import Suite
from wireproof.fuzz.differential.broken_clause import clause_by_cases
from wireproof.fuzz.differential.clause_attribution import Blame
from wireproof.fuzz.differential.compared_servers import Side, SimulatedSide
from wireproof.fuzz.differential.comparison import Difference, differences
from wireproof.fuzz.differential.conversations import sources
from wireproof.fuzz.findings.shrink import fewer
from wireproof.fuzz.live.canaries import fresh
from wireproof.fuzz.live.context import PAUSE, Ground
from wireproof.fuzz.live.live_campaign import Progress
from wireproof.fuzz.live.mutators import mutated
from wireproof.fuzz.live.novelty import Seen
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.script import Script

__all__ = ["Bounds", "Cluster", "DiffCampaign"]

CERTAIN = 3
"""Times that a difference must show again, each time with longer waits: timing differs, servers should not."""
HURRIED, SERVED = 0.2, 5.0
"""Seconds to wait for an answer that may not come, and for one that must."""
LAST = 0.05
"""Seconds for what may still come, an end of the connection above all."""
SETTLED = 0.2
"""Seconds to wait for an answer when a difference is looked at again."""
REST = 256
SHRINK_TRIES = 150
QUICK = 0.05
"""Seconds that a conversation may wait to be played while learning."""
MOST_DOUBTS = 250
"""Conversations about what is not optional, played to doubt what was learnt."""
BY_DOCUMENT = "the documents differ"
LEFT_OPEN = "the document leaves it open"


@dataclass(frozen=True)
class Bounds:
    """When a campaign ends."""

    seconds: float = 0
    runs: int = 0
    findings: int = 50
    shrink_s: float = 10.0


@dataclass
class Cluster:
    """Differences that look the same."""

    difference: Difference
    clause: str | None
    script: Script
    executions: int
    """Executions until it was found."""
    why: str = ""
    """Why it is a quirk; empty for a finding."""
    odd: tuple[str, ...] = ()
    """The servers that answer unlike the reference."""
    times: int = 1


@dataclass
class DiffCampaign:
    """One campaign over two or more servers of one variant."""

    sides: Sequence[Side]
    suite: Suite
    seed: int = 1
    bounds: Bounds = Bounds()
    report: Callable[[Progress], None] = lambda _: None
    progress: Progress = field(default_factory=Progress)
    quirks: dict[str, Cluster] = field(default_factory=dict)
    found: dict[str, Cluster] = field(default_factory=dict)
    flaky: Counter[str] = field(default_factory=Counter)
    """Shape -> how often it did not show again, or not on empty servers."""
    stopped: str = ""

    def __post_init__(self) -> None:
        self._ground: Ground = self.sides[0].ground
        self._references = [SimulatedSide(one.ground.profile, one.ground) for one in self.sides]
        self._sources = list(sources(self._ground, self.suite))
        self._quick = [one for one in self._sources if not one.optional and one.waited <= QUICK]
        self._random = Random(f"wireproof fuzz diff {self.seed}")
        self._blame = Blame(self.suite, self._ground.profile)
        self._seen = Seen()
        self._pool: list[tuple[Script, tuple[str, ...]]] = []

    def learn(self) -> None:
        """Play the conversations about what is optional, and keep what differs where the document leaves it open.

        What differs in the same way where it leaves nothing open is no quirk.
        """
        for source in self._sources:
            for found in self._differences(source.script) if source.optional else ():
                if source.leaves_open(found) and found.shape not in self.quirks:
                    why = BY_DOCUMENT if self._by_document(found, source.script) else LEFT_OPEN
                    self.quirks[found.shape] = self._cluster(found, source.script, source.clauses, why)
        for source in self._quick[:: len(self._quick) // MOST_DOUBTS + 1]:
            if source.requests & {one.difference.request for one in self.quirks.values() if one.why == LEFT_OPEN}:
                for found in self._differences(source.script):
                    if source.leaves_open(found) is False and self._is_wrong(found, source.script):
                        del self.quirks[found.shape]
        self._rest("after learning")

    def _is_wrong(self, found: Difference, script: Script) -> bool:
        known = self.quirks.get(found.shape)
        return known is not None and known.why == LEFT_OPEN and not self._by_document(found, script)

    def _differences(self, script: Script) -> list[Difference]:
        played = fresh(script)
        return list(differences([side.play(played, HURRIED) for side in self.sides]))

    def run(self) -> Iterator[Cluster]:
        """Compare until a bound is reached; yield what is found, as it is found."""
        self.progress.began = time.monotonic()
        self._random.shuffle(self._sources)
        self._unplayed = list(self._sources)
        self._ground.others[:] = [one.script for one in self._sources]
        while self._goes_on():
            script, clauses = self._script()
            for found in self._play(script, clauses):
                if (cluster := self._look_into(found, script, clauses)) is not None:
                    self.progress.findings += 1
                    yield cluster
            self.progress.states, self.progress.pool = len(self._seen), len(self._pool)
            self.report(self.progress)

    def _goes_on(self) -> bool:
        bounds, done = self.bounds, self.progress
        if done.findings >= bounds.findings:
            self.stopped = f"{done.findings} findings are enough"
        spent = time.monotonic() - done.began
        over = bool(bounds.runs and done.executions >= bounds.runs) or bool(bounds.seconds and spent >= bounds.seconds)
        return not (self.stopped or over)

    def _script(self) -> tuple[Script, tuple[str, ...]]:
        """Return what to play next, and its clauses: in turn a conversation as it is, and a mutated one."""
        if self._unplayed and self.progress.executions % 2 == 0:
            source = self._unplayed.pop()
            return source.script, source.clauses
        source = self._random.choice(self._sources)
        script, clauses = source.script, source.clauses
        if self._pool and self._random.random() < 0.5:
            script, clauses = self._random.choice(self._pool)
        return mutated(self._random, script, self._ground), clauses

    def _play(self, script: Script, clauses: tuple[str, ...]) -> list[Difference]:
        played = fresh(script)
        plays = [side.play(played, HURRIED) for side in self.sides]
        self.progress.executions += 1
        if self._seen.is_new(line for play in plays for line in play.lines):
            self._pool.append((script, clauses))
        for side, play in zip(self.sides, plays, strict=True):
            if not _is_served(side, play) and not side.restart("it served nobody"):
                self.stopped = f"{side.told} serves nobody any more, and it is not ours to start again"
        if self.progress.executions % REST == 0:
            self._rest("with nothing in it")
        return list(differences(plays))

    def _rest(self, why: str) -> bool:
        """Start all servers again; say whether all of them could be."""
        return all([side.restart(why) for side in self.sides])

    def _look_into(self, found: Difference, script: Script, clauses: tuple[str, ...]) -> Cluster | None:
        """Return a finding that is new; count one that is known, a quirk, or what does not show again."""
        known = self.quirks.get(found.shape) or self.found.get(found.shape)
        if known is not None:
            known.times += 1
            return None
        if self.flaky[found.shape] >= CERTAIN:
            return None
        if self._by_document(found, script):
            self.quirks[found.shape] = self._cluster(found, script, clauses, BY_DOCUMENT)
            return None
        if not all(self._shows(found, script) for _ in range(CERTAIN)):
            self.flaky[found.shape] += 1
            return None
        small, again = self._small(found, script)
        cluster = self._cluster(again, small, clauses, "")
        if not cluster.odd and small != script:
            cluster = self._cluster(found, script, clauses, "")
        if not cluster.odd and self._rest("to see it on empty servers"):
            self.flaky[found.shape] += 1
            return None
        self.found[found.shape] = cluster
        return cluster

    def _shows(self, found: Difference, script: Script) -> bool:
        return any(one.shape == found.shape for one in self._compared(self.sides, script))

    def _compared(self, sides: Sequence[Side], script: Script) -> list[Difference]:
        """Compare once more, with time for every answer to come, on servers that serve."""
        slow = fresh(tuple(_settled(script)))
        plays = [side.play(slow) for side in sides]
        for side, play in zip(sides, plays, strict=True):
            if not _is_served(side, play):
                side.restart("it served nobody")
        return list(differences(plays))

    def _by_document(self, found: Difference, script: Script) -> bool:
        """Say whether the reference servers of the profiles differ there, too."""
        if len({one.ground.profile for one in self.sides}) == 1:
            return False
        return any(one.where == found.where for one in self._compared(self._references, script))

    def _small(self, found: Difference, script: Script) -> tuple[Script, Difference]:
        deadline = time.monotonic() + self.bounds.shrink_s

        def holds(steps: Sequence[object]) -> bool:
            return time.monotonic() < deadline and self._shows(found, tuple(steps))  # type: ignore[arg-type]

        apart = self._ground.apart(script)
        small = tuple(fewer(apart if holds(apart) else script, holds, tries=SHRINK_TRIES))
        again = [one for one in self._compared(self.sides, small) if one.shape == found.shape]
        return (small, again[0]) if again else (script, found)

    def _cluster(self, found: Difference, script: Script, clauses: tuple[str, ...], why: str) -> Cluster:
        asked = [name for line in self._references[0].play(fresh(script)).lines for name in _asked(line.requests)]
        odd = [] if why else self._odd(script, found)
        right = next((at for at in range(len(self.sides)) if at not in odd), 0)
        kind = found.kinds[right] if right < len(found.kinds) else ""
        clause = clauses[0] if why == LEFT_OPEN else self._blame.clause(found, asked, clauses, kind)
        if odd:
            clause = clause_by_cases(found, self.suite, self.sides[odd[0]], {found.request, *asked}) or clause
        told = tuple(self.sides[at].told for at in odd)
        return Cluster(found, clause, script, self.progress.executions, why, told)

    def _odd(self, script: Script, found: Difference) -> list[int]:
        """Return which servers answer there unlike the reference, on emptied where they are ours."""
        self._rest("to hold it against the reference")
        for one in self._references:
            one.restart("with nothing in it")
        pairs = enumerate(zip(self.sides, self._references, strict=True))
        return [at for at, pair in pairs if any(one.where == found.where for one in self._compared(pair, script))]


def _is_served(side: Side, play: Play) -> bool:
    """Say whether a server took a connection behind a play; one that is only slow gets more time."""
    if play.death is None and play.serves:
        return True
    return play.death is None and side.play((), SERVED).serves


def _settled(script: Script) -> Iterator[Action]:
    """Yield the script with time for answers, and with nothing left to come when another connection is turned to.

    Which of two connections a server reads first is no matter of meaning.
    """
    for at, action in enumerate(script):
        following = script[at + 1] if at + 1 < len(script) else None
        yield replace(action, timeout=max(action.timeout, SETTLED)) if isinstance(action, Read) else action
        if isinstance(action, Write) and getattr(following, "connection", "") != action.connection:
            yield Read(action.connection, SETTLED)
            yield Sleep(PAUSE)
    for name in dict.fromkeys(action.connection for action in script if isinstance(action, Read | Write)):
        yield from (Read(name, LAST), Read(name, LAST))


def _asked(requests: Sequence[object]) -> list[str]:
    return [getattr(one, "NAME", "") for one in requests]
