"""Steps of cases for SDKs as types: what an SDK is asked and answered, and what must come of it.

docs/writing-sdk-cases.md says what each key means.

A step is one mapping: a verb, by which its class is known, and what may stand beside that verb. `sdk/play` carries them
out.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from wireproof.conformance.suite.case_files import FileEntry, LevelName, Names, NoFault, SdkId, Title
from wireproof.conformance.suite.steps import Part
from wireproof.conformance.suite.values import Choice, Number, Range, Typed, Value

Failed = Literal["refused", "too_wide", "too_long", "timeout", "closed", "protocol", "other"]


class ScriptedMessage(Typed, frozen=True):
    """A message by its name, `push` with its fields, or `close` or `reset`."""

    name: str
    fields: dict[str, Value]
    is_name: bool = False
    """It was written as its name alone."""


class ScriptedBytes(Typed, frozen=True):
    """Bytes as they are: a text is hexadecimal. With `as`, they are read as that message."""

    raw: Value
    stands_for: ScriptedMessage | None = msgspec.field(name="as", default=None)


class ScriptedPart(Typed, frozen=True):
    """The first `size` bytes of a message; below 0, counted from its end."""

    part: ScriptedMessage
    size: Number


class ScriptedSlowly(Typed, frozen=True):
    """A message in two pieces, cut at an offset, with seconds between them."""

    slowly: ScriptedMessage | ScriptedPart
    at: Number
    pause: Number


class Pause(Typed, frozen=True):
    """Nothing for some seconds."""

    pause: Number


class ScriptedEach(Typed, frozen=True):
    """Something for each number from the first to the last."""

    each: Range
    of: ScriptedItem


class ScriptedTimes(Typed, frozen=True):
    """The same several times."""

    times: Number
    of: ScriptedItem


class ScriptedChoice(Choice, frozen=True, tag=True):
    """The value under each profile or variant."""

    options: dict[str, ScriptedItem | tuple[ScriptedItem, ...]]


ScriptedItem = (
    ScriptedMessage
    | ScriptedBytes
    | ScriptedPart
    | ScriptedSlowly
    | Pause
    | ScriptedEach
    | ScriptedTimes
    | ScriptedChoice
)


class CutAt(Part, frozen=True):
    """The offset at which what is written is cut."""

    at: Number


Cut = Annotated[
    str | Annotated[int, Meta(ge=1)] | CutAt,
    Meta(description="whole, bytes, fields, apart, halves, a size, an offset; or the variable that is one of these."),
]
Fails = Literal["any"] | Annotated[tuple[Failed, ...], Meta(min_length=1)]


class Pings(Part, frozen=True, kw_only=True):
    """Something that keeps a connection alive must come in so many seconds, `times` in a row."""

    on: str
    within: Number
    times: Annotated[int, Meta(ge=1)] = 1
    held: Annotated[bool, Meta(description="It is answered only when something else is written.")] = False


class Connection(Part, frozen=True):
    """A connection, whether the case opens it by hand, and the protocol's own fields of the driver's connect."""

    name: str
    by_hand: bool = False
    fields: dict[str, Value] = msgspec.field(default_factory=dict)


class SdkStep(Typed, frozen=True, kw_only=True, omit_defaults=True):
    """What every step of a case for SDKs may have beside its verb."""

    clause: str | None = None
    given: bool = False
    within: Annotated[
        Number | None, Meta(description="Seconds that what becomes of it may take, where that is more than usual.")
    ] = None


class Answering(SdkStep, frozen=True, kw_only=True):
    """What a step may have that writes replies and pushes, and looks at what is reported of them."""

    on: str = "a"
    cut: Cut = "whole"
    open: bool = False
    or_fails: Annotated[
        bool | Annotated[tuple[Failed, ...], Meta(min_length=1)],
        Meta(description="An error is accepted, or only these kinds."),
    ] = False
    events: Literal["told", "any"] = "told"
    fails: Fails | None = None
    blame: Annotated[
        dict[str, str], Meta(description="Field -> the clause that is blamed when it is the one that differs.")
    ] = msgspec.field(default_factory=dict)


class AskStep(Answering, frozen=True):
    """Asks for operations at once, and answers once their bytes arrived."""

    ask: tuple[ScriptedItem, ...]
    answer: tuple[ScriptedItem, ...] | None = None
    then: Annotated[
        tuple[ScriptedItem, ...] | None,
        Meta(description="What the SDK sends after what was asked, once interim was written."),
    ] = None
    interim: Annotated[
        tuple[ScriptedItem, ...] | None, Meta(description="What is written between what was asked and then.")
    ] = None
    unanswered: Annotated[bool, Meta(description="What was asked gets no answer, and is reported done.")] = False
    ignore: Annotated[Names, Meta(description="Fields that may have any value.")] = ()
    save: Annotated[
        dict[str, Names], Meta(description="Field -> a name for what the SDK sent there, in each request: @name.")
    ] = msgspec.field(default_factory=dict)
    fresh: Annotated[
        str | None, Meta(description="A field whose value must not have been sent before in this case.")
    ] = None
    among: Annotated[
        dict[str, Names], Meta(description="Field that the SDK chooses -> the values of which it must have one.")
    ] = msgspec.field(default_factory=dict)
    sealed: Annotated[bool, Meta(description="What is sent is compared once it was opened.")] = False
    batch: bool = False
    refused: bool = False


class SayStep(Answering, frozen=True):
    """Writes without asking; replies answer what was left open."""

    say: tuple[ScriptedItem, ...]


class ReceiveStep(SdkStep, frozen=True):
    """Expects requests that the SDK sends by itself, and answers them."""

    receive: tuple[ScriptedItem, ...]
    answer: tuple[ScriptedItem, ...] | None = None
    any_order: Annotated[
        bool, Meta(description="They may come in any order, one after the other or at once; each gets the answer.")
    ] = False
    if_any: Annotated[bool, Meta(description="An SDK that sends nothing is unsupported; with any_order only.")] = False
    ignore: Annotated[Names, Meta(description="Fields that may have any value.")] = ()
    save: Annotated[
        dict[str, Names], Meta(description="Field -> a name for what the SDK sent there, in each request: @name.")
    ] = msgspec.field(default_factory=dict)
    on: str = "a"
    cut: Cut = "whole"


class OpenConnectionStep(SdkStep, frozen=True):
    """Has the SDK connect."""

    connect: str | Connection
    reconnect: bool = False


class ConnectedStep(SdkStep, frozen=True):
    """Expects the report of a connection that was opened by hand."""

    connected: str
    fails: Fails | None = None


class SecureStep(SdkStep, frozen=True):
    """Takes the handshake of TLS on a line, and writes the answer inside it; with `fails` the SDK must refuse."""

    secure: str
    answer: tuple[ScriptedItem, ...] | None = None
    cut: Cut = "whole"
    fails: Fails | None = None


class PingsStep(SdkStep, frozen=True):
    """Expects what keeps a line alive."""

    pings: Pings


class OnlyStep(SdkStep, frozen=True):
    """Expects that no second connection was made for a line."""

    only: str


class DropStep(SdkStep, frozen=True):
    """Leaves aside what arrived on a line."""

    drop: str


class CloseStep(SdkStep, frozen=True):
    """Ends a line from our side."""

    close: str
    fails: Fails | None = None


class ResetStep(SdkStep, frozen=True):
    """Resets a line."""

    reset: str
    fails: Fails | None = None


class LeaveStep(SdkStep, frozen=True):
    """Has the SDK close; the connection must end."""

    leave: str
    fails: Fails | None = None


class EndedStep(SdkStep, frozen=True):
    """Expects that the SDK ends a line."""

    ended: str
    fails: Fails | None = None


class AcceptStep(SdkStep, frozen=True):
    """Expects that the SDK connects once more."""

    accept: str


class DownStep(SdkStep, frozen=True):
    """Stops listening."""

    down: str


class UpStep(SdkStep, frozen=True):
    """Listens again on the same port."""

    up: str


class WaitStep(SdkStep, frozen=True):
    """Lets seconds pass."""

    wait: Number


AnySdkStep = (
    AskStep | SayStep | ReceiveStep | OpenConnectionStep | ConnectedStep | SecureStep | PingsStep | OnlyStep | DropStep
    | CloseStep | ResetStep | LeaveStep | EndedStep | AcceptStep | DownStep | UpStep | WaitStep
)  # fmt: skip


def answer_of(step: AnySdkStep) -> tuple[ScriptedItem, ...]:
    """Return what a step writes once something arrived."""
    return step.answer or () if isinstance(step, AskStep | ReceiveStep | SecureStep) else ()


def blamed_by(step: AnySdkStep) -> tuple[str, ...]:
    """Return the clauses that a step names, for itself and for single fields."""
    fields = step.blame.values() if isinstance(step, Answering) else ()
    return (*([step.clause] if step.clause else []), *fields)


class SdkCaseEntry(FileEntry, frozen=True, kw_only=True):
    """One case for SDKs."""

    id: SdkId
    title: Title
    steps: Annotated[tuple[AnySdkStep, ...], Meta(min_length=1)]
    level: LevelName | None = None
    slow: bool = False
    needs: Annotated[Names, Meta(description="Features without which the SDK is not asked.")] | None = None
    no_fault: NoFault | None = None


class SdkCaseFile(Part, frozen=True, kw_only=True):
    """A file of cases for SDKs."""

    protocol: str
    cases: Annotated[tuple[SdkCaseEntry, ...], Meta(min_length=1)]
    needs: Annotated[Names, Meta(description="Features that every case of the file needs.")] | None = None
