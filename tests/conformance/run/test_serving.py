"""Whether a target still serves: any answer to one of two questions counts, and the one that gets it is asked first."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance import servers
from tests.conformance.servers import serving
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.serving import AT_ONCE, ServingCheck
from wireproof.conformance.suite.cases import load_suite

pytestmark = pytest.mark.usefixtures("no_waits")

SUITE = load_suite("throttr")
SPOKEN = Spoken("7.1.0", "uint16")


class Server:
    """Answers the question for profile and width, or the request that any server answers, or neither."""

    def __init__(self, probe: bytes, sync: bytes) -> None:
        self.probe, self.sync = probe, sync
        self.asked: list[str] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_probe = len(await reader.read(65536)) > servers.PROBED
        self.asked.append("probe" if is_probe else "sync")
        if answer := self.probe if is_probe else self.sync:
            writer.write(answer)
        await servers.never_answers(reader, writer)


def checked(server: Server, times: int = 1) -> list[bool]:
    async def main() -> list[bool]:
        async with serving(server) as address:
            check = ServingCheck(SUITE, SPOKEN)
            return [await check(address, 0.5) for _ in range(times)]

    return asyncio.run(main())


@pytest.mark.parametrize("answer", [b"\0", b"\x01", b"\x07"], ids=["right", "a part of one", "wrong"])
def test_any_byte_is_an_answer(answer: bytes) -> None:
    server = Server(b"", answer)

    assert checked(server) == [True]
    assert server.asked == ["sync"]


def test_the_question_that_was_answered_is_asked_first_from_then_on() -> None:
    server = Server(bytes(481), b"")

    assert checked(server, 3) == [True, True, True]
    assert server.asked == ["sync", "probe", "probe", "probe"]


def test_a_server_without_any_answer_does_not_serve() -> None:
    server = Server(b"", b"")

    assert checked(server) == [False]
    assert server.asked == ["sync", "probe", *["sync"] * AT_ONCE]


def test_one_new_client_that_is_spoilt_each_time_makes_no_server_that_serves_nobody() -> None:
    there: set[object] = set()

    async def answers_who_is_not_alone(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spoilt = not there
        there.add(writer)
        try:
            await reader.read(65536)
            if not spoilt:
                writer.write(b"\0")
            await servers.never_answers(reader, writer)
        finally:
            there.discard(writer)

    async def main() -> list[bool]:
        async with serving(answers_who_is_not_alone) as address:
            check = ServingCheck(SUITE, SPOKEN)
            return [await check(address, 0.5) for _ in range(2)]

    assert asyncio.run(main()) == [True, True]


def test_a_server_that_was_started_again_elsewhere_is_asked_there() -> None:
    async def main() -> list[bool]:
        check = ServingCheck(SUITE, SPOKEN)
        async with serving(Server(b"", b"\0")) as before:
            found = [await check(before, 0.5)]
        async with serving(Server(b"", b"\0")) as after:
            return [*found, await check(before, 0.5), await check(after, 0.5)]

    assert asyncio.run(main()) == [True, False, True]
