"""`--trace`: a line for each request and each answer, decoded; passwords are not shown."""

from __future__ import annotations

import msgspec

from wireproof.protocols.messages import Request
from wireproof.protocols.psrt.requests import Datagram, Login
from wireproof.reference_server.psrt.state import Answer, Handler, Handlers, RefusedError
from wireproof.reference_server.service import Trace

__all__ = ["traced"]

SHOWN = 400
"""Characters of one message that are shown."""


def traced(handlers: Handlers, trace: Trace) -> Handlers:
    """Return the same handlers, each of which passes request and answer to `trace` as lines."""
    return {request: _traced(handler, trace) for request, handler in handlers.items()}


def _traced(handler: Handler, trace: Trace) -> Handler:
    def handle(request: Request, sender: object, now: int) -> Answer:
        name = getattr(sender, "name", "udp")
        trace(f"{name} > {_shown(request)}")
        try:
            answer = handler(request, sender, now)
        except RefusedError as refusal:
            trace(f"{name} < nothing: {refusal}")
            raise
        trace(f"{name} < {_shown(answer) if answer else 'nothing'}")
        return answer

    return handle


def _shown(message: object) -> str:
    if isinstance(message, Login | Datagram) and message.password:
        message = msgspec.structs.replace(message, password=b"***")
    text = repr(message)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
