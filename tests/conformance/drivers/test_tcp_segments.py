"""What the kernel says of cuts: as many segments as pieces, bounded waits, and no claim where nobody tells."""

from __future__ import annotations

import asyncio
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import servers
from tests.conformance.scripted import ASK, INSERT, make_case, make_symbols
from tests.reports.test_schemas import validator
from wireproof.conformance.drivers import tcp_segments
from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.drivers.tcp_segments import Cuts, evidence, missed, send_state
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.verdict.records import Run, record

STEPS = ({"send": [INSERT, ASK], "expect": ["ok", {"QUERY_REPLY": {"quota": 7}}]}, {"silent": "b"})
linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells it on Linux only")


def player(segmentation: str) -> Player:
    case = replace(make_case(*STEPS), segmentation=segmentation)
    return Player(case, make_symbols(), segmentation=SEGMENTATIONS[segmentation], timeout=5.0)


def played(segmentation: str) -> tuple[Outcome, Player]:
    async def main() -> tuple[Outcome, Player]:
        async with servers.reference() as address:
            playing = player(segmentation)
            return await SocketDriver(address).play(playing), playing

    return asyncio.run(main())


@linux
@pytest.mark.parametrize("segmentation", ["bytes", "fields", "beside", "joined", "dripped"])
def test_each_piece_is_a_segment_and_the_record_says_so(segmentation: str) -> None:
    outcome, playing = played(segmentation)
    writes = outcome.extra["wire"]["writes"]

    assert outcome.verdict is Verdict.PASS
    assert outcome.extra["wire"]["segments"] >= writes == sum(one.kind == "sent" for one in outcome.trace)
    assert writes > playing.talk.carrier.changes or segmentation == "joined"


@pytest.mark.parametrize("segmentation", ["whole", "half-closed"])
def test_what_is_not_cut_claims_nothing(segmentation: str) -> None:
    outcome, _ = played(segmentation)

    assert outcome.verdict is Verdict.PASS
    assert "wire" not in outcome.extra


def test_the_evidence_keeps_the_records_schema() -> None:
    outcome, playing = played("bytes")
    run = Run("throttr", "7.1.0", "uint16", "t", "x")
    kept = record(run, load_suite("throttr"), playing.case, outcome, duration_us=1)

    assert list(validator("record").iter_errors(kept)) == []
    assert kept["extra"]["wire"] == outcome.extra["wire"]


@linux
def test_a_cut_that_did_not_reach_the_wire_is_our_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    async def careless(self: Cuts, transport: asyncio.Transport, pause: float) -> None:
        self.asked, self.segments = self.asked + 1, 1

    monkeypatch.setattr(Cuts, "leave", careless)
    outcome, _ = played("fields")

    assert (outcome.verdict, outcome.guilty) == (Verdict.HARNESS_ERROR, Guilty.HARNESS)
    assert str(outcome.got).endswith("writes were to leave by themselves, 0 did")


@linux
def test_a_peer_that_does_not_read_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_segments, "LEAVING", 0.05)
    cuts = Cuts()

    async def main() -> float:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as full:
            transport, _ = await loop.create_connection(asyncio.Protocol, *full.getsockname())
            transport.write(bytes(20_000_000))
            began = loop.time()
            await cuts.leave(transport, 0.0)
            transport.abort()
            return loop.time() - began

    assert asyncio.run(main()) < 1.0
    assert (cuts.asked, cuts.seen) == (1, 0)
    assert missed([cuts]) == "1 writes were to leave by themselves, 0 did"


def test_a_connection_that_is_gone_has_no_cuts() -> None:
    cuts = Cuts()

    async def main() -> None:
        async with servers.reference() as address:
            transport, _ = await asyncio.get_running_loop().create_connection(
                asyncio.Protocol, address.host, address.port
            )
            transport.abort()
            await cuts.leave(transport, 0.0)

    asyncio.run(main())
    assert evidence([cuts]) is None


def test_unix_sockets_report_nothing_and_nothing_is_claimed(tmp_path: Path) -> None:
    async def main() -> Outcome:
        server = await asyncio.start_unix_server(servers.trickles, tmp_path / "s")
        async with server:
            case = make_case({"send": ASK, "expect": {"QUERY_REPLY": {"quota": 7}}}, {"reset": "a"})
            playing = Player(case, make_symbols(), segmentation=SEGMENTATIONS["joined"], timeout=5.0)
            return await SocketDriver(Address("unix", path=str(tmp_path / "s"))).play(playing)

    outcome = asyncio.run(main())
    assert outcome.extra["wire"] == {"writes": 1, "segments": None}
    assert outcome.guilty is not Guilty.HARNESS


def test_another_system_reports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tcp_segments.sys, "platform", "darwin")
    with socket.socket() as sock:
        assert send_state(sock) is None


@linux
def test_what_is_no_tcp_connection_reports_nothing() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        assert send_state(sock) is None


@pytest.mark.parametrize(
    ("cuts", "detail", "why"),
    [
        ([], None, None),
        ([Cuts()], None, None),
        ([Cuts(3, 3, 3), Cuts(2, 2, 4)], {"writes": 5, "segments": 7}, None),
        ([Cuts(3, 2, 3)], {"writes": 3, "segments": 3}, "3 writes were to leave by themselves, 2 did"),
        ([Cuts(3, 3, 2)], {"writes": 3, "segments": 2}, "3 writes were to leave by themselves, 2 did"),
        ([Cuts(3, 3, 2), Cuts(1, 1, 9)], {"writes": 4, "segments": 11}, "4 writes were to leave by themselves, 3 did"),
        ([Cuts(3, 0, None)], {"writes": 3, "segments": None}, None),
        ([Cuts(3, 3, 3), Cuts(1, 0, None)], {"writes": 4, "segments": None}, None),
    ],
)
def test_evidence_counts_every_connection(cuts: list[Cuts], detail: Any, why: str | None) -> None:
    assert (evidence(cuts), missed(cuts)) == (detail, why)
