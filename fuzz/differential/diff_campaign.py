"""Plays the same scripts on several servers, learns where answers may differ, and looks for other differences."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import msgspec

from wireproof.conformance.model.actions import Read, Shut, Sleep, Write
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.suite.cases import Suite
from wireproof.fuzz.differential.broken_clause import clause_by_cases
from wireproof.fuzz.differential.clause_attribution import ClauseAttribution
from wireproof.fuzz.differential.compared_servers import ComparedServer, SimulatedServer
from wireproof.fuzz.differential.comparison import STAYS, AnswerDifference, differences, ends
from wireproof.fuzz.differential.conforming_variants import ConformingVariants
from wireproof.fuzz.differential.conversations import sources
from wireproof.fuzz.findings.clause_of_finding import clause_of
from wireproof.fuzz.findings.shrink import fewer
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.context import PAUSE, FuzzContext
from wireproof.fuzz.live.live_campaign import CampaignProgress
from wireproof.fuzz.live.mutators import mutated
from wireproof.fuzz.live.novelty import SeenShapes
from wireproof.fuzz.live.observation import Play, Suspicion
from wireproof.fuzz.script import Script, ScriptStep

__all__ = ["Cluster", "DiffCampaign", "DiffLimits"]

CERTAIN = 3
"""How often a difference must be reproduced, each time with longer waits."""
HURRIED, SERVED = 0.2, 5.0
"""Seconds to wait for an answer that may not come, and for one that must."""
LAST = 0.05
"""Seconds to wait for late messages, above all the end of the connection."""
SETTLED = 0.2
"""Seconds to wait for an answer when a difference is reproduced."""
REST = 256
SHRINK_TRIES = 150
QUICK = 0.05
"""Longest wait in seconds of a conversation played while learning."""
MOST_DOUBTS = 250
"""Conversations about mandatory behaviour that are played to refute what was learnt."""
BY_DOCUMENT = "the documents differ"
LEFT_OPEN = "the document leaves it open"
BY_VARIANT = "a conforming server may answer so"


@dataclass(frozen=True)
class DiffLimits:
    """When a campaign ends."""

    seconds: float = 0
    runs: int = 0
    findings: int = 50
    shrink_s: float = 10.0


@dataclass
class Cluster:
    """Differences of the same shape."""

    difference: AnswerDifference
    clause: str | None
    script: Script
    executions: int
    """Executions until it was found."""
    why: str = ""
    """Why it is a quirk; "" for a finding."""
    deviating: tuple[str, ...] = ()
    """The servers that answer unlike the reference."""
    times: int = 1
    seen: int = CERTAIN
    """How often it was reproduced, of `CERTAIN` times."""


@dataclass
class DiffCampaign:
    """One campaign over two or more servers of one variant.

    Its methods raise `StartError` if a server does not restart.
    """

    servers: Sequence[ComparedServer]
    suite: Suite
    seed: int = 1
    limits: DiffLimits = DiffLimits()
    report: Callable[[CampaignProgress], None] = lambda _: None
    progress: CampaignProgress = field(default_factory=CampaignProgress)
    quirks: dict[str, Cluster] = field(default_factory=dict)
    found: dict[str, Cluster] = field(default_factory=dict)
    flaky: Counter[str] = field(default_factory=Counter)
    """Shape -> how often it was not reproduced."""
    ends: Counter[str] = field(default_factory=Counter)
    """Server -> how often it ended, or served nobody any more."""
    stopped: str = ""
    lost: bool = False
    """Whether a server serves nobody any more and cannot be restarted: nothing can be compared."""

    def __post_init__(self) -> None:
        self._context: FuzzContext = self.servers[0].context
        self._references = [SimulatedServer(one.context.profile, one.context) for one in self.servers]
        self._variants = [ConformingVariants(one.context) for one in self.servers]
        self._sources = list(sources(self._context, self.suite))
        self._quick = [one for one in self._sources if not one.optional and one.waited <= QUICK]
        self._random = Random(f"wireproof fuzz diff {self.seed}")
        self._blame = ClauseAttribution(self.suite, self._context.profile)
        self._seen = SeenShapes()
        self._pool: list[tuple[Script, tuple[str, ...]]] = []
        self._passed_over = Counter[str]()
        self._fatal: list[tuple[AnswerDifference, Script]] = []
        """Ends of servers that were met while learning."""

    def learn(self) -> None:
        """Play the conversations about optional behaviour and keep the differences that the document leaves open.

        A difference that also occurs where nothing is left open is no quirk.
        """
        for source in self._sources:
            for found in self._differences(source.script) if source.optional and not self.stopped else ():
                if source.leaves_open(found) and found.shape not in self.quirks:
                    why = BY_DOCUMENT if self._by_document(found, source.script) else LEFT_OPEN
                    self.quirks[found.shape] = self._cluster(found, source.script, source.clauses, why)
        for source in self._quick[:: len(self._quick) // MOST_DOUBTS + 1]:
            left_open = {one.difference.request for one in self.quirks.values() if one.why == LEFT_OPEN}
            if source.requests & left_open and not self.stopped:
                for found in self._differences(source.script):
                    if source.leaves_open(found) is False and self._is_wrong(found, source.script):
                        del self.quirks[found.shape]
        self._restart_all("after learning")

    def _is_wrong(self, found: AnswerDifference, script: Script) -> bool:
        known = self.quirks.get(found.shape)
        return known is not None and known.why == LEFT_OPEN and not self._by_document(found, script)

    def _differences(self, script: Script) -> list[AnswerDifference]:
        played = with_fresh_canaries(script)
        plays = [server.play(played, HURRIED) for server in self.servers]
        if self._all_serve(plays):
            return list(differences(plays))
        self._fatal += [(one, script) for one in ends(plays)]
        return []

    def run(self) -> Iterator[Cluster]:
        """Compare until a limit is reached; yield each finding."""
        self.progress.began = time.monotonic()
        self._random.shuffle(self._sources)
        self._unplayed = list(self._sources)
        self._context.others[:] = [one.script for one in self._sources]
        for found, script in self._fatal:
            yield from self._new([found], script, ())
        while self._may_continue():
            script, clauses = self._script()
            yield from self._new(self._play(script, clauses), script, clauses)
            self.progress.states, self.progress.pool = len(self._seen), len(self._pool)
            self.report(self.progress)

    def _new(self, some: Iterable[AnswerDifference], script: Script, clauses: tuple[str, ...]) -> Iterator[Cluster]:
        """Yield the new findings; then all servers serve again where they can be restarted."""
        for found in some:
            if (cluster := self._look_into(found, script, clauses)) is not None:
                self.progress.findings += 1
                yield cluster
                for server in self.servers:
                    if not self.lost and not _is_served(server, server.play(())):
                        server.restart("a difference was looked into")

    def _may_continue(self) -> bool:
        limits, done = self.limits, self.progress
        if done.findings >= limits.findings:
            self.stopped = f"the limit of {number_of(done.findings, 'finding')} is reached"
        spent = time.monotonic() - done.began
        over = bool(limits.runs and done.executions >= limits.runs) or bool(limits.seconds and spent >= limits.seconds)
        return not (self.stopped or over)

    def _script(self) -> tuple[Script, tuple[str, ...]]:
        """Return the next script and its clauses: alternately an unchanged conversation and a mutated script."""
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
        all_serve = self._all_serve(plays)
        if self.progress.executions % REST == 0:
            self._restart_all("to empty it")
        return [*(ends(plays) if not all_serve else ()), *differences(plays)]

    def _all_serve(self, plays: Sequence[Play]) -> bool:
        """Restart all servers if one serves nobody after a play; return whether none had to be."""
        gone = [one for one, play in zip(self.servers, plays, strict=True) if not _is_served(one, play)]
        for server in gone:
            self.ends[server.label] += 1
            if not server.restart("it served nobody"):
                self.lost = True
                self.stopped = f"{server.label} no longer serves anybody and cannot be restarted from here"
        for server in self.servers if gone else ():
            if server not in gone:
                server.restart("to empty it, as another one was")
        return not gone

    def _restart_all(self, why: str) -> bool:
        """Restart all servers; return whether all of them could be restarted."""
        return all([server.restart(why) for server in self.servers])

    def _look_into(self, found: AnswerDifference, script: Script, clauses: tuple[str, ...]) -> Cluster | None:
        """Return a new finding; None for a known difference, a quirk, or one that is not reproduced."""
        known = self.quirks.get(found.shape) or self.found.get(found.shape)
        if known is not None:
            known.times += 1
            return None
        if self.flaky[found.shape] >= CERTAIN and not self._is_looked_into_again(found.shape):
            return None
        if self._by_document(found, script):
            self.quirks[found.shape] = self._cluster(found, script, clauses, BY_DOCUMENT)
            return None
        seen = 0
        while seen < CERTAIN and not self.lost and self._shows(found, script):
            seen += 1
        if seen < CERTAIN:
            self.flaky[found.shape] += 1
            return self._unrepeated_end(found, script, seen)
        small, again = self._small(found, script)
        if found.is_of_a_process:
            self.found[found.shape] = self._end(again, small)
            return self.found[found.shape]
        cluster = self._cluster(again, small, clauses, "")
        if not cluster.deviating and small != script:
            cluster = self._cluster(found, script, clauses, "")
        if not cluster.deviating and self._restart_all("to reproduce a difference on empty servers"):
            self.flaky[found.shape] += 1
            return None
        if self._is_left_open(cluster.difference, cluster.script):
            self.quirks[found.shape] = replace(cluster, why=BY_VARIANT)
            return None
        self.found[found.shape] = cluster
        return cluster

    def _unrepeated_end(self, found: AnswerDifference, script: Script, seen: int) -> Cluster | None:
        """Return the finding of a server that ended and cannot be made to end again; other differences are dropped."""
        if not found.is_of_a_process:
            return None
        self.found[found.shape] = replace(self._end(found, script), seen=seen)
        return self.found[found.shape]

    def _end(self, found: AnswerDifference, script: Script) -> Cluster:
        gone = [one.label for one, kind in zip(self.servers, found.kinds, strict=True) if kind != STAYS]
        clause = clause_of(Suspicion("the process stays", "", ""), self._context)
        return Cluster(found, clause, script, self.progress.executions, "", tuple(gone))

    def _is_left_open(self, found: AnswerDifference, script: Script) -> bool:
        """Return whether each server answers there as the reference or a conforming variant does, on empty servers."""
        self._restart_all("to compare it with conforming variants")
        slow = with_fresh_canaries(tuple(_settled(script)))
        plays = [server.play(slow) for server in self.servers]
        if not any(one.shape == found.shape for one in differences(plays)):
            return False
        return all(own.allow(found, [play], slow) for own, play in zip(self._variants, plays, strict=True))

    def _is_looked_into_again(self, shape: str) -> bool:
        """Say so at the 1st, 2nd, 4th, 8th ... time that such a shape comes: another script may reproduce it."""
        self._passed_over[shape] += 1
        return self._passed_over[shape].bit_count() == 1

    def _shows(self, found: AnswerDifference, script: Script) -> bool:
        return any(one.shape == found.shape for one in self._compared(self.servers, script))

    def _compared(self, servers: Sequence[ComparedServer], script: Script) -> list[AnswerDifference]:
        """Compare again, with time for every answer, on servers that serve."""
        slow = with_fresh_canaries(tuple(_settled(script)))
        plays = [server.play(slow) for server in servers]
        gone = [server for server, play in zip(servers, plays, strict=True) if not _is_served(server, play)]
        for server in gone:
            server.restart("it served nobody")
        return [*(ends(plays) if gone else ()), *differences(plays)]

    def _by_document(self, found: AnswerDifference, script: Script) -> bool:
        """Return whether the reference servers of the profiles differ there, too."""
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
        """Return the indexes of the servers that answer unlike the reference, restarted where possible."""
        self._restart_all("to compare it with the reference")
        for one in self._references:
            one.restart("to empty it")
        pairs = enumerate(zip(self.servers, self._references, strict=True))
        return [at for at, pair in pairs if any(one.where == found.where for one in self._compared(pair, script))]


def _is_served(server: ComparedServer, play: Play) -> bool:
    """Return whether a server accepts a connection after a play; a slow one gets more time."""
    if play.death is None and play.serves:
        return True
    return play.death is None and server.play((), SERVED).serves


def _settled(script: Script) -> Iterator[ScriptStep]:
    """Yield the script with time for answers, and with nothing pending when it turns to another connection.

    Which of two connections a server reads first carries no meaning. What nobody asked for, such as a push, is not
    waited for by a read, so time passes before connections are left, too.
    """
    for at, action in enumerate(script):
        following = script[at + 1] if at + 1 < len(script) else None
        if isinstance(action, Shut):
            yield Sleep(LAST)
        if isinstance(action, Read):
            yield msgspec.structs.replace(action, timeout=max(action.timeout, SETTLED))
        else:
            yield action
        if isinstance(action, Write) and getattr(following, "connection", "") != action.connection:
            yield Read(action.connection, SETTLED)
            yield Sleep(PAUSE)
    yield Sleep(LAST)
    for name in dict.fromkeys(action.connection for action in script if isinstance(action, Read | Write)):
        yield from (Read(name, LAST), Read(name, LAST))


def _asked(requests: Sequence[object]) -> list[str]:
    return [getattr(one, "NAME", "") for one in requests]
