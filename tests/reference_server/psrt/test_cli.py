"""`python -m reference_server psrt` as a process: its options, and what it says of those that are wrong."""

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
from tests.reference_server.psrt.account_files import write
from tests.reference_server.psrt.simulated import HELLO, OK, SENT_HELLO, login, subscribe
from wireproof.reference_server.certificates import self_signed
from wireproof.reference_server.psrt.options import OPTIONS
from wireproof.reference_server.registry import served_protocols

PATIENCE = 20
pytestmark = pytest.mark.skipif("psrt" not in served_protocols(), reason="psrt is not registered")
COMMAND = [sys.executable, "-m", "reference_server", "psrt"]


@contextmanager
def running(*options: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, *options], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE)


def sent(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def refused(*options: str) -> tuple[int, str]:
    done = subprocess.run([*COMMAND, *options], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def session(port: int, name: bytes, *asked: bytes) -> bytes:
    """What a control socket says after the token."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
        sock.sendall(HELLO + login(name, b"secret") + b"".join(asked) + b"\xff")
        answer = b""
        while more := sock.recv(1000):
            answer += more
    assert answer[:4] == SENT_HELLO
    return answer[36:]


def test_help_lists_every_option() -> None:
    done = subprocess.run([*COMMAND, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True)

    for option in OPTIONS:
        assert f"--{option.name.replace('_', '-')}" in done.stdout
    assert {"--udp", "--tls-cert", "--tls-key", "--handshake"} <= set(done.stdout.split())
    assert "--width" not in done.stdout


def test_everything_at_once_and_accounts_that_change(tmp_path: Path) -> None:
    files = write(tmp_path)
    certificate, key = self_signed(tmp_path)
    path = tmp_path / "socket"
    options = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    options += ["--udp", "--tls-cert", str(certificate), "--tls-key", str(key), "--unix", str(path), "--trace"]
    with running(*options, "--max-topic-depth", "3", "--no-anonymous") as process:
        tcp, udp, unix = sent(process), sent(process), sent(process)
        port = int(tcp.rpartition(":")[2])
        assert (tcp, udp) == (f"listening tcp://127.0.0.1:{port}", f"listening udp://127.0.0.1:{port}")
        assert unix == f"listening unix://{path}"
        assert session(port, b"lim", subscribe("a/b"), subscribe("c"), subscribe("a/1/2/3/4")) == b"\x01\xfe\xff\x01"
        (tmp_path / "acl").write_text('lim: {sub: ["#"]}\n')
        os.kill(process.pid, signal.SIGHUP)
        deadline = 200
        while session(port, b"lim", subscribe("c")) != OK * 2 and deadline:
            deadline -= 1
        assert deadline
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert "1 > Subscribe(topics=b'a/b')" in process.stderr.read()


@pytest.mark.parametrize(
    ("options", "status", "detail"),
    [
        (["--tls-cert", "x"], 2, "--tls-cert and --tls-key: expected both or none"),
        (["--tls-cert", "x", "--tls-key", "y"], 1, "cannot use the certificate x with the key y: No such file"),
        (["--acl", "missing"], 2, "missing: cannot be read: No such file or directory"),
        (["--users", "README.md"], 2, "option acl: expected a file beside users and keys"),
        (["--timeout", "0"], 2, "0.0 is not in the range"),
        (["--profile", "2"], 2, "unknown psrt profile '2': expected 1 or psrtd-0.3"),
        (["--fault", "no-such-fault"], 2, "unknown psrt mutant 'no-such-fault'"),
    ],
)
def test_what_is_wrong_is_one_clear_line(options: list[str], status: int, detail: str) -> None:
    code, error = refused(*options)

    assert code == status
    assert detail in error
