"""Plays of SDKs with several sockets, sans-IO: what is asked of the world, and what its answers come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, DriverError, DriverEvent, FailureKind, Hello, Sdk
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.sdk_player import SdkPlayer
from wireproof.conformance.suite.cases import Case, load_suite, sdk_cases_in
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import protocol
from wireproof.protocols.messages import Message
from wireproof.protocols.psrt.requests import Attach, Content, Publish, Sealed, Subscribe
from wireproof.protocols.psrt.sealing import seal

PSRT = protocol("psrt")
CODEC = PSRT.codec(PSRT.profiles["1"], "standard")
OPERATIONS = ("publish", "subscribe", "publish_repl", "datagram", "bye")
HELLO = Hello(
    "wireproof.driver/1", Sdk("s", "1", "l"), "psrt", ("1",), ("standard",), OPERATIONS, True, "255", features=("udp",)
)
OK = DriverAnswer(1, {"code": "ok"})
PUBLISH: dict[str, Any] = {"PUBLISH": {"priority": 127, "topic": "t", "message": "m"}}
FINE: dict[str, Any] = {"RESPONSE": {"code": "OK"}}
KEY = bytes(range(32))
Answers = Callable[[act.Action], Any]


def case(*steps: dict[str, Any], **more: Any) -> Case:
    entry = {
        "id": "sdk-test/case",
        "title": "a case of a test",
        "clauses": ["PSRT-CLIENT-1"],
        "steps": list(steps),
        **more,
    }
    suite = load_suite("psrt")
    (made,) = sdk_cases_in({"cases": [entry]}, suite.context, "test.yaml")
    return made


def honest(action: act.Action) -> Any:
    """DriverAnswer as an SDK that does what it is told, and is told OK."""
    match action:
        case act.OpenConnection(by_hand=by_hand):
            return None if by_hand else DriverAnswer(1, {})
        case act.Receive(expected=expected):
            return act.Got(expected)
        case act.Drain():
            return act.Got(b"", ended=True)
        case act.AwaitReport():
            return OK
        case act.Leftovers():
            return ()
        case act.AcceptTls():
            return ""
        case act.Ping():
            return True
        case act.CountConnections():
            return 1
    return None


def play(made: Case, answers: Answers = honest, hello: Hello = HELLO) -> tuple[Outcome, list[act.Action]]:
    symbols = Symbols(PSRT, "1", "standard", case=made.id, namespace="n", variables=made.variables)
    playing, done = SdkPlayer(made, symbols, hello, Trace(), timeout=1.0).play(), list[act.Action]()
    answer = None
    while True:
        try:
            action = playing.send(answer)
        except StopIteration as over:
            return over.value, done
        done.append(action)
        answer = answers(action)


def instead(kind: type, answer: Any) -> Answers:
    return lambda action: answer if isinstance(action, kind) else honest(action)


def came(*messages: Message) -> Answers:
    """DriverAnswer as an SDK that sends these messages whatever is expected."""

    def answers(action: act.Action) -> Any:
        if isinstance(action, act.Receive) and action.alike is not None:
            data = b"".join(CODEC.encode(one) for one in messages)
            return act.Got(data, messages=messages, alike=action.alike(messages) is True)
        return honest(action)

    return answers


def test_pushes_go_on_their_own_line_and_answers_on_that_of_the_request() -> None:
    push = {"push": {"priority": 1, "topic": "t", "message": "m"}}
    event = DriverEvent("message", "a", {"topic": {"hex": "74"}, "message": {"hex": "6d"}, "priority": None})

    outcome, done = play(case({"ask": PUBLISH, "answer": [push, FINE, push]}), instead(act.NextEvent, event))

    assert outcome.verdict is Verdict.PASS
    written = [(one.connection, b"".join(one.segments).hex()) for one in done if isinstance(one, act.SendBytes)]
    assert written == [("a.data", "01010300000074006d"), ("a", "01"), ("a.data", "01010300000074006d")]


def test_what_an_sdk_need_not_report_must_be_right_when_it_does() -> None:
    step = {"say": {"push": {"priority": 1, "topic": "t", "message": "m"}}}
    fields = {"topic": {"hex": "74"}, "message": {"hex": "6d"}}

    for priority, verdict in (("1", Verdict.PASS), ("2", Verdict.FAIL)):
        event = DriverEvent("message", "a", {**fields, "priority": priority})
        assert play(case(step), instead(act.NextEvent, event))[0].verdict is verdict
    lacking = DriverEvent("message", "a", {"topic": {"hex": "74"}})
    assert play(case(step), instead(act.NextEvent, lacking))[0].verdict is Verdict.FAIL


def test_beacons_are_written_and_no_event_is_awaited() -> None:
    outcome, done = play(case({"say": ["BEACON", "BEACON"]}))

    assert outcome.verdict is Verdict.PASS
    assert act.SendBytes("a.data", (b"\0\0",)) in done
    assert not any(isinstance(one, act.NextEvent) for one in done)


@pytest.mark.parametrize(
    ("topics", "verdict"), [(b"a\0b\0", Verdict.PASS), (b"a\0\0b", Verdict.PASS), (b"b\0a", Verdict.FAIL)]
)
def test_the_same_request_may_be_written_otherwise(topics: bytes, verdict: Verdict) -> None:
    step = {"ask": {"SUBSCRIBE": {"topics": {"hex": "610062"}}}, "answer": FINE}

    assert play(case(step), came(Subscribe(topics)))[0].verdict is verdict


@pytest.mark.parametrize(("timeout", "verdict"), [(7, Verdict.PASS), (0, Verdict.PASS)])
def test_a_field_that_is_ignored_may_have_any_value(timeout: int, verdict: Verdict) -> None:
    attach = {"ATTACH": {"token": "t", "timeout": 5}}
    steps = (
        {"connect": {"name": "a", "by_hand": True}},
        {"receive": attach, "ignore": ["timeout"]},
        {"connected": "a"},
    )

    assert play(case(*steps), came(Attach(b"t".ljust(32, b"\0"), timeout)))[0].verdict is verdict
    assert play(case(*steps), came(Attach(b"u".ljust(32, b"\0"), timeout)))[0].verdict is Verdict.FAIL


def sealed(nonce: bytes, key: bytes = KEY, message: bytes = b"m") -> Sealed:
    inside = CODEC.encode(Content(1, 127, b"t", message))
    return Sealed(1, 3, b"user1", nonce, seal(key=key, nonce=nonce, encryption=3, of=inside))


@pytest.mark.parametrize(
    ("sent", "verdict", "blamed"),
    [
        ([bytes(12), bytes(11) + b"\1"], Verdict.PASS, None),
        ([bytes(12), bytes(12)], Verdict.FAIL, "PSRT-CLIENT-16"),
    ],
)
def test_what_is_sealed_is_opened_and_its_nonce_is_never_used_again(
    sent: list[bytes], verdict: Verdict, blamed: str | None
) -> None:
    fields = {"version": 1, "encryption": "AES_256_GCM", "login": "user1", "password": {"hex": KEY.hex()}, "op": 1}
    datagram = {"DATAGRAM": {**fields, "priority": 127, "topic": "t", "message": "m"}}
    reply = {"DATAGRAM_REPLY": {"version": 1, "code": "OK"}}
    step = {"ask": datagram, "answer": reply, "sealed": True, "fresh": "nonce", "blame": {"nonce": "PSRT-CLIENT-16"}}
    left = list(sent)

    def answers(action: act.Action) -> Any:
        return came(sealed(left.pop(0)))(action) if isinstance(action, act.Receive) else honest(action)

    outcome, done = play(case(step, step), answers)

    assert (outcome.verdict, outcome.blamed) == (verdict, blamed)
    detail = next(one.fields for one in done if isinstance(one, act.Command))
    assert (detail["password"], detail["encryption"]) == ({"hex": KEY.hex()}, "aes_256_gcm")
    assert "version" not in detail
    assert act.SendBytes("a.datagram", (bytes.fromhex("eeaa010001"),)) in done
    wrong = came(sealed(bytes(12), key=bytes(32)))
    assert play(case(step), wrong)[0].verdict is Verdict.FAIL


def test_what_is_never_answered_is_reported_done() -> None:
    fields = {"version": 1, "encryption": 0, "login": "", "password": "", "op": 0x21, "priority": 1, "topic": "t"}
    step = {"ask": {"DATAGRAM": {**fields, "message": "m"}}, "unanswered": True}

    assert play(case(step), instead(act.AwaitReport, DriverAnswer(1, {})))[0].verdict is Verdict.PASS
    failed = DriverAnswer(1, {}, DriverError(FailureKind.TIMEOUT, ""))
    assert play(case(step), instead(act.AwaitReport, failed))[0].verdict is Verdict.FAIL


def test_an_operation_of_two_requests_is_reported_whole_and_its_second_half_awaited() -> None:
    data = {"REPL_DATA": {"priority": 1, "timestamp": 2, "message": "m"}}
    waiting = {"RESPONSE": {"code": "OK_WAITING"}}
    step = {"ask": {"PUBLISH_REPL": {"topic": "t"}}, "then": data, "interim": waiting, "answer": FINE}

    outcome, done = play(case(step))

    assert outcome.verdict is Verdict.PASS
    detail = next(one for one in done if isinstance(one, act.Command))
    assert (detail.do, set(detail.fields)) == ("publish_repl", {"topic", "priority", "timestamp", "message"})
    kinds = [type(one).__name__ for one in done if isinstance(one, act.Receive | act.SendBytes | act.AwaitReport)][:5]
    assert kinds == ["Receive", "SendBytes", "Receive", "SendBytes", "AwaitReport"]


def test_a_feature_that_hello_does_not_name_is_unsupported_before_anything_is_done() -> None:
    outcome, done = play(case({"ask": PUBLISH, "answer": FINE}, needs=["tls"]))

    assert (outcome.verdict, outcome.expected) == (Verdict.UNSUPPORTED, "the feature tls")
    assert not any(isinstance(one, act.OpenConnection) for one in done)
    assert play(case({"ask": PUBLISH, "answer": FINE}, needs=["udp"]))[0].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("answer", "fails", "verdict"),
    [
        (DriverAnswer(1, {}), None, Verdict.PASS),
        (DriverAnswer(1, {}), ["refused"], Verdict.FAIL),
        (DriverAnswer(1, {}, DriverError(FailureKind.REFUSED, "")), ["refused"], Verdict.PASS),
        (DriverAnswer(1, {}, DriverError(FailureKind.CLOSED, "")), ["refused"], Verdict.FAIL),
        (DriverAnswer(1, {}, DriverError(FailureKind.CLOSED, "")), "any", Verdict.PASS),
        (DriverAnswer(1, {}, DriverError(FailureKind.CLOSED, "")), None, Verdict.FAIL),
        (act.Silent(), "any", Verdict.HANG),
        (act.Died("gone"), "any", Verdict.CRASH),
    ],
)
def test_a_connection_opened_by_hand_is_reported_as_it_went(answer: Any, fails: Any, verdict: Verdict) -> None:
    greeting = {"receive": {"GREETING": {"mode": "PLAIN"}}, "answer": {"raw": "eeaa0100"}}
    connected = {"connected": "a", **({"fails": fails} if fails else {})}
    steps = ({"connect": {"name": "a", "by_hand": True, "login": "u", "timeout": 2, "ca": "ours"}}, greeting, connected)

    outcome, done = play(case(*steps), instead(act.AwaitReport, answer))

    assert outcome.verdict is verdict
    assert done[0] == act.OpenConnection(
        "a", False, 1, by_hand=True, fields={"login": {"hex": "75"}, "timeout": "2", "ca": "ours"}
    )


@pytest.mark.parametrize(
    ("step", "kind", "answer", "verdict"),
    [
        ({"secure": "a"}, act.AcceptTls, "no TLS", Verdict.FAIL),
        ({"secure": "a", "fails": "any"}, act.AcceptTls, "no TLS", Verdict.PASS),
        ({"secure": "a", "fails": "any"}, act.AcceptTls, "", Verdict.FAIL),
        ({"pings": {"on": "a", "within": 1}}, act.Ping, False, Verdict.FAIL),
        ({"only": "a.data"}, act.CountConnections, 2, Verdict.FAIL),
        ({"ended": "a"}, act.Drain, act.Got(b"", ended=False), Verdict.FAIL),
        ({"ended": "a"}, act.Drain, act.Got(b"\1", ended=True), Verdict.FAIL),
    ],
)
def test_what_a_line_does_is_held_against_the_step(
    step: dict[str, Any], kind: type, answer: Any, verdict: Verdict
) -> None:
    assert play(case({"connect": "a"}, step), instead(kind, answer))[0].verdict is verdict


def test_a_lost_data_socket_fails_what_waits_on_the_control_socket() -> None:
    steps = ({"ask": PUBLISH, "open": True}, {"close": "a.data", "fails": ["closed"]})

    lost = instead(act.AwaitReport, DriverAnswer(1, {}, DriverError(FailureKind.CLOSED, "")))
    assert play(case(*steps), lost)[0].verdict is Verdict.PASS
    assert play(case(*steps))[0].verdict is Verdict.FAIL


def test_a_driver_that_does_one_thing_at_a_time_is_not_asked_to_go_on_while_its_ping_waits() -> None:
    made = case({"pings": {"on": "a", "within": 1, "held": True}})
    symbols = Symbols(PSRT, "1", "standard", case=made.id, namespace="n")
    playing = SdkPlayer(made, symbols, HELLO, Trace(), one_at_a_time=True).play()

    with pytest.raises(StopIteration) as over:
        playing.send(None)

    assert over.value.value.verdict is Verdict.UNSUPPORTED


def test_the_end_that_was_asked_for_may_be_reported_without_a_code() -> None:
    step = {"ask": "BYE", "answer": [FINE, "close"]}

    assert play(case(step), instead(act.AwaitReport, DriverAnswer(1, {})))[0].verdict is Verdict.PASS
    assert play(case(step), instead(act.AwaitReport, DriverAnswer(1, {"code": "error"})))[0].verdict is Verdict.FAIL
    asked = case({"ask": PUBLISH, "answer": FINE})
    assert play(asked, instead(act.AwaitReport, DriverAnswer(1, {})))[0].verdict is Verdict.FAIL


def test_byte_and_field_are_reported_where_a_body_holds_two_fields() -> None:
    blame = {"topic": "PSRT-PUBLISH-4", "topic_size": "PSRT-CLIENT-14"}
    step = {"ask": {"PUBLISH": {"priority": 127, "topic": "t", "message": "m"}}, "answer": FINE, "blame": blame}

    for sent, blamed, byte in (
        (bytes.fromhex("017f0300000075006d"), "PSRT-PUBLISH-4", 6),
        (bytes.fromhex("017f0200000074006d"), "PSRT-CLIENT-14", 2),
    ):
        outcome, _ = play(case(step), instead(act.Receive, act.Got(sent)))
        assert (outcome.blamed, outcome.byte) == (blamed, byte)


def test_what_came_more_is_no_other_way_to_write_what_was_asked() -> None:
    asked = case({"ask": PUBLISH, "answer": FINE})
    twice = Publish(127, b"t", b"m")

    assert play(asked, came(twice, twice))[0].verdict is Verdict.FAIL


def test_an_sdk_that_ends_its_session_when_it_gives_up_owes_no_answer_that_comes_later() -> None:
    def gives_up(action: act.Action) -> Any:
        match action:
            case act.Receive(expected=expected, calls=calls):
                return act.Got(expected) if expected[:1] == b"\1" else act.Got(b"", ended=True, answered=calls[0])
            case act.AwaitReport():
                return DriverAnswer(1, {}, DriverError(FailureKind.CLOSED, "no answer in time"))
        return honest(action)

    steps = (
        {"connect": "a"},
        {"ask": PUBLISH, "open": True},
        {"ask": {"SUBSCRIBE": {"topics": "t"}}, "open": True, "or_fails": True},
        {"say": [FINE, FINE], "or_fails": True},
    )

    outcome, _ = play(case(*steps), gives_up)
    assert (outcome.verdict, outcome.got) == (Verdict.PASS, None)
