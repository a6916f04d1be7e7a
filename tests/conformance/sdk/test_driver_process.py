"""A driver is talked to with a deadline on everything, and what ends it is told with its last words."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import have_ended
from tests.reference_client.peers import in_a_loop
from wireproof.conformance.sdk.driver_process import DriverEndedError, DriverProcess, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import NONSENSE, DriverMessageError, FailureKind
from wireproof.conformance.sdk.transports import DriverStartError, FifoTransport, ProcessTransport, parse_driver

TOY = Path(__file__).with_name("toy_driver.py")


def toy(how: str = "honest", **options: float) -> DriverProcess:
    return DriverProcess(ProcessTransport([sys.executable, "-I", str(TOY), how]), **options)


@in_a_loop
async def test_a_driver_says_who_it_is_and_answers() -> None:
    async with toy() as driver:
        hello = await driver.start()
        answer = await driver.ask("echo", connection="a", payload={"text": "ü\n"})

        assert (hello.sdk.name, hello.operations, hello.reconnects) == ("toy", ("echo",), False)
        assert answer.result == {"payload": {"text": "ü\n"}}
        assert (await driver.ask(NONSENSE, connection="a")).kind is FailureKind.UNSUPPORTED
        assert await driver.quit() == "the driver ended with exit code 0"
        assert driver.wrong_lines == []
        assert driver.transcript[0] == '> {"id": 1, "do": "hello"}'


@in_a_loop
async def test_answers_find_their_commands_in_any_order() -> None:
    async with toy() as driver:
        await driver.start()
        calls = [driver.begin(do, connection="a") for do in ("later", "later", "close")]
        order: list[int] = []
        for call in calls:
            call.result.add_done_callback(lambda _, id=call.id: order.append(id))

        assert [(await driver.answer(call)).id for call in calls] == [2, 3, 4]
        assert order == [4, 3, 2]


@in_a_loop
async def test_events_are_kept_for_who_asks_for_them() -> None:
    async with toy() as driver:
        await driver.start()
        for word in ("01", "02"):
            await driver.ask("push", connection="a", payload={"hex": word})

        assert (await driver.event("b")).event == "closed"
        assert (await driver.event(kind="message")).fields == {"payload": {"hex": "01"}}
        with pytest.raises(NoAnswerError, match=r"no message in 0\.01 s"):
            await driver.event("b", "message", deadline=0.01)
        assert [one.connection for one in driver.take_events()] == ["a", "b"]
        waiting = asyncio.ensure_future(driver.event())
        await driver.ask("push", connection="a", payload={"hex": "03"})
        assert (await waiting).fields == {"payload": {"hex": "03"}}


@in_a_loop
async def test_no_answer_is_reported_and_the_next_command_gets_its_own() -> None:
    async with toy() as driver:
        await driver.start()
        with pytest.raises(NoAnswerError, match=r"no answer to `hang` in 0\.01 s"):
            await driver.ask("hang", connection="a", deadline=0.01)

        assert (await driver.ask("close", connection="a")).error is None


@pytest.mark.parametrize(("how", "detail"), [("signal", "died of SIGSEGV"), ("7", "ended with exit code 7")])
@in_a_loop
async def test_a_death_is_reported_with_its_last_words_and_healed_by_a_restart(how: str, detail: str) -> None:
    async with toy() as driver:
        await driver.start()
        listening = asyncio.ensure_future(driver.event())
        with pytest.raises(
            DriverEndedError, match=f"no answer to `die`: the driver {detail}\n.*says the toy"
        ) as caught:
            await driver.ask("die", connection="a", how=how)

        assert caught.value.last_words == ["last words, says the toy"]
        assert driver.death == f"the driver {detail}"
        with pytest.raises(DriverEndedError):
            await listening
        with pytest.raises(DriverEndedError, match=f"`echo` was not sent: the driver {detail}"):
            driver.begin("echo", connection="a")
        await driver.restart("it died")
        assert driver.death is None
        assert driver.last_words() == []
        assert (await driver.ask("close", connection="a")).error is None


@in_a_loop
async def test_commands_in_flight_all_hear_of_a_death() -> None:
    async with toy() as driver:
        await driver.start()
        calls = [driver.begin("hang", connection="a"), driver.begin("die", connection="a", how="3")]
        for call in calls:
            with pytest.raises(DriverEndedError, match="exit code 3"):
                await driver.answer(call)


@pytest.mark.parametrize(
    ("how", "error", "detail"),
    [
        ("stillborn", DriverEndedError, "ended with exit code 1\ncannot find the SDK"),
        ("deaf", NoAnswerError, "no answer to `hello` in 0.3 s"),
        ("future", DriverMessageError, 'result.protocol_version: "wireproof.driver/1" was expected'),
    ],
)
@in_a_loop
async def test_a_driver_that_does_not_say_who_it_is(how: str, error: type[Exception], detail: str) -> None:
    async with toy(how, start_deadline=0.3 if how == "deaf" else 20) as driver:
        with pytest.raises(error) as caught:
            await driver.start()

        assert detail in str(caught.value)


@in_a_loop
async def test_a_program_that_is_not_there() -> None:
    async with DriverProcess(ProcessTransport(["/nowhere/driver"])) as driver:
        with pytest.raises(DriverStartError, match="cannot start '/nowhere/driver': No such file"):
            await driver.start()
        with pytest.raises(DriverEndedError, match="the driver was not started"):
            await driver.ask("hello")


@in_a_loop
async def test_what_is_no_message_is_kept_apart() -> None:
    async with toy() as driver:
        await driver.start()
        assert (await driver.ask("chat", connection="a")).error is None
        with pytest.raises(DriverMessageError, match=r"result\.quota: expected .* got '7'"):
            await driver.ask("number", connection="a")

        assert driver.wrong_lines == [
            "expected a JSON object, got 'connected!': Expecting value: line 1 column 1 (char 0)"
        ]


@in_a_loop
async def test_a_driver_that_answers_quit_and_stays_is_reported_and_ended() -> None:
    async with toy("clings") as driver:
        await driver.start()
        with pytest.raises(NoAnswerError, match=r"it answered `quit` and did not end in 1 s"):
            await driver.quit(deadline=1)


@in_a_loop
async def test_what_a_driver_started_ends_with_it() -> None:
    async with toy() as driver:
        await driver.start()
        pid = int((await driver.ask("spawn", connection="a")).result["pid"])

    assert have_ended(pid)


@in_a_loop
async def test_an_author_may_start_the_driver(tmp_path: Path) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def author(detail: str) -> None:
        started.append(subprocess.Popen(f"exec {sys.executable} -I {TOY} {detail.splitlines()[1]}", shell=True))

    wires = FifoTransport(author)
    async with DriverProcess(wires) as driver:
        assert (await driver.start()).sdk.name == "toy"
        assert (await driver.ask("close", connection="a")).error is None
        await driver.restart("it died")
        assert (await driver.ask("close", connection="a")).error is None
        assert await driver.quit() == "the driver closed its stdout"

    assert [one.wait(10) for one in started] == [0, 0]
    assert not wires.commands.parent.exists()


@in_a_loop
async def test_an_author_who_does_not_come_is_not_waited_for_forever() -> None:
    async with DriverProcess(FifoTransport(lambda detail: None, patience=0.02)) as driver:
        with pytest.raises(DriverStartError, match=r"nobody opened .*commands in 0\.02 s"):
            await driver.start()


@pytest.mark.parametrize(
    ("text", "detail"), [("'open", "No closing quotation"), (" ", "expected a program and its arguments, got nothing")]
)
def test_a_command_that_is_none(text: str, detail: str) -> None:
    with pytest.raises(DriverStartError, match=detail):
        parse_driver(text)


def test_a_command_is_read_as_a_shell_does() -> None:
    assert parse_driver("node 'my driver.js' --x") == ("node", "my driver.js", "--x")
