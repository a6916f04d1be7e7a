"""The model of the PSRT document: it agrees with the correct server, and each of its rules finds a wrong one."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from wireproof.conformance.model.trace import Kind
from wireproof.fuzz import store_input, store_seeds
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.store_steps import AdvanceStep, ConnectStep, DisconnectStep, HeldStep, RequestStep
from wireproof.protocols.psrt.replies import Beacon, PushedMessage
from wireproof.protocols.psrt.requests import Bye, Nop, Publish, PublishRepl, ReplData, Subscribe, Unsubscribe
from wireproof.reference_server.psrt import topics as served
from wireproof.reference_server.psrt.oracle import topics
from wireproof.reference_server.psrt.session import PsrtSession

S = 10**9
LEVELS = ("a", "b", "+", "#", "")
MASKS = ["/".join(one) for size in (1, 2, 3) for one in product(LEVELS, repeat=size)]
TOPICS = [one for one in MASKS if "+" not in one and "#" not in one]


@pytest.mark.parametrize("text", ["", "/", "//", "a", "/a", "//a//b", "a/", "a//", "///a", "a/b/"])
def test_both_normalise_alike(text: str) -> None:
    assert topics.plain(text) == served.normalised(text)


def test_both_match_alike() -> None:
    for mask, topic in product(MASKS, TOPICS):
        mine = topics.fits(mask.split("/"), topic.split("/"))
        assert mine == served.matches(served.levels(mask), tuple(topic.split("/"))), (mask, topic)


def test_both_grant_alike() -> None:
    for granted, asked in product(MASKS, repeat=2):
        mine = topics.grants(granted.split("/"), asked.split("/"))
        assert mine == served.covers(served.levels(granted), served.levels(asked)), (granted, asked)


def checked(mutant: str | None = None, profile: str = "1") -> StoreCheck:
    """Return a server and its model with a client `a` and its data socket `b`."""
    made = "psrt", profile, "standard"
    found = StoreCheck(FuzzContext(*made), InProcess(*made, mutant=mutant), tolerance_ns=0, shared=False)
    for name, link in (("a", "control"), ("b", "data")):
        found.do(ConnectStep(name, link))
        found.do(RequestStep(name, found.model.greeting(link)))
    return found


def pushes(found: StoreCheck, name: str) -> list[str]:
    return [event.data.hex() for event in found.trace if event.connection == name and event.kind is Kind.RECEIVED][1:]


def test_a_message_comes_once_and_in_order() -> None:
    found = checked()
    found.do(RequestStep("a", (Subscribe(b"t\0t/#\0+"), Publish(7, b"//t", b"one"), Publish(8, b"t", b"two"))))

    encode = found.context.encode
    wanted = encode(PushedMessage(7, b"t", b"one")) + encode(PushedMessage(8, b"t", b"two"))  # type: ignore[arg-type]
    assert "".join(pushes(found, "b")).endswith(wanted.hex())


def test_beacons_are_due_to_the_nanosecond() -> None:
    found = checked()
    interval = 3 * S // 2
    found.do(AdvanceStep(interval - 1))
    assert pushes(found, "b") == []
    found.do(AdvanceStep(1))
    assert pushes(found, "b") == [found.context.encode(Beacon()).hex()]  # type: ignore[arg-type]


def test_a_client_that_asks_nothing_is_ended_with_its_data_socket() -> None:
    found = checked()
    found.do(AdvanceStep(5 * S - 1))
    assert found.connections == ["a", "b"]
    found.do(AdvanceStep(1))
    assert found.connections == []


@pytest.mark.parametrize("how", ["close", "half", "reset"])
def test_the_data_socket_ends_with_its_control_socket(how: str) -> None:
    found = checked()
    found.do(DisconnectStep("a", how))

    assert found.connections == []


def test_bye_is_answered_and_ends_both() -> None:
    found = checked()
    found.do(RequestStep("a", (Nop(), Bye())))

    assert found.connections == []


@pytest.mark.parametrize(
    ("mutant", "asked"),
    [
        ("unsubscribe-of-masks-does-nothing", (Subscribe(b"+"), Unsubscribe(b"+"), Publish(1, b"t", b""))),
        ("subscribe-forgets-the-others", (Subscribe(b"t"), Subscribe(b"u"), Publish(1, b"t", b"m"))),
        ("slash-is-no-separator", (Subscribe(b"+"), Publish(1, b"t/u", b"m"))),
        ("push-of-the-mask", (Subscribe(b"t/#"), Publish(1, b"t/u", b"m"))),
        ("publish-nobody-answered-ff", (Publish(1, b"t", b"m"),)),
        ("beacon-too-often", ()),
    ],
)
def test_a_wrong_server_disagrees(mutant: str, asked: tuple[object, ...]) -> None:
    found = checked(mutant)

    with pytest.raises(InvariantError) as error:  # noqa: PT012 - which step shows it depends on the mutant
        found.do(RequestStep("a", asked))  # type: ignore[arg-type]
        found.do(AdvanceStep(S))
        found.do(RequestStep("a", (Nop(),)))

    assert error.value.clause is None or error.value.clause.startswith("PSRT-")


def test_the_message_of_a_replication_goes_to_its_topic() -> None:
    found = checked()
    found.do(RequestStep("a", (Subscribe(b"t"), PublishRepl(b"t"))))
    found.do(RequestStep("a", (ReplData(5, 9, b"m"), PublishRepl(b"u"), Nop())))
    found.do(RequestStep("a", (Nop(),)))

    assert found.connections == ["a", "b"]


@pytest.mark.parametrize("profile", ["1", "psrtd-0.3"])
def test_the_correct_server_agrees_with_conversations_and_drawn_requests(profile: str) -> None:
    known = [one for one in store_seeds.seeds("psrt") if store_input.contexts("psrt")[one[0] & 1].profile == profile]

    for data in Random(3).sample(known, 40):
        store_input.check("psrt", data)


def test_a_data_socket_that_is_not_read_gets_its_messages_later() -> None:
    found = checked()
    found.do(HeldStep("b", RequestStep("a", (Subscribe(b"t"), Publish(1, b"t", b"m"), Nop()))))
    found.do(HeldStep("a", RequestStep("a", (Nop(), Publish(2, b"t", b"n")))))

    assert len(pushes(found, "b")) == 2


def test_what_writes_to_a_client_that_takes_nothing_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PsrtSession, "pause_writing", lambda self: None)
    found = checked()

    with pytest.raises(InvariantError, match="a paused session writes nothing"):
        found.do(HeldStep("a", RequestStep("a", (Nop(),))))
