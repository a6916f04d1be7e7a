"""`wireproof check-capture`: streams put together, what is spoken found out, the guilty side named with its packet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from scapy.utils import rdpcap, wrpcap

from wireproof.cli import command
from wireproof.conformance.interop.captured_streams import captured_connections
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.report.capture import write_capture
from wireproof.conformance.report.derived_vectors import Deriver
from wireproof.conformance.suite.cases import cases_in, load_suite

QUERY, REPLY = bytes.fromhex("02016b"), bytes.fromhex("010500040100")
"""Of Throttr uint16."""
PORT = 9000


def capture(path: Path, *pieces: tuple[Kind, bytes]) -> Path:
    events = [TraceEvent(0, "a", Kind.OPENED)]
    events += [TraceEvent(1000 * number, "a", kind, data) for number, (kind, data) in enumerate(pieces, 1)]
    write_capture(path, events, PORT)
    return path


def printed(path: Path, *words: str, code: int = 0) -> str:
    done = CliRunner().invoke(command, ["check-capture", str(path), *words])
    assert done.exit_code == code, done.output
    return done.output


RIGHT = [(Kind.SENT, QUERY), (Kind.RECEIVED, REPLY), (Kind.SENT, QUERY), (Kind.RECEIVED, REPLY)]


def test_what_is_spoken_is_found_out(tmp_path: Path) -> None:
    text = printed(capture(tmp_path / "right.pcapng", *RIGHT))

    assert "read as throttr 7.1.0 uint16 (throttr 7.3.2 uint16 would fit as well)" in text
    assert f"127.0.0.1:{PORT}: well-formed" in text
    assert "1 connection, 0 in which somebody broke the protocol; judged is the form" in text


@pytest.mark.parametrize(
    ("pieces", "reported"),
    [
        ([*RIGHT, (Kind.RECEIVED, b"\x01")], "the server broke the protocol first, packet 8"),
        ([*RIGHT, (Kind.SENT, b"\xff")], "the client broke the protocol first, packet 8"),
    ],
)
def test_the_guilty_side_and_packet_are_named(pieces: list[tuple[Kind, bytes]], reported: str, tmp_path: Path) -> None:
    text = printed(capture(tmp_path / "wrong.pcapng", *pieces), "--protocol", "throttr", "--variant", "uint16", code=1)

    assert reported in text
    assert "THR-" in text


def streams(path: Path) -> dict[Kind, bytes]:
    (found,) = captured_connections(path)
    return {kind: b"".join(one.data for one in found.events if one.kind is kind) for kind in (Kind.SENT, Kind.RECEIVED)}


def altered(source: Path, to: Path, order: Iterable[int]) -> Path:
    packets = rdpcap(str(source))
    wrpcap(str(to), [packets[number] for number in order])
    return to


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 5, 3, 4, 6), (0, 1, 2, 3, 3, 4, 5, 3, 6, 6, 4)])
def test_segments_out_of_order_and_sent_twice(order: tuple[int, ...], tmp_path: Path) -> None:
    source = capture(tmp_path / "a.pcapng", *RIGHT)

    assert streams(altered(source, tmp_path / "b.pcap", order)) == {Kind.SENT: QUERY * 2, Kind.RECEIVED: REPLY * 2}


def test_a_gap_is_reported_and_nothing_after_it_is_read(tmp_path: Path) -> None:
    source = capture(tmp_path / "a.pcapng", *RIGHT)
    (found,) = captured_connections(altered(source, tmp_path / "b.pcap", (0, 1, 2, 4, 5, 6)))

    assert found.note == "bytes are missing in the capture"
    assert [one.data for one in found.events if one.kind is Kind.SENT] == []


def test_what_cannot_be_judged_is_reported(tmp_path: Path) -> None:
    source = capture(tmp_path / "a.pcapng", *RIGHT)
    (tmp_path / "text").write_text("no capture")

    assert "is no capture" in printed(tmp_path / "text", code=2)
    assert "no TCP connection to judge" in printed(source, "--port", "1", code=2)
    assert "no TCP connection to judge" in printed(altered(source, tmp_path / "late.pcap", (3, 4, 5, 6)), code=2)


def test_an_exchange_becomes_a_case_that_a_right_server_passes(tmp_path: Path) -> None:
    case = tmp_path / "found.yaml"
    pieces = [(Kind.SENT, QUERY), (Kind.RECEIVED, b"\x07")]
    text = printed(capture(tmp_path / "a.pcapng", *pieces), "--variant", "uint16", "--case", str(case), code=1)
    suite = load_suite("throttr")
    (found,) = cases_in(yaml.safe_load(case.read_text()), suite.context, "found.yaml")

    assert f"{case}: case {found.id}" in text
    assert found.id.startswith("captured/thr-")
    assert found.title.startswith("Captured from 127.0.0.1:")
    assert found.variants == ("uint16",)
    assert "refused" in case.read_text() or "STATUS" in case.read_text()
    assert Deriver(suite, found.profiles[0], "uint16").conversation(found) is not None

    again = printed(tmp_path / "a.pcapng", "--variant", "uint16", "--case", str(tmp_path / "b.yaml"), code=1)
    assert found.id in again


def test_a_case_of_a_right_exchange_needs_a_clause(tmp_path: Path) -> None:
    source, case = capture(tmp_path / "right.pcapng", *RIGHT), str(tmp_path / "found.yaml")

    assert "with --clause" in printed(source, "--case", case, code=2)
    assert "did you mean THR-QUERY-4" in printed(source, "--case", case, "--clause", "THR-QUERY4", code=2)
    assert "case captured/thr-query-4-" in printed(source, "--case", case, "--clause", "THR-QUERY-4")
