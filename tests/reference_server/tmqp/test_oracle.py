"""The model of the TMQP document: it agrees with the correct server and with legal ones, and finds wrong ones."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from wireproof.conformance.model.trace import Kind
from wireproof.fuzz import store_input, store_seeds
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.store_steps import AdvanceStep, ConnectStep, DisconnectStep, HeldStep, PartsStep, RequestStep, Step
from wireproof.mutants.tmqp.server import MUTANTS
from wireproof.protocols import Request
from wireproof.protocols.tmqp import Header
from wireproof.protocols.tmqp.requests import (
    Acknowledge,
    CreateChannel,
    CreateQueue,
    Custom,
    DeleteChannel,
    Hello,
    Join,
    Leave,
    ListChannels,
    ListClients,
    Ping,
    Produce,
    Protocol,
    Pull,
    QueueInfo,
    Respond,
    Route,
    SendDirect,
    Subscribe,
    Terminate,
    UpdateQueue,
)
from wireproof.reference_server.registry import server_model_of
from wireproof.reference_server.tmqp.oracle.expected import Expected

MS, S = 10**6, 10**9
ONE = (Header(b"Queue-Id", b"1"),)
COUNT = Header(b"Count", b"9")
LEGAL = [name for name, one in MUTANTS.items() if one.is_legal and not one.live]
ASK = {"id": b"r", "pending_response": 1}


def checked(mutant: str | None = None, clients: str = "ab") -> StoreCheck:
    """Return a server and its model, with clients that are called as their connections."""
    made = "tmqp", "doc", "standard"
    found = StoreCheck(FuzzContext(*made), InProcess(*made, mutant=mutant), tolerance_ns=0, shared=False)
    for name in clients:
        found.do(ConnectStep(name))
        found.do(RequestStep(name, (Protocol(), Hello(payload=b"NONE /\r\nClient-Id:%s\r\n" % name.encode()))))
    return found


def queue(options: bytes) -> CreateQueue:
    return CreateQueue(**ASK, target=b"c", headers=ONE, payload=options)


def produced(number: int, **more: int) -> Produce:
    return Produce(id=b"m%d" % number, target=b"c", content_type=1, payload=b"x", **more)


def pulled(*headers: Header) -> Pull:
    return Pull(id=b"p", pending_response=1, target=b"c", content_type=1, headers=(COUNT, *headers))


def came(found: StoreCheck, name: str) -> bytes:
    return b"".join(one.data for one in found.trace if one.connection == name and one.kind is Kind.RECEIVED)


def do(found: StoreCheck, steps: tuple[Step, ...]) -> None:
    for one in steps:
        found.do(one)


def on(name: str, *asked: Request) -> RequestStep:
    return RequestStep(name, asked)


def test_the_correct_server_agrees_over_the_conversations_of_the_cases() -> None:
    known = [one for one in store_seeds.seeds("tmqp") if one[0] & store_input.RECORDED]

    for data in Random(3).sample(known, 120):
        store_input.check("tmqp", data)


def test_the_correct_server_agrees_over_drawn_requests() -> None:
    drawn = [one for one in store_seeds.seeds("tmqp") if not one[0] & store_input.RECORDED]

    for data in drawn[:25]:
        store_input.check("tmqp", data)


@pytest.mark.parametrize("mutant", LEGAL)
def test_legal_servers_agree(mutant: str) -> None:
    known = [one for one in store_seeds.seeds("tmqp") if one[0] & store_input.RECORDED]

    for data in Random(mutant).sample(known, 8):
        store_input.check("tmqp", data, mutant)


@pytest.mark.parametrize("mutant", [None, "legal-one-of-an-id"])
def test_which_of_two_messages_with_one_id_is_waited_for_is_free(mutant: str | None) -> None:
    found = checked(mutant)
    do(found, (on("a", AWAITED), on("b", Join(target=b"c")), on("a", produced(1, pending_ack=1), produced(1))))
    do(found, (on("b", NACK), on("b", ACK, ACK), AdvanceStep(2 * S), on("a", REPORTED)))


STORED: tuple[Request, ...] = (
    queue(b'{"Status":3,"MessageDeliveryHandler":"after-received"}'),
    Join(**ASK, target=b"c"),
    produced(1, pending_ack=1),
    produced(2, high_priority=1),
    produced(3),
)
REPORTED = QueueInfo(**ASK, target=b"c", headers=ONE)
SUBSCRIBED = tuple(
    Subscribe(**ASK, target=one, content_type=1, headers=(Header(b"Channel-Name", b"c"), *ONE))
    for one in (b"ClientLeft", b"ClientDisconnected", b"QueueUpdated", b"MessageProduced", b"ChannelRemoved")
)
PUSHED = queue(b'{"Status":1,"MessageDeliveryHandler":"just-allow"}')
AWAITED = queue(
    b'{"Status":1,"RequestAcknowledge":true,"AcknowledgeTimeout":1000,"MessageDeliveryHandler":"put-back-start"}'
)
HELD_BACK = queue(b'{"Status":1,"WaitForAcknowledge":true,"AcknowledgeTimeout":1000}')
ACK = Acknowledge(id=b"m1", target=b"c", content_type=1)
NACK = Acknowledge(id=b"m1", target=b"c", content_type=1, headers=(Header(b"Nack-Reason", b"x"),))
EXPIRING = queue(b'{"Status":1,"MessageTimeout":500}')
LIFO, INFO, CLEAR = Header(b"Order", b"LIFO"), Header(b"Info", b"yes"), Header(b"Clear", b"High-Priority")
WRONG: dict[str, tuple[Step, ...]] = {
    "lifo-ignored": (on("a", *STORED, pulled(LIFO)),),
    "index-from-zero": (on("a", *STORED, pulled()),),
    "info-before": (on("a", *STORED, pulled(INFO)),),
    "clear-ignored": (
        on("a", *STORED, produced(5, high_priority=1)),
        on("a", replace(pulled(), headers=(Header(b"Count", b"1"), CLEAR)), REPORTED),
    ),
    "pull-without-end": (on("a", *STORED, pulled()),),
    "never-acknowledged": (on("a", *STORED),),
    "stored-not-counted": (on("a", *STORED, pulled(), REPORTED),),
    "rule-counts-what-there-is": (on("a", *STORED, pulled()),),
    "push-loses": (on("a", PUSHED, produced(1)), on("b", Join(**ASK, target=b"c"))),
    "one-delivery-kept": (on("a", PUSHED, Join(target=b"c"), produced(1)),),
    "never-put-back": (
        on("a", AWAITED),
        on("b", Join(target=b"c")),
        on("a", produced(1, pending_ack=1)),
        on("b", NACK),
    ),
    "acknowledgements-stay": (
        on("a", AWAITED),
        on("b", Join(target=b"c")),
        on("a", produced(1, pending_ack=1)),
        on("b", ACK),
    ),
    "waits-for-ever": (
        on("a", HELD_BACK),
        on("b", Join(target=b"c")),
        on("a", produced(1), produced(2)),
        AdvanceStep(1100 * MS),
    ),
    "never-expires": (on("a", EXPIRING, produced(1)), AdvanceStep(S), on("b", Join(**ASK, target=b"c"))),
    "left-is-not-told": (
        on("a", PUSHED, *SUBSCRIBED),
        on("b", Join(target=b"c")),
        DisconnectStep("b", "reset"),
    ),
    "removed-channel-not-told": (on("a", PUSHED, SUBSCRIBED[-1]), on("b", DeleteChannel(target=b"c"))),
    "updated-queue-not-told": (
        on("a", PUSHED, *SUBSCRIBED),
        on("b", UpdateQueue(target=b"c", headers=ONE, payload=b"{}")),
    ),
    "queue-not-told": (on("a", PUSHED, *SUBSCRIBED), on("b", produced(1))),
    "leave-keeps": (on("a", PUSHED, Join(target=b"c"), Leave(**ASK, target=b"c"), produced(1)),),
    "filter-ignored": (on("a", PUSHED, ListChannels(**ASK, target=b"x*")),),
    "types-not-filtered": (
        ConnectStep("c"),
        on("c", Protocol(), Hello(payload=b"Client-Type:worker")),
        on("c", ListClients(**ASK, target=b"w*")),
    ),
    "target-resolved": (on("a", SendDirect(id=b"d", target=b"@type:"), SendDirect(id=b"d", target=b"@name:")),),
    "response-from-the-server": (on("a", Respond(id=b"d", target=b"b")),),
    "nobody-is-silent": (on("a", SendDirect(**ASK, target=b"nobody")),),
    "absent-router-ok": (on("a", Route(**ASK, target=b"nothing")),),
    "terminate-ignored": (on("a", Ping(), Terminate()),),
    "any-source": (on("a", SendDirect(id=b"d", target=b"b", source=b"b")),),
    "custom-answered": (on("a", Custom(id=b"r", pending_response=1)),),
    "channels-by-case": (on("a", CreateChannel(**ASK, target=b"c"), CreateChannel(**ASK, target=b"C")),),
    "never-pinged": (AdvanceStep(7 * S),),
    "pinged-for-ever": (AdvanceStep(9 * S),),
    "rule-refuses-without-hello": (ConnectStep("c"), on("c", Protocol(), Join(target=b"c"))),
    "rule-takes-empty-hello": (ConnectStep("c"), on("c", Protocol(), Hello())),
    "rule-reports-duplicate-clients": (ConnectStep("c"), on("c", Protocol(), Hello(payload=b"x\nClient-Id: a\n"))),
    "rule-takes-old-version": (ConnectStep("c"), on("c", Protocol(version=b"TMQ/1.01"))),
    "late-hello-allowed": (ConnectStep("c"), AdvanceStep(5 * S)),
}
"""Mutant -> what shows it."""


@pytest.mark.parametrize("mutant", WRONG)
def test_a_wrong_server_disagrees(mutant: str) -> None:
    do(checked(), WRONG[mutant])

    with pytest.raises(InvariantError) as error:
        do(checked(mutant), WRONG[mutant])

    assert error.value.clause is None or error.value.clause.startswith("TMQP-")


MADE = CreateQueue(**ASK, target=b"c", headers=ONE, payload=b'{"Status":1,"MessageDeliveryHandler":"just-allow"}')


def test_a_wrong_acknowledgement_of_an_operation_breaks_the_clause_about_them_though_none_had_to_come() -> None:
    asked = {"pending_response": 1, "pending_ack": 1, "target": b"c"}
    steps = on("a", MADE), on("a", Join(id=b"j", **asked)), on("a", Leave(id=b"l", **asked))
    do(checked(), steps)

    with pytest.raises(InvariantError) as error:
        do(checked("done-acknowledged-as-failed"), steps)
    assert error.value.clause == "TMQP-RESPONSE-4"


def test_a_message_that_nobody_was_to_get_is_told_as_what_forbids_it() -> None:
    watches = Subscribe(target=b"QueueCreated", content_type=1, headers=(Header(b"Channel-Name", b"c"),))
    steps = on("a", MADE), on("b", watches), on("a", MADE)
    do(checked(), steps)

    with pytest.raises(InvariantError) as error:
        do(checked("queue-created-in-vain"), steps)

    assert error.value.clause == "TMQP-NOTIFICATION-5"


def test_what_fails_since_a_queue_was_created_under_another_spelling_is_about_spellings() -> None:
    steps = on("a", CreateChannel(**ASK, target=b"C")), on("a", MADE), on("a", replace(REPORTED, target=b"C"))
    do(checked(), steps)

    with pytest.raises(InvariantError) as error:
        do(checked("channels-by-case"), steps)

    assert error.value.clause == "TMQP-CREATE_CHANNEL-2"


def test_messages_of_a_queue_have_an_order_and_other_answers_have_none() -> None:
    found = checked()
    do(found, (on("a", *STORED, pulled(LIFO)),))

    got = came(found, "a")
    places = [got.index(one) for one in (b"m2ac", b"m3ac", b"m1ac", b"No-Content:End")]
    assert places == sorted(places)


def test_a_message_that_waits_for_somebody_who_takes_nothing_comes_later() -> None:
    found = checked()
    do(found, (on("a", PUSHED), on("b", Join(target=b"c"))))
    do(found, (HeldStep("b", on("a", produced(1))), HeldStep("a", on("a", Join(target=b"c"), produced(2)))))

    assert found.connections == ["a", "b"]


def test_what_comes_in_two_parts_counts_once_it_is_whole() -> None:
    found = checked()
    do(found, (PartsStep(on("a", SendDirect(id=b"d", target=b"b")), 9, on("b", PUSHED)),))

    assert b"dab" in came(found, "b")


def test_of_two_answers_to_one_id_each_is_for_either_request() -> None:
    found = checked()
    asked = {**ASK, "pending_ack": 1, "target": b"nowhere"}
    do(found, (on("a", Subscribe(**asked), Produce(**asked, content_type=400)),))

    assert came(found, "a").count(b"not-found") == 2


def test_an_answer_to_the_same_request_as_many_is_not_compared_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of one request cost a play of a fuzzer half a minute."""
    compared: list[int] = []
    fits = Expected.fits
    monkeypatch.setattr(Expected, "fits", lambda self, message: compared.append(1) or fits(self, message))
    found = checked()

    found.do(on("a", *[Join(**ASK, target=b"x")] * 200))

    assert 200 <= len(compared) < 2000


