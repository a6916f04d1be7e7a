"""Plays a script so that it can be judged: its steps, a wait for pending replies, then a probe on a new connection.

The trace holds all of it, so oracles are functions of the trace. A correct server sends every reply that is waited for,
so most plays need no timeout.
"""

from __future__ import annotations

from functools import partial

from wireproof.conformance.model.actions import Action, Answer, Open, Read, ReadUsage, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.player.connections import ActionGenerator
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.exchanges import BY_TARGET, FollowedTrace, PlayedConnection
from wireproof.fuzz.live.following import follower, may_be_followed
from wireproof.fuzz.script import Script, performing
from wireproof.protocols import Request

__all__ = ["DATAGRAM_PROBE", "PROBE", "PROBES", "playing", "sync_request_of"]

PROBE = "~probe"
"""The connection that is opened last; it must be served whatever the script sent."""
DATAGRAM_PROBE = "~datagram"
"""The same over datagrams."""
SHORT = 0.005
"""Seconds to wait for replies that need not come: before bytes that are no request, and where they have no order."""
SHORTER = 0.25
"""The share of its patience that a play waits once more, on a connection where nothing came."""
GLANCE = 0.0003
"""Seconds to wait for what need not come: a push, the end of the connection."""
MOST_READS = 16
"""Reads of what is left on a connection at the end of a play: a target may never cease to write."""
PROBES = frozenset({PROBE, DATAGRAM_PROBE})


def playing(script: Script, context: FuzzContext, *, patience: float, measure: bool = False) -> ActionGenerator[Trace]:
    """Ask a driver for the script, pending replies and the probe; return the trace.

    No single wait is longer than `patience` seconds. `measure` asks for the usage of the process while connections are
    open.
    """
    trace = FollowedTrace(context=context)
    trace.follower = follower(context, bare=context.is_bare) if may_be_followed(script) else None
    asking = performing(script, trace, context.substitution(script), partial(_patience, trace))
    still_open = yield from _in_turn(asking, trace, patience)
    unread = {step.connection for step in script if isinstance(step, Open) and step.unread}
    for line in list(trace.lines):
        is_open = line.name in still_open and trace.now[line.name] is line
        if is_open and line.name not in unread and line.ended not in BY_TARGET:
            yield from _wait_for_due(line, context, trace, patience)
    yield from _settle(trace, patience)
    yield from _probe(context, trace, patience)
    yield from _probe_datagrams(context, trace, patience)
    for name in sorted(still_open):
        yield from _take_the_rest(name, trace, patience)
    if measure:
        answer = yield ReadUsage()
        _keep(trace, "", answer)
    if trace.follower is not None:
        trace.follower.finish()
    for name in sorted(still_open):
        yield Shut(name, "close")
    return trace


def _in_turn(
    asking: ActionGenerator[frozenset[str]], trace: FollowedTrace, patience: float
) -> ActionGenerator[frozenset[str]]:
    """Ask for what `asking` asks for; where it would wait for no time, read what is due instead."""
    answer: Answer | None = None
    while True:
        try:
            action = asking.send(answer) if answer is not None else next(asking)
        except StopIteration as end:
            found: frozenset[str] = end.value
            return found
        if isinstance(action, Sleep) and not action.seconds:
            yield from _settle(trace, patience)
        answer = yield action


def _settle(trace: FollowedTrace, patience: float) -> ActionGenerator[None]:
    """Read until the model of the server says that nothing is due, if it follows; note what does not come in time."""
    if (followed := trace.follower) is None:
        return
    while (line := followed.awaited()) is not None:
        answer = yield from _do(trace, Read(line.name, patience), line.name)
        if answer.kind is Kind.SILENT:
            followed.missed(line)
    followed.settled()


def _take_the_rest(name: str, trace: FollowedTrace, patience: float) -> ActionGenerator[None]:
    """Read what is there on a connection that stays open; after a reply also its end, if more replies are due."""
    line, wait = trace.now[name], 0.0
    for _ in range(MOST_READS):
        answer = yield Read(name, wait)
        if answer.kind is not Kind.SILENT or answer.data:
            _keep(trace, name, answer)
        if answer.kind is not Kind.RECEIVED:
            break
        is_due = line.due > 0 and line.valid
        wait = (patience if line.link.answers_in_order else SHORT) if is_due else 0.0


