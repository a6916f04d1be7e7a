"""Writes what a step sends: messages of the protocol, and bytes by hand that may stand for one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from wireproof.conformance.model.intended import IntendedFrame
from wireproof.conformance.player.connection import CaseConnection
from wireproof.conformance.player.connections import ActionGenerator, CaseConnections
from wireproof.conformance.suite.symbols import SymbolError
from wireproof.conformance.suite.values import (
    Hex,
    MessageEach,
    MessageItem,
    MessageTimes,
    Range,
    Raw,
    SymbolicMessage,
)
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import Message, Request, Role
from wireproof.protocols.dissect import Dissection

__all__ = ["Variables", "encoded", "for_each", "send"]

Variables = Mapping[str, int]


def for_each(talk: CaseConnections, spec: Range) -> list[Variables]:
    """Return the variables of each repetition. Raises `SymbolError` for bounds that are no numbers."""
    ((name, bounds),) = spec.items()
    first, last = (talk.symbols.integer(one) for one in bounds)
    return [{name: number} for number in range(first, last + 1)]


def _messages(talk: CaseConnections, items: Iterable[MessageItem]) -> Iterator[tuple[Variables, MessageItem]]:
    """Yield each message with the variables that it is repeated with."""
    for one in items:
        match one:
            case MessageEach(each, of):
                yield from ((values, of) for values in for_each(talk, each))
            case MessageTimes(times, of):
                yield from [({}, of)] * talk.symbols.integer(times)
            case _:
                yield {}, one


def send(talk: CaseConnections, items: tuple[MessageItem, ...], on: str) -> ActionGenerator[None]:
    """Write messages in one go; where a model expects answers in any order, with a last one that is answered at once.

    Raises `Stopped` if the target does not take them, `SymbolError` for what is none.
    """
    line = yield from talk.line(on)
    frames = talk.noops_before(line)
    before = len(frames)
    talk.sent[id(items)] = items
    for values, item in _messages(talk, items):
        talk.symbols.variables.update(values)
        match item:
            case Raw():
                frames.append(_raw(talk, item, line))
            case SymbolicMessage():
                frames.append(encoded(talk, line, talk.symbols.message(item)))
            case _:
                raise SymbolError(f"expected one message, got {as_written(item)!r}")
    if talk.judge is not None and talk.judge.expects_answers and line.codec.settled:
        frames.append(encoded(talk, line, line.link.sync_request()))
    if talk.judge is not None:
        for number, one in enumerate(frames):
            if number < before:
                talk.judge.beside(on, one.message)
            else:
                talk.judge.asked(on, one.message, talk.now_ns)
    yield from talk.write(line, frames)


def encoded(talk: CaseConnections, line: CaseConnection, message: Message) -> IntendedFrame:
    """Return the frame of a message. Raises `Stopped` if the target closed the connection."""
    with line.needed_open():
        data = line.codec.send(message)
        if talk.carrier.segmentation.respells and line.link.has_spellings:
            data = talk.carrier.spelled(data, talk.symbols.codec.spellings(message))
        return IntendedFrame(len(talk.trace), data, message)


def _raw(talk: CaseConnections, item: Raw, line: CaseConnection) -> IntendedFrame:
    """Return the frame of `{raw: ...}`; it may say `as` which request it is answered like."""
    data = talk.symbols.data(Hex(item.raw) if isinstance(item.raw, str | int) else item.raw)
    request = talk.symbols.message(item.stands_for) if item.stands_for else None
    if request is not None and not isinstance(request, Request):
        raise SymbolError(f"as: expected a request, got {request.NAME}")
    line.by_hand |= not _is_one(talk, line, data, request)
    if request is not None:
        with line.needed_open():
            line.codec.await_reply(request)
        talk.asked.add(request.NAME)
    else:
        line.framed = False
    return IntendedFrame(len(talk.trace), data, like=request)


def _is_one(talk: CaseConnections, line: CaseConnection, data: bytes, request: Request | None) -> bool:
    """Say whether bytes written by hand are, to a server, the one request they stand for."""
    if request is None:
        return False
    dissection = Dissection(line.link, talk.symbols.codec)
    dissection.receive(Role.CLIENT, data)
    first = dissection.next_frame()
    return first is not None and type(first.message) is type(request) and dissection.of_client.is_whole
