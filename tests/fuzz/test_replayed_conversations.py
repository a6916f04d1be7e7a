"""Conversations are replayed in ways that no case plays: two at once, several requests in a turn, ends in between."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.fuzz.planting import plant
from wireproof.fuzz.conversation_steps import conversation_steps
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.played_cases import played_cases
from wireproof.fuzz.replayed_conversations import ENDS, ENDS_HELD, TOGETHER, WITH_NEXT
from wireproof.fuzz.seeds import conversations
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.spliced_conversations import in_turns, namespace_of, spliced
from wireproof.fuzz.store_input import RECORDED, SPLICED, described
from wireproof.fuzz.store_seeds import seeds
from wireproof.fuzz.store_steps import (
    AdvanceStep,
    ConnectStep,
    EndStep,
    RequestStep,
    Step,
    TogetherStep,
    describe_step,
    script_of,
)
from wireproof.protocols.namechan.requests import Connect, HookCreate, HookPublish, Subscribe, Unsubscribe, Version
from wireproof.protocols.tmqp import Header
from wireproof.protocols.tmqp.requests import CreateQueue, Hello, Join, Produce, Protocol, Pull
from wireproof.reference_server.namechan.queue import Queue
from wireproof.reference_server.tmqp.session import TmqpSession

PERSISTENT = HookCreate(topic=b"t", delivery=0, persistence=1, sync=2)
GREETED = (Version(version=1), Connect(version=1, id=b"c"))
ALL = Subscribe(topic=b"t", replay=0, message=0)


def played(name: str, profile: str, steps: Sequence[Step], *, is_small: bool = True) -> StoreCheck:
    """Do steps on a server and its model. Raises `InvariantError`."""
    context = FuzzContext(name, profile, "standard")
    check = StoreCheck(context, InProcess(name, profile, "standard", is_small=is_small), tolerance_ns=0, shared=False)
    for step in steps:
        check.do(step)
    return check


def replaying(*last: Step) -> list[Step]:
    published = tuple(HookPublish(topic=b"t", body=b"%d" % one) for one in range(6))
    asked = (ConnectStep("h", "hook"), RequestStep("h", (PERSISTENT, *published)))
    return [*asked, ConnectStep("a", "lines"), RequestStep("a", GREETED), *last]


def pulling(count: int) -> list[Step]:
    options = b'{"Status":3,"MessageDeliveryHandler":"just-allow"}'
    number = (Header(b"Queue-Id", b"1"),)
    made = CreateQueue(id=b"q", pending_response=1, target=b"c", headers=number, payload=options)
    pushed = tuple(Produce(id=b"m%d" % one, target=b"c", content_type=1) for one in range(count))
    pull = Pull(id=b"p", target=b"c", content_type=1, headers=(Header(b"Count", b"%d" % count),))
    hello = Hello(payload=b"CONNECT /\r\nClient-Id:a\r\n")
    return [
        ConnectStep("a"),
        RequestStep("a", (Protocol(version=b"TMQP/2.0"), hello)),
        RequestStep("a", (made, Join(id=b"j", pending_response=1, target=b"c"))),
        RequestStep("a", pushed),
        EndStep(RequestStep("a", (pull,)), is_held=False),
    ]


@pytest.mark.parametrize("is_held", [False, True])
def test_the_hook_gives_every_outcome_before_it_closes(is_held: bool) -> None:
    """It closed as soon as a harness had ended its side, while the outcome of a publish waited for its commit."""
    strong = HookCreate(topic=b"t", delivery=0, persistence=1, sync=0)
    last = RequestStep("h", (HookPublish(topic=b"t", body=b"one"), HookPublish(topic=b"t", body=b"two")))
    check = played(
        "namechan", "1", [ConnectStep("h", "hook"), RequestStep("h", (strong,)), EndStep(last, is_held)], is_small=False
    )

    assert b"".join(one.data for one in check.trace).count(b"ok\n") == 3
    assert check.connections == []


@pytest.mark.parametrize("old", ["self._ended = True", "self.client is not None and self.client.pulls"])
def test_a_client_that_ends_its_side_with_a_pull_is_served_and_ended(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert played("tmqp", "doc", pulling(200), is_small=False).connections == []

    plant(monkeypatch, TmqpSession, "eof_received", old, {"self._ended = True": "pass"}.get(old, "False"))
    with pytest.raises(InvariantError):
        played("tmqp", "doc", pulling(200), is_small=False)


def test_what_is_published_during_a_replay_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    new = RequestStep("h", (HookPublish(topic=b"t", body=b"new"),))
    steps = replaying(TogetherStep(RequestStep("a", (ALL,)), new))
    assert played("namechan", "1", steps).connections == ["h", "a"]

    plant(monkeypatch, Queue, "out", "one.cursor is None and ", "")
    with pytest.raises(InvariantError, match="pushes agree with the model"):
        played("namechan", "1", steps)


def test_a_replay_ends_with_its_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = replaying(RequestStep("a", (ALL, Unsubscribe(topic=b"t"))))
    assert played("namechan", "1", steps).connections == ["h", "a"]

    plant(monkeypatch, Queue, "feed", "subscription.is_ended or ", "")
    with pytest.raises(InvariantError, match="pushes agree with the model"):
        played("namechan", "1", steps)


def test_two_conversations_share_names_and_connections() -> None:
    first, second = (
        (ConnectStep("a"), RequestStep("a", (ALL, Subscribe(topic=b"v-%s-t" % name, replay=2, message=0))))
        for name in (b"aaaaaa", b"bbbbbb")
    )
    found = list(spliced(first, second, 0, lambda link: {Subscribe} if link else set()))

    assert namespace_of(first) == b"v-aaaaaa"
    assert [type(step) for step in found] == [ConnectStep, RequestStep, RequestStep]
    assert found[1] == found[2] == first[1]


def test_who_uses_a_connection_of_the_other_conversation_does_not_greet_again() -> None:
    whole = (ConnectStep("a", "lines"), RequestStep("a", (*GREETED, ALL)))
    found = list(spliced(whole, whole, 0b10, lambda link: {Version, Connect} if link == "lines" else set()))

    assert found == [whole[0], RequestStep("a", (*GREETED, ALL)), RequestStep("a", (ALL,))]
    assert [which for which, _ in in_turns(whole, whole, 0b1010)] == [False, True, False, True]
    assert [which for which, _ in in_turns(whole, whole, 0)] == [False, False, True, True]


def test_cases_that_no_file_holds_are_replayed() -> None:
    """Those that are too long for a file were never seeds: a channel that goes when its last message expires, say."""
    found = list(played_cases("tmqp", "doc", "standard", 8192))
    held = conversations("tmqp", "doc", "standard")

    assert len(found) > 150
    assert len(conversation_steps("tmqp", "doc", "standard")) > len(held) + 150
    assert any(b"DestroyWhenEmpty" in bytes.fromhex(step["hex"]) for steps in found for step in steps)


def test_seeds_hold_every_way() -> None:
    found = list(seeds("namechan"))
    ways = {data[-1] for data in found if data[0] & RECORDED and len(data) > 4}
    text = " ".join(step for data in found[:400] if data[0] & RECORDED for step in described("namechan", data).steps)

    assert {ENDS, ENDS_HELD, WITH_NEXT, TOGETHER} <= ways
    assert any(data[0] & (RECORDED | SPLICED) == RECORDED | SPLICED for data in found)
    assert "and ends its side at once" in text
    assert "and in the same turn" in text


def test_steps_at_once_are_several_actions_of_a_script() -> None:
    context = FuzzContext("namechan", "1", "standard")
    step = RequestStep("a", (ALL,))

    assert len(script_of([EndStep(step, is_held=True), TogetherStep(step, step), AdvanceStep(7)], context)) == 5
    assert describe_step(EndStep(step, is_held=True)).startswith("while a takes nothing, a sends SUBSCRIBE")
