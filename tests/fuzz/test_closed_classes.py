"""Classes of faults that no engine found: each is shown by one fault of it, which some seed finds now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice

import pytest

from tests.fuzz.planting import plant
from wireproof.conformance.model.trace import Kind
from wireproof.fuzz import parser_input, transport_input
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.known_targets import TARGETS
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.replayed_conversations import KILLED_FIRST, LACKING, RESTARTED_FIRST
from wireproof.fuzz.seed_replay import replayed_seeds
from wireproof.fuzz.server_transports import InProcess
from wireproof.fuzz.store_input import RECORDED, check, described, setting_of
from wireproof.fuzz.store_seeds import CHANGED_SINCE, seeds
from wireproof.fuzz.store_steps import ConnectStep, PartsStep, RequestStep
from wireproof.fuzz.unmodelled_profiles import check_unmodelled_profiles
from wireproof.protocols import RemoteProtocolError, Request, protocol
from wireproof.protocols.namechan.requests import HookCreate
from wireproof.protocols.throttr.codec import Codec as ThrottrCodec
from wireproof.protocols.throttr.requests import Publish
from wireproof.protocols.tmqp import Header
from wireproof.protocols.tmqp.codec import NO_HEADERS, Codec
from wireproof.protocols.tmqp.requests import ClearQueue, CreateQueue, Custom, Join, Ping, Produce, Protocol
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.namechan.state import State as ServerState
from wireproof.reference_server.namechan.store import Store
from wireproof.reference_server.psrt.feed import Feed
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Peer
from wireproof.reference_server.stream_session import StreamSession
from wireproof.reference_server.throttr.record_requests import RecordRequests
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import State
from wireproof.reference_server.tmqp.messaging import Messaging
from wireproof.reference_server.tmqp.queue_operations import QueueOperations
from wireproof.reference_server.tmqp.session import TmqpSession


def check_all(checking: Callable[[str, bytes], None], spoken: str, some: Iterable[bytes]) -> None:
    for one in some:
        checking(spoken, one)


def test_an_answer_that_is_remembered_a_nanosecond_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waited until a TTL is shown lower, and a server could round it up and down in turn."""
    some = [one for one in seeds("throttr") if not one[0] & RECORDED and CHANGED_SINCE in one]
    plant(monkeypatch, RecordRequests, "_remaining", "left * unit + 1", "left * unit + 2")

    with pytest.raises(InvariantError, match="rounded up, and others down"):
        check_all(check, "throttr", some)


def test_more_bytes_read_than_were_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the document leaves open was not judged at all."""
    some = list(islice(seeds("throttr"), 3000))
    plant(monkeypatch, State, "settle", "session.read_bytes - read", "session.read_bytes")
    monkeypatch.setattr(State, "miscounted", lambda state: "")  # as if each connection's own count were wrong, too

    with pytest.raises(InvariantError, match=r"total_read_bytes is .* were sent"):
        check_all(check, "throttr", some)


def test_a_flag_of_one_request_in_a_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests of a conversation were left out and doubled, but none had another value in a field."""
    some = [one for one in seeds("tmqp") if one[0] & RECORDED and len(one) > 3]
    plant(monkeypatch, Messaging, "acknowledge", "None if request.high_priority else state", "state")

    with pytest.raises(InvariantError):
        check_all(check, "tmqp", some)


def test_a_profile_that_no_model_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, QueueOperations, "clear_queue", "high=high, normal=normal", "high=normal, normal=high")

    with pytest.raises(InvariantError, match=r"of twino-3\.0\.0 standard: expected"):
        check_unmodelled_profiles("tmqp")


def test_ids_that_begin_again_when_the_server_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs of the store never ended a server; the first that did showed an Error of ours that was no UTF-8."""
    some = [one for one in seeds("namechan") if one[-1] in (RESTARTED_FIRST, KILLED_FIRST)]
    plant(monkeypatch, Store, "queues", "max(last or 0, position)", "last or 0")

    with pytest.raises(InvariantError, match="every push arrives: message"):
        check_all(check, "namechan", some)


def test_bytes_end_a_server_that_keeps_something() -> None:
    drawn = [one for one in seeds("namechan") if not one[0] & RECORDED][:40]

    assert any("and starts again" in step for one in drawn for step in described("namechan", one).steps)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("resume_writing", "self.flush()", "pass"),  # answers that came only at the end
        ("eof_received", "self.is_slow or self._is_busy", "self.is_slow"),  # an end while much is to do
    ],
)
def test_a_session_that_goes_on_in_later_turns(name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    some = list(transport_input.seeds("tmqp"))
    plant(monkeypatch, StreamSession, name, old, new)

    with pytest.raises(InvariantError):
        check_all(transport_input.check, "tmqp", some)


def test_a_pull_of_a_client_that_asks_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference server lost the rest of a pull: found by a server that does little at a time."""
    some = list(transport_input.seeds("tmqp"))
    monkeypatch.delattr(TmqpSession, "eof_received")
    monkeypatch.delattr(TmqpSession, "_follow")

    with pytest.raises(InvariantError, match="whole is any pace"):
        check_all(transport_input.check, "tmqp", some)


