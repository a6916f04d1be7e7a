"""Servers that are wrong on purpose, each in one known way tied to the clause it breaks; a suite must find each out.

A fault replaces handlers of the reference semantics; everything else stays correct.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from protocols.frames import FrameContext
from protocols.throttr import Attribute, Change
from protocols.throttr.replies import QueryReply
from protocols.throttr.requests import Query, Update
from reference_server.throttr.session import ThrottrSession
from reference_server.throttr.state import Handlers, State

__all__ = ["FAULTS", "Fault"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One known way to be wrong."""

    clause: str
    """The clause it breaks."""
    told: str
    """What the server does, in one sentence."""
    handlers: Callable[[Handlers, State], Handlers]
    """(correct handlers, state) -> the handlers to replace."""


def _quota_low_byte(correct: Handlers, state: State) -> Handlers:
    query, codec = correct[Query], state.codec

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        answer = query(request, session, now)
        reply, _ = codec.replies[Query](answer, 0, len(answer), FrameContext(1 << 20))
        if not isinstance(reply, QueryReply):
            return answer
        return codec.encode(msgspec.structs.replace(reply, quota=reply.quota & 0xFF))

    return {Query: handle}


def _ttl_update_ignored(correct: Handlers, state: State) -> Handlers:
    update = correct[Update]

    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        if request.attribute == Attribute.TTL:
            request = msgspec.structs.replace(request, change=Change.INCREASE, value=0)
        return update(request, session, now)

    return {Update: handle}


FAULTS: Mapping[str, Fault] = {
    "quota-low-byte": Fault(
        "THR-QUERY-6", "QUERY answers only the low byte of the quota, the others as zero.", _quota_low_byte
    ),
    "ttl-update-ignored": Fault("THR-UPDATE-25", "UPDATE of a TTL is accepted and moves nothing.", _ttl_update_ignored),
}
