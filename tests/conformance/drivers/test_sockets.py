"""The driver over sockets: whatever a server does becomes an answer in time, and no connection is left behind."""

import asyncio
import errno
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import servers
from tests.conformance.scripted import ASK, INSERT, make_case, make_symbols
from wireproof.conformance.drivers import sockets, streams
from wireproof.conformance.drivers.limiter import Limiter
from wireproof.conformance.drivers.sockets import SocketDriver, connect
from wireproof.conformance.model.actions import Open, Read, Shut, Sleep, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.segmentation import SEGMENTATIONS

SEEN = {"QUERY_REPLY": {"quota": 7}}
REFUSED = {"send": ASK, "expect": "refused"}


def player(*steps: Any, timeout: float = 0.2, segmentation: str = "whole") -> Player:
    return Player(make_case(*steps), make_symbols(), segmentation=SEGMENTATIONS[segmentation], timeout=timeout)


def play(handle: Any, *steps: Any, **changes: Any) -> Outcome:
    async def main() -> Outcome:
        async with servers.serving(handle) as address:
            return await SocketDriver(address, timeout=0.2).play(player(*steps, **changes))

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("handle", "verdict", "got"),
    [
        (servers.never_answers, Verdict.HANG, "nothing in 0.2 s"),
        (servers.closes, Verdict.FAIL, "the target closed the connection"),
        (servers.babbles, Verdict.FAIL, "expected 00 or 01, got 48"),
        (servers.says_too_much, Verdict.FAIL, "no request is waiting"),
    ],
)
def test_a_server_that_misbehaves_is_reported_how(handle: Any, verdict: Verdict, got: str) -> None:
    outcome = play(handle, REFUSED)

    assert outcome.verdict is verdict
    assert got in str(outcome.got)


def test_an_answer_a_byte_at_a_time_is_an_answer() -> None:
    assert play(servers.trickles, {"send": ASK, "expect": SEEN}, timeout=5.0).verdict is Verdict.PASS


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
def test_every_delivery_says_the_same(segmentation: str) -> None:
    async def main() -> Outcome:
        async with servers.reference() as address:
            steps = ({"send": [INSERT, ASK, INSERT], "expect": ["ok", SEEN, "refused"]},)
            return await SocketDriver(address).play(player(*steps, timeout=5.0, segmentation=segmentation))

    assert asyncio.run(main()).verdict is Verdict.PASS


def test_what_came_before_a_reset_is_read_first() -> None:
    outcome = play(servers.resets, REFUSED, {"closed": "a"}, timeout=5.0)

    assert outcome.verdict is Verdict.PASS
    assert outcome.trace[-2].kind in (Kind.RESET, Kind.ENDED)


def test_a_server_that_stops_reading_is_not_written_to_for_ever() -> None:
    flood = {"send": [{"raw": {"fill": 7, "size": 4_000_000}}] * 4}

    assert play(servers.never_reads, flood).verdict is Verdict.HANG


def test_nobody_listening_is_untestable() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = Address("tcp", "127.0.0.1", free.getsockname()[1])
        outcome = asyncio.run(SocketDriver(address).play(player(REFUSED)))

    assert outcome.unreachable


def test_a_server_that_accepts_nobody_is_soon_not_waited_for_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def unanswered(address: Address, timeout: float, most_held: int = 0, *, unread: bool = False) -> Any:
        waited.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(sockets, "connect", unanswered)
    driver = SocketDriver(Address("tcp", "127.0.0.1", 9), timeout=5.0)

    async def main() -> list[Outcome]:
        return [await driver.play(player(REFUSED)) for _ in range(10)]

    assert all(one.unreachable for one in asyncio.run(main()))
    assert waited == [5.0] * 8 + [0.2] * 2


def test_a_backlog_that_is_full_is_found_out_in_time() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = Address("tcp", "127.0.0.1", full.getsockname()[1])

        async def main() -> list[Outcome]:
            driver = SocketDriver(address, timeout=0.2)
            return await asyncio.gather(*[driver.play(player(REFUSED)) for _ in range(4)])

        verdicts = {one.verdict for one in asyncio.run(main())}

    assert verdicts <= {Verdict.UNTESTABLE, Verdict.HANG}
    assert Verdict.HANG in verdicts


