"""Routers: messages that go to queues and clients as bindings say (tmqp.md 2.8); they are set up by `--config`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from wireproof.protocols.tmqp import Header, ResultCode
from wireproof.protocols.tmqp.enums import DEFAULT_TTL
from wireproof.protocols.tmqp.replies import Confirmation, DirectMessage, Response
from wireproof.protocols.tmqp.requests import Produce, Route
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.config import BindingEntry, RouterEntry
from wireproof.reference_server.tmqp.direct import receivers
from wireproof.reference_server.tmqp.pushing import Pushing
from wireproof.reference_server.tmqp.relaying import relayed
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.state import NACK, Answer, Handlers, State

__all__ = ["Router", "Routing"]


class Router:
    """One router: its bindings, the highest priority first, and whose turn it is."""

    def __init__(self, entry: RouterEntry) -> None:
        self.entry = entry
        self.bindings = sorted(entry.bindings, key=lambda one: -one.priority)
        self._turn = 0

    def tried(self) -> list[BindingEntry]:
        """Return the bindings in the order in which a message is offered to them."""
        if self.entry.method != "round-robin" or not self.bindings:
            return self.bindings
        turn, self._turn = self._turn % len(self.bindings), self._turn + 1
        return self.bindings[turn:] + self.bindings[:turn]


class Routing:
    """The handler of messages to routers."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._pushing = Pushing(state)
        self._routers: Mapping[bytes, Router] = {
            name: Router(entry) for name, entry in state.config.routers.items() if entry.is_enabled
        }

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {Route: self.route}

    def route(self, request: Route, session: TmqpSession, now: int) -> Answer:
        """Offer a message to bindings; where none of those that took it answers, the server does."""
        router = self._routers.get(request.target)
        served: list[BindingEntry] = []
        for binding in router.tried() if router is not None else ():
            if self._is_served(binding, request, session.known):
                served.append(binding)
                if router is not None and router.entry.method != "distribute":
                    break
        if any(one.interaction != "none" for one in served):
            return None
        return self._answer(request, session.known, served)

    def _is_served(self, binding: BindingEntry, request: Route, client: Client) -> bool:
        """Send a message where a binding says; return whether somebody took it."""
        flags = int(binding.interaction == "response"), int(binding.interaction == "acknowledge")
        target, state = binding.target.encode(), self._state
        if binding.kind == "queue":
            id_ = request.id if binding.interaction != "none" and request.id else state.new_id()
            copy = Produce(
                request.one_delivery,
                request.high_priority,
                *flags,
                id=id_,
                target=target,
                content_type=binding.content_type,
                headers=request.headers,
                payload=request.payload,
            )
            return self._pushing.push(copy, client, ttl=DEFAULT_TTL) == ResultCode.OK
        found = receivers(state, target, only_first=False)
        if found:
            message = relayed(DirectMessage, request, client.id, state)
            message = replace(message, target=target, content_type=binding.content_type)
            frame = state.codec.encode(replace(message, pending_response=flags[0], pending_ack=flags[1]))
            for receiver in found:
                receiver.push(frame)
        return bool(found)

    def _answer(self, request: Route, client: Client, served: Sequence[BindingEntry]) -> Answer:
        """Return the server's own answer to a publisher."""
        if not request.id:
            return None
        if request.pending_ack:
            headers = () if served else (Header(NACK, b"no-consumers"),)
            answer = Confirmation(
                id=request.id, target=request.target, content_type=request.content_type, headers=headers
            )
            sent = [one for one in served if one.kind != "queue"]
            if self._state.rules.answers_for_routers or not sent:
                return answer
            source, number = sent[-1].target.encode(), sent[-1].content_type
            return replace(answer, high_priority=1, source=source, target=client.id, content_type=number)
        if not request.pending_response:
            return None
        code = ResultCode.OK if served else ResultCode.NOT_FOUND
        return Response(id=request.id, target=client.id, content_type=code)
