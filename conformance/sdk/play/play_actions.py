"""What a play of an SDK may ask of the world, and what the world answers. No sockets, no clock."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from wireproof.conformance.sdk.driver_protocol import DriverAnswer, DriverEvent
from wireproof.protocols import Message

__all__ = [
    "AUTHORITIES",
    "Accept",
    "AcceptTls",
    "Action",
    "AwaitReport",
    "Command",
    "CountConnections",
    "Died",
    "Drain",
    "End",
    "Got",
    "Leftovers",
    "LetTimePass",
    "Listen",
    "NextEvent",
    "Nonsense",
    "OpenConnection",
    "Ping",
    "Playing",
    "Receive",
    "Reported",
    "SendBytes",
    "Silent",
    "SocketAction",
    "asked",
]


Answer = TypeVar("Answer")


class Asks(Generic[Answer]):
    """An action; its parameter is the type of what performing it gives."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class OpenConnection(Asks["Reported | None"]):
    """Listen for a connection of that name and have the SDK connect, under the number of a call.

    Answer: `Reported`. By hand, the case answers what the SDK asks and asks for the report: None, or `Died`.
    """

    connection: str
    reconnect: bool = False
    call: int = 0
    by_hand: bool = False
    fields: Mapping[str, object] = field(default_factory=dict)
    """The protocol's own fields of the command; for a path one of `AUTHORITIES`."""


@dataclass(frozen=True, slots=True)
class Command(Asks["Died | None"]):
    """Have the driver begin something, under a number that `Report` asks by. Answer: None, or `Died`."""

    call: int
    do: str
    connection: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Receive(Asks["Got"]):
    """Read from the SDK until `expected` came, something else did, or one of the calls is answered. Answer: `Got`."""

    connection: str
    expected: bytes
    calls: tuple[int, ...] = ()
    alike: Callable[[Sequence[Message]], bool | None] | None = None
    """Whether messages say what is expected, in other bytes perhaps; None: they may, once more of them came."""
    is_part: bool = False
    """Whether more may come after what is expected: nothing is judged before it is whole."""


@dataclass(frozen=True, slots=True)
class Drain(Asks["Got"]):
    """Read until the SDK ended the connection, for at most so many seconds. Answer: `Got`."""

    connection: str
    seconds: float
    parting: bool = False
    """Whether it may say that it goes before it does."""


@dataclass(frozen=True, slots=True)
class AwaitReport(Asks["Reported"]):
    """Wait for the driver's answer to a call, `seconds` at most where they are given. Answer: `Reported`."""

    call: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class NextEvent(Asks["DriverReport"]):
    """Wait for the next pushed message that the driver reports. Answer: an `Event`, `Silent` or `Died`."""

    connection: str


@dataclass(frozen=True, slots=True)
class Leftovers(Asks[tuple[DriverEvent, ...]]):
    """Take the pushed messages that were reported and not taken yet. Answer: a tuple of `Event`."""

    connection: str


@dataclass(frozen=True, slots=True)
class SendBytes(Asks[None]):
    """Write to the SDK, each segment by itself. Answer: None."""

    connection: str
    segments: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class End(Asks[None]):
    """End the connection from the server's side, by FIN or by RST; `whole`: with all its links. Answer: None."""

    connection: str
    reset: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Listen(Asks[None]):
    """Stop listening for a connection, or begin again at the same port. Answer: None."""

    connection: str
    up: bool


@dataclass(frozen=True, slots=True)
class Accept(Asks[bool]):
    """Wait until the SDK connects once more. Answer: True, or False when it did not."""

    connection: str


@dataclass(frozen=True, slots=True)
class AcceptTls(Asks[str]):
    """Take the handshake of TLS, that the SDK begins. Answer: why it failed, "" when it did not."""

    connection: str


@dataclass(frozen=True, slots=True)
class Ping(Asks[bool]):
    """Wait until the SDK sent something to keep a line alive, since the last such wait. Answer: whether it did."""

    connection: str
    seconds: float
    holds: bool = False
    """Whether it is answered only when something else is written."""


@dataclass(frozen=True, slots=True)
class CountConnections(Asks[int]):
    """Count the connections that the SDK made on a link. Answer: how many."""

    connection: str


@dataclass(frozen=True, slots=True)
class LetTimePass(Asks[None]):
    """Let time pass. Answer: None."""

    seconds: float


SocketAction = Receive | Drain | SendBytes | End | Listen | Accept | AcceptTls | Ping | CountConnections
Action = OpenConnection | Command | AwaitReport | NextEvent | Leftovers | LetTimePass | SocketAction
AUTHORITIES = ("ours", "another")
"""Who signs certificates: ours signed the one that is shown, another did not."""


@dataclass(frozen=True, slots=True)
class Got:
    """What came from the SDK."""

    data: bytes
    ended: bool = False
    """The SDK ended the connection."""
    answered: int | None = None
    """The call that was answered before all of it came."""
    messages: tuple[Message, ...] = ()
    """What of it can be read."""
    alike: bool = False
    """Whether it says what was expected in other bytes."""


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing came within the deadline."""

    told: str = ""
    """For how long, as in "none in 5 s"; "" for the whole deadline."""


@dataclass(frozen=True, slots=True)
class Died:
    """The driver's process ended."""

    detail: str


@dataclass(frozen=True, slots=True)
class Nonsense:
    """The driver answered with a line that its schema does not allow."""

    detail: str


Reported = DriverAnswer | Silent | Died | Nonsense
DriverReport = DriverEvent | Silent | Died
Playing = Generator[Action, object, Answer]
"""Yields actions, is sent what performing them gave, and returns something in the end."""


def asked(action: Asks[Answer]) -> Playing[Answer]:
    """Ask for an action and return what performing it gave."""
    return cast(Answer, (yield cast(Action, action)))