@pytest.mark.parametrize("beside", [-1, 0, 1, 2 * MS, 3 * MS])
def test_the_instant_of_a_time_out_is_left_open(beside: int) -> None:
    found = checked()
    do(found, (on("a", AWAITED), on("b", Join(target=b"c")), on("a", produced(1, pending_ack=1))))
    do(found, (AdvanceStep(S + beside), on("b", ACK), AdvanceStep(2 * S), on("a", REPORTED)))

    assert found.connections == ["a", "b"]


def test_where_the_server_begins_is_known_without_its_clock() -> None:
    found = checked()
    do(found, (on("a", EXPIRING, produced(1)),))

    assert [one - found.transport.now_ns() for one in found.model.instants()][:2] == [500 * MS - 1, 502 * MS + 1]


@pytest.mark.parametrize(
    ("profile", "options", "words"),
    [
        ("twino-3.0.0", {}, "of the profile doc, not of twino-3.0.0"),
        ("doc", {"auto_channels": True}, "does not follow the option auto_channels"),
        ("doc", {"config": "/nowhere.yaml"}, "config /nowhere.yaml"),
    ],
)
def test_what_the_model_does_not_follow_is_refused(profile: str, options: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        server_model_of("tmqp", profile=profile, variant="standard", tolerance_ns=0, shared=False, options=options)


def test_the_machine_plays_the_profiles_that_have_a_model(tmp_path: Path) -> None:
    few = ("--examples", "3", "--steps", "8", "--findings", str(tmp_path))
    fine = CliRunner().invoke(fuzz, ["machine", "tmqp", *few])

    played = [line.split(":")[0] for line in fine.output.splitlines()]
    assert (fine.exit_code, played) == (0, ["tmqp doc standard", "tmqp twino-3.0.0 standard"])


def test_the_store_target_has_inputs_of_the_profiles_that_have_a_model() -> None:
    assert [one.profile for one in store_input.contexts("tmqp")] == ["doc", "twino-3.0.0"]
