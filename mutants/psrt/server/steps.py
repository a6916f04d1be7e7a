"""PUBLISH, SUBSCRIBE and UNSUBSCRIBE put together from steps, so that a fault can take another one or leave one out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wireproof.mutants.psrt.server.mutant import HandlerPatch
from wireproof.mutants.psrt.server.patches import Ask, client_of, with_handler
from wireproof.protocols.psrt.requests import Publish, Subscribe, Unsubscribe
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.control_requests import text
from wireproof.reference_server.psrt.state import DENIED, ERROR, OK, Answer, Handler, RefusedError, State
from wireproof.reference_server.psrt.topics import depth, is_mask, normalised

__all__ = ["Test", "denied", "listed", "masked", "may_not_subscribe", "publishing", "subscribing", "too_deep",
           "unsubscribing"]  # fmt: skip

Test = Callable[[str, Ask], Answer | None]
"""(normalised topic, what is asked) -> the answer if it is bad, None if it is not."""
Act = Callable[[Client, str, State], object]


def too_deep(topic: str, ask: Ask) -> Answer | None:
    """Whether it has too many levels."""
    return ERROR if depth(topic) > ask.state.max_depth else None


def masked(topic: str, ask: Ask) -> Answer | None:
    """Whether it holds a wildcard."""
    if is_mask(topic):
        raise RefusedError("expected a topic, got a mask")
    return None


def denied(topic: str, ask: Ask) -> Answer | None:
    """Whether it may not be published to."""
    return None if client_of(ask).rights.may_publish(topic) else DENIED


def may_not_subscribe(mask: str, ask: Ask) -> Answer | None:
    """Whether it may not be subscribed."""
    return None if client_of(ask).rights.may_subscribe(mask) else DENIED


def listed(topics: bytes) -> Iterable[str]:
    """Return the items of a list of topics."""
    return filter(None, text(topics, "topics").split("\0"))


def publishing(
    name: Callable[[str], str] = normalised,
    tests: Iterable[Test] = (too_deep, masked, denied),
    reaches: Callable[[Answer], bool] = lambda answer: False,
) -> HandlerPatch:
    """Publish to `name(topic)` what passes `tests`, and what does not where `reaches(answer)`."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Publish, session: Any, now: int) -> Answer:
            if not request.topic:
                raise RefusedError("no topic")
            topic = name(text(request.topic, "topic"))
            ask = Ask(request, session, now, state)
            answer = next((bad for bad in (test(topic, ask) for test in tests) if bad is not None), OK)
            if answer == OK or reaches(answer):
                state.publish(topic, request.priority, request.message)
            return answer

        return handle

    return with_handler(Publish, make)


def _add(client: Client, mask: str, state: State) -> None:
    state.subscriptions.add(client, mask)


def _remove(client: Client, mask: str, state: State) -> None:
    state.subscriptions.remove(client, mask)


def subscribing(
    name: Callable[[str], str] = normalised,
    tests: Iterable[Test] = (too_deep, may_not_subscribe),
    items: Callable[[bytes], Iterable[str]] = listed,
    act: Act = _add,
    at_bad: str = "stop",
) -> HandlerPatch:
    """Subscribe to the items that pass `tests`; at a bad one "stop", "skip" it, "take" it first or go "back"."""
    return _each(Subscribe, name, tests, items, act, at_bad)


def unsubscribing(
    name: Callable[[str], str] = normalised,
    tests: Iterable[Test] = (too_deep,),
    items: Callable[[bytes], Iterable[str]] = listed,
    act: Act = _remove,
    at_bad: str = "stop",
) -> HandlerPatch:
    """Do the same in order to unsubscribe."""
    return _each(Unsubscribe, name, tests, items, act, at_bad)


def _each(kind: type, name: Any, tests: Any, items: Any, act: Act, at_bad: str) -> HandlerPatch:
    undo = _remove if kind is Subscribe else _add

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: Any, now: int) -> Answer:
            ask, answer, done = Ask(request, session, now, state), OK, []
            before = state.subscriptions.of(client_of(ask))
            for mask in map(name, items(request.topics)):
                bad = next((bad for bad in (test(mask, ask) for test in tests) if bad is not None), None)
                if bad is None or at_bad == "take":
                    act(client_of(ask), mask, state)
                    done.append(mask)
                answer = answer if bad is None else bad
                if bad is not None and at_bad != "skip":
                    break
            if answer != OK and at_bad == "back":
                for mask in done:
                    if (mask in before) is (kind is Unsubscribe):
                        undo(client_of(ask), mask, state)
            return answer

        return handle

    return with_handler(kind, make)
