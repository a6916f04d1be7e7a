"""The verb `concurrent`: many connections ask about few records at once, and one order must explain all answers.

First the same kinds of requests are asked on one connection, one after another, on a key of their own: a server that is
wrong already then is not judged here. Then bytes are written on every connection before any answer is read, so that
requests are really under way together. What is asked depends on the case alone, which answers were there on the target.
"""

from __future__ import annotations

from collections.abc import Sequence

from wireproof.conformance.model.intended import IntendedFrame
from wireproof.conformance.model.outcome import ANYWHERE, Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.concurrency import HISTORY
from wireproof.conformance.player.concurrency.history import History
from wireproof.conformance.player.concurrency.judging import Judgement, Rule, Word, judge
from wireproof.conformance.player.concurrency.linearizability import LIMIT
from wireproof.conformance.player.concurrency.workload import Workload
from wireproof.conformance.player.connection import CaseConnection
from wireproof.conformance.player.connections import ActionGenerator, CaseConnections
from wireproof.conformance.suite.steps import Mix
from wireproof.protocols import Message, Push, Request
from wireproof.reference_server.registry import model_of

EXPECTED = "one order of all operations on each key that explains every answer"


def play_concurrently(talk: CaseConnections, spec: Mix) -> ActionGenerator[None]:
    """Carry out the verb; `Stopped` unless the history is linearizable and could have shown something."""
    play = _Play(talk, spec)
    yield from play.alone()
    try:
        yield from play.together()
    except Stopped:
        play.judge(partial=True)
        raise
    play.judge()


class _Play:
    """One play of the verb."""

    def __init__(self, talk: CaseConnections, spec: Mix) -> None:
        self._talk = talk
        self._load = Workload(talk.symbols, spec)
        self._limit = LIMIT if spec.limit is None else talk.symbols.integer(spec.limit, "limit")
        self._blame = {Rule.AT_ONCE: spec.blame.at_once, Rule.IN_TURN: spec.blame.in_turn, Rule.SEEN: spec.blame.seen}
        self._history = History()
        self._lines: list[CaseConnection] = []

    def alone(self) -> ActionGenerator[None]:
        """Ask on one connection, one after another; it must be right before more can be judged.

        Raises `Stopped` if a reply is wrong.
        """
        for number in range(1, self._load.connections + 1):
            self._lines.append((yield from self._talk.line(f"p{number}")))
        for request in self._load.alone():
            yield from self._ask(self._lines[0], [request])
        judgement = self._judgement()
        if judgement.word in (Word.NOT_LINEARIZABLE, Word.UNKNOWN):
            self._keep(judgement)
            expected = "right answers to requests asked one after another"
            raise Stopped(Verdict.UNTESTABLE, expected, judgement.detail)
        self._history = History()

    def together(self) -> ActionGenerator[None]:
        """Ask at once."""
        for request in self._load.begin():
            yield from self._ask(self._lines[0], [request])
        yield from (self._waves() if self._load.flow == "waves" else self._stream())
        for by, line in enumerate(self._lines, 1):
            if requests := self._load.end(by):
                yield from self._write(line, requests)
        yield from self._read_all()

    def _waves(self) -> ActionGenerator[None]:
        """Write up to `depth` requests on each connection, in turns; read all answers; again."""
        load, left = self._load, [self._load.requests] * len(self._lines)
        while any(left):
            wave = [min(load.depth, one) for one in left]
            left = [one - sent for one, sent in zip(left, wave, strict=True)]
            while any(wave):
                for at in load.shuffled([at for at, one in enumerate(wave) if one]):
                    number = load.share(wave[at])
                    wave[at] -= number
                    yield from self._write(self._lines[at], load.burst(at + 1, number))
            yield from self._read_all()

    def _stream(self) -> ActionGenerator[None]:
        """Keep every connection `depth` requests ahead until all is asked; read one, fill it up, read another."""
        load, left = self._load, [self._load.requests] * len(self._lines)
        while any(left) or self._under_way():
            for at in load.shuffled([at for at, one in enumerate(left) if one]):
                number = min(left[at], load.depth - self._history.under_way(self._lines[at].name))
                if number > 0:
                    left[at] -= number
                    yield from self._write(self._lines[at], load.burst(at + 1, number))
            waiting = self._under_way()
            if waiting:
                yield from self._read(self._lines[load.shuffled(waiting)[0]])

    def _under_way(self) -> list[int]:
        return [at for at, line in enumerate(self._lines) if self._history.under_way(line.name)]

    def _ask(self, line: CaseConnection, requests: Sequence[Request]) -> ActionGenerator[None]:
        yield from self._write(line, requests)
        while self._history.under_way(line.name):
            yield from self._read(line)

    def _write(self, line: CaseConnection, requests: Sequence[Request]) -> ActionGenerator[None]:
        talk = self._talk
        if line.ended is not None:
            detail = f"the target closed the connection ({line.ended})"
            raise Stopped(Verdict.FAIL, "an open connection", detail, byte=0)
        self._history.sent(line.name, requests, len(talk.trace))
        with line.needed_open():
            frames = talk.noops_before(line)
            frames += [IntendedFrame(len(talk.trace), line.codec.send(one), one) for one in requests]
        yield from talk.write(line, frames)

    def _read_all(self) -> ActionGenerator[None]:
        for at in self._load.shuffled(self._under_way()):
            while self._history.under_way(self._lines[at].name):
                yield from self._read(self._lines[at])

    def _read(self, line: CaseConnection) -> ActionGenerator[None]:
        """Take what comes next on a connection, and all that came with it."""
        event: object = yield from self._talk.next(line, "an answer")
        while isinstance(event, Message):
            if not isinstance(event, Push):
                self._history.answered(line.name, event, len(self._talk.trace) - 1)
            event = yield from self._talk.event(line, 0.0)

    def judge(self, *, partial: bool = False) -> None:
        """Raise `Stopped` for what the history shows; one that was broken off only when it shows a fault."""
        judgement = self._judgement()
        if judgement.word is Word.NOT_LINEARIZABLE:
            self._keep(judgement)
            assert judgement.rule is not None
            self._talk.clause = self._blame[judgement.rule] or self._talk.clause
            self._talk.reply_to = ANYWHERE
            raise Stopped(Verdict.FAIL, EXPECTED, judgement.detail)
        if partial:
            return
        self._keep(judgement)
        if judgement.word is not Word.LINEARIZABLE:
            raise Stopped(Verdict.UNTESTABLE, EXPECTED, judgement.detail)

    def _judgement(self) -> Judgement:
        symbols = self._talk.symbols
        model = model_of(symbols.protocol.name, profile=symbols.profile, variant=symbols.variant)
        return judge(self._history.operations, model, symbols.protocol.names, limit=self._limit)

    def _keep(self, judgement: Judgement) -> None:
        self._talk.extra[HISTORY] = "\n".join([judgement.detail, *judgement.drawing])
