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
from wireproof.conformance.report.bundle import MOST, write_bundles
from wireproof.conformance.report.outputs import RunFolder

PATIENCE = 20.0


def failed(name: str = "0123456789ab", exchange: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    found = {"exchange": exchange or ASKED, "expected": "QUERY_REPLY.quota = 7", "got": "5", "byte": 1, "extra": {}}
    return record("query/quota", "fail", record_id=name, **{**PLACE, **found, **more})


def bundle_of(folder: Path, one: dict[str, Any]) -> Path:
    with RunFolder(folder) as run:
        run.finish({**RUN.summary([one], 1), "namespace": "c0ffee"}, [one])
    return folder / "evidence" / str(one["record_id"])


@contextmanager
def server(answer: bytes, asked: list[bytes]) -> Iterator[int]:
    """Answer the first request of one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        listening.settimeout(PATIENCE)

        def serve() -> None:
            found, _ = listening.accept()
            with found:
                found.settimeout(PATIENCE)
                asked.append(found.recv(100))
                found.sendall(answer)
                found.recv(1)

        done = pool.submit(serve)
        yield listening.getsockname()[1]
        done.result(PATIENCE)


def replayed(folder: Path, port: int) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-I", str(folder / "replay.py"), "127.0.0.1", str(port)]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [("010500040100", 1, "REPRODUCED"), ("010500040200", 0, "DIFFERENT: a: the record has received 040100")],
)
def test_the_script_tells_the_same_answer_from_another(answer: str, code: int, said: str, tmp_path: Path) -> None:
    folder = bundle_of(tmp_path, failed())
    asked = list[bytes]()
    with server(bytes.fromhex(answer), asked) as port:
        done = replayed(folder, port)

    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout
    assert asked == [bytes.fromhex("02016b")]


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


def test_nobody_there_is_told(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("more", [{"role": "client"}, {"exchange": [*ASKED, event("event", text="secured")]}])
def test_what_plain_tcp_cannot_replay_has_no_script(more: dict[str, Any], tmp_path: Path) -> None:
    folder = bundle_of(tmp_path, failed(**more))

    assert (folder / "record.json").is_file()
    assert not (folder / "replay.py").exists()


def test_a_run_writes_a_bounded_number(tmp_path: Path) -> None:
    many = [failed(f"{number:012x}", expected=str(number)) for number in range(MOST + 5)]

    assert len(write_bundles(tmp_path, RUN.summary(many, 1), many)) == MOST
    assert write_bundles(tmp_path, RUN.summary([], 0), [record(**PLACE)]) == []
