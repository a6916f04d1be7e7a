"""Handlers of what clients send to each other, and of subscriptions to events."""

from __future__ import annotations

from msgspec.structs import replace

from wireproof.protocols.tmqp import ResultCode
from wireproof.protocols.tmqp.enums import SUBSCRIBE
from wireproof.protocols.tmqp.replies import DirectMessage, Response
from wireproof.protocols.tmqp.requests import Respond, SendDirect, Subscribe
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.events import CHANNEL_EVENTS, EVENTS, QUEUE_EVENTS, Events
from wireproof.reference_server.tmqp.headers import header, whole
from wireproof.reference_server.tmqp.relaying import relayed
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.state import Answer, Handlers, State

__all__ = ["Direct", "receivers"]

BY_NAME, BY_TYPE = b"@name:", b"@type:"


def receivers(state: State, target: bytes, *, only_first: bool) -> list[Client]:
    """Return the clients that a target means: an id, a name or a type (E14); the oldest first."""
    if target.startswith(BY_NAME):
        found = [one for one in state.clients.values() if one.name == target[len(BY_NAME) :]]
    elif target.startswith(BY_TYPE):
        found = [one for one in state.clients.values() if one.type == target[len(BY_TYPE) :]]
    else:
        found = [one for one in [state.clients.get(target)] if one is not None]
    return found[:1] if only_first else found


class Direct:
    """The handlers of messages between clients, and of events."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._events = Events(state)

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {SendDirect: self.send_direct, Respond: self.respond, Subscribe: self.event}

    def send_direct(self, request: SendDirect, session: TmqpSession, now: int) -> Answer:
        """Relay a message to the clients that its target means."""
        state, client = self._state, session.known
        if not request.target:
            return None
        found = receivers(state, request.target, only_first=bool(request.one_delivery))
        if not found:
            is_id = not request.target.startswith((BY_NAME, BY_TYPE))
            always = is_id and state.rules.reports_unknown_clients
            return state.answer(request, client, ResultCode.NOT_FOUND, always=always)
        frame = state.codec.encode(relayed(DirectMessage, request, client.id, state))
        for receiver in found:
            receiver.push(frame)
        return None

    def respond(self, request: Respond, session: TmqpSession, now: int) -> Answer:
        """Relay an answer to the client in its target; what nobody can get is dropped."""
        receiver = self._state.clients.get(request.target)
        if receiver is not None:
            frame = self._state.codec.encode(relayed(Response, request, session.known.id, self._state))
            receiver.push(frame)
        return None

    def event(self, request: Subscribe, session: TmqpSession, now: int) -> Answer:
        """Subscribe to an event, or take that back."""
        state, client, name = self._state, session.known, request.target
        if not state.rules.marks_answers_to_events:
            request = replace(request, one_delivery=0, high_priority=0)
        if name not in EVENTS:
            return state.answer(request, client, ResultCode.NOT_FOUND) if state.rules.answers_unknown_events else None
        is_of_queue = name in QUEUE_EVENTS
        channel_name, number = b"", 0
        if is_of_queue or name in CHANNEL_EVENTS:
            channel = state.channel(header(request.headers, b"channel-name") or b"")
            found = whole(header(request.headers, b"queue-id")) if is_of_queue else 0
            is_there = not is_of_queue or (channel is not None and found in channel.queues)
            if channel is None or found is None or not (is_there or state.rules.keeps_subscriptions):
                return state.answer(request, client, ResultCode.FAILED, always=True)
            channel_name, number = channel.key, found
        key = (name, channel_name, number)
        if request.content_type != SUBSCRIBE:
            self._events.unsubscribe(client, key)
        elif not self._events.subscribe(client, key):
            return state.answer(request, client, ResultCode.LIMIT_EXCEEDED, always=True)
        return state.answer(request, client, ResultCode.OK, always=True)