class WithoutPeer:
    """A transport whose socket has no peer any more."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return None if name == "peername" else self._transport.get_extra_info(name, default)


def test_a_connection_that_is_reset_as_it_is_made_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def reset_early(address: Address, timeout: float, most_held: int = 0, *, unread: bool = False) -> Any:
        stream = await connect(address, timeout, unread=unread)
        stream.transport = WithoutPeer(stream.transport)  # type: ignore[assignment]
        return stream

    monkeypatch.setattr(sockets, "connect", reset_early)
    outcome = play(servers.closes, REFUSED)

    assert outcome.verdict is Verdict.FAIL
    assert str(outcome.got).startswith("the target closed the connection")


@pytest.mark.parametrize("number", sorted(sockets.OURS))
def test_limits_of_this_machine_are_no_verdict(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    async def full(address: Address, timeout: float, most_held: int = 0, *, unread: bool = False) -> Any:
        raise OSError(number, "ours")

    monkeypatch.setattr(sockets, "connect", full)
    with pytest.raises(OSError, match="ours"):
        asyncio.run(SocketDriver(Address("tcp", "127.0.0.1", 9)).play(player(REFUSED)))


def test_a_refused_connect_is_a_verdict() -> None:
    assert errno.ECONNREFUSED not in sockets.OURS


def test_no_connection_outlives_a_play() -> None:
    peers: list[asyncio.StreamReader] = []

    async def keeps(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peers.append(reader)
        await servers.never_answers(reader, writer)
        writer.close()

    async def main() -> bool:
        async with servers.serving(keeps) as address, asyncio.timeout(5):
            driver = SocketDriver(address, timeout=0.1)
            await driver.play(player({"connect": "b"}, REFUSED))
            with pytest.raises(RuntimeError, match="given up"):
                await driver.play(_Breaks())  # type: ignore[arg-type]
            while not all(one.at_eof() or one.exception() for one in peers):
                await asyncio.sleep(0)
            return len(peers) == 3

    assert asyncio.run(main())


class _Breaks:
    """A player that opens a connection and raises."""

    case = make_case(REFUSED)

    def play(self) -> Any:
        yield Open("a")
        raise RuntimeError("given up")


def test_a_cancelled_play_ends_quietly() -> None:
    async def main() -> None:
        async with servers.serving(servers.never_answers) as address:
            task = asyncio.create_task(SocketDriver(address).play(player(REFUSED, timeout=60)))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_the_actions_one_by_one() -> None:
    async def main() -> list[Kind]:
        async with servers.reference() as address:
            session = SocketDriver(address).session()
            actions = [
                Open("a"), Read("a", 0.0), Write("a", b"\x02\x01k"), Read("a", 5.0), Sleep(0.0),
                Shut("a", "half"), Read("a", 5.0), Shut("a", "close"), Open("a"), Shut("a", "reset"),
            ]  # fmt: skip
            return [(await session.perform(action)).kind for action in actions]

    opened, silent, sent, got, waited, half, ended, closed, *again = asyncio.run(main())

    assert [opened, silent, sent, got, waited] == [Kind.OPENED, Kind.SILENT, Kind.SENT, Kind.RECEIVED, Kind.WAITED]
    assert [half, ended, closed, *again] == [Kind.HALF_CLOSED, Kind.ENDED, Kind.CLOSED, Kind.OPENED, Kind.CLOSED]


def test_unix_sockets_are_targets_too(tmp_path: Path) -> None:
    async def main() -> Outcome:
        server = await asyncio.start_unix_server(servers.trickles, tmp_path / "s")
        async with server:
            address = Address("unix", path=str(tmp_path / "s"))
            return await SocketDriver(address).play(player({"send": ASK, "expect": SEEN}, {"reset": "a"}, timeout=5.0))

    assert asyncio.run(main()).verdict is Verdict.PASS


def test_a_flood_is_held_back_and_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HELD", 1000)

    async def floods(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(5_000_000))
        writer.close()

    async def main() -> int:
        async with servers.serving(floods) as address:
            wire, size = await connect(address, 5.0), 0
            kind, data = await wire.read(5.0)
            while kind is Kind.RECEIVED:
                size += len(data)
                kind, data = await wire.read(5.0)
            await wire.close()
            return size

    assert asyncio.run(main()) == 5_000_000


def test_a_waiting_case_leaves_its_place_to_another() -> None:
    order: list[str] = []

    async def main() -> None:
        limiter = Limiter(1)
        async with servers.reference() as address:
            driver = SocketDriver(address, limiter=limiter)

            async def one(name: str, *steps: Any) -> None:
                async with limiter:
                    order.append(f"{name} begins")
                    await driver.play(player(*steps, timeout=5.0))
                order.append(f"{name} ends")

            await asyncio.gather(one("waiting", {"wait": 0.05}, REFUSED), one("quick", REFUSED))

    asyncio.run(main())

    assert order == ["waiting begins", "quick begins", "quick ends", "waiting ends"]


@pytest.mark.parametrize("family", ["tcp", "unix"])
def test_nothing_is_taken_from_an_unread_connection_until_a_read(family: str, tmp_path: Path) -> None:
    flood, taken = 4_000_000, 0

    async def floods(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        await reader.read(1)
        writer.transport.set_write_buffer_limits(high=0)
        for _ in range(flood // 1000):
            writer.write(bytes(1000))
            await writer.drain()
            taken += 1000
        writer.close()

    async def main() -> tuple[int, int]:
        if family == "unix":
            server: Any = await asyncio.start_unix_server(floods, tmp_path / "s")
            address = Address("unix", path=str(tmp_path / "s"))
        else:
            server = await asyncio.start_server(floods, "127.0.0.1", 0)
            address = Address("tcp", "127.0.0.1", server.sockets[0].getsockname()[1])
        async with server:
            session = SocketDriver(address).session()
            assert (await session.perform(Open("a", unread=True))).kind is Kind.OPENED
            await session.perform(Write("a", b"?"))
            await session.perform(Sleep(0.2))
            before, size = taken, 0
            while (answer := await session.perform(Read("a", 5.0))).kind is Kind.RECEIVED:
                size += len(answer.data)
            await session.perform(Shut("a", "close"))
            return before, size

    before, size = asyncio.run(main())

    assert size == flood
    assert before < flood // 4


def test_an_unread_connection_that_nobody_takes_is_an_answer() -> None:
    async def main(address: Address) -> Kind:
        return (await SocketDriver(address).session().perform(Open("a", unread=True))).kind

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert asyncio.run(main(Address("tcp", "127.0.0.1", free.getsockname()[1]))) is Kind.RESET