def test_the_second_answer_of_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model gave up where a queue has no id, and no engine of this process followed a release at all."""
    some = [one for one in seeds("tmqp") if one[0] & RECORDED and setting_of("tmqp", one) == 1]
    plant(
        monkeypatch,
        QueueOperations,
        "create_queue",
        "return state.answer(request, client, ResultCode.OK)",
        "return None if given is None else state.answer(request, client, ResultCode.OK)",
    )

    with pytest.raises(InvariantError, match="every push arrives: RESPONSE"):
        check_all(check, "tmqp", some)


def test_strong_messages_that_go_out_before_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server was ended only once it had written what it may write later."""
    some = [one for one in seeds("namechan") if one[-1] == KILLED_FIRST]
    plant(monkeypatch, ServerState, "publish", "sync is Sync.ASYNC", "sync is not Sync.WEAK")

    with pytest.raises(InvariantError, match="every push arrives: message"):
        check_all(check, "namechan", some)


def test_a_connection_that_ends_at_the_first_wrong_byte() -> None:
    """A request that comes in parts was told to the model only once it was whole."""
    made = "tmqp", "doc", "standard"
    found = StoreCheck(FuzzContext(*made), InProcess(*made, mutant=None), tolerance_ns=0, shared=False)
    for name in "ab":
        found.do(ConnectStep(name))

    wrong = RequestStep("a", (Protocol(version=b"\1" * 8),))
    found.do(PartsStep(wrong, 3, RequestStep("b", (Protocol(),))))

    assert found.connections == ["b"]


@pytest.mark.parametrize("first", [Ping(), Custom(type=9, id=b"a")])
def test_a_release_answers_nothing_to_who_pings_first(first: Request) -> None:
    """The reference server answered without the eight bytes."""
    made = "tmqp", "twino-3.0.0", "standard"
    found = StoreCheck(FuzzContext(*made), InProcess(*made, mutant=None), tolerance_ns=0, shared=False)
    found.do(ConnectStep("a"))

    found.do(RequestStep("a", (Protocol(), first, Ping())))

    assert [one.data for one in found.trace if one.kind is Kind.RECEIVED] == [b"TMQP/2.0"]


def test_what_a_release_relays_may_have_no_hop_left() -> None:
    made = "tmqp", "twino-3.0.0", "standard"
    found = StoreCheck(FuzzContext(*made), InProcess(*made, mutant=None), tolerance_ns=0, shared=False)
    found.do(ConnectStep("a"))
    found.do(RequestStep("a", found.model.greeting()))
    common = {"id": b"q", "pending_response": 1, "target": b"c"}
    found.do(RequestStep("a", (CreateQueue(**common, headers=(Header(b"Queue-Id", b"1"),)), Join(**common))))

    found.do(RequestStep("a", (Produce(ttl=1, id=b"m", target=b"c", content_type=1),)))

    assert b"m" in found.trace[-1].data


def test_like_seeds_of_several_profiles_are_not_of_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """There was no time for half of the seeds, drawn at random, so that some conversations were never played."""
    played: list[bytes] = []
    target = replace(TARGETS["transport"], invariants=lambda name, data: played.append(data), recorded=None)
    of_one = [one[1:] for one in target.seeds("namechan") if target.setting_of("namechan", one) == 0]
    number = 1 + max(target.setting_of("namechan", one) for one in target.seeds("namechan"))

    replayed_seeds(target, "namechan", 3, most=len(of_one))

    assert number > 1
    assert len({one[1:] for one in played}) > 0.95 * len(of_one)


