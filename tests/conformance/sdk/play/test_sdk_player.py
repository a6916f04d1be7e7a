"""The player judges both sides of an SDK as a function of the answers: no sockets, no clock, no process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, DriverError, DriverEvent, FailureKind, Hello, Sdk
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.sdk_player import SdkPlayer
from wireproof.conformance.suite.cases import Case, load_suite, sdk_cases_in
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import protocol
from wireproof.protocols.throttr.requests import Get, Query, Subscribe

QUERY = bytes.fromhex("02016b")
FOUND = {"quota": "7", "ttl_type": "seconds", "ttl": "60"}
ASK = {"ask": {"QUERY": {"key": "k"}}, "answer": {"QUERY_REPLY": {"quota": 7, "ttl_type": "seconds", "ttl": 60}}}
OPERATIONS = ("query", "insert", "subscribe", "set", "get")
HELLO = Hello("wireproof.driver/1", Sdk("s", "1", "l"), "throttr", ("7.3.2",), ("uint16",), OPERATIONS, True, "255")
WRONG = DriverAnswer(9, {}, DriverError(FailureKind.OTHER, "no"))
Answers = Callable[[act.Action], Any]


def case(*steps: dict[str, Any], **more: Any) -> Case:
    entry = {
        "id": "sdk-test/case",
        "title": "a case of a test",
        "clauses": ["THR-QUERY-3"],
        "steps": list(steps),
        **more,
    }
    (made,) = sdk_cases_in({"cases": [entry]}, load_suite("throttr").context, "test.yaml")
    return made


def honest(action: act.Action) -> Any:
    """DriverAnswer as a right SDK that is asked `QUERY` of `k` and told what it found."""
    match action:
        case act.OpenConnection():
            return DriverAnswer(1, {})
        case act.Receive(expected=expected):
            return act.Got(expected)
        case act.Drain():
            return act.Got(b"", ended=True)
        case act.AwaitReport():
            return DriverAnswer(1, FOUND)
        case act.Leftovers():
            return ()
        case act.Accept():
            return True
    return None


def play(made: Case, answers: Answers = honest, hello: Hello = HELLO) -> tuple[Outcome, list[act.Action]]:
    symbols = Symbols(protocol("throttr"), "7.3.2", "uint16", case=made.id, namespace="n", variables=made.variables)
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


def test_right_bytes_and_a_right_report_pass() -> None:
    outcome, done = play(case(ASK))

    assert outcome.verdict is Verdict.PASS
    assert act.Command(1, "query", "a", {"key": {"hex": "6b"}}) in done
    assert act.SendBytes("a", (bytes.fromhex("010700043c00"),)) in done


def test_a_wrong_byte_names_clause_step_byte_and_both_texts() -> None:
    blame = {**ASK, "blame": {"key_size": "THR-QUERY-2"}}

    outcome, _ = play(case(blame), instead(act.Receive, act.Got(bytes.fromhex("02026b"))))

    assert (outcome.verdict, outcome.guilty, outcome.blamed) == (Verdict.FAIL, Guilty.TARGET, "THR-QUERY-2")
    assert (outcome.step, outcome.byte, outcome.expected) == (0, 1, "02016b")
    assert (outcome.got or "").startswith("02026b")


@pytest.mark.parametrize(
    ("got", "verdict"),
    [
        (act.Got(b""), Verdict.HANG),
        (act.Got(b"\2"), Verdict.FAIL),
        (act.Got(b"", ended=True), Verdict.FAIL),
        (act.Got(QUERY + b"\2"), Verdict.FAIL),
    ],
)
def test_what_was_not_sent_is_distinguished_from_what_was_sent_wrong(got: act.Got, verdict: Verdict) -> None:
    assert play(case(ASK), instead(act.Receive, got))[0].verdict is verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (act.Silent(), Verdict.HANG),
        (act.Died("the driver died of SIGSEGV"), Verdict.CRASH),
        (act.Nonsense("no JSON"), Verdict.UNTESTABLE),
        (WRONG, Verdict.FAIL),
        (DriverAnswer(1, {}, DriverError(FailureKind.UNSUPPORTED, "no")), Verdict.UNSUPPORTED),
        (DriverAnswer(1, {**FOUND, "quota": "8"}), Verdict.FAIL),
        (DriverAnswer(1, {**FOUND, "quota": 7}), Verdict.FAIL),
        (DriverAnswer(1, {"status": True}), Verdict.FAIL),
    ],
)
def test_a_report_is_held_against_what_the_bytes_said(answer: Any, verdict: Verdict) -> None:
    assert play(case(ASK), instead(act.AwaitReport, answer))[0].verdict is verdict


def test_an_operation_that_hello_does_not_name_is_unsupported_and_not_asked_for() -> None:
    outcome, done = play(case({"ask": "WHOAMI", "answer": {"WHOAMI_REPLY": {"id": "i"}}}))

    assert outcome.verdict is Verdict.UNSUPPORTED
    assert not any(isinstance(one, act.Command) and one.do == "whoami" for one in done)


def test_a_number_beyond_the_sdks_own_may_be_an_error_and_must_not_be_another_number() -> None:
    wide = {"ask": {"QUERY": {"key": "k"}}, "answer": {"QUERY_REPLY": {"quota": 256, "ttl_type": 4, "ttl": 1}}}

    assert play(case(wide), instead(act.AwaitReport, WRONG))[0].verdict is Verdict.UNSUPPORTED
    assert play(case(wide), instead(act.AwaitReport, DriverAnswer(1, FOUND)))[0].verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [
        ({"quota": "65535"}, Verdict.FAIL),
        ({"2": "65535"}, Verdict.FAIL),
        ({"ttl": "0"}, Verdict.UNSUPPORTED),
        ({"key_size": "0"}, Verdict.UNSUPPORTED),
    ],
)
def test_what_an_sdk_carries_may_differ_by_field(numbers: dict[str, str], verdict: Verdict) -> None:
    hello = replace(HELLO, largest_numbers=numbers)
    quota = 255 if verdict is Verdict.UNSUPPORTED else 256
    wide = {"ask": {"QUERY": {"key": "k"}}, "answer": {"QUERY_REPLY": {"quota": quota, "ttl_type": 4, "ttl": 1}}}

    assert play(case(wide), instead(act.AwaitReport, WRONG), hello)[0].verdict is verdict


@pytest.mark.parametrize(("binary_safe", "verdict"), [(True, Verdict.FAIL), (False, Verdict.UNSUPPORTED)])
def test_an_sdk_that_carries_text_only_need_not_report_bytes_that_are_none(binary_safe: bool, verdict: Verdict) -> None:
    hello, garbled = (
        Hello("wireproof.driver/1", HELLO.sdk, "throttr", ("7.3.2",), ("uint16",), OPERATIONS, binary_safe, "255"),
        {"text": "\ufffd"},
    )
    value = {"ask": {"GET": {"key": "k"}}, "answer": {"GET_REPLY": {"ttl_type": 4, "ttl": 60, "value": {"hex": "ff"}}}}
    push = {"say": {"push": {"channel": "c", "payload": {"hex": "ff"}}}}
    detail = DriverAnswer(1, {"ttl_type": "seconds", "ttl": "60", "value": garbled})
    event = DriverEvent("message", "a", {"channel": {"hex": "63"}, "payload": garbled})

    assert play(case(value), instead(act.AwaitReport, detail), hello)[0].verdict is verdict
    assert play(case(push), instead(act.NextEvent, event), hello)[0].verdict is verdict


@pytest.mark.parametrize(("ttl", "verdict"), [("60", Verdict.UNSUPPORTED), ("61", Verdict.FAIL)])
def test_an_sdk_that_carries_text_only_must_report_all_else(ttl: str, verdict: Verdict) -> None:
    hello = replace(HELLO, binary_safe=False)
    value = {"ask": {"GET": {"key": "k"}}, "answer": {"GET_REPLY": {"ttl_type": 4, "ttl": 60, "value": {"hex": "ff"}}}}
    detail = DriverAnswer(1, {"ttl_type": "seconds", "ttl": ttl, "value": {"text": "?"}})

    assert play(case(value), instead(act.AwaitReport, detail), hello)[0].verdict is verdict


@pytest.mark.parametrize(
    ("came", "answer", "verdict"),
    [
        (b"", DriverAnswer(1, {}, DriverError(FailureKind.TOO_WIDE, "")), Verdict.PASS),
        (b"", DriverAnswer(1, {"status": True}), Verdict.FAIL),
        (b"", DriverAnswer(1, {}, DriverError(FailureKind.TIMEOUT, "")), Verdict.FAIL),
        (b"\1", DriverAnswer(1, {}, DriverError(FailureKind.TOO_WIDE, "")), Verdict.FAIL),
    ],
)
def test_what_must_be_refused_is_refused_and_nothing_sent(came: bytes, answer: DriverAnswer, verdict: Verdict) -> None:
    step = {"ask": {"INSERT": {"key": "k", "quota": 65536, "ttl_type": 4, "ttl": 1}}, "refused": True}

    def answers(action: act.Action) -> Any:
        if isinstance(action, act.Receive):
            return act.Got(came, answered=None if came else 1)
        return answer if isinstance(action, act.AwaitReport) and action.call == 1 else honest(action)

    assert play(case(step), answers)[0].verdict is verdict


@pytest.mark.parametrize(
    ("event", "verdict"),
    [
        (DriverEvent("message", "a", {"channel": {"hex": "63"}, "payload": {"hex": "70"}}), Verdict.PASS),
        (DriverEvent("message", "a", {"channel": {"hex": "63"}, "payload": {"hex": ""}}), Verdict.FAIL),
        (DriverEvent("message", "a", {"payload": {"hex": "70"}}), Verdict.FAIL),
        (act.Silent(), Verdict.FAIL),
        (act.Died("gone"), Verdict.CRASH),
    ],
)
def test_a_push_is_reported_with_all_it_says(event: Any, verdict: Verdict) -> None:
    step = {"say": {"push": {"channel": "c", "payload": "p"}}}

    assert play(case(step), instead(act.NextEvent, event))[0].verdict is verdict


@pytest.mark.parametrize(
    "answers",
    [
        instead(act.Drain, act.Got(b"\x18", ended=True)),
        instead(act.Leftovers, (DriverEvent("message", "a", {}),)),
    ],
)
def test_bytes_and_events_that_nobody_asked_for_fail_at_the_end(answers: Answers) -> None:
    assert play(case(ASK), answers)[0].verdict is Verdict.FAIL


def test_a_prerequisite_that_fails_leaves_the_case_untestable() -> None:
    outcome, _ = play(case({**ASK, "given": True}), instead(act.AwaitReport, WRONG))

    assert (outcome.verdict, outcome.guilty) == (Verdict.UNTESTABLE, Guilty.TARGET)


@pytest.mark.parametrize(
    "step",
    [
        {"ask": {"QUERY": {"key": "k"}}},
        {"say": "ok"},
        {"ask": {"QUERY": {}}, "answer": "ok"},
        {"ask": "ok", "answer": "ok"},
    ],
)
def test_a_case_that_cannot_be_played_is_the_harness_own_fault(step: dict[str, Any]) -> None:
    outcome, _ = play(case(step))

    assert (outcome.verdict, outcome.guilty) == (Verdict.HARNESS_ERROR, Guilty.HARNESS)


def test_halves_asks_again_for_each_place_that_a_field_begins() -> None:
    _, done = play(case({**ASK, "cut": "halves"}))

    cuts = [tuple(map(len, one.segments)) for one in done if isinstance(one, act.SendBytes)]

    assert cuts == [(1, 5), (3, 3), (4, 2)]


def test_the_same_answers_give_the_same_outcome_again() -> None:
    made = case(ASK, {**ASK, "cut": "bytes"})
    tape: list[Any] = []

    def recorded(action: act.Action) -> Any:
        tape.append(honest(action))
        return tape[-1]

    first, done = play(made, recorded)
    left = iter(tape)
    again, replayed = play(made, lambda action: next(left))

    assert (again, replayed) == (first, done)


def test_a_driver_that_ends_while_it_closes_is_a_crash() -> None:
    def answers(action: act.Action) -> Any:
        closing = isinstance(action, act.Command) and action.do == "close"
        return act.Died("gone") if closing else honest(action)

    assert play(case(ASK), answers)[0].verdict is Verdict.CRASH


def test_an_api_that_reports_nothing_of_a_status_is_judged_by_its_bytes() -> None:
    status = case({"ask": {"QUERY": {"key": "k"}}, "answer": "refused"})
    more = case(
        {"ask": {"QUERY": {"key": "k"}}, "answer": {"QUERY_REPLY": {"quota": 1, "ttl_type": "seconds", "ttl": 2}}}
    )
    nothing = instead(act.AwaitReport, DriverAnswer(9, {}))

    outcome, _ = play(status, nothing)
    assert (outcome.verdict, outcome.observed) == (Verdict.PASS, "reports nothing")
    assert play(more, nothing)[0].verdict is Verdict.FAIL


def got_instead(data: bytes, *messages: Any) -> Answers:
    def answers(action: act.Action) -> Any:
        return act.Got(data, messages=messages) if isinstance(action, act.Receive) else honest(action)

    return answers


def test_the_request_that_is_sent_wrongly_is_named_also_where_others_come_first() -> None:
    both = {"ask": [{"QUERY": {"key": "k"}}, {"GET": {"key": "key"}}], "answer": ["refused", "refused"]}
    outcome, _ = play(case(both), got_instead(QUERY + bytes.fromhex("06036b6579")[:2] + b"kex"))

    assert outcome.place is not None
    assert (outcome.place.reply_to, outcome.place.field, outcome.byte) == ("GET", "key", 7)


def test_a_request_that_is_left_out_is_no_wrong_field_of_it() -> None:
    asked = [{"QUERY": {"key": "k"}}, {"GET": {"key": "key"}}]
    get = Get(b"key")
    outcome, _ = play(case({"ask": asked, "answer": ["refused", "refused"]}), got_instead(b"\6\3key", get))

    assert outcome.place is not None
    assert (outcome.place.reply_to, outcome.place.field) == ("QUERY", "")


SUBSCRIBE_C, SUBSCRIBE_D = (bytes.fromhex(f"1101{one}") for one in ("63", "64"))
AGAIN = {"receive": [{"SUBSCRIBE": {"channel": "c"}}, {"SUBSCRIBE": {"channel": "d"}}], "answer": "ok"}


def renewed(*came: tuple[bytes, ...]) -> Answers:
    """Return an SDK that sends these subscriptions, one tuple at a time, and then nothing."""
    left = [act.Got(b"".join(one), False, None, tuple(Subscribe(it[2:]) for it in one), True) for one in came]

    def answers(action: act.Action) -> Any:
        if not isinstance(action, act.Receive):
            return honest(action)
        got = left.pop(0) if left else act.Got(b"")
        assert action.alike is not None
        return replace_got(got, action.alike(got.messages) is True)

    return answers


def replace_got(got: act.Got, alike: bool) -> act.Got:
    return act.Got(got.data, got.ended, got.answered, got.messages, alike)


@pytest.mark.parametrize("came", [[(SUBSCRIBE_D,), (SUBSCRIBE_C,)], [(SUBSCRIBE_C, SUBSCRIBE_D)]])
def test_what_comes_back_in_any_order_is_answered_one_by_one(came: list[tuple[bytes, ...]]) -> None:
    outcome, done = play(case({"connect": "a"}, {**AGAIN, "any_order": True}), renewed(*came))

    assert outcome.verdict is Verdict.PASS
    assert [one for one in done if isinstance(one, act.SendBytes)] == [act.SendBytes("a", (b"\1",))] * 2


@pytest.mark.parametrize(
    ("came", "verdict"),
    [([], Verdict.UNSUPPORTED), ([(SUBSCRIBE_C,)], Verdict.FAIL), ([(bytes.fromhex("110165"),)], Verdict.FAIL)],
)
def test_an_sdk_may_bring_nothing_back_but_not_some(came: list[tuple[bytes, ...]], verdict: Verdict) -> None:
    step = {**AGAIN, "any_order": True, "if_any": True}

    assert play(case({"connect": "a"}, step), renewed(*came))[0].verdict is verdict


@pytest.mark.parametrize("blame", [{"result": "THR-GET-9"}, {"quota": "THR-GET-9"}])
def test_what_is_reported_may_break_another_clause_than_what_is_sent(blame: dict[str, str]) -> None:
    made = case({**ASK, "blame": blame})
    sent_wrongly = play(made, instead(act.Receive, act.Got(b"\2\1j", messages=(Query(b"j"),))))[0]
    reported_wrongly = play(made, instead(act.AwaitReport, DriverAnswer(1, {**FOUND, "quota": "8"})))[0]

    assert (sent_wrongly.blamed, reported_wrongly.blamed) == ("THR-QUERY-3", "THR-GET-9")


@pytest.mark.parametrize(("allowed", "verdict"), [(True, "pass"), (["other"], "pass"), (["closed"], "fail")])
def test_an_error_will_do_where_its_kind_is_named(allowed: Any, verdict: str) -> None:
    outcome, _ = play(case({**ASK, "or_fails": allowed}), instead(act.AwaitReport, WRONG))

    assert outcome.verdict == verdict


def test_bytes_of_two_requests_that_are_mixed_blame_that_requests_go_out_whole() -> None:
    two = {"ask": [{"QUERY": {"key": "k"}}, {"GET": {"key": "ab"}}], "answer": ["refused", "refused"]}

    mixed, _ = play(case(two), instead(act.Receive, act.Got(bytes.fromhex("020601" + "6b026162"))))
    other, _ = play(case(two), instead(act.Receive, act.Got(bytes.fromhex("026b01" + "06026162"))))

    assert (mixed.blamed, mixed.extra.get("interleaved")) == ("THR-FRAMING-3", True)
    assert (other.blamed, other.extra.get("interleaved")) == ("THR-QUERY-3", None)
