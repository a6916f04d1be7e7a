"""What one write ends twice is no finding: the model of a server follows each request of it."""

from __future__ import annotations

from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.store_steps import ConnectStep, RequestStep
from wireproof.protocols.namechan.requests import Connect, HookCreate, Subscribe, Unsubscribe, Version


def test_a_subscription_ends_and_the_connection_after_it() -> None:
    context = FuzzContext("namechan", "1", "standard")
    server = InProcess("namechan", "1", "standard")
    check = StoreCheck(context, server, tolerance_ns=0, shared=False)
    again = Connect(version=1, id=b"c")
    steps = [
        ConnectStep("h", "hook"),
        RequestStep("h", (HookCreate(topic=b"t", delivery=0, persistence=1, sync=2),)),
        ConnectStep("a", "lines"),
        RequestStep("a", (Version(version=1), again)),
        RequestStep("a", (Subscribe(topic=b"t", replay=0, message=0),)),
        RequestStep("a", (Unsubscribe(topic=b"t"), again)),
    ]

    for step in steps:
        check.do(step)

    assert check.connections == ["h"]