def test_a_client_that_takes_nothing_while_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A held client was only ever sent what requests cause."""
    some = [one for one in seeds("psrt") if one[0] & RECORDED]
    plant(monkeypatch, Feed, "wake", "is_silent and not self._is_held", "is_silent")

    with pytest.raises(InvariantError, match="a paused session writes nothing"):
        check_all(check, "psrt", some)


def test_lines_among_headers_that_are_none_are_sent() -> None:
    """No codec writes them, so that nobody asked what becomes of them."""
    codec = Codec.of(protocol("tmqp").profiles["doc"], "standard")
    asked = CreateQueue(id=b"q", target=b"c", headers=(Header(b"Queue-Id", b"1"),))
    known = list(parser_input.seeds("tmqp"))

    forms = codec.other_forms(asked)

    assert all(codec.decode(CreateQueue, data) == asked != data for data in forms.values())
    assert all(any(line in data for data in known) for line in NO_HEADERS.values())


def greeted(*names: str) -> StoreCheck:
    """Return a server and its model, with two connections, of which some have asked for their ids."""
    made = "throttr", "7.3.2", "uint16"
    found = StoreCheck(FuzzContext(*made), InProcess(*made, mutant=None), tolerance_ns=0, shared=False)
    for name in "ab":
        found.do(ConnectStep(name))
    for name in names:
        found.do(RequestStep(name, found.model.greeting()))
    return found


def test_the_channel_of_a_connection_that_nobody_has_asked_for_its_id() -> None:
    """The model took it for a channel of nobody."""
    _, its = greeted("a", "b").known_ids[16]  # the same in each server
    found = greeted("a")

    found.do(RequestStep("a", (Publish(its.hex().encode(), b"for b"),)))

    assert b"for b" in found.trace[-1].data
    assert found.trace[-1].connection == "b"


def test_a_line_beyond_the_limit_that_comes_at_once() -> None:
    """Limits were tried of servers only; the reference client of namechan took any line that came at once."""
    context = FuzzContext("namechan", "1", "standard")
    client = context.symbols.protocol.link_of("hook").client(context.symbols.codec, max_frame=1024)
    client.await_reply(HookCreate(topic=b"t"))
    client.receive_data(b"e" * 1024 + b"\n")

    with pytest.raises(RemoteProtocolError, match="too_large"):
        client.next_event()


def test_a_release_misses_the_id_of_a_queue_before_its_channel() -> None:
    """The released server answers 406 and then 404; the reference server and the model knew the 404 alone."""
    made = "tmqp", "twino-3.0.0", "standard"
    found = StoreCheck(FuzzContext(*made), InProcess(*made, mutant=None), tolerance_ns=0, shared=False)
    found.do(ConnectStep("a"))
    found.do(RequestStep("a", found.model.greeting()))

    found.do(RequestStep("a", (ClearQueue(id=b"z", pending_response=1, target=b"nowhere"),)))

    answers = b"".join(one.data for one in list(found.trace)[-2:] if one.kind is Kind.RECEIVED)
    assert answers.index((406).to_bytes(2, "little")) < answers.index((404).to_bytes(2, "little"))


def test_what_comes_to_a_deaf_session_that_is_held() -> None:
    """The reference server held it, and handled it once its peer read again, found by two conversations in a row."""
    written: list[bytes] = []
    service = create_service("throttr", profile="7.3.2", variant="uint8", clock=VirtualClock())
    session = service.connect(Peer(), written.append, lambda: None)
    session.data_received(b"\xf0")
    session.pause_writing()
    session.data_received(b"\x18")
    session.resume_writing()

    assert b"".join(written) == b""


def test_a_first_frame_that_is_no_hello_and_is_read_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model read the first frame by the codec that was wrong."""
    made = "tmqp", "doc", "standard"
    found = StoreCheck(FuzzContext(*made), InProcess(*made, mutant=None), tolerance_ns=0, shared=False)
    found.do(ConnectStep("a"))
    plant(monkeypatch, Codec, "decode_first", "SERVER and _number", "SERVER or _number")

    with pytest.raises(InvariantError, match="a is open although its first frame is no hello"):
        found.do(RequestStep("a", (Protocol(), Join(target=b"c"))))


def test_a_first_frame_that_is_no_hello_is_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn by chance only: no conversation lacks its HELLO."""
    some = [one for one in seeds("tmqp") if one[0] & RECORDED and one.endswith(bytes([LACKING, 1]))]
    plant(monkeypatch, Codec, "decode_first", "SERVER and _number", "SERVER or _number")

    with pytest.raises(InvariantError, match="a is open although its first frame is no hello"):
        check_all(check, "tmqp", some)


def test_a_request_that_comes_whole_to_a_session_that_is_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces ended where requests do by chance only."""
    some = [one for one in transport_input.seeds("throttr") if bytes(transport_input.IN_REQUESTS) in one]
    plant(monkeypatch, ThrottrSession, "pause_writing", "True, False", "True, True")

    with pytest.raises(InvariantError, match="a paused session writes nothing"):
        check_all(transport_input.check, "throttr", some[:400])


@pytest.mark.parametrize(("old", "new"), [("depth + 1", "depth + 2"), ("limit - 1", "limit - 2")])
def test_a_frame_that_changes_what_holds_for_the_next_one(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each frame was decoded with a context of its own, and what stayed in it was not looked at."""
    number, endpoint = next(
        one for one in enumerate(parser_input.combinations("throttr")) if one[1].is_client and one[1].profile == "7.3.2"
    )
    some = [one for one in parser_input.seeds("throttr") if one[0] == number]
    plant(monkeypatch, ThrottrCodec, "_decode_event_reply", f"context.{old}", f"context.{new}")
    spoken = protocol("throttr").spoken(endpoint.profile, endpoint.variant)
    monkeypatch.setattr(endpoint, "_decode", ThrottrCodec(spoken, spoken.variants[endpoint.variant]).decode_answer)

    with pytest.raises(InvariantError, match="leaves to the next one"):
        check_all(lambda _, data: endpoint.check_frame(data), "throttr", some)
