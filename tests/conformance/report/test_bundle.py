"""The bundle of a play that did not pass: its script replays the exchange with the standard library alone."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from scapy.utils import rdpcap

from tests.conformance.report.test_outputs import RUN, record
from tests.conformance.report.test_run_page import ASKED, PLACE, event
from wireproof.conformance.model.exchange import written
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.report.bundle import MOST, write_bundles
from wireproof.conformance.report.outputs import RunFolder
from wireproof.conformance.report.replay_script import repeated_values

PATIENCE = 20.0


def failed(name: str = "0123456789ab", exchange: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    found = {"exchange": exchange or ASKED, "expected": "QUERY_REPLY.quota = 7", "got": "5", "byte": 1, "extra": {}}
    return record("query/quota", "fail", record_id=name, **{**PLACE, **found, **more})


def bundle_of(folder: Path, one: dict[str, Any]) -> Path:
    with RunFolder(folder) as run:
        run.finish({**RUN.summary([one], 1), "namespace": "c0ffee"}, [one])
    return folder / "evidence" / str(one["record_id"])


@contextmanager
def server(answer: bytes, asked: list[bytes], size: int = 0) -> Iterator[int]:
    """Answer the first request, of `size` bytes if it is given, of one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        listening.settimeout(PATIENCE)

        def serve() -> None:
            found, _ = listening.accept()
            with found:
                found.settimeout(PATIENCE)
                asked.append(found.recv(size or 100, socket.MSG_WAITALL if size else 0))
                found.sendall(answer)
                found.recv(1)

        done = pool.submit(serve)
        yield listening.getsockname()[1]
        done.result(PATIENCE)


def replayed(folder: Path, port: int) -> subprocess.CompletedProcess[str]:
    return replayed_to(folder, "127.0.0.1", str(port))


def replayed_to(folder: Path, *place: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", str(folder / "replay.py"), *place]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize(
    ("answer", "code", "printed"),
    [
        ("010500040100", 1, "REPRODUCED: from byte 1 05 came again, as in the record"),
        ("010500040200", 1, "REPRODUCED: from byte 1 05 came again, as in the record"),
        ("010700040100", 0, "DIFFERENT: from byte 1 07 came, in the record 05"),
    ],
)
def test_the_script_reports_the_same_answer_from_another(answer: str, code: int, printed: str, tmp_path: Path) -> None:
    folder = bundle_of(tmp_path, failed())
    asked = list[bytes]()
    with server(bytes.fromhex(answer), asked) as port:
        done = replayed(folder, port)

    assert done.returncode == code, done.stdout + done.stderr
    assert printed in done.stdout
    assert asked == [bytes.fromhex("02016b")]


@pytest.mark.parametrize("place", ["tcp://127.0.0.1:{}", "127.0.0.1:{}"])
def test_the_script_takes_the_address_that_the_commands_take(place: str, tmp_path: Path) -> None:
    folder = bundle_of(tmp_path, failed())
    with server(bytes.fromhex("010500040100"), []) as port:
        done = replayed_to(folder, place.format(port))

    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.parametrize("place", ["nowhere", "127.0.0.1:http"])
def test_the_script_reports_its_usage_for_an_address_that_is_none(place: str, tmp_path: Path) -> None:
    done = replayed_to(bundle_of(tmp_path, failed()), place)

    assert done.returncode == 2
    assert "usage: python replay.py HOST PORT" in done.stdout


def test_other_bytes_are_unclear_where_none_is_to_blame(tmp_path: Path) -> None:
    folder = bundle_of(tmp_path, failed(byte=None, expected="rows in order"))
    with server(bytes.fromhex("010500040200"), []) as port:
        done = replayed(folder, port)

    assert done.returncode == 3
    assert "UNCLEAR: a: the record has received 040100, this time received 040200; byte 1 differs first" in done.stdout


