"""A right driver is told so in every line; each way to be wrong is told with what was expected, and only that one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conformance.sdk.inside import Command, DiedError, InsideWires, Line
from tests.conformance.sdk.wrong_lines import (
    does,
    flipped,
    hello,
    knows_everything,
    lossy_number,
    lossy_text,
    missing,
    numbers_as_numbers,
    other_kind,
    renamed,
    silent,
    swapped,
)
from tests.reference_client.peers import in_a_loop
from wireproof.conformance.sdk.check_results import CheckResult
from wireproof.conformance.sdk.driver_check import DriverCheck
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.driver_protocol import NONSENSE
from wireproof.conformance.sdk.transports import ProcessTransport


async def checked(wires: Any, *, deadline: float = 2.0, **asked: str) -> list[CheckResult]:
    async with DriverProcess(wires, deadline=deadline, start_deadline=deadline) as driver:
        return [one async for one in DriverCheck(driver, "throttr", **asked).run()]


def wrong(findings: list[CheckResult]) -> dict[str, str]:
    return {one.name: "\n".join(one.wrong) for one in findings if one.wrong}


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
@pytest.mark.parametrize("variant", ["uint8", "uint64"])
@in_a_loop
async def test_the_reference_driver_is_right_in_every_line(profile: str, variant: str) -> None:
    findings = await checked(InsideWires(), profile=profile, variant=variant)
    names = [one.name for one in findings]

    assert wrong(findings) == {}
    assert names[0].endswith(f"tried with profile {profile}, variant {variant}")
    assert [name for name in names if name.startswith("channels")] == [
        "channels",
        *(["channels, with something to be found"] if profile == "7.1.0" else []),
        "channels, extreme values",
        *(["channels, extreme values, with something to be found"] if profile == "7.1.0" else []),
    ]
    assert names[-1] == "quit"
    assert len(names) == len(set(names))


BROKEN = {"ok": False, "error": {"kind": "other", "told": "boom"}}


OUTGOING: dict[str, tuple[Any, dict[str, str]]] = {
    "says yes to nonsense": (
        knows_everything,
        {f"{NONSENSE}, which no driver knows": "expected the error unsupported, got the result {}"},
    ),
    "loses precision": (
        lossy_number,
        {
            "query, extreme values": "result.quota: expected '18446744073709551615', got '18446744073709551616'",
            "list": "result.rows.0.time_point: expected",
            "connections": "result.rows.0.connected_at: expected",
        },
    ),
    "loses bytes": (
        lossy_text,
        {"list, extreme values": "result.rows.0.key: expected {'hex': '00ff0a0d80225c00'}, got {'text': "},
    ),
    "numbers are numbers": (numbers_as_numbers, {"query": 'result.quota: expected {"hex": "..."}, a string'}),
    "flips a status": (
        flipped,
        {"insert": "result.status: expected True, got False\nthe server answered 01"},
    ),
    "turns a batch round": (swapped, {"batch: insert, query, update": "result 1.status: expected"}),
    "leaves a field out": (missing, {"stat": r"result\.total_reads: expected '\d+', got nothing"}),
    "renames a field": (renamed, {"whoami": "result.uuid: expected no such field, only id"}),
    "does not tell kinds": (
        other_kind,
        {
            f"{NONSENSE}, which no driver knows": "expected the error unsupported, got the error other",
            "insert with key of 256 bytes, which does not fit": "expected the error too_long, got other: boom",
            "insert after the server closed the connection": "expected the error closed, got other: boom",
            "insert after the connection was closed": "expected the error closed, got other: boom",
        },
    ),
    "never tells what is pushed": (
        silent("message"),
        {"a message is pushed": "expected the event message with {'payload"},
    ),
    "never answers get": (silent("get"), {"get": "no answer to `get` in 0.25 s"}),
    "never answers close": (silent("close"), {"close": "no answer to `close` in 0.25 s"}),
    "never answers quit": (silent("quit"), {"quit": "expected an answer, then the end; no answer to `quit`"}),
    "never answers hello": (silent("hello"), {"hello": "no answer to `hello` in 0.25 s"}),
    "never says that it was refused": (
        lambda line, command: line if line.get("ok", True) or command.get("do") != "insert" else None,
        {
            "insert with quota 65536, which does not fit": "expected the error too_wide; no answer to `insert`",
            "insert after the server closed": "expected the error closed; no answer to `insert` in 0.25 s",
        },
    ),
    "never fails": (
        lambda line, command: line if line.get("ok", True) else {"id": line["id"], "ok": True, "result": {}},
        {
            "insert with quota 65536, which does not fit": "expected the error too_wide, got the result {}",
            "insert after the connection was closed": "expected the error closed, got the result {}",
        },
    ),
    "cannot connect": (
        lambda line, command: BROKEN | {"id": line["id"]} if does(command, "connect") else line,
        {"connect": "expected {}, got the error other: boom"},
    ),
    "cannot close": (
        lambda line, command: BROKEN | {"id": line["id"]} if does(command, "close") else line,
        {"close": "expected {}, got the error other: boom"},
    ),
    "cannot subscribe": (
        lambda line, command: BROKEN | {"id": line["id"]} if does(command, "subscribe") else line,
        {
            "subscribe": "result: expected {'status': True}, got the error other: boom",
            "subscribe, for the sake of a push": "got the error other: boom\nthe server answered 0",
        },
    ),
    "cannot batch": (
        lambda line, command: BROKEN | {"id": line["id"]} if does(command, "batch") else line,
        {"batch": "result 1: expected {'status': False}, got the error other: boom"},
    ),
    "loses a result of a batch": (
        lambda line, command: {**line, "result": {"results": []}} if does(command, "batch") else line,
        {"batch": "result: expected {\"results\": [...]} with 3 results, got {'results': []}"},
    ),
    "never answers batch": (silent("batch"), {"batch": "no answer to `batch` in 0.25 s"}),
    "hides an operation": (
        hello(operations=["insert", "query"]),
        {"get": "hello does not name it: expected the error unsupported, got the result"},
    ),
    "names an operation of its own": (
        hello(operations=["insert", "teleport"]),
        {"hello": "operations: expected some of insert, query, .*batch; got teleport"},
    ),
    "speaks another protocol": (hello(protocol="psst"), {"hello": "protocol: expected 'throttr', got 'psst'"}),
    "speaks an unknown profile": (hello(profiles=["9"]), {"hello": "profiles: expected some of 7.1.0, 7.3.2; got 9"}),
    "speaks an unknown variant": (hello(variants=["int"]), {"hello": "variants: expected some of uint8.*; got int"}),
    "is of another version": (hello(protocol_version="2"), {"hello": 'protocol_version: "wireproof.driver/1" was exp'}),
}


ALONE = {
    "flips a status": "insert",
    "turns a batch round": "batch",
    "leaves a field out": "stat",
    "renames a field": "whoami",
    "says yes to nonsense": NONSENSE,
}


"""Faults of one operation, and the word that is in every title which tells of them."""


def holds(found: dict[str, str], expected: dict[str, str]) -> None:
    for name, detail in expected.items():
        texts = [text for title, text in found.items() if title.startswith(name)]
        assert any(detail in text or re.search(detail, text) for text in texts), texts or found


@pytest.mark.parametrize("how", OUTGOING)
@in_a_loop
async def test_what_a_driver_says_wrong_is_reported(how: str) -> None:
    outgoing, expected = OUTGOING[how]
    found = wrong(await checked(InsideWires(outgoing=outgoing), deadline=0.25 if how.startswith("never") else 2.0))

    holds(found, expected)
    assert [title for title in found if ALONE.get(how, "") not in title] == []


def wraps(command: Command) -> Command:
    if "quota" in command:
        command["quota"] = str(int(command["quota"]) % 2**16)
    return command


def cuts(command: Command) -> Command:
    if "key" in command:
        command["key"] = {"hex": command["key"]["hex"][:510]}
    return command


def other_key(command: Command) -> Command:
    return {**command, "key": {"hex": "6b"}} if command["do"] == "purge" else command


def dies(command: Command) -> Command:
    if command["do"] == "get":
        raise DiedError("died of SIGSEGV")
    return command


INCOMING: dict[str, tuple[Any, dict[str, str]]] = {
    "wraps a wide number": (
        wraps,
        {"insert with quota 65536, which does not fit": "expected nothing to be sent, it sent 010000043c00"},
    ),
    "cuts a long key": (
        cuts,
        {"insert with key of 256 bytes, which does not fit": "expected nothing to be sent, it sent 013c00043c00ff6b"},
    ),
    "sends another key": (
        other_key,
        {"purge": "it sent 04016b, expected 040f7769726570726f6f662d636865636b: they differ at byte 1"},
    ),
    "dies": (dies, {"the driver runs on": "no answer to `get`: the driver died of SIGSEGV\nlast words\nwhat follows"}),
}


@pytest.mark.parametrize("how", INCOMING)
@in_a_loop
async def test_what_a_driver_does_wrong_is_reported(how: str) -> None:
    incoming, expected = INCOMING[how]

    holds(wrong(await checked(InsideWires(incoming=incoming), variant="uint16")), expected)


@in_a_loop
async def test_what_is_no_line_of_the_protocol_is_reported_at_the_end() -> None:
    def chats(line: Line, command: Command) -> Line | bytes:
        return (
            b"connected!\n" + str(line).replace("'", '"').replace("True", "true").encode()
            if does(command, "connect")
            else line
        )

    found = wrong(await checked(InsideWires(outgoing=chats)))

    assert set(found) == {"stdout is for the protocol only"}
    assert "expected a JSON object, got 'connected!'" in found["stdout is for the protocol only"]


@in_a_loop
async def test_what_an_sdk_does_not_have_is_no_fault() -> None:
    few = ["insert", "query"]

    def incoming(command: Command) -> Command:
        own = (*few, "hello", "connect", "close", "quit")
        return command if command["do"] in own else {**command, "do": NONSENSE}

    def outgoing(line: Line, command: Command) -> Line | None:
        if line.get("event") == "closed":
            return None
        return hello(operations=few, binary_safe=False, largest_number=str(2**53))(line, command)

    findings = await checked(InsideWires(incoming, outgoing))
    notes = {one.name: one.note for one in findings if one.note}

    assert wrong(findings) == {}
    assert notes["get"] == "unsupported, and says so"
    assert notes["events"] == "no subscribe, no events"
    assert notes["bytes of all kinds"] == "not tried: hello says binary_safe false"
    assert notes["insert after the server closed the connection"].startswith("no event closed")


@in_a_loop
async def test_numbers_of_a_width_are_tried_up_to_what_hello_says_of_it() -> None:
    asked: list[Command] = []

    def incoming(command: Command) -> Command:
        asked.append(command)
        return command

    few = hello(largest_number=str(2**32 - 1), largest_numbers={"quota": str(2**63 - 1)})
    assert wrong(await checked(InsideWires(incoming, few), profile="7.3.2", variant="uint64")) == {}
    quotas = {int(one["quota"]) for one in asked if "quota" in one}
    values = {int(one["value"]) for one in asked if does(one, "update")}
    assert quotas == {60, 2**63 - 1, 2**64}
    assert values == {60, 2**32 - 1}


@in_a_loop
async def test_a_largest_number_of_no_field_is_reported() -> None:
    found = wrong(await checked(InsideWires(outgoing=hello(largest_numbers={"quotas": "7"}))))

    holds(found, {"hello": "largest_numbers: expected some of"})


@in_a_loop
async def test_an_sdk_that_connects_again_by_itself_is_right() -> None:
    def again(command: Command) -> Command:
        return {**command, "reconnect": True} if does(command, "connect") else command

    findings = await checked(InsideWires(again))

    assert wrong(findings) == {}
    (one,) = [one for one in findings if one.name == "insert after the server closed the connection"]
    assert one.note in ("it connected again by itself and asked there", "")


@in_a_loop
async def test_a_profile_the_driver_does_not_speak_is_reported() -> None:
    found = wrong(await checked(InsideWires(profile="7.3.2"), profile="7.1.0"))

    holds(found, {"hello": "profiles: expected '7.1.0' among them, got 7.3.2"})


@in_a_loop
async def test_a_program_that_is_not_there_is_reported() -> None:
    assert wrong(await checked(ProcessTransport(["/nowhere"]))) == {
        "hello": "cannot start '/nowhere': No such file or directory"
    }


@in_a_loop
async def test_an_api_that_reports_nothing_and_refuses_and_does_not_close_is_right() -> None:
    def terse(line: Line, command: Command) -> Line:
        if does(command, "close") and line.get("ok"):
            return {"id": line["id"], "ok": False, "error": {"kind": "unsupported", "told": "no close"}}
        if line.get("ok") and list(line.get("result", ())) == ["status"]:
            return {**line, "result": {}}
        if line.get("error", {}).get("kind") in ("too_wide", "too_long"):
            return {**line, "error": {**line["error"], "kind": "refused"}}
        return line

    assert wrong(await checked(InsideWires(outgoing=terse))) == {}


@in_a_loop
async def test_after_a_lost_answer_the_driver_is_connected_anew() -> None:
    connected: list[object] = []

    def loses(command: Command) -> Command | None:
        if does(command, "connect"):
            connected.append(command["connection"])
        return None if does(command, "query") else command

    found = wrong(await checked(InsideWires(incoming=loses), deadline=0.25))

    assert connected[:3] == ["a", "a-2", "a-3"]
    assert all("query" in title for title in found)


@in_a_loop
async def test_a_driver_that_answers_nothing_any_more_is_started_again() -> None:
    blocked = [False]

    def blocks(command: Command) -> Command | None:
        blocked[0] = not does(command, "hello") and (blocked[0] or does(command, "query"))
        return None if blocked[0] else command

    found = wrong(await checked(InsideWires(incoming=blocks), deadline=0.25))

    assert found
    assert all("query" in title for title in found)
