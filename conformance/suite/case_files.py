"""The files that people write as types: cases, frames and sequences, one class for each mapping with known keys."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from wireproof.conformance.suite.steps import AnyStep, Part
from wireproof.conformance.suite.values import MessageChoice, Scalar, SymbolicMessage, Value

Id = Annotated[str, Meta(pattern="^[a-z0-9-]+/[a-z0-9-]+$", description="<topic>/<slug>, never used again.")]
SdkId = Annotated[str, Meta(pattern="^sdk-[a-z0-9-]+/[a-z0-9-]+$", description="sdk-<topic>/<slug>, never used again.")]
Names = Annotated[tuple[str, ...], Meta(min_length=1)]
Foreach = Annotated[
    dict[str, Annotated[tuple[Scalar, ...], Meta(min_length=1)]],
    Meta(min_length=1, description="Variable -> its values: one case for each combination."),
]
NoFault = Annotated[
    str, Meta(min_length=8, max_length=160, description="Why no known mutant fails this case, in one line.")
]
Title = Annotated[str, Meta(min_length=8)]
LevelName = Literal["MUST", "SHOULD", "MAY"]
Message = SymbolicMessage | MessageChoice


class Found(Part, frozen=True):
    """Where a case comes from, when a finding of a fuzzer was made a case."""

    finding: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    engine: str
    oracle: str
    at: str
    by: str
    seed: int


class FileEntry(Part, frozen=True, kw_only=True):
    """What cases, cases for SDKs and frames have in common."""

    clauses: Annotated[Names, Meta(description="The first is blamed unless a step names another.")]
    profiles: Names | None = None
    variants: Names | None = None
    foreach: Foreach | None = None


class CaseEntry(FileEntry, frozen=True, kw_only=True):
    """One case for servers."""

    id: Id
    title: Title
    steps: Annotated[tuple[AnyStep, ...], Meta(min_length=1)]
    level: LevelName | None = None
    needs: (
        Annotated[Names, Meta(description="Features without which a target is not asked: it is unsupported.")] | None
    ) = None
    exclusive: bool = False
    fresh_server: Annotated[bool, Meta(description="Exclusive, and on a server that holds nothing yet.")] = False
    slow: bool = False
    heavy: bool = False
    budget: bool = False
    prerequisite: Annotated[
        bool,
        Meta(description="While it fails, failures of cases that use its request are untestable."),
    ] = False
    prerequisite_of: (
        Annotated[
            Names, Meta(description="While it fails, replies to these requests that cannot be read are untestable.")
        ]
        | None
    ) = None
    prerequisite_of_all: Annotated[bool, Meta(description="While it fails, all other failures are untestable.")] = False
    modelled: Annotated[
        bool, Meta(description="Each reply is judged by the model of the whole document; `expect: any` takes them.")
    ] = False
    no_fault: NoFault | None = None
    found: Found | None = None


class FrameEntry(FileEntry, frozen=True, kw_only=True):
    """One frame: a message to encode and decode, or bytes and the error they must give."""

    id: Id
    title: Annotated[str, Meta(min_length=4)] | None = None
    found: Found | None = None
    message: Message | None = None
    hex: Value = None
    error: str | None = None
    reply_to: Message | None = None
    direction: Literal["request", "reply", "push"] | None = None
    flags: tuple[str, ...] = ()
    link: str | None = None
    after: Annotated[
        tuple[SymbolicMessage, ...] | None,
        Meta(description="What crossed on the line before, of both sides; a request without reply was answered."),
    ] = None


class CaseFile(Part, frozen=True, kw_only=True):
    """A file of cases and frames for servers."""

    protocol: str
    needs: Annotated[Names, Meta(description="Features that every case in this file needs.")] | None = None
    cases: tuple[CaseEntry, ...] = ()
    frames: tuple[FrameEntry, ...] = ()


SequenceName = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$")]


class SequenceEntry(Part, frozen=True, kw_only=True):
    """Steps that many cases begin with, with names in `<...>` that are filled in where they are performed."""

    steps: Annotated[tuple[AnyStep, ...], Meta(min_length=1)]
    defaults: Annotated[
        dict[Annotated[str, Meta(pattern="^[a-z_]+$")], Value],
        Meta(description="Name -> the value that <name> has unless another is given; null: it must be given."),
    ] = msgspec.field(name="with", default={})
