"""Steps of cases as types, one class a verb; `case_reader.py` makes them of YAML, `player/verbs.py` carries them out.

A step holds its verbs in the order in which they are carried out, whatever the order in which they were written.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from wireproof.conformance.suite.pattern_types import Pattern, PatternItem
from wireproof.conformance.suite.values import (
    Choice,
    MessageEach,
    MessageItem,
    MessageTimes,
    Number,
    Range,
    Scalar,
    SymbolicMessage,
    Typed,
)

RESOURCES = ("memory", "descriptors", "cpu", "seconds")
"""Resident bytes, open descriptors, seconds of CPU, seconds that passed; all but the last are asked of the driver."""
NOTHING = "nothing"
"""In `blame` of a step: no message came, and no byte of one."""
Resource = Literal["memory", "descriptors", "cpu", "seconds"]
SavedName = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$")]


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a verb is given as a mapping."""


class Send(Typed, frozen=True):
    """Writes messages in one go."""

    send: tuple[MessageItem, ...]


class Expect(Typed, frozen=True):
    """The next messages on the connection, in order, each within the deadline."""

    expect: tuple[PatternItem, ...]


class Observe(Typed, frozen=True):
    """Takes the next message and records which label it was; with `silent` or `closed`, that nothing or an end came."""

    labels: dict[str, Pattern]
    silent: Number | None = None
    """Seconds to wait for anything."""
    closed: bool = False


class ExpectPush(Typed, frozen=True):
    """The next messages are pushes."""

    push: tuple[PatternItem, ...]


class ExpectSilence(Typed, frozen=True):
    """Nothing may have come on that connection: the reply to a sync request must be the next message."""

    silent: str


class ConnectTo(Part, frozen=True):
    """A connection, what is spoken on it, and whether it is read from only when a step reads."""

    name: str
    link: str = ""
    """Empty: the protocol's first."""
    unread: bool = False
    """Its receive buffer is small, and nothing is taken out of it until a step reads on it."""
    listener: str = ""
    """The target's listener that it goes to, where that is not the one of its link."""


class Connect(Typed, frozen=True):
    """Opens a connection."""

    connect: str | ConnectTo


class StartTls(Typed, frozen=True):
    """Begins TLS on a connection and finishes the handshake."""

    secure: str


class Close(Typed, frozen=True):
    """Closes a connection."""

    close: str


class HalfClose(Typed, frozen=True):
    """Ends our sending side of a connection."""

    half_close: str


class Reset(Typed, frozen=True):
    """Resets a connection."""

    reset: str


class ClosedWithin(Part, frozen=True):
    """A connection, and the seconds in which the target must close it."""

    name: str
    within: Number


class ExpectClosed(Typed, frozen=True):
    """The target must close that connection."""

    closed: str | ClosedWithin


class Wait(Typed, frozen=True):
    """Lets seconds pass."""

    wait: Number


class Mark(Typed, frozen=True):
    """Remembers this instant."""

    mark: str


class Instant(Part, frozen=True):
    """`plus` seconds after a mark; a later failure counts only when it was seen before `latest`."""

    mark: str
    plus: Number
    latest: Number | None = None


class WaitUntil(Typed, frozen=True):
    """Waits until an instant."""

    wait_until: Instant


class ExpectAlive(Typed, frozen=True):
    """The target serves a new client, which begins as clients of the protocol do."""

    alive: Literal[True]


class Loop(Part, frozen=True):
    """Steps for each number from the first to the last."""

    each: Range
    steps: Annotated[tuple[AnyStep, ...], Meta(min_length=1)]


class Repeat(Typed, frozen=True):
    """Repeats steps with a variable."""

    repeat: Loop


class Measured(Part, frozen=True):
    """Steps, and what the target may take while they play; one of `rounds` rounds must keep every limit."""

    steps: Annotated[tuple[AnyStep, ...], Meta(min_length=1)]
    at_most: dict[Resource, Number] = {}
    rounds: Number = 1
    every_round: bool = False
    """All rounds are played, also after one that kept the limits: the case knows what it has sent."""
    save: SavedName | None = None
    spare_descriptors: Number | None = None
    """The target may open so many more than it has, while the steps play."""


class Measure(Typed, frozen=True):
    """Plays steps and compares what the target took with limits."""

    measure: Measured


class DrawBetween(Typed, frozen=True):
    """A number from the first to the second."""

    between: tuple[Number, Number]


class DrawOneOf(Typed, frozen=True):
    """One of these."""

    one_of: tuple[Scalar, ...]


class Blame(Part, frozen=True):
    """The clause to blame, by what would have to be given up to explain the answers."""

    at_once: str | None = None
    in_turn: str | None = None
    seen: str | None = None


class Mix(Part, frozen=True):
    """What many connections ask at once."""

    connections: Number
    requests: Number
    of: Annotated[tuple[Asked, ...], Meta(min_length=1)]
    depth: Number = 1
    keys: Number = 1
    seed: Number = 1
    limit: Number | None = None
    flow: str = "waves"
    draw: dict[str, DrawBetween | DrawOneOf] = {}
    begin: tuple[Asked, ...] = ()
    end: tuple[Asked, ...] = ()
    blame: Blame = Blame()


class Concurrent(Typed, frozen=True):
    """Asks on many connections at once; the answers must be those of some order."""

    concurrent: Mix


Asked = SymbolicMessage | MessageTimes | MessageEach
Verb = (
    Send | Expect | Observe | ExpectPush | ExpectSilence | Connect | StartTls | Close | HalfClose | Reset
    | ExpectClosed | Wait | Mark | WaitUntil | ExpectAlive | Repeat | Measure | Concurrent
)  # fmt: skip


class Step(Typed, frozen=True):
    """One step: its verbs, and what stands beside them."""

    verbs: tuple[Verb, ...]
    """In the order in which they are carried out."""
    on: str = "a"
    """The connection."""
    clause: str | None = None
    """Blamed when this step fails; none: the case's first."""
    blame: Annotated[
        dict[str, str],
        Meta(description=f"Field -> the clause blamed when it is the one that differs; {NOTHING}: when no byte comes."),
    ] = msgspec.field(default_factory=dict)
    given: bool = False
    """A precondition: when it fails the case is untestable."""
    or_closed: bool = False
    """The target may close the connection before all that is expected came."""
    within: Number | None = None
    """Seconds in which each message that is expected must come, where they are fewer than those of the run."""
    exact: bool = False
    """Each message that is expected must be the very bytes that the encoder writes for it."""
    when: str = ""
    """Carried out only where the last `observe` noted this label."""


class StepChoice(Choice, frozen=True, tag=True):
    """The step under each profile or variant."""

    options: dict[str, Step]


AnyStep = Step | StepChoice
VERBS: dict[str, type[Typed]] = {
    "send": Send,
    "expect": Expect,
    "observe": Observe,
    "push": ExpectPush,
    "silent": ExpectSilence,
    "connect": Connect,
    "secure": StartTls,
    "close": Close,
    "half_close": HalfClose,
    "reset": Reset,
    "closed": ExpectClosed,
    "wait": Wait,
    "mark": Mark,
    "wait_until": WaitUntil,
    "alive": ExpectAlive,
    "repeat": Repeat,
    "measure": Measure,
    "concurrent": Concurrent,
}
"""What people write -> the verb, in the order in which a step with several of them carries them out."""