def test_the_names_of_the_run_are_replaced_by_fresh_ones(tmp_path: Path) -> None:
    name = b"c0ffee-a"
    sent = bytes([2, len(name)]) + name
    folder = bundle_of(tmp_path, failed(exchange=[ASKED[0], event("sent", sent.hex()), *ASKED[2:]]))
    asked = list[bytes]()
    with server(bytes.fromhex("010500040100"), asked) as port:
        assert replayed(folder, port).returncode == 1

    assert asked[0][:2] == sent[:2]
    assert asked[0].endswith(b"-a")
    assert b"c0ffee" not in asked[0]


def test_nobody_there_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    done = replayed(bundle_of(tmp_path, failed()), port)

    assert done.returncode == 2
    assert "nothing to replay to" in done.stdout


def test_a_bundle_has_the_record_the_words_and_a_capture(tmp_path: Path) -> None:
    folder = bundle_of(tmp_path, failed())
    packets = rdpcap(str(folder / "capture.pcapng"))

    assert json.loads((folder / "record.json").read_text(encoding="utf-8"))["case"] == "query/quota"
    assert "QUERY_REPLY(quota=5" in (folder / "exchange.txt").read_text(encoding="utf-8")
    assert b"".join(bytes(one["TCP"].payload) for one in packets) == bytes.fromhex("02016b010500040100")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"role": "client"}, "the SDK needs its driver"),
        ({"exchange": [*ASKED, event("sent", "00", text="9000000 bytes, 1 shown")]}, "9000000 bytes, 1 shown"),
    ],
)
def test_what_no_script_can_replay_says_why(more: dict[str, Any], why: str, tmp_path: Path) -> None:
    folder = bundle_of(tmp_path, failed(**more))

    assert (folder / "record.json").is_file()
    assert not (folder / "replay.py").exists()
    assert f"{why}): play it again with `wireproof replay" in (folder / "exchange.txt").read_text(encoding="utf-8")


def test_bytes_that_the_record_shows_in_part_are_sent_whole(tmp_path: Path) -> None:
    sent = bytes([2, 1]) + bytes(9000)
    exchange = written(Trace([TraceEvent(1, "a", Kind.OPENED), TraceEvent(2, "a", Kind.SENT, sent)]))
    folder = bundle_of(tmp_path, failed(exchange=[*exchange, *ASKED[2:]]))
    asked = list[bytes]()
    with server(bytes.fromhex("010500040100"), asked, len(sent)) as port:
        assert replayed(folder, port).returncode == 1

    assert asked == [sent]


def test_a_value_that_the_server_draws_is_that_of_this_time(tmp_path: Path) -> None:
    drawn, of_now = b"0123456789abcdef", b"fedcba9876543210"
    trace = Trace(
        [
            TraceEvent(1, "a", Kind.OPENED),
            TraceEvent(2, "a", Kind.SENT, b"who am I"),
            TraceEvent(3, "a", Kind.RECEIVED, b"you are " + drawn),
            TraceEvent(4, "a", Kind.SENT, b"then I am " + drawn + b"!"),
        ]
    )
    assert repeated_values(trace) == {3: [(9, "a", 7, 24)]}

    folder = bundle_of(tmp_path, failed(exchange=written(trace)))
    asked = list[bytes]()
    with server(b"you are " + of_now, asked, 8) as port:
        assert "> " + (b"then I am " + of_now + b"!").hex() in replayed(folder, port).stdout


def test_a_listener_must_be_given(tmp_path: Path) -> None:
    exchange = written(Trace([TraceEvent(1, "a", Kind.OPENED, link="hook")]))
    folder = bundle_of(
        tmp_path, failed(exchange=[*exchange, *ASKED[1:]], protocol="namechan", profile="1", variant="standard")
    )
    done = replayed(folder, 1)

    assert done.returncode == 2
    assert "HOST PORT hook=PORT" in done.stdout


def test_a_run_writes_a_bounded_number(tmp_path: Path) -> None:
    many = [failed(f"{number:012x}", expected=str(number)) for number in range(MOST + 5)]

    assert len(write_bundles(tmp_path, RUN.summary(many, 1), many)) == MOST
    assert write_bundles(tmp_path, RUN.summary([], 0), [record(**PLACE)]) == []
