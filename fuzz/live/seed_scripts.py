"""The conversations of the vectors as seed scripts, on as many connections as they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import TYPE_CHECKING

from wireproof.conformance.model.actions import Action, Open, Read, Secure, Shut, Sleep, Write
from wireproof.fuzz.live.generation import ScriptGenerator
from wireproof.fuzz.live.one_at_a_time import in_turn
from wireproof.fuzz.live.token_substitution import placeholder, tokens_in
from wireproof.fuzz.script import Script
from wireproof.fuzz.seeds import conversations
from wireproof.protocols import Role
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.json_values import JsonObject

if TYPE_CHECKING:
    from wireproof.fuzz.live.context import FuzzContext

__all__ = ["generated_scripts", "of_several_connections", "script_actions", "seeds"]

PAUSE = 0.004
HANDSHAKE = 0.5
"""Seconds that a TLS handshake may take."""
MOST_WAITED = 0.3
"""Seconds of waiting beyond which a conversation is no seed."""
LONGEST = 4096
FEW = 4
"""Connections of a conversation of several ones."""
DRAWN = 200
"""Number of generated scripts."""
GENERATOR_SEED = "wireproof talks"
"""Seed of the generated scripts; another text gives other scripts."""
SHUT = {"half_close": "half", "close": "close", "reset": "reset"}


def seeds(context: FuzzContext) -> Iterator[Script]:
    """Yield the short conversations, then generated scripts; the same each time."""
    for one, _ in usable(context):
        yield tuple(script_actions(one["steps"], context))
    yield from generated_scripts(context)


def usable(context: FuzzContext) -> Iterator[tuple[JsonObject, float]]:
    """Yield the conversations that are short and quick, each with the seconds that it waits."""
    for one in conversations(context.name, context.profile, context.variant):
        steps = one["steps"]
        if context.may_fail(one["id"]):
            continue
        waited = sum(step.get("seconds", 0.0) for step in steps)
        sent = sum(len(step.get("hex", "")) // 2 for step in steps if step["do"] == "send")
        if waited <= MOST_WAITED and 0 < sent <= LONGEST:
            yield one, waited


def of_several_connections(context: FuzzContext) -> Iterator[Script]:
    """Yield short valid conversations of a few connections, and generated scripts, one connection after the other."""
    for one, _ in usable(context):
        script = in_turn(tuple(script_actions(one["steps"], context)))
        is_whole = all(one.of_client.is_whole for one in context.read(script).values())
        if is_whole and 1 < sum(isinstance(step, Open) for step in script) <= FEW:
            yield script
    yield from map(in_turn, generated_scripts(context))


def generated_scripts(context: FuzzContext) -> Iterator[Script]:
    """Yield generated scripts; the same each time."""
    generator = ScriptGenerator(context, Random(GENERATOR_SEED))
    for _ in range(DRAWN):
        yield generator.script()


def script_actions(steps: Iterable[JsonObject], context: FuzzContext) -> Iterator[Action]:
    """Yield the actions of a conversation, with canaries in names where requests are decoded independently.

    Tokens are written as placeholders. Of several replies that are due together only the first is waited for.
    """
    before: Action | None = None
    for action in _each(steps, context):
        if not (isinstance(action, Read) and action == before):
            yield action
        before = action


def _each(steps: Iterable[JsonObject], context: FuzzContext) -> Iterator[Action]:
    lines, placeholders = {}, dict[bytes, bytes]()
    for step in steps:
        name, data = step["connection"], bytes.fromhex(step.get("hex", ""))
        match step["do"]:
            case "connect":
                link = context.symbols.protocol.link_of(step.get("link", ""))
                lines[name] = context.dissection(step.get("link", ""))
                listener = step.get("listener", link.listener)
                yield Open(name, step.get("link", ""), link.transport, listener=listener)
            case "send":
                if name in lines:
                    lines[name].feed(Role.CLIENT, data)
                for token, stand_in in placeholders.items():
                    data = data.replace(token, stand_in)
                yield Write(name, data if context.by_state else context.with_canaries(data))
            case "receive" | "closed":
                placeholders.update(_tokens(lines.get(name), name, data, context))
                yield Read(name, PAUSE)
            case "secure":
                lines[name].follow_tls()
                yield Secure(name, HANDSHAKE)
            case "wait":
                yield Sleep(step["seconds"])
            case verb if verb in SHUT:
                yield Shut(name, SHUT[verb])


def _tokens(line: Dissection | None, name: str, data: bytes, context: FuzzContext) -> Iterator[tuple[bytes, bytes]]:
    """Yield each token in what the server sends next on a connection, with its placeholder."""
    frames = line.feed(Role.SERVER, data) if line is not None else []
    for message in (one.message for one in frames if one.sender is Role.SERVER):
        for token in tokens_in(message, context.token_fields):
            yield token, placeholder(name, len(token))
