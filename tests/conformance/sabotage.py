"""Wrong harnesses: codecs, players and drivers that are each broken in one known way, and cases to play with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from tests.conformance.scripted import make_symbols
from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.actions import Answer
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.mutants.registry import server_patch
from wireproof.protocols import ErrorCode, Message, RemoteProtocolError
from wireproof.protocols.connection import Event
from wireproof.protocols.throttr import ClientConnection
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import seeded_ids

SUITE = load_suite("throttr")
SPOKEN = [("7.1.0", "uint8"), ("7.1.0", "uint64"), ("7.3.2", "uint16")]
Spoil = Callable[[bytes], bytes]


def some_cases(profile: str, variant: str, step: int = 23) -> list[Case]:
    """Return each so-manieth case that takes no time and moves little."""
    return select(SUITE, profile, variant, slow=False, heavy=False)[::step]


def player(case: Case, profile: str, variant: str, client: Any = None) -> Player:
    """Return a player of a case, with another client's codec if one is given."""
    symbols = make_symbols(profile, variant, case=case.id, **case.variables)
    if client is not None:
        links = {name: replace(link, client=client) for name, link in symbols.protocol.links.items()}
        symbols.protocol = replace(symbols.protocol, links=links)
    return Player(case, symbols, segmentation=WHOLE, timeout=2.0)


def reference_service(profile: str, variant: str, mutant: str | None = None) -> Callable[[Any], Any]:
    """Return what makes a fresh reference for each play, wrong in one way if so wanted."""
    return lambda clock: create_service(
        "throttr",
        profile=profile,
        variant=variant,
        clock=clock,
        ids=seeded_ids(1),
        patch=server_patch("throttr", mutant),
    )


def simulated(case: Case, profile: str, variant: str, client: Any = None) -> Outcome:
    """Play a case against the reference in simulation."""
    return SimulationDriver(reference_service(profile, variant)).play(player(case, profile, variant, client))


def writer_that(spoil: Spoil) -> Any:
    """Return a client whose requests are written wrongly."""

    def send(self: ClientConnection, message: Message) -> bytes:
        return spoil(ClientConnection.send(self, message))

    return type("Writer", (ClientConnection,), {"send": send})


def reader_that(misread: Callable[[Message], Message]) -> Any:
    """Return a client that understands what it reads wrongly."""

    def next_event(self: ClientConnection) -> Event:
        event = ClientConnection.next_event(self)
        return misread(event) if isinstance(event, Message) else event

    return type("Reader", (ClientConnection,), {"next_event": next_event})


class Refuser(ClientConnection):
    """Refuses whatever comes first."""

    def next_event(self) -> Event:
        if not self.buffered:
            return super().next_event()
        raise RemoteProtocolError(ErrorCode.BAD_STATUS, "expected 02 or 03", offset=self.received)


WRITERS: Mapping[str, Spoil] = {
    "announces one byte more": lambda frame: (
        frame[:1] + bytes([(frame[1] + 1) % 256]) + frame[2:] if len(frame) > 1 else frame + b"\0"
    ),
    "loses the last byte": lambda frame: frame[:-1],
    "adds a byte": lambda frame: frame + b"\0",
    "names another type": lambda frame: bytes([frame[0] ^ 6]) + frame[1:],
    "writes what is no type": lambda frame: b"\xfe" + frame[1:],
    "writes everything twice": lambda frame: frame + frame,
    "writes nothing": lambda frame: b"",
}


def turned(message: Message) -> Message:
    """Return a message whose first number, truth or text is another."""
    name = message.__struct_fields__[0]
    value: Any = getattr(message, name)
    wrong: Any = not value if isinstance(value, bool) else value
    if isinstance(value, int) and not isinstance(value, bool):
        wrong = value ^ 1
    elif isinstance(value, bytes):
        wrong = value + b"?"
    elif isinstance(value, tuple):
        wrong = value[:-1] if value else (message,)
    elif isinstance(value, Message):
        wrong = turned(value)
    return msgspec.structs.replace(message, **{name: wrong})


READERS: Mapping[str, Any] = {
    "misreads a field": reader_that(turned),
    "refuses what is right": Refuser,
}

LOSSES: Mapping[str, Callable[[bytes], bytes]] = {
    "loses the first byte": lambda data: data[1:],
    "loses the last byte": lambda data: data[:-1],
    "loses everything": lambda data: b"",
    "doubles": lambda data: data + data,
    "turns round": lambda data: data[1:] + data[:1] if data[1:] + data[:1] != data else data[::-1] + b"\0",
    "changes a bit": lambda data: bytes([data[0] ^ 1]) + data[1:],
}
"""What a driver may do to bytes that are not its own."""


def spoilt(answer: Answer, spoil: Spoil) -> Answer:
    """Return what a wrong driver makes of an answer to a read."""
    if answer.kind is not Kind.RECEIVED:
        return answer
    data = spoil(answer.data)
    return Answer(Kind.RECEIVED if data else Kind.SILENT, answer.now, data)
