"""Steps of cases for SDKs as types: what an SDK is asked and answered, and what must come of it.

docs/writing-sdk-cases.md says what each key means.

A step is one mapping with known keys: a verb, and what stands beside it. `sdk/play` carries them out.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from wireproof.conformance.suite.case_files import Entry, LevelName, Names, NoFault, SdkId, Title
from wireproof.conformance.suite.steps import Part
from wireproof.conformance.suite.values import Choice, Number, Range, Raw, Typed, Value

Failed = Literal["refused", "too_wide", "too_long", "timeout", "closed", "protocol", "other"]


class Said(Typed, frozen=True):
    """A message by its name, `push` with its fields, or `close` or `reset`."""

    name: str
    fields: dict[str, Value]
    is_name: bool = False
    """It was written as its name alone."""


class SaidPart(Typed, frozen=True):
    """The first `size` bytes of a message; below 0, counted from its end."""

    part: Said
    size: Number


class SaidSlowly(Typed, frozen=True):
    """A message in two pieces, cut at an offset, with seconds between them."""

    slowly: Said | SaidPart
    at: Number
    pause: Number


class Pause(Typed, frozen=True):
    """Nothing for some seconds."""

    pause: Number


class SaidEach(Typed, frozen=True):
    """Something for each number from the first to the last."""

    each: Range
    of: SaidItem


class SaidTimes(Typed, frozen=True):
    """The same several times."""

    times: Number
    of: SaidItem


class SaidChoice(Choice, frozen=True, tag=True):
    """What is said under each profile or variant."""

    options: dict[str, SaidItem | tuple[SaidItem, ...]]


SaidItem = Said | Raw | SaidPart | SaidSlowly | Pause | SaidEach | SaidTimes | SaidChoice


class CutAt(Part, frozen=True):
    """The offset at which what is written is cut."""

    at: Number


class Pings(Part, frozen=True, kw_only=True):
    """Something that keeps a connection alive must come in so many seconds, `times` in a row."""

    on: str
    within: Number
    times: Annotated[int, Meta(ge=1)] = 1
    held: Annotated[bool, Meta(description="It is answered only when something else is written.")] = False


class SdkStep(Part, frozen=True, kw_only=True):
    """One step of a case for SDKs."""

    ask: tuple[SaidItem, ...] | None = None
    say: tuple[SaidItem, ...] | None = None
    receive: tuple[SaidItem, ...] | None = None
    answer: tuple[SaidItem, ...] | None = None
    cut: str | Annotated[int, Meta(ge=1)] | CutAt | None = None
    connect: Annotated[
        str | dict[str, Value] | None,
        Meta(description="A name; or with by_hand and the protocol's own fields of the driver's connect."),
    ] = None
    connected: str | None = None
    secure: str | None = None
    only: str | None = None
    drop: str | None = None
    pings: Pings | None = None
    then: Annotated[
        tuple[SaidItem, ...] | None,
        Meta(description="What the SDK sends after what was asked, once interim was written."),
    ] = None
    interim: Annotated[
        tuple[SaidItem, ...] | None, Meta(description="What is written between what was asked and then.")
    ] = None
    unanswered: Annotated[bool, Meta(description="What was asked gets no answer, and is reported done.")] = False
    ignore: Annotated[Names | None, Meta(description="Fields that may have any value.")] = None
    within: Annotated[
        Number | None, Meta(description="Seconds that what becomes of it may take, where that is more than usual.")
    ] = None
    fresh: Annotated[
        str | None, Meta(description="A field whose value must not have been sent before in this case.")
    ] = None
    sealed: Annotated[bool, Meta(description="What is sent is compared once it was opened.")] = False
    reconnect: bool = False
    close: str | None = None
    reset: str | None = None
    leave: str | None = None
    ended: str | None = None
    accept: str | None = None
    down: str | None = None
    up: str | None = None
    wait: Number | None = None
    on: str | None = None
    clause: str | None = None
    blame: Annotated[
        dict[str, str] | None, Meta(description="Field -> the clause that is blamed when it is the one that differs.")
    ] = None
    given: bool = False
    batch: bool = False
    open: bool = False
    refused: bool = False
    or_fails: bool = False
    events: Literal["told", "any"] | None = None
    fails: Literal["any"] | Annotated[tuple[Failed, ...], Meta(min_length=1)] | None = None


class SdkCaseEntry(Entry, frozen=True, kw_only=True):
    """One case for SDKs."""

    id: SdkId
    title: Title
    steps: Annotated[tuple[SdkStep, ...], Meta(min_length=1)]
    level: LevelName | None = None
    slow: bool = False
    needs: Annotated[Names, Meta(description="Features without which the SDK is not asked.")] | None = None
    no_fault: NoFault | None = None


class SdkCaseFile(Part, frozen=True, kw_only=True):
    """A file of cases for SDKs."""

    protocol: str
    cases: Annotated[tuple[SdkCaseEntry, ...], Meta(min_length=1)]
    needs: Annotated[Names, Meta(description="Features that every case of the file needs.")] | None = None
