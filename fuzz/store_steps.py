"""What a play of a server is made of: connect, ask, let time pass, disconnect; in words, and as a script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from wireproof.conformance.model.actions import Action, Open, Shut, Sleep, Write
from wireproof.conformance.model.wording import describe
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.script import Script
from wireproof.protocols import Request

__all__ = ["Advance", "Ask", "Connect", "Disconnect", "Step", "script_of", "steps_of", "told"]


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a connection."""

    connection: str


@dataclass(frozen=True, slots=True)
class Ask:
    """Send requests in one write, and wait for their replies."""

    connection: str
    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """Let time pass."""

    ns: int


@dataclass(frozen=True, slots=True)
class Disconnect:
    """End a connection: `close`, `reset`, or `half`: our sending side first."""

    connection: str
    how: str = "close"


Step = Connect | Ask | Advance | Disconnect


def told(step: Step) -> str:
    """Return a step in words."""
    match step:
        case Connect(connection):
            return f"{connection} connects"
        case Ask(connection, requests):
            return f"{connection} asks {', '.join(map(describe, requests))}"
        case Advance(ns):
            return f"{ns / 1e9:.9f}".rstrip("0").rstrip(".") + " s pass"
        case Disconnect(connection, how):
            return f"{connection} ends ({how})"


def script_of(steps: Iterable[Step], ground: Ground) -> Script:
    """Return steps as a script, without reads; raises `LocalProtocolError` for what cannot be written."""
    return tuple(_action(step, ground) for step in steps)


def _action(step: Step, ground: Ground) -> Action:
    match step:
        case Connect(connection):
            return Open(connection)
        case Ask(connection, requests):
            return Write(connection, b"".join(map(ground.encode, requests)))
        case Advance(ns):
            return Sleep(ns / 1e9)
        case Disconnect(connection, how):
            return Shut(connection, how)


def steps_of(script: Script, ground: Ground) -> Iterator[Step]:
    """Yield the steps that a kept script was made of; what is read is not in them, it is read again."""
    for action in script:
        match action:
            case Open(connection):
                yield Connect(connection)
            case Write(connection, data):
                yield Ask(connection, tuple(ground.requests(data)[0]))
            case Sleep(seconds):
                yield Advance(round(seconds * 1e9))
            case Shut(connection, how):
                yield Disconnect(connection, how)
