"""Routers in the model: what goes to queues and clients as the bindings of a configuration say (tmqp.md 2.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wireproof.protocols.tmqp.enums import DEFAULT_TTL, ResultCode
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import Confirmation, DirectMessage, Response
from wireproof.protocols.tmqp.requests import Produce
from wireproof.reference_server.tmqp.oracle.expected import Headers, Made, Refusal, Shape
from wireproof.reference_server.tmqp.oracle.world import Item, ModelClient, ModelQueue, World

__all__ = ["CONFIGURED", "ModelRouting", "Routers", "routers_of"]

CONFIGURED = b"wireproof-"
"""What the names of a target's routers begin with, where its configuration is not known (vectors/tmqp/config.yaml)."""
DISTRIBUTE, IN_TURNS = "distribute", "round-robin"
OF_METHODS = {DISTRIBUTE: "TMQP-ROUTE-1", "only-first": "TMQP-ROUTE-2", IN_TURNS: "TMQP-ROUTE-3"}
"""Method -> the clause that says whom it reaches."""
INTERACTION = "TMQP-ROUTE-6"


@dataclass(frozen=True)
class _Binding:
    """Where a router sends messages."""

    is_queue: bool
    target: bytes
    number: int
    priority: int
    interaction: str


@dataclass
class _Router:
    method: str
    bindings: Sequence[_Binding]
    turn: int | None
    """Whose turn it is; None where others have used it before."""


Routers = Mapping[bytes, tuple[str, Sequence[_Binding]]]
"""Name -> method and bindings, those of the highest priority first."""
Push = Callable[[ModelClient, RequestFrame, ModelQueue, Item], None]


def routers_of(config: Mapping[str, Any]) -> Routers:
    """Return the routers of a configuration."""
    return {
        name.encode(): (one["method"], _bindings(one if one.get("enabled", True) else {}))
        for name, one in config.get("routers", {}).items()
    }


def _bindings(entry: Mapping[str, Any]) -> Sequence[_Binding]:
    found = [
        _Binding(
            one["kind"] == "queue",
            one["target"].encode(),
            one.get("content_type", 0),
            one.get("priority", 0),
            one.get("interaction", "none"),
        )
        for one in entry.get("bindings") or ()
    ]
    return sorted(found, key=lambda one: -one.priority)


class ModelRouting:
    """Follows routers."""

    def __init__(
        self,
        world: World,
        routers: Routers | None,
        queue_of: Callable[[bytes, int], ModelQueue | None],
        refused: Callable[[ModelQueue, RequestFrame], object],
        push: Push,
    ) -> None:
        """`routers`: those of the configuration, None where that is not known; `push` lets a queue take a message."""
        self._world, self._queue_of, self._refused, self._push = world, queue_of, refused, push
        self._routers: dict[bytes, _Router] | None = None
        if routers is not None:
            self._routers = {
                name: _Router(method, bindings, 0 if world.is_strict else None)
                for name, (method, bindings) in routers.items()
            }
            world.routers = {name: OF_METHODS[one.method] for name, one in self._routers.items()}

    def route(self, client: ModelClient, request: RequestFrame) -> None:
        """Follow a message to a router; where nothing is known of the router, everything is accepted from then on."""
        unknown = self._routers is None and request.target.startswith(CONFIGURED)
        if unknown or not request.target:
            self._world.is_lost = True
            return
        router = (self._routers or {}).get(request.target)
        if router is None:
            self._answer(client, request, served=False)
            return
        served = self._served(router, request)
        direct = any(not one.is_queue for one in served or ())
        if served is None or (direct and not self._world.rules.answers_for_routers):
            self._world.is_lost = True  # a release looks for clients once a second, and answers in their name
            return
        for one in served:
            self._send(client, request, one, OF_METHODS[router.method])
        if all(one.interaction == "none" for one in served):
            self._answer(client, request, served=bool(served))

    def _served(self, router: _Router, request: RequestFrame) -> list[_Binding] | None:
        """Return the bindings that take a message; None where it is not known whose turn it is."""
        bindings = router.bindings
        if router.method == DISTRIBUTE:
            return [one for one in bindings if self._takes(one, request)]
        turns = [0] if router.method != IN_TURNS or not bindings else [router.turn or 0]
        if router.turn is None and router.method == IN_TURNS:
            turns = list(range(len(bindings)))
        found = []
        for turn in turns:
            tried = [*bindings[turn:], *bindings[:turn]]
            found.append([*(one for one in tried if self._takes(one, request))][:1])
        if router.turn is not None:
            router.turn = (router.turn + 1) % max(1, len(bindings))
        return found[0] if all(one == found[0] for one in found) else None

    def _takes(self, one: _Binding, request: RequestFrame) -> bool:
        if not one.is_queue:
            return bool(self._receivers(one))
        queue = self._queue_of(one.target, one.number)
        return queue is not None and self._refused(queue, request) is None

    def _receivers(self, one: _Binding) -> list[ModelClient]:
        known = self._world.clients
        if one.target.startswith(b"@name:"):
            return [client for client in known if client.name == one.target[6:]]
        if one.target.startswith(b"@type:"):
            return [client for client in known if client.type == one.target[6:]]
        return [client for client in known if client.id.value == one.target]

    def _send(self, client: ModelClient, request: RequestFrame, one: _Binding, clause: str) -> None:
        flags = {
            "pending_response": int(one.interaction == "response"),
            "pending_ack": int(one.interaction == "acknowledge"),
        }
        keeps_id = one.interaction != "none" and request.id != b""
        if one.is_queue:
            queue = self._queue_of(one.target, one.number)
            assert queue is not None
            id_: Any = request.id if keeps_id else Made(taken=self._world.ids)
            copy = Produce(
                one_delivery=request.one_delivery,
                high_priority=request.high_priority,
                pending_response=flags["pending_response"],
                pending_ack=flags["pending_ack"],
                id=id_,
                target=one.target,
                content_type=one.number,
                headers=request.headers,
                payload=request.payload,
            )
            made = id_ if isinstance(id_, Made) else Made(id_)
            asks = bool(flags["pending_ack"]) or not self._world.rules.acknowledges_when_asked
            item = Item(copy, made, client, asks, DEFAULT_TTL, self._world.now, by=clause, is_copy=not keeps_id)
            self._push(client, copy, queue, item)
            return
        fields: dict[str, object] = {
            **({"id": request.id} if keeps_id else {}),
            "source": client.id,
            "target": one.target,
            "content_type": one.number,
            **flags,
            "headers": Headers([(header.name, header.value) for header in request.headers], exact=False),
            "payload": request.payload,
        }
        of_fields = dict.fromkeys(("id", *flags), INTERACTION) | dict.fromkeys(("target", "content_type"), clause)
        for receiver in self._receivers(one):
            self._world.expect(receiver, clause, Shape(DirectMessage, fields), of_fields=of_fields)

    def _answer(self, client: ModelClient, request: RequestFrame, *, served: bool) -> None:
        """Expect the answer of the server itself, if one is asked for: of either kind where both are."""
        if not request.id or not (request.pending_response or request.pending_ack):
            return
        common = {"id": request.id, "source": b""}
        code = ResultCode.OK if served else ResultCode.NOT_FOUND
        answer = Shape(Response, {**common, "content_type": code})
        told = Shape(Confirmation, {**common, "headers": Refusal(fails=not served)})
        clause = "TMQP-ROUTE-5" if served else "TMQP-ROUTE-4"
        self._world.expect(client, clause, answer, told)
        self._world.expect(client, clause, answer, told, is_certain=False)
