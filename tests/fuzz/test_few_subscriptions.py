"""A server with low limits refuses the subscriptions that are too many for one connection, and models know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.fuzz.planting import plant
from wireproof.fuzz import server_transports
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.restarting import connecting
from wireproof.fuzz.server_transports import SMALL_LIMITS, InProcess
from wireproof.fuzz.store_steps import RequestStep
from wireproof.protocols import Request
from wireproof.protocols.namechan.requests import HookCreate
from wireproof.protocols.namechan.requests import Subscribe as SubscribeQueue
from wireproof.protocols.throttr.requests import Subscribe as SubscribeChannel
from wireproof.protocols.tmqp.enums import SUBSCRIBE
from wireproof.protocols.tmqp.requests import Subscribe as SubscribeEvent
from wireproof.reference_server.namechan.handlers import LineHandlers
from wireproof.reference_server.throttr.channel_requests import ChannelRequests
from wireproof.reference_server.tmqp.events import Events

NAMES = [b"q%d" % number for number in range(SMALL_LIMITS.max_subscriptions + 2)]
EVENTS = (b"ClientConnected", b"ClientDisconnected", b"ChannelCreated", b"ChannelRemoved")
CREATED = [HookCreate(one) for one in NAMES]
ASKED: dict[str, Sequence[Request]] = {
    "throttr": [SubscribeChannel(one) for one in NAMES],
    "namechan": [SubscribeQueue(one) for one in NAMES],
}


def ask(name: str, profile: str, variant: str, asked: Sequence[Request]) -> None:
    context = FuzzContext(name, profile, variant)
    transport = InProcess(name, profile, variant, is_small=True)
    found = StoreCheck(context, transport, tolerance_ns=0, shared=False)
    for step in connecting(found.model, {"a": "", **({"h": "hook"} if name == "namechan" else {})}):
        found.do(step)
    for one in CREATED if name == "namechan" else ():
        found.do(RequestStep("h", (one,)))
    for one in asked:
        found.do(RequestStep("a", (one,)))


PLACES = [
    ("throttr", "7.1.0", "uint16", ChannelRequests, "subscribe"),
    ("throttr", "7.3.2", "uint16", ChannelRequests, "subscribe"),
    ("namechan", "1", "standard", LineHandlers, "subscribe"),
]


@pytest.mark.parametrize(("name", "profile", "variant", "where", "function"), PLACES)
def test_one_subscription_more_than_the_limit_is_found(
    name: str, profile: str, variant: str, where: Any, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(name, profile, variant, ASKED[name])
    old = ">= self._state.limits.max_subscriptions"
    plant(monkeypatch, where, function, old, old.replace(">=", ">"))
    with pytest.raises(InvariantError):
        ask(name, profile, variant, ASKED[name])


def test_one_event_more_than_the_limit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [SubscribeEvent(target=one, id=b"i", content_type=SUBSCRIBE, pending_response=1) for one in EVENTS]
    monkeypatch.setattr(server_transports, "SMALL_LIMITS", replace(SMALL_LIMITS, max_subscriptions=3))
    ask("tmqp", "doc", "standard", asked)
    old = ">= self._state.limits.max_subscriptions"
    plant(monkeypatch, Events, "subscribe", old, old.replace(">=", ">"))
    with pytest.raises(InvariantError):
        ask("tmqp", "doc", "standard", asked)
