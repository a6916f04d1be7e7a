"""`--trace`: a line for each request and each answer, decoded."""

from __future__ import annotations

from wireproof.protocols.messages import Request
from wireproof.reference_server.namechan.state import Answer, Handler, Handlers
from wireproof.reference_server.service import Trace

__all__ = ["traced"]

SHOWN = 400
"""Characters of one message that are shown."""


def traced(handlers: Handlers, trace: Trace) -> Handlers:
    """Return the same handlers, each of which passes request and answer to `trace` as lines."""
    return {request: _traced(handler, trace) for request, handler in handlers.items()}


def _traced(handler: Handler, trace: Trace) -> Handler:
    def handle(request: Request, session: object, now: int) -> Answer:
        name = getattr(session, "name", b"?").decode(errors="replace")
        trace(f"{name} > {_shown(request)}")
        answer = handler(request, session, now)
        trace(f"{name} < {_shown(answer) if answer else 'nothing'}")
        return answer

    return handle


def _shown(message: object) -> str:
    text = repr(message)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
