"""Scripts: what clients do to a server, without expectations. Fuzzers make them, findings hold them, replays play them.

A script is a tuple of the player's actions. A driver plays it on sockets or in simulation and gives a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from wireproof.conformance.model.actions import Action, Open, Read, Secure, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.player.connections import ActionGenerator
from wireproof.protocols.json_values import JsonObject

__all__ = [
    "Restart",
    "Script",
    "ScriptError",
    "ScriptStep",
    "WriteSubstitution",
    "closing",
    "from_json",
    "performing",
    "size",
    "to_json",
]


@dataclass(frozen=True, slots=True)
class Restart:
    """End the server, killed or in good order, and start it again on what it kept; every connection ends.

    No driver can do that: it is for those who start the server themselves.
    """

    is_killed: bool


ScriptStep = Action | Restart
Script = tuple[ScriptStep, ...]


class ScriptError(ValueError):
    """Raised for JSON that is no script; the message names the step and what was expected."""


def to_json(script: Script) -> list[dict[str, object]]:
    """Return a script as JSON values, bytes in hexadecimal. Raises `TypeError` for an action that no script holds."""
    return [_step_json(action) for action in script]


def _step_json(action: ScriptStep) -> dict[str, object]:
    match action:
        case Open(connection, link, transport, unread, listener):
            usual: dict[str, object] = {"link": "", "transport": "stream", "unread": False, "listener": ""}
            given = (("link", link), ("transport", transport), ("unread", unread), ("listener", listener))
            return {"do": "open", "connection": connection, **{key: one for key, one in given if one != usual[key]}}
        case Write(connection, data):
            return {"do": "write", "connection": connection, "hex": data.hex()}
        case Read(connection, timeout):
            return {"do": "read", "connection": connection, "seconds": timeout}
        case Secure(connection, timeout):
            return {"do": "secure", "connection": connection, "seconds": timeout}
        case Shut(connection, how):
            return {"do": "shut", "connection": connection, "how": how}
        case Sleep(seconds):
            return {"do": "wait", "seconds": seconds}
        case Restart(is_killed):
            return {"do": "restart", "how": "kill" if is_killed else "end"}
    raise TypeError(f"a script cannot hold {action!r}")


def from_json(steps: Iterable[JsonObject]) -> Script:
    """Return the script of JSON values from `to_json`. Raises `ScriptError`."""
    return tuple(_read(number, step) for number, step in enumerate(steps))


def _read(number: int, step: JsonObject) -> ScriptStep:
    try:
        match step["do"]:
            case "open" if step.get("transport", "stream") in ("stream", "datagram"):
                name, link, unread = str(step["connection"]), str(step.get("link", "")), bool(step.get("unread"))
                return Open(name, link, step.get("transport", "stream"), unread, str(step.get("listener", "")))
            case "write":
                return Write(str(step["connection"]), bytes.fromhex(step["hex"]))
            case "read":
                return Read(str(step["connection"]), float(step["seconds"]))
            case "secure":
                return Secure(str(step["connection"]), float(step["seconds"]))
            case "shut" if step["how"] in ("half", "close", "reset"):
                return Shut(str(step["connection"]), step["how"])
            case "wait":
                return Sleep(float(step["seconds"]))
            case "restart" if step["how"] in ("kill", "end"):
                return Restart(step["how"] == "kill")
    except (KeyError, TypeError, ValueError) as error:
        raise ScriptError(f"step {number}: {type(error).__name__}: {error} in {dict(step)!r}"[:300]) from None
    raise ScriptError(
        f"step {number}: expected open, write, read, secure, shut, wait or restart, got {dict(step)!r}"[:300]
    )


def size(script: Script) -> int:
    """Return the number of bytes that a script sends."""
    return sum(len(action.data) for action in script if isinstance(action, Write))


MOST_PIECES = 256
"""Pieces of a message that are read one after the other."""


class WriteSubstitution(Protocol):
    """Replaces placeholders in writes with tokens that the server sent in this play."""

    def follow(self, trace: Trace) -> None:
        """Take the events of the play that are new, also of what was read between its steps."""

    def substituted(self, data: bytes) -> bytes:
        """Return `data` with its placeholders replaced."""

    def is_cut_short(self, connection: str) -> bool:
        """Return whether what came last on a connection is a part of a message, which may hold a token."""


def closing(script: Script, trace: Trace) -> ActionGenerator[None]:
    """Play like `performing`, then close all connections."""
    open_ones = yield from performing(script, trace)
    for name in sorted(open_ones):
        yield Shut(name, "close")


def performing(
    script: Script,
    trace: Trace,
    substitution: WriteSubstitution | None = None,
    patience: Callable[[Read], float] | None = None,
) -> ActionGenerator[frozenset[str]]:
    """Ask a driver for every action and append the results to `trace`; return the connections still open.

    Actions on a connection that could not be opened, or that the script closed, are skipped, and so are writes after a
    half close, and a second beginning of TLS. `patience` says how many seconds a read waits, if not as long as the
    script says.

    Raises `ScriptError` for a restart.
    """
    open_ones: set[str] = set()
    half: set[str] = set()
    streams: set[str] = set()
    """Those that may begin TLS."""
    for action in script:
        if isinstance(action, Restart):
            raise ScriptError("a script that restarts its server cannot be played on one that runs")
        name: str = getattr(action, "connection", "")
        if not _is_sensible(action, name in open_ones, name in half) or (
            isinstance(action, Secure) and name not in streams
        ):
            continue
        if substitution is not None and isinstance(action, Write):
            substitution.follow(trace)
            action = msgspec.structs.replace(action, data=substitution.substituted(action.data))
        if patience is not None and isinstance(action, Read):
            action = Read(action.connection, patience(action))
        answer = yield action
        shown = action.data if isinstance(action, Write) and answer.kind is Kind.SENT else answer.data
        link = action.link if isinstance(action, Open) else ""
        trace.append(TraceEvent(round(answer.now * 1e6), name, answer.kind, shown, link))
        if substitution is not None:
            yield from _followed(action, trace, substitution)
        if isinstance(action, Open) and answer.kind is Kind.OPENED:
            open_ones.add(name)
            half.discard(name)
            (streams.add if action.transport == "stream" else streams.discard)(name)
        elif isinstance(action, Secure):
            streams.discard(name)
        elif isinstance(action, Shut):
            (half.add if answer.kind is Kind.HALF_CLOSED else open_ones.discard)(name)
    return frozenset(open_ones)


def _followed(action: ScriptStep, trace: Trace, substitution: WriteSubstitution) -> ActionGenerator[None]:
    """Look for tokens in what came; read the rest of a message that comes in pieces, which may hold one."""
    substitution.follow(trace)
    for _ in range(MOST_PIECES):
        if not isinstance(action, Read):
            return
        if trace[-1].kind is not Kind.RECEIVED or not substitution.is_cut_short(trace[-1].connection):
            return
        answer = yield action
        trace.append(TraceEvent(round(answer.now * 1e6), trace[-1].connection, answer.kind, answer.data))
        substitution.follow(trace)


def _is_sensible(action: ScriptStep, is_open: bool, is_half_closed: bool) -> bool:
    """Return whether a driver can be asked for the action: a mutated script stays playable."""
    match action:
        case Open():
            return not is_open
        case Write() | Secure():
            return is_open and not is_half_closed
        case Read() | Shut():
            return is_open
    return True
