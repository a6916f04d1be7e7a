"""`--trace`: a line for each request and each answer, decoded; the text of a hello is not shown."""

from __future__ import annotations

from msgspec.structs import replace

from wireproof.protocols.messages import Request
from wireproof.protocols.tmqp.requests import Hello
from wireproof.reference_server.service import Trace
from wireproof.reference_server.tmqp.state import Answer, Handler, Handlers, RefusedError

__all__ = ["traced"]

SHOWN = 400
"""Characters of one message that are shown."""


def traced(handlers: Handlers, trace: Trace) -> Handlers:
    """Return the same handlers, each of which passes request and answer to `trace` as lines."""
    return {request: _traced(handler, trace) for request, handler in handlers.items()}


def _traced(handler: Handler, trace: Trace) -> Handler:
    def handle(request: Request, session: object, now: int) -> Answer:
        name = getattr(session, "name", "?")
        trace(f"{name} > {_shown(request)}")
        try:
            answer = handler(request, session, now)
        except RefusedError as refusal:
            trace(f"{name} < nothing: {refusal}")
            raise
        trace(f"{name} < {_shown(answer) if answer else 'nothing'}")
        return answer

    return handle


def _shown(message: object) -> str:
    if isinstance(message, Hello) and b"token" in message.payload.lower():
        message = replace(message, payload=b"***")
    text = repr(message)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
