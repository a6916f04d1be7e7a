"""Asking a server what it speaks: all are told apart, nothing is left behind, strangers are refused."""

import asyncio
from typing import Any

import pytest

from tests.conformance import servers
from wireproof.conformance.drivers.sockets import connect
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.run.probe import ProbeError, Spoken, detect, is_fresh_server, use_by_others, version_of
from wireproof.conformance.suite.cases import load_suite
from wireproof.protocols import protocol

pytestmark = pytest.mark.usefixtures("no_waits")

SUITE = load_suite("throttr")
SPOKEN = [
    Spoken(profile.name, variant) for profile in protocol("throttr").profiles.values() for variant in profile.variants
]


def test_the_answers_of_the_probe_are_all_of_different_length() -> None:
    answers = SUITE.probe["answers"]

    assert len({one["bytes"] for one in answers}) == len(answers) == len(SPOKEN) == 8


@pytest.mark.parametrize("spoken", SPOKEN, ids=[f"{one.profile}-{one.variant}" for one in SPOKEN])
def test_a_server_is_asked_and_left_as_it_was(spoken: Spoken) -> None:
    async def main() -> tuple[Spoken, bool, str]:
        async with servers.reference(spoken.profile, spoken.variant) as address:
            found = await detect(SUITE, address, 5.0)
            return (
                found,
                await is_fresh_server(SUITE, address, spoken, 5.0),
                await version_of(SUITE, address, spoken, 5.0),
            )

    found, fresh_server, version = asyncio.run(main())

    assert found == spoken
    assert fresh_server
    assert version.startswith("wireproof")


def test_a_server_that_holds_something_is_not_pristine() -> None:
    async def main() -> bool:
        async with servers.reference() as address:
            wire = await connect(address, 5.0)
            await wire.write(bytes.fromhex("01 0700 04 3c00 01 6b"), 5.0)
            assert await wire.read(5.0) == (Kind.RECEIVED, b"\x01")
            await wire.close()
            return await is_fresh_server(SUITE, address, Spoken("7.1.0", "uint16"), 5.0)

    assert not asyncio.run(main())


def ask(handle: Any, timeout: float = 0.2) -> None:
    async def main() -> None:
        async with servers.serving(handle) as address:
            await detect(SUITE, address, timeout)

    asyncio.run(main())


async def closes_when_asked(reader: Any, writer: Any) -> None:
    """Read the question and close; one that closes with the question unread resets the connection instead."""
    await reader.read(1000)
    writer.close()


async def streams_for_ever(reader: Any, writer: Any) -> None:
    """Send without end."""
    while True:
        writer.write(bytes(1000))
        await writer.drain()


@pytest.mark.parametrize(
    ("handle", "detail"),
    [
        (servers.never_answers, "nothing to test .* 0 bytes came in "),
        (servers.closes, "nothing to test .* 0 bytes came, then it (closed|reset) the connection"),
        (closes_when_asked, "nothing to test .* 0 bytes came, then it closed the connection"),
        (servers.babbles, 'bytes came .*485454502f'), (servers.resets, "1 byte came .*reset"),
        (streams_for_ever, "speaks no known profile"),
    ],
)  # fmt: skip
def test_a_stranger_is_refused_with_what_it_printed(handle: Any, detail: str) -> None:
    with pytest.raises(ProbeError, match=detail) as error:
        ask(handle)

    assert "--profile and --variant" in str(error.value)


def test_nobody_there_is_an_os_error() -> None:
    with pytest.raises(OSError, match=r"Connect call failed|refused"):
        asyncio.run(detect(SUITE, Address("tcp", "127.0.0.1", 1), 1.0))


@pytest.mark.parametrize("handle", [servers.never_answers, servers.closes, servers.babbles])
def test_a_version_that_cannot_be_read_is_unknown(handle: Any) -> None:
    async def main() -> str:
        async with servers.serving(handle) as address:
            return await version_of(SUITE, address, SPOKEN[0], 0.1)

    assert asyncio.run(main()) == "unknown"


def test_a_version_of_bytes_that_are_no_text_is_unknown() -> None:
    async def main() -> str:
        async def wrong(reader: Any, writer: Any) -> None:
            await reader.read(1)
            writer.write(b"\x1b" * 432)
            await servers.never_answers(reader, writer)

        async with servers.serving(wrong) as address:
            return await version_of(SUITE, address, Spoken("7.1.0", "uint8"), 1.0)

    assert asyncio.run(main()) == "unknown"


def used(*, others: bool, spoken: Spoken = SPOKEN[1]) -> str:
    async def work(address: Address) -> None:
        wire = await connect(address, 5.0)
        try:
            while True:
                await wire.write(bytes.fromhex("02 01 6b"), 5.0)
                await wire.read(5.0)
                await asyncio.sleep(0.01)
        finally:
            await wire.close()

    async def main() -> str:
        async with servers.reference(spoken.profile, spoken.variant) as address:
            task = asyncio.create_task(work(address)) if others else None
            found = await use_by_others(SUITE, address, spoken, 5.0)
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            return found

    return asyncio.run(main())


@pytest.mark.parametrize("spoken", SPOKEN[1::4], ids=[one.profile for one in SPOKEN[1::4]])
def test_others_who_ask_are_noticed_and_our_own_requests_are_not(spoken: Spoken) -> None:
    assert used(others=False, spoken=spoken) == ""
    assert used(others=True, spoken=spoken).startswith("others use the server: ")
    assert "requests" in used(others=True, spoken=spoken)


@pytest.mark.parametrize("handle", [servers.closes, servers.babbles])
def test_a_server_that_does_not_answer_is_used_by_nobody_else(handle: Any) -> None:
    async def main() -> str:
        async with servers.serving(handle) as address:
            return await use_by_others(SUITE, address, SPOKEN[0], 0.2)

    assert asyncio.run(main()) == ""


def test_a_protocol_without_a_request_for_it_cannot_say() -> None:
    async def main() -> str:
        return await use_by_others(load_suite("psrt"), Address("tcp", "127.0.0.1", 1), Spoken("1", "standard"), 0.1)

    assert asyncio.run(main()) == ""


@pytest.mark.parametrize("mutant", [None, "legal-short-ids"])
@pytest.mark.parametrize("profile", ["doc", "twino-3.0.0"])
def test_ids_that_a_server_makes_may_have_any_length(profile: str, mutant: str | None) -> None:
    async def main() -> Spoken:
        async with servers.reference_of("tmqp", profile, mutant) as address:
            return await detect(load_suite("tmqp"), address, 5.0)

    assert asyncio.run(main()) == Spoken(profile, "standard")


def test_a_welcome_that_is_cut_off_is_no_answer() -> None:
    """The beginning of the document's answer is as long as no answer, and is not taken for that of a release."""

    async def cut(reader: Any, writer: Any) -> None:
        await reader.read(1000)
        writer.write(bytes.fromhex("544d51502f322e30 9010 04 0f 0f ca00 00") + b"id-1wireproof-p")
        await servers.never_answers(reader, writer)

    async def main() -> Spoken:
        async with servers.serving(cut) as address:
            return await detect(load_suite("tmqp"), address, 1.0)

    with pytest.raises(ProbeError, match="speaks no known profile of tmqp"):
        asyncio.run(main())
