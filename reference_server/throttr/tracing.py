"""`--trace`: a line for each request and each answer, decoded."""

from __future__ import annotations

from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Codec
from wireproof.protocols.throttr.requests import Event, Publish
from wireproof.reference_server.service import Trace
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import Handler, Handlers

__all__ = ["traced"]

SHOWN = 400
"""Characters of one message that are shown."""


def traced(handlers: Handlers, codec: Codec, trace: Trace) -> Handlers:
    """Return the same handlers, each of which passes request and answer to `trace` as lines."""
    return {request: _traced(handler, codec, trace) for request, handler in handlers.items()}


def _traced(handler: Handler, codec: Codec, trace: Trace) -> Handler:
    def handle(request: Request, session: ThrottrSession, now: int) -> bytes:
        name = session.id.hex()[:8]
        trace(f"{name} > {_shown(request)}")
        answer = handler(request, session, now)
        if isinstance(request, Event | Publish):
            trace(f"{name} < {answer.hex(' ')[:SHOWN]}")
        else:
            reply, _ = codec.replies[type(request)](answer, 0, len(answer), FrameContext(1 << 62, request=request))
            trace(f"{name} < {_shown(reply)}")
        return answer

    return handle


def _shown(message: object) -> str:
    text = repr(message)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
