"""Answers too many: what a target sends that nothing asked for.

An answer too many is the fault that is missed most easily, and waiting for silence would cost a sleep for
each case. So three cheap checks replace the sleep. After an expectation, bytes that came along with the last reply
are read by a copy of the codec (`nothing_beyond`): they may only be pushes. So may what came while a case let time
pass (`nothing_since`): an answer that comes twice would be taken for the next one. After the last step our side ends
(`nothing_left`); a target that ends its side in turn has sent all it will send, and one that does not has
`LAST_WORDS`. No-op requests still due are awaited before that (`_settled`). Bytes written by hand, replies that are
due and connections without framing switch these checks off: what may come is then open.

What comes in place of another message, and is an answer of before, is blamed on its own exchange (`nothing_again`).
"""

from __future__ import annotations

from copy import deepcopy

from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.model.wording import describe
from wireproof.conformance.player.connection import CaseConnection
from wireproof.conformance.player.connections import ActionGenerator, CaseConnections
from wireproof.conformance.player.given_answers import COMES_AGAIN
from wireproof.protocols import Message, Push, RemoteProtocolError

__all__ = ["nothing_again", "nothing_beyond", "nothing_left", "nothing_since"]

SETTLED = 0.02
"""Seconds in which a datagram that was sent before another came is there, too."""
BEYOND = "nothing beyond the answer"
LAST_WORDS = 0.25
"""Seconds a target has to end a connection whose requests have ended; one that does not is only judged by what came."""
SILENCE = 0.25
"""Seconds without a byte after which a push of silence is none too many, once the case is over (a slow line)."""


def nothing_again(connections: CaseConnections, line: CaseConnection, message: Message, wanted: str) -> None:
    """Raise `Stopped` for a message that answers nothing and is an answer of before; its exchange is blamed."""
    if line.codec.answered is None and connections.comes_again(line, line.codec.span[0]):
        raise Stopped(Verdict.FAIL, wanted, f"{COMES_AGAIN}: {describe(message)}", byte=0)


def nothing_beyond(connections: CaseConnections, line: CaseConnection) -> None:
    """Once all that was asked is answered, what came along with the last answer can only be pushes.

    Raises `Stopped` for anything else.
    """
    found = _surplus(connections, line)
    if found is not None:
        raise Stopped(Verdict.FAIL, BEYOND, found[0], byte=0)


def nothing_since(connections: CaseConnections) -> ActionGenerator[None]:
    """After time has passed, what has come on a connection where all is answered can only be pushes.

    Raises `Stopped` for anything else, and blames the clause about messages that nothing asks for, where the codec
    knows one, else that of the exchange before: what is asked next would be misread.
    """
    for line in list(connections.lines.values()):
        is_open = line.ended is None and line.is_stream and line.framed and not line.unread
        if line.exchange is None or not is_open or line.by_hand or line.codec.pending or line.noops.due:
            continue
        yield from connections.look(line)
        found = _surplus(connections, line)
        if found is not None:
            clause, connections.given = line.exchange
            connections.clause = found[1] or clause
            connections.reply_to = line.codec.answered.NAME if line.codec.answered else ""
            raise Stopped(Verdict.FAIL, BEYOND, found[0], byte=0)


def _surplus(connections: CaseConnections, line: CaseConnection) -> tuple[str, str | None] | None:
    """Return what came beyond the last answer and is no push, and the clause that it breaks for the codec.

    Raises `Stopped` for an answer that comes again.
    """
    codec = line.codec
    if line.by_hand or codec.pending or not codec.buffered or not line.is_stream:
        return None
    if line.looked_at >= len(line.received):
        return None
    line.looked_at = len(line.received)
    reader = deepcopy(codec, {id(connections.symbols.codec): connections.symbols.codec})
    try:
        while isinstance(event := reader.next_event(), Message):
            if reader.answered is None and connections.comes_again(line, reader.span[0]):
                raise Stopped(Verdict.FAIL, BEYOND, f"{COMES_AGAIN}: {describe(event)}", byte=0)
    except RemoteProtocolError as error:
        rest = describe(bytes(line.received[reader.received :]))
        if error.clause is None and connections.comes_again(line, reader.received):
            raise Stopped(Verdict.FAIL, BEYOND, f"{COMES_AGAIN}: {rest}", byte=0) from None
        return f"{len(line.received) - codec.received} bytes that nothing asked for: {rest}", error.clause
    return None


def nothing_left(connections: CaseConnections) -> ActionGenerator[None]:
    """After the last step nothing may come that nothing asked for.

    Where the target answers a half-close by closing, that is used and the rest is read: no sleep.
    Raises `Stopped` if something does.
    """
    for line in connections.lines.values():
        yield from _settled(connections, line)
    judged = [line for line in connections.lines.values() if line.framed and not line.codec.pending]
    ending = [line for line in judged if line.ended is None and not line.half_closed and line.is_stream]
    for line in ending:
        yield from connections.shut(line.name, "half")
    ending += connections.ended_early
    for line in judged:
        try:
            seconds = LAST_WORDS if line in ending else 0.0 if line.is_stream else SETTLED
            seconds += connections.way.round_trip if seconds else 0.0
            event = yield from connections.event(line, seconds)
            while isinstance(event, Push) and (
                connections.judge is not None or _ends_silence(connections, line, event)
            ):
                if connections.judge is not None:
                    connections.judge.received(line.name, event, connections.now_ns)
                event = yield from connections.event(line, seconds)
        except Stopped as stop:
            stop.expected = "nothing more"
            raise
        if isinstance(event, Message):
            nothing_again(connections, line, event, "nothing more")
            raise Stopped(Verdict.FAIL, "nothing more", describe(event), byte=0)


def _ends_silence(connections: CaseConnections, line: CaseConnection, event: Push) -> bool:
    """Say whether a push came because nothing else did for some time."""
    if not isinstance(event, line.link.in_silence):
        return False
    received = (one for one in connections.trace if one.kind is Kind.RECEIVED)
    came = [one.at_us for one in received if one.connection == line.name]
    return len(came) > 1 and came[-1] - came[-2] >= SILENCE * 1e6


def _settled(connections: CaseConnections, line: CaseConnection) -> ActionGenerator[None]:
    """Take the answers to no-op requests that are still due, where nothing else is due before them."""
    noops = line.noops
    if line.ended and line.may_be_closed and noops.only_last_due:
        return
    if noops.due and noops.alone:
        try:
            event = yield from connections.event(line, connections.timeout, lambda: not noops.due)
        except Stopped as stop:
            if not noops.due and not line.framed:
                return
            stop.expected = stop.expected if noops.due else "nothing more"
            raise
        if isinstance(event, Message) and line.framed:
            raise Stopped(Verdict.FAIL, "nothing more", describe(event), byte=0)
        if noops.due:
            raise noops.missing(line.ended)