def _patience(trace: FollowedTrace, action: Read) -> float:
    """Return how long to wait for a reply, in seconds: hardly where none is due on a stream."""
    line = trace.now.get(action.connection)
    if line is None or line.link.transport != "stream" or line.due > 0:
        return action.timeout
    return min(action.timeout, GLANCE)


def _do(trace: Trace, action: Action, name: str, data: bytes = b"") -> ActionGenerator[Answer]:
    answer = yield action
    _keep(trace, name, answer, data)
    return answer


def _keep(trace: Trace, name: str, answer: Answer, data: bytes = b"") -> None:
    shown = data if answer.kind is Kind.SENT else answer.data
    trace.append(TraceEvent(round(answer.now * 1e6), name, answer.kind, shown))


def _wait_for_due(
    line: PlayedConnection, context: FuzzContext, trace: FollowedTrace, patience: float
) -> ActionGenerator[None]:
    """Read until no reply is pending; then send one more request: is a reply lost, or is the connection stuck?"""
    in_order = line.link.answers_in_order
    if not in_order or (line.ended is not Kind.HALF_CLOSED and not line.valid):
        patience = min(patience, SHORT)  # no oracle requires these replies
    began = trace[-1].at_us if trace else 0
    has_waited = line.is_given_up
    while line.due > 0:
        answer = yield from _do(trace, Read(line.name, patience * (SHORTER if has_waited else 1)), line.name)
        if answer.kind is not Kind.RECEIVED:
            break
        has_waited = False
        if answer.now - began / 1e6 > 4 * patience + 1:
            break
    if (
        in_order
        and line.due > 0
        and line.valid
        and answer.kind is Kind.SILENT
        and (sync_request := sync_request_of(line)) is not None
    ):
        data = context.encode(sync_request)
        asked = yield from _do(trace, Write(line.name, data), line.name, data)
        if asked.kind is Kind.SENT:  # it has waited before, and who serves answers this at once
            yield from _do(trace, Read(line.name, patience * SHORTER), line.name)
        if trace.follower is not None:
            trace.follower.missed(line)


def sync_request_of(line: PlayedConnection) -> Request | None:
    """Return a request that is answered at once in the current state; None if there is none."""
    try:
        return line.link.sync_request() if line.may_ask else None
    except LookupError:
        return None


def _probe_datagrams(context: FuzzContext, trace: FollowedTrace, patience: float) -> ActionGenerator[None]:
    """Send a datagram that must be answered on each link over datagrams; who wants everything is pushed it."""
    if context.datagram_probes and trace.follower is not None:
        trace.follower.others_publish()
    for link, request in context.datagram_probes:
        opened = yield Open(DATAGRAM_PROBE, link, "datagram")
        trace.append(TraceEvent(round(opened.now * 1e6), DATAGRAM_PROBE, opened.kind, opened.data, link))
        if opened.kind is Kind.OPENED:
            data = context.encode(request)
            yield from _do(trace, Write(DATAGRAM_PROBE, data), DATAGRAM_PROBE, data)
            yield from _do(trace, Read(DATAGRAM_PROBE, patience), DATAGRAM_PROBE)
            yield Shut(DATAGRAM_PROBE, "close")


def _probe(context: FuzzContext, trace: FollowedTrace, patience: float) -> ActionGenerator[None]:
    data = b"".join(map(context.encode, context.probe))
    opened = yield from _do(trace, Open(PROBE), PROBE)
    if opened.kind is not Kind.OPENED:
        return
    line = trace.now[PROBE]
    for action in (Write(PROBE, data), Read(PROBE, patience)):
        answer = yield from _do(trace, action, PROBE, data)
    while line.due > 0 and answer.kind is Kind.RECEIVED:
        answer = yield from _do(trace, Read(PROBE, patience), PROBE)
    yield Shut(PROBE, "close")
