"""`python -m reference_server` as a process: what it prints, how it ends, what it says when it cannot start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.places import ROOT
from wireproof.protocols import protocol
from wireproof.reference_server.registry import served_protocols

PATIENCE = 20


@contextmanager
def running(*options: str) -> Iterator[subprocess.Popen[str]]:
    """A server process; killed at the end if it still runs."""
    command = [sys.executable, "-m", "reference_server", "throttr", *options]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def ask(address: str, data: bytes, size: int) -> bytes:
    host, port = address.removeprefix("listening tcp://").rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as sock:
        sock.sendall(data)
        answer = b""
        while len(answer) < size and (more := sock.recv(size - len(answer))):
            answer += more
        return answer


def refused(*options: str) -> tuple[int, str]:
    """Exit status and stderr of a server that does not start."""
    command = [sys.executable, "-m", "reference_server", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_it_says_where_it_listens_and_stops_cleanly(tmp_path: Path, signum: signal.Signals, loop: str) -> None:
    path = tmp_path / "socket"
    with running("--loop", loop, "--unix", str(path)) as process:
        address = first_line(process)
        assert address.startswith("listening tcp://127.0.0.1:")
        assert first_line(process) == f"listening unix://{path}"
        assert ask(address, b"\x02\x01k", 1) == b"\0"
        with socket.socket(socket.AF_UNIX) as idle:
            idle.settimeout(PATIENCE)
            idle.connect(str(path))
            os.kill(process.pid, signum)
            assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
        assert not path.exists()


def test_profile_and_width_are_taken(tmp_path: Path) -> None:
    with running("--profile", "7.3.2", "--variant", "uint8", "--trace") as process:
        insert = bytes.fromhex("01 07 04 3c 01 6b")
        assert ask(first_line(process), insert + b"\x18", 18)[:2] == b"\x01\x01"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert "Insert(quota=7, ttl_type=4, ttl=60, key=b'k')" in process.stderr.read()


def test_a_port_in_use_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        status, detail = refused("throttr", "--port", port)

    assert status == 1
    assert detail == f"reference_server: cannot listen on tcp://127.0.0.1:{port}: Address already in use\n"


def test_a_bad_unix_path_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "socket"
    assert refused("throttr", "--unix", str(path)) == (
        1,
        f"reference_server: cannot listen on unix://{path}: No such file or directory\n",
    )


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("data")

    assert refused("throttr", "--unix", str(path))[0] == 1
    assert path.read_text() == "data"


def test_a_socket_nobody_listens_on_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(path))
    with running("--unix", str(path)) as process:
        first_line(process)
        assert first_line(process) == f"listening unix://{path}"


@pytest.mark.parametrize(
    ("options", "detail"),
    [
        (["psrt0"], "'psrt0' is not "),
        (["throttr", "--profile", "9"], "unknown throttr profile '9': expected 7.1.0 or 7.3.2"),
        (["throttr", "--width", "uint7"], "unknown throttr variant 'uint7': expected uint8 or uint16 or uint32 or"),
    ],
)
def test_what_is_unknown_is_named_beside_what_is_known(options: list[str], detail: str) -> None:
    status, error = refused(*options)

    assert status == 2
    assert detail in error
    assert all(f"'{name}'" in error for name in served_protocols()) or options[0] in served_protocols()
    assert "Traceback" not in error


def test_an_unknown_option_is_a_usage_error() -> None:
    status, error = refused("throttr", "--colour")

    assert status == 2
    assert "--colour" in error
    assert "Traceback" not in error


def test_help_names_every_profile_and_width() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reference_server", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )

    for profile in protocol("throttr").profiles.values():
        assert profile.name in done.stdout
        assert all(width in done.stdout for width in profile.variants)
