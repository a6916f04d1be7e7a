"""`--trace`: a line for each request and each answer, decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wireproof.protocols.messages import Request
from wireproof.reference_server.service import Trace

__all__ = ["traced"]

SHOWN = 400
"""Characters of one message that are shown."""

Handler = Callable[[Any, Any, int], Any]
"""(request, who asks, now in monotonic ns) -> the answer."""


def _itself(message: Any) -> Any:
    return message


def _name(asker: Any) -> str:
    return str(asker.name)


def traced(
    handlers: Mapping[type[Request], Handler],
    trace: Trace,
    *,
    name: Callable[[Any], str] = _name,
    hidden: Callable[[Any], Any] = _itself,
    decoded: Callable[[Any, Any], object] = lambda request, answer: answer,
) -> dict[type[Request], Handler]:
    """Return the same handlers, each of which passes request and answer to `trace` as lines.

    `name` says who asks, `hidden` returns a request without its secrets, `decoded` what an answer (to a request) means.
    """

    def traced_one(handler: Handler) -> Handler:
        def handle(request: Request, asker: object, now: int) -> Any:
            who = name(asker)
            trace(f"{who} > {_shown(hidden(request))}")
            try:
                answer = handler(request, asker, now)
            except Exception as refusal:
                trace(f"{who} < nothing: {refusal}")
                raise
            trace(f"{who} < {_shown(decoded(request, answer)) if answer else 'nothing'}")
            return answer

        return handle

    return {request: traced_one(handler) for request, handler in handlers.items()}


def _shown(message: object) -> str:
    text = message if isinstance(message, str) else repr(message)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
