"""An SDK that sends what begins a connection once more breaks the clause about that, whatever the case is about."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, Hello, Sdk
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.sdk_player import SdkPlayer
from wireproof.conformance.suite.cases import load_suite, sdk_cases_in
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import Message, protocol
from wireproof.protocols.namechan.requests import Connect, Unsubscribe, Version

NAMECHAN = protocol("namechan")
CODEC = NAMECHAN.codec(NAMECHAN.profiles["1"], "standard")
OPERATIONS = ("subscribe", "unsubscribe")
HELLO = Hello("wireproof.driver/1", Sdk("s", "1", "l"), "namechan", ("1",), ("standard",), OPERATIONS, True, "255")
CONNECT, ASKED = Connect(id=b"a"), Unsubscribe(b"t")
ASK = {"ask": {"UNSUBSCRIBE": {"topic": "t"}}, "answer": {"UNSUBSCRIBED": {"id": 3, "topic": "t"}}}
BY_HAND: list[dict[str, Any]] = [
    {"connect": {"name": "a", "by_hand": True}},
    {"receive": "VERSION", "answer": "VERSION_REPLY"},
    {"receive": {"CONNECT": {"id": "a"}}},
]


def got(*messages: Message) -> act.Got:
    return act.Got(b"".join(bytes(CODEC.encode(one)) for one in messages), messages=messages)


def play(steps: list[dict[str, Any]], *received: act.Got, left: act.Got) -> tuple[Verdict, str | None]:
    entry = {"id": "sdk-test/case", "title": "a case of a test", "clauses": ["NCH-CLIENT-4"], "steps": steps}
    (made,) = sdk_cases_in({"cases": [entry]}, load_suite("namechan").context, "test.yaml")
    symbols = Symbols(NAMECHAN, "1", "standard", case=made.id, namespace="n", variables=made.variables)
    playing = SdkPlayer(made, symbols, HELLO, Trace(), timeout=1.0).play()
    coming, answer = list(received), None
    while True:
        try:
            action = playing.send(answer)
        except StopIteration as over:
            return over.value.verdict, over.value.blamed
        match action:
            case act.OpenConnection(by_hand=by_hand):
                answer = None if by_hand else DriverAnswer(1, {})
            case act.Receive():
                answer = coming.pop(0)
            case act.AwaitReport():
                answer = DriverAnswer(1, {"id": "3", "topic": {"hex": "74"}})
            case act.Drain():
                answer = left
            case act.Leftovers():
                answer = ()
            case _:
                answer = None


@pytest.mark.parametrize(
    ("steps", "received", "left"),
    [
        ([ASK], [got(CONNECT, ASKED)], got()),
        ([ASK], [got(ASKED)], got(CONNECT)),
        ([ASK, {"leave": "a"}], [got(ASKED)], got(CONNECT)),
        (BY_HAND, [got(Version()), got(CONNECT, CONNECT)], got()),
        ([{**ASK, "given": True}], [got(CONNECT, ASKED)], got()),
    ],
)
def test_one_that_is_begun_again_breaks_the_clause_about_it(
    steps: list[dict[str, Any]], received: list[act.Got], left: act.Got
) -> None:
    assert play(steps, *received, left=left) == (Verdict.FAIL, "NCH-CLIENT-2")


def test_what_begins_a_connection_too_late_is_no_second_beginning() -> None:
    steps = [*BY_HAND[:1], {"receive": "VERSION", "answer": {"VERSION_REPLY": {"version": -1}}}, {"ended": "a"}]

    assert play(steps, got(Version()), left=got(CONNECT)) == (Verdict.FAIL, "NCH-CLIENT-4")


def test_one_that_is_begun_once_passes() -> None:
    steps = [*BY_HAND, {"connected": "a"}]

    assert play([ASK], got(ASKED), left=got())[0] == Verdict.PASS
    assert play(steps, got(Version()), got(CONNECT), left=got())[0] == Verdict.PASS
