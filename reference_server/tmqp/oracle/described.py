"""JSON in the model: the options that a payload gives, and what is reported of channels and queues."""

from __future__ import annotations

from msgspec.structs import asdict

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.tmqp import Codec
from wireproof.protocols.tmqp.bodies import QueueOptions
from wireproof.protocols.tmqp.enums import QueueStatus
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.reference_server.tmqp.oracle.expected import Body, Numbers, as_text
from wireproof.reference_server.tmqp.oracle.world import ModelChannel, ModelQueue, Options, World

__all__ = ["channel_body", "options_of", "queue_body"]

KEYS = ("just-allow", "after-received", "after-sent", "after-acknowledged", "put-back-start", "put-back-end", "refuse")
"""Deliveries that options may name."""
CALLED = {"SendOnlyFirstAcquirer": "OnlyFirstAcquirer"}
"""Option -> how information calls it; the others are called the same, or are not reported."""
HIDDEN = ("Status", "MessageDeliveryHandler", "AllowedQueues", "AllowMultipleQueues")
OF_CHANNELS = ("ClientLimit", "QueueLimit", "DestroyWhenEmpty")
SPARE = ("EventHandler", "ChannelEventHandler", "Authenticator")
"""Options that the model does not follow."""
LONGEST_MS = 1 << 40
OF_COUNTS = ("ReceivedMessages", "SentMessages", "Deliveries", "Acks", "NegativeAcks", "TimeoutMessages")
Given = tuple[Options, set[str]]
"""Options, and the names of those that somebody gave."""


def options_of(
    world: World, codec: Codec, kind: type[QueueOptions], before: Options, request: RequestFrame
) -> Given | None:
    """Return the options that a payload makes of others, and which it names; None for what is none."""
    if not request.payload:
        return dict(before), set()
    try:
        found = asdict(codec.decode(kind, request.payload))
    except MalformedFrameError:
        return None
    spare = list(SPARE) if world.rules.has_limits else [*SPARE, *OF_CHANNELS, "MessageLimit"]
    spare += [] if world.rules.waits_for_acknowledge else ["WaitForAcknowledge"]
    given = {name: value for name, value in found.items() if value is not None and name not in spare}
    handler = (given.pop("MessageDeliveryHandler", None) or b"").decode("utf-8", "replace")
    handler = handler if handler in KEYS or world.rules.has_limits else ""
    numbers = [value for value in given.values() if isinstance(value, int) and not isinstance(value, bool)]
    is_right = (
        (not handler or handler in KEYS)
        and all(0 <= one <= LONGEST_MS for one in numbers)
        and all(0 <= one <= 0xFFFF for one in given.get("AllowedQueues", ()))
        and given.get("Status", 0) in list(QueueStatus)
    )
    if handler:
        given["MessageDeliveryHandler"] = handler
    return ({**before, **given}, set(given)) if is_right else None


def channel_body(world: World, channel: ModelChannel) -> Body:
    """Return what is reported of a channel."""
    members = {"Name": as_text(channel.name), **_described(world, channel.options, channel.given)}
    members |= {"ActiveClients": len(channel.members), "Queues": Numbers(frozenset(channel.queues))}
    if world.is_strict:
        members["AllowMultipleQueues"] = channel.options.get("AllowMultipleQueues", True)
    return Body({name: value for name, value in members.items() if name != "MessageLimit"})


def queue_body(world: World, queue: ModelQueue, *, counted: bool = False) -> Body:
    """Return what is reported of a queue; `counted`: what happened in it, too, which is only recommended."""
    members: dict[str, object] = {"Channel": as_text(queue.channel.name), "Id": queue.number}
    members["Status"] = queue.status.name.replace("_", "")
    if not queue.is_vague:
        members |= {"PriorityMessages": len(queue.high), "Messages": len(queue.normal)}
    if world.is_strict:
        members |= _described(world, queue.options, queue.given)
    if (counted or world.is_strict) and not queue.is_vague:
        members |= {name: queue.counts[name] for name in OF_COUNTS}
    return Body({name: value for name, value in members.items() if name not in OF_CHANNELS})


def _described(world: World, options: Options, given: set[str]) -> dict[str, object]:
    """Return the members that hold options; in a server that others use, those that were given."""
    shown = {name: value for name, value in options.items() if name not in HIDDEN}
    return {CALLED.get(name, name): value for name, value in shown.items() if world.is_strict or name in given}
