"""Plays over loopback: what an SDK asks while it connects, and what becomes of one that dies, hangs or says nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.reference_client.peers import in_a_loop
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.player.byte_allowance import FLOOD
from wireproof.conformance.sdk import driver_process
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.play import sdk_run
from wireproof.conformance.sdk.play.sdk_run import RESTARTS, SdkPlan, play_cases
from wireproof.conformance.sdk.play.sdk_sockets import MOST_UNASKED
from wireproof.conformance.sdk.transports import ProcessTransport
from wireproof.conformance.suite.cases import load_suite, sdk_cases_in
from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.records import Record, Run

TOY = Path(__file__).with_name("toy_sdk.py")
PURGE = {"ask": {"PURGE": {"key": "k"}}}
STEPS: dict[str, list[dict[str, Any]]] = {
    "sdk-test/purge": [{**PURGE, "answer": "ok"}, {**PURGE, "answer": "refused"}],
    "sdk-test/connect": [{"connect": "a"}, {"leave": "a"}],
}


@pytest.fixture(autouse=True)
def _probed_in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_run, "PROBING", 0.1)


async def played(
    how: str, detail: dict[str, list[dict[str, Any]]], kept: list[int] | None = None, restarts: int = RESTARTS
) -> list[Record]:
    """Return the records; `kept` takes how many bytes of the SDK each trace holds."""
    suite = load_suite("throttr")
    entries = [
        {"id": id, "title": f"a case: {id}", "clauses": ["THR-PURGE-3"], "steps": steps} for id, steps in detail.items()
    ]
    cases = list(sdk_cases_in({"cases": entries}, suite.context, "test.yaml"))
    run = Run("throttr", "7.3.2", "uint16", "toy", "toy", role="client")
    found: list[Record] = []

    def report(record: Record, outcome: Outcome) -> None:
        found.append(record)
        if kept is not None:
            kept.append(sum(len(one.data) for one in outcome.trace if one.kind is Kind.RECEIVED))

    seconds = 2.0 if how in ("naps", "warms-up") else 0.3 if how in ("hangs", "owes", "stalls") else 10.0
    async with DriverProcess(ProcessTransport([sys.executable, "-I", str(TOY), how]), deadline=seconds) as driver:
        await driver.start()
        await play_cases(SdkPlan(run, suite, cases, seconds), driver, report, restarts=restarts)
    return found


@pytest.mark.parametrize(
    ("how", "verdicts"),
    [
        ("honest", ["pass", "pass"]),
        ("greets", ["pass", "pass"]),
        ("babbles", ["fail", "fail"]),
        ("says-nothing", ["fail", "pass"]),
        ("hangs", ["hang", "pass"]),
        ("dies", ["crash", "pass"]),
    ],
)
@in_a_loop
async def test_each_way_to_be_wrong_has_its_verdict_and_the_next_case_a_fresh_start(
    how: str, verdicts: list[str]
) -> None:
    found = await played(how, STEPS)

    assert [one["verdict"] for one in found] == verdicts
    assert {one["role"] for one in found} == {"client"}
    if how == "dies":
        assert "SIGSEGV" in found[0]["got"]
    if how == "honest":
        assert [(one["direction"], one["hex"]) for one in found[0]["exchange"] if one["hex"]][:2] == [
            ("received", "04016b"),
            ("sent", "01"),
        ]


AGAIN = [
    {"connect": "a", "reconnect": True}, {**PURGE, "answer": "ok"}, {"close": "a"}, {"accept": "a"},
    {"wait": 0.2}, {**PURGE, "answer": "refused"},
]  # fmt: skip


@pytest.mark.parametrize(("how", "verdict"), [("again", "pass"), ("greets-again", "pass"), ("babbles-again", "fail")])
@in_a_loop
async def test_an_sdk_that_connects_again_may_greet_again_and_say_nothing_else(how: str, verdict: str) -> None:
    (found,) = await played(how, {"sdk-test/again": AGAIN})

    assert found["verdict"] == verdict, found["got"]


@pytest.mark.parametrize("how", ["honest", "warms-up"])
@in_a_loop
async def test_a_program_that_does_one_thing_at_a_time_is_not_asked_for_several(how: str) -> None:
    both: dict[str, list[dict[str, Any]]] = {
        "sdk-test/both": [{"ask": [PURGE["ask"], PURGE["ask"]], "answer": ["ok", "ok"]}],
        "sdk-test/overlapping": [{**PURGE, "open": True}, {**PURGE, "open": True}, {"say": ["ok", "ok"]}],
        "sdk-test/leaving": [{**PURGE, "open": True}, {"leave": "a", "fails": "any"}],
        "sdk-test/one": [{**PURGE, "answer": "ok"}],
    }

    found = await played(how, both)

    assert [one["verdict"] for one in found] == ["unsupported"] * 3 + ["pass"]


QUERY = [{"ask": {"QUERY": {"key": "k"}}, "answer": "refused"}]


@in_a_loop
async def test_a_close_that_ends_the_driver_is_one_failure() -> None:
    found = await played("dies-closing", {f"sdk-test/{number}": QUERY for number in range(5)})

    assert [one["verdict"] for one in found] == ["crash", "pass", "pass", "pass", "pass"]
    assert found[0]["got"].startswith("`close` ended the driver, after every step of the case was right: ")
    assert found[0]["extra"]["process"]["death"] == "died of SIGSEGV"
    assert found[0]["extra"]["process"]["said"] == "fatal: a late end"
    assert found[1]["extra"]["closing"] == "sdk-test/0"


@in_a_loop
async def test_a_driver_that_dies_soon_after_each_close_is_one_failure_and_costs_few_restarts() -> None:
    found = await played("dies-after-closing", {f"sdk-test/{number}": QUERY for number in range(20)}, restarts=5)

    assert [one["verdict"] for one in found] == ["crash", *["pass"] * 19]
    assert found[0]["got"].startswith("`close` was answered, and then ended the driver, after every step of the case")
    assert found[0]["expected"] == "a driver that outlives `close`"


@in_a_loop
async def test_a_driver_that_dies_of_the_case_before_is_that_cases_crash() -> None:
    slow = [{"wait": 0.3}, *QUERY]
    found = await played("dies-late", {"sdk-test/guilty": [{**PURGE, "answer": "ok"}], "sdk-test/slow": slow})

    assert [(one["case"], one["verdict"]) for one in found] == [("sdk-test/guilty", "crash"), ("sdk-test/slow", "pass")]
    assert found[0]["got"] == "after the case had ended, the driver died of SIGSEGV"


@in_a_loop
async def test_a_driver_that_dies_of_a_case_that_failed_does_not_fail_the_next_one() -> None:
    slow = [{"wait": 0.3}, *QUERY]
    found = await played("dies-late", {"sdk-test/guilty": [{**PURGE, "refused": True}], "sdk-test/slow": slow})

    assert [(one["case"], one["verdict"]) for one in found] == [("sdk-test/guilty", "fail"), ("sdk-test/slow", "pass")]


@in_a_loop
async def test_a_driver_that_dies_after_the_last_case_has_a_guilty_one() -> None:
    (found,) = await played("dies-late", {"sdk-test/last": [{**PURGE, "answer": "ok"}]})

    assert found["verdict"] == "crash"


@in_a_loop
async def test_what_would_end_the_driver_again_is_held_back() -> None:
    purges = {f"sdk-test/{number}": [{**PURGE, "answer": "ok"}] for number in range(6)}
    found = await played("dies", {**purges, "sdk-test/query": QUERY})

    assert [one["verdict"] for one in found] == ["crash"] * 3 + ["untestable"] * 3 + ["pass"]
    assert found[3]["extra"]["held_back"] == "sdk-test/0"


@in_a_loop
async def test_a_driver_that_does_not_answer_reports_what_it_did_meanwhile() -> None:
    found = await played("hangs", {"sdk-test/purge": STEPS["sdk-test/purge"]})

    assert found[0]["extra"]["hang"]["busy"] is False
    assert "(waiting, as in a deadlock)" in found[0]["got"]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are not shown here")
@in_a_loop
async def test_an_answer_that_never_comes_is_waited_for_in_full_once_and_a_late_one_each_time() -> None:
    purge = [{**PURGE, "answer": "ok"}]
    found = await played("naps", {"sdk-test/1": purge, "sdk-test/2": purge, "sdk-test/3": QUERY})

    assert [one["verdict"] for one in found] == ["hang", "hang", "pass"]
    assert found[0]["got"].startswith("none in 2 s; ")
    assert " s, after 2 s without an answer before; " in found[1]["got"]
    assert "(waiting, as in a deadlock)" in found[1]["got"]


@in_a_loop
async def test_an_sdk_that_sends_without_end_ends_its_case_and_is_not_kept_in_memory() -> None:
    steps = [{**PURGE, "answer": "ok"}, {"wait": 0.3}, {"ask": {"QUERY": {"key": "k"}}, "answer": "ok"}]
    kept: list[int] = []
    found = await played("endless", {"sdk-test/endless": steps, "sdk-test/next": QUERY}, kept)

    assert [one["verdict"] for one in found] == ["fail", "pass"]
    assert found[0]["expected"] == "requests that end"
    assert found[0]["got"].startswith("the SDK sends without end: more than ")
    assert found[0]["extra"][FLOOD] == "1"
    assert kept[0] < 2 * MOST_UNASKED


@in_a_loop
async def test_a_driver_that_writes_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_process, "MOST_UNASKED", 1 << 18)
    found = await played("writes-endlessly", {"sdk-test/endless": [{**PURGE, "answer": "ok"}], "sdk-test/next": QUERY})

    assert [one["verdict"] for one in found] == ["crash", "pass"]
    assert "wrote lines that nobody asked for, without end" in found[0]["got"]


@in_a_loop
async def test_a_driver_that_the_case_before_left_hanging_is_not_the_hang_of_the_next() -> None:
    found = await played("stalls", {f"sdk-test/{number}": QUERY for number in range(3)})

    assert [one["verdict"] for one in found] == ["pass"] * 3


@in_a_loop
async def test_what_is_asked_after_an_answer_that_was_left_lying_follows_from_that() -> None:
    asked = {"ask": {"QUERY": {"key": "k"}}, "answer": "refused"}
    found = await played(
        "leaves-answers",
        {
            "sdk-test/purge": [{**PURGE, "answer": "ok"}],
            "sdk-test/query": [asked, asked],
            "sdk-test/pair": [{**PURGE, "answer": "ok"}, asked],
            "sdk-test/longer": [{**PURGE, "answer": "ok"}, asked, asked],
        },
    )
    (cause,) = causes_of(found)

    assert [one["verdict"] for one in found] == ["pass", "pass", "fail", "fail"]
    assert {one["case"] for one in cause.records} == {"sdk-test/pair", "sdk-test/longer"}


@in_a_loop
async def test_nothing_is_reported_of_how_an_sdk_closes_that_closes_nothing() -> None:
    (found,) = await played("keeps-open", {"sdk-test/leave": [*QUERY, {"leave": "a"}]})

    assert (found["verdict"], found["got"]) == ("unsupported", "unsupported: nothing is closed")


LAZILY: list[dict[str, Any]] = [{"connect": "a", "reconnect": True}, {**PURGE, "answer": "ok"}, {"close": "a"}]


@pytest.mark.parametrize("how", ["lazy", "lazy-and-late"])
@in_a_loop
async def test_an_sdk_that_connects_again_with_its_next_request_is_right_whatever_it_says_first(how: str) -> None:
    found = await played(
        how,
        {
            "sdk-test/again": [*LAZILY, {"accept": "a"}, {**PURGE, "answer": "refused"}, {**PURGE, "answer": "ok"}],
            "sdk-test/unasked": [*LAZILY, {"accept": "a"}, {"receive": PURGE["ask"], "answer": "ok"}],
            "sdk-test/undeclared": [
                {**PURGE, "answer": "ok"},
                {"close": "a"},
                {"wait": 0.05},
                {**PURGE, "answer": "ok", "or_fails": True},
            ],
        },
    )

    assert [(one["verdict"], one["got"]) for one in found] == [
        ("pass", None),
        ("unsupported", "hello says reconnects_lazily"),
        ("pass", None),
    ]


@pytest.mark.parametrize(("how", "next_one"), [("owes", "pass"), ("hangs", "untestable")])
@in_a_loop
async def test_a_driver_that_owes_one_answer_goes_on_and_one_that_answers_nothing_is_out(
    how: str, next_one: str
) -> None:
    cases: dict[str, list[dict[str, Any]]] = {
        "sdk-test/owed": [{**PURGE, "answer": "ok"}],
        "sdk-test/ended": [{"ask": {"QUERY": {"key": "k"}}, "answer": "close", "fails": "any"}],
    }

    found = await played(how, {**cases, "sdk-test/next": QUERY}, restarts=0)

    assert [one["verdict"] for one in found] == ["hang", "hang" if how == "owes" else "untestable", next_one]
    assert "its connection had ended" not in found[0]["got"]
    if how == "owes":
        assert "; its connection had ended; " in found[1]["got"]
        assert [len(one.records) for one in causes_of(found)] == [1, 1]
