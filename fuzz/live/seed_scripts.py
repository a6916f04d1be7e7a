"""The conversations of the vectors as scripts, on as many connections as they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from wireproof.conformance.model.actions import Action, Open, Read, Shut, Sleep, Write
from wireproof.fuzz.live.generation import Drawing
from wireproof.fuzz.live.token_substitution import place, told_in
from wireproof.fuzz.script import Script
from wireproof.fuzz.seeds import conversations
from wireproof.protocols import Role

if TYPE_CHECKING:
    from wireproof.fuzz.live.context import Ground

__all__ = ["actions", "drawn", "seeds"]

PAUSE = 0.02
MOST_WAITED = 0.3
"""Seconds of waiting beyond which a conversation is no seed."""
LONGEST = 4096
DRAWN = 200
"""Scripts that ask anything."""
SHUT = {"half_close": "half", "close": "close", "reset": "reset"}


def seeds(ground: Ground) -> Iterator[Script]:
    """Yield the conversations that are short and in clear, then scripts that ask anything; the same each time."""
    for one, _ in usable(ground):
        yield tuple(actions(one["steps"], ground))
    yield from drawn(ground)


def usable(ground: Ground) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Yield the conversations that are short, quick and in clear, each with the seconds that it waits."""
    for one in conversations(ground.name, ground.profile, ground.variant):
        steps = one["steps"]
        if ground.may_fail(one["id"]):
            continue
        waited = sum(step.get("seconds", 0.0) for step in steps)
        sent = sum(len(step.get("hex", "")) // 2 for step in steps if step["do"] == "send")
        if waited <= MOST_WAITED and 0 < sent <= LONGEST and not any(step["do"] == "secure" for step in steps):
            yield one, waited


def drawn(ground: Ground) -> Iterator[Script]:
    """Yield scripts that ask anything; the same each time."""
    drawing = Drawing(ground, Random("wireproof talks"))
    for _ in range(DRAWN):
        yield drawing.script()


def actions(steps: Iterable[Mapping[str, Any]], ground: Ground) -> Iterator[Action]:
    """Yield the actions of a conversation, names marked where requests stand by themselves.

    What a reply told is asked for again by its place; of several answers that are due together the first is waited for.
    """
    before: Action | None = None
    for action in _each(steps, ground):
        if not (isinstance(action, Read) and action == before):
            yield action
        before = action


def _each(steps: Iterable[Mapping[str, Any]], ground: Ground) -> Iterator[Action]:
    lines, places = {}, dict[bytes, bytes]()
    for step in steps:
        name, data = step["connection"], bytes.fromhex(step.get("hex", ""))
        match step["do"]:
            case "connect":
                link = ground.symbols.protocol.link_of(step.get("link", ""))
                lines[name] = ground.dissection(step.get("link", ""))
                yield Open(name, step.get("link", ""), link.transport)
            case "send":
                if name in lines:
                    lines[name].feed(Role.CLIENT, data)
                for told, stands in places.items():
                    data = data.replace(told, stands)
                yield Write(name, data if ground.by_state else ground.marked(data))
            case "receive" | "closed":
                frames = lines[name].feed(Role.SERVER, data) if name in lines else []
                for message in (one.message for one in frames if one.sender is Role.SERVER):
                    places.update((told, place(name, len(told))) for told in told_in(message, ground.echoed))
                yield Read(name, PAUSE)
            case "wait":
                yield Sleep(step["seconds"])
            case verb if verb in SHUT:
                yield Shut(name, SHUT[verb])
