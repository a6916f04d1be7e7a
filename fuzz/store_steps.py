"""The steps of a stateful test of a server: connect, request, advance, disconnect; as text and as a script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from wireproof.conformance.model.actions import Open, Shut, Sleep, Write
from wireproof.conformance.model.wording import describe
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.script import Restart, Script, ScriptStep
from wireproof.protocols import Request, Role
from wireproof.protocols.dissect import Dissection

__all__ = [
    "AdvanceStep",
    "ConnectStep",
    "DisconnectStep",
    "EndStep",
    "HeldStep",
    "PartsStep",
    "RequestStep",
    "RestartStep",
    "Step",
    "TogetherStep",
    "describe_step",
    "script_of",
    "steps_of",
]


@dataclass(frozen=True, slots=True)
class ConnectStep:
    """Open a connection."""

    connection: str
    link: str = ""
    """The name of its link; "" is the default link."""


@dataclass(frozen=True, slots=True)
class RequestStep:
    """Send requests in one write and wait for their replies."""

    connection: str
    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class AdvanceStep:
    """Let `ns` nanoseconds pass."""

    ns: int


@dataclass(frozen=True, slots=True)
class DisconnectStep:
    """End a connection: `close`, `reset`, or `half` (shut down our sending side first)."""

    connection: str
    how: str = "close"


@dataclass(frozen=True, slots=True)
class HeldStep:
    """While the client of a connection takes nothing, send requests there or elsewhere; then let it take all.

    Or let time pass; then it goes.
    """

    connection: str
    step: RequestStep | AdvanceStep


@dataclass(frozen=True, slots=True)
class EndStep:
    """Send requests and end our side with them; `is_held`: while the client takes nothing, which then takes all."""

    step: RequestStep
    is_held: bool


@dataclass(frozen=True, slots=True)
class PartsStep:
    """Send a request in two parts, and other requests on another connection between them."""

    step: RequestStep
    cut: int
    """Bytes of the first part, modulo all."""
    between: RequestStep


@dataclass(frozen=True, slots=True)
class TogetherStep:
    """Send one request, and requests on another connection before the server has another turn of its loop."""

    first: RequestStep
    second: RequestStep


@dataclass(frozen=True, slots=True)
class RestartStep:
    """End the server, killed or in good order, and start it again on what it kept; every connection ends."""

    is_killed: bool


Step = (
    RestartStep
    | ConnectStep
    | RequestStep
    | AdvanceStep
    | DisconnectStep
    | EndStep
    | HeldStep
    | PartsStep
    | TogetherStep
)


def describe_step(step: Step) -> str:
    """Return a step as text."""
    match step:
        case ConnectStep(connection, link):
            return f"{connection} connects" + (f" ({link})" if link else "")
        case RequestStep(connection, requests):
            return f"{connection} sends {', '.join(map(describe, requests))}"
        case AdvanceStep(ns):
            return f"{ns / 1e9:.9f}".rstrip("0").rstrip(".") + " s pass"
        case DisconnectStep(connection, how):
            return f"{connection} ends ({how})"
        case HeldStep(connection, asked):
            return f"while {connection} takes nothing, {describe_step(asked)}"
        case EndStep(asked, is_held):
            first = f"while {asked.connection} takes nothing, " if is_held else ""
            return f"{first}{describe_step(asked)} and ends its side at once"
        case TogetherStep(first, second):
            return f"{describe_step(first)}, and in the same turn {describe_step(second)}"
        case RestartStep(is_killed):
            return f"the server {'is killed' if is_killed else 'ends'}, and starts again"
        case PartsStep(asked, cut, between):
            return f"{describe_step(asked)} in two parts (cut {cut}); between them {describe_step(between)}"


def script_of(steps: Iterable[Step], context: FuzzContext) -> Script:
    """Return steps as a script without reads, in which every client takes what comes and sends whole requests.

    Raises `LocalProtocolError` for a request that cannot be encoded.
    """
    return tuple(_action(one, context) for step in steps for one in _apart(step))


def _apart(step: Step) -> tuple[Step, ...]:
    """Return a step as those that a script can hold."""
    if isinstance(step, EndStep):
        return step.step, DisconnectStep(step.step.connection, "half")
    return (step.first, step.second) if isinstance(step, TogetherStep) else (step,)


def _action(step: Step, context: FuzzContext) -> ScriptStep:
    match step:
        case ConnectStep(connection, link):
            kind = context.symbols.protocol.link_of(link)
            return Open(connection, link, kind.transport, listener=kind.listener)
        case RequestStep(connection, requests):
            return Write(connection, b"".join(map(context.encode, requests)))
        case AdvanceStep(ns):
            return Sleep(ns / 1e9)
        case DisconnectStep(connection, how):
            return Shut(connection, how)
        case HeldStep(_, asked) | PartsStep(asked) | EndStep(asked) | TogetherStep(asked):
            return _action(asked, context)
        case RestartStep(is_killed):
            return Restart(is_killed)


def steps_of(script: Script, context: FuzzContext) -> Iterator[Step]:
    """Yield the steps of a kept script; its reads are left out, since playing steps reads by itself."""
    followed: dict[str, Dissection] = {}
    for action in script:
        match action:
            case Open(connection, link):
                followed[connection] = context.dissection(link)
                yield ConnectStep(connection, link)
            case Write(connection, data) if connection in followed:
                known = len(followed[connection].requests)
                followed[connection].feed(Role.CLIENT, data)
                yield RequestStep(connection, tuple(followed[connection].requests[known:]))
            case Sleep(seconds):
                yield AdvanceStep(round(seconds * 1e9))
            case Shut(connection, how):
                yield DisconnectStep(connection, how)
            case Restart(is_killed):
                yield RestartStep(is_killed)
