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
from wireproof.fuzz.differential.clause_attribution import ClauseAttribution
from wireproof.fuzz.differential.compared_servers import ComparedServer, SimulatedServer
from wireproof.fuzz.differential.comparison import AnswerDifference, differences
from wireproof.fuzz.differential.conversations import sources
from wireproof.fuzz.findings.shrink import fewer
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.context import PAUSE, FuzzContext
from wireproof.fuzz.live.live_campaign import CampaignProgress
from wireproof.fuzz.live.mutators import mutated
from wireproof.fuzz.live.novelty import SeenShapes
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.script import Script

__all__ = ["Cluster", "DiffCampaign", "DiffLimits"]

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
class DiffLimits:
    """When a campaign ends."""

    seconds: float = 0
    runs: int = 0
    findings: int = 50
    shrink_s: float = 10.0


@dataclass
class Cluster:
    """Differences that look the same."""

    difference: AnswerDifference
    clause: str | None
    script: Script
    executions: int
    """Executions until it was found."""
    why: str = ""
    """Why it is a quirk; empty for a finding."""
    deviating: tuple[str, ...] = ()
    """The servers that answer unlike the reference."""
    times: int = 1


@dataclass
class DiffCampaign:
    """One campaign over two or more servers of one variant."""

    servers: Sequence[ComparedServer]
    suite: Suite
    seed: int = 1
    limits: DiffLimits = DiffLimits()
    report: Callable[[CampaignProgress], None] = lambda _: None
    progress: CampaignProgress = field(default_factory=CampaignProgress)
    quirks: dict[str, Cluster] = field(default_factory=dict)
    found: dict[str, Cluster] = field(default_factory=dict)
    flaky: Counter[str] = field(default_factory=Counter)
    """Shape -> how often it did not show again, or not on empty servers."""
    stopped: str = ""

    def __post_init__(self) -> None:
        self._context: FuzzContext = self.servers[0].context
        self._references = [SimulatedServer(one.context.profile, one.context) for one in self.servers]
        self._sources = list(sources(self._context, self.suite))
        self._quick = [one for one in self._sources if not one.optional and one.waited <= QUICK]
        self._random = Random(f"wireproof fuzz diff {self.seed}")
        self._blame = ClauseAttribution(self.suite, self._context.profile)
        self._seen = SeenShapes()
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
        self._restart_all("after learning")

    def _is_wrong(self, found: AnswerDifference, script: Script) -> bool:
        known = self.quirks.get(found.shape)
        return known is not None and known.why == LEFT_OPEN and not self._by_document(found, script)

    def _differences(self, script: Script) -> list[AnswerDifference]:
        played = with_fresh_canaries(script)
        return list(differences([server.play(played, HURRIED) for server in self.servers]))

    def run(self) -> Iterator[Cluster]:
        """Compare until a bound is reached; yield what is found, as it is found."""
        self.progress.began = time.monotonic()
        self._random.shuffle(self._sources)
        self._unplayed = list(self._sources)
        self._context.others[:] = [one.script for one in self._sources]
        while self._may_continue():
            script, clauses = self._script()
            for found in self._play(script, clauses):
                if (cluster := self._look_into(found, script, clauses)) is not None:
                    self.progress.findings += 1
                    yield cluster
            self.progress.states, self.progress.pool = len(self._seen), len(self._pool)
            self.report(self.progress)

    def _may_continue(self) -> bool:
        limits, done = self.limits, self.progress
        if done.findings >= limits.findings:
            self.stopped = f"{done.findings} findings are enough"
        spent = time.monotonic() - done.began
        over = bool(limits.runs and done.executions >= limits.runs) or bool(limits.seconds and spent >= limits.seconds)
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
        return mutated(self._random, script, self._context), clauses

    def _play(self, script: Script, clauses: tuple[str, ...]) -> list[AnswerDifference]:
        played = with_fresh_canaries(script)
        plays = [server.play(played, HURRIED) for server in self.servers]
        self.progress.executions += 1
        if self._seen.is_new(line for play in plays for line in play.lines):
            self._pool.append((script, clauses))
        for server, play in zip(self.servers, plays, strict=True):
            if not _is_served(server, play) and not server.restart("it served nobody"):
                self.stopped = f"{server.label} serves nobody any more, and it is not ours to start again"
        if self.progress.executions % REST == 0:
            self._restart_all("with nothing in it")
        return list(differences(plays))

    def _restart_all(self, why: str) -> bool:
        """Start all servers again; say whether all of them could be."""
        return all([server.restart(why) for server in self.servers])

    def _look_into(self, found: AnswerDifference, script: Script, clauses: tuple[str, ...]) -> Cluster | None:
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
        if not cluster.deviating and small != script:
            cluster = self._cluster(found, script, clauses, "")
        if not cluster.deviating and self._restart_all("to see it on empty servers"):
            self.flaky[found.shape] += 1
            return None
        self.found[found.shape] = cluster
        return cluster

    def _shows(self, found: AnswerDifference, script: Script) -> bool:
        return any(one.shape == found.shape for one in self._compared(self.servers, script))

    def _compared(self, servers: Sequence[ComparedServer], script: Script) -> list[AnswerDifference]:
        """Compare once more, with time for every answer to come, on servers that serve."""
        slow = with_fresh_canaries(tuple(_settled(script)))
        plays = [server.play(slow) for server in servers]
        for server, play in zip(servers, plays, strict=True):
            if not _is_served(server, play):
                server.restart("it served nobody")
        return list(differences(plays))

    def _by_document(self, found: AnswerDifference, script: Script) -> bool:
        """Say whether the reference servers of the profiles differ there, too."""
        if len({one.context.profile for one in self.servers}) == 1:
            return False
        return any(one.where == found.where for one in self._compared(self._references, script))

    def _small(self, found: AnswerDifference, script: Script) -> tuple[Script, AnswerDifference]:
        deadline = time.monotonic() + self.limits.shrink_s

        def holds(steps: Sequence[object]) -> bool:
            return time.monotonic() < deadline and self._shows(found, tuple(steps))  # type: ignore[arg-type]

        apart = self._context.apart(script)
        small = tuple(fewer(apart if holds(apart) else script, holds, tries=SHRINK_TRIES))
        again = [one for one in self._compared(self.servers, small) if one.shape == found.shape]
        return (small, again[0]) if again else (script, found)

    def _cluster(self, found: AnswerDifference, script: Script, clauses: tuple[str, ...], why: str) -> Cluster:
        asked = [
            name
            for line in self._references[0].play(with_fresh_canaries(script)).lines
            for name in _asked(line.requests)
        ]
        deviating = [] if why else self._deviating(script, found)
        right = next((at for at in range(len(self.servers)) if at not in deviating), 0)
        kind = found.kinds[right] if right < len(found.kinds) else ""
        clause = clauses[0] if why == LEFT_OPEN else self._blame.clause(found, asked, clauses, kind)
        if deviating:
            clause = clause_by_cases(found, self.suite, self.servers[deviating[0]], {found.request, *asked}) or clause
        labels = tuple(self.servers[at].label for at in deviating)
        return Cluster(found, clause, script, self.progress.executions, why, labels)

    def _deviating(self, script: Script, found: AnswerDifference) -> list[int]:
        """Return which servers answer there unlike the reference, on emptied where they are ours."""
        self._restart_all("to hold it against the reference")
        for one in self._references:
            one.restart("with nothing in it")
        pairs = enumerate(zip(self.servers, self._references, strict=True))
        return [at for at, pair in pairs if any(one.where == found.where for one in self._compared(pair, script))]


def _is_served(server: ComparedServer, play: Play) -> bool:
    """Say whether a server took a connection behind a play; one that is only slow gets more time."""
    if play.death is None and play.serves:
        return True
    return play.death is None and server.play((), SERVED).serves


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
