"""A TMQP server as a process: TCP, TLS on the same port, a UNIX socket, many consumers, and how it stops."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.reference_server.tmqp.simulated import hello
from wireproof.protocols.tmqp import PROFILES, Codec
from wireproof.protocols.tmqp.requests import Protocol
from wireproof.reference_server.certificates import self_signed
from wireproof.reference_server.registry import served_protocols
from wireproof.reference_server.tmqp.options import OPTIONS

PATIENCE = 20
pytestmark = pytest.mark.skipif("tmqp" not in served_protocols(), reason="tmqp is not registered")
COMMAND = [sys.executable, "-m", "reference_server", "tmqp"]
CODEC = Codec.of(PROFILES["doc"], "standard")
OPENING = CODEC.encode(Protocol()) + CODEC.encode(hello("me"))
WELCOME = b"\x90\x10\x20\0\x02\xca\0\0"


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


def listening(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def greeted(sock: socket.socket) -> bytes:
    sock.settimeout(PATIENCE)
    sock.sendall(OPENING)
    answer = b""
    while len(answer) < 50:
        answer += sock.recv(1000)
    return answer


def test_help_lists_every_option() -> None:
    done = subprocess.run([*COMMAND, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True)

    for option in OPTIONS:
        assert f"--{option.name.replace('_', '-')}" in done.stdout


def test_tcp_tls_and_unix(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    path = tmp_path / "socket"
    config = tmp_path / "config.yaml"
    config.write_text("delivery: after-sent\n")
    options = ["--tls-cert", str(certificate), "--tls-key", str(key), "--unix", str(path), "--config", str(config)]
    with running("--profile", "doc", "--port", "0", *options) as process:
        address, unix = listening(process), listening(process)
        port = int(address.removeprefix("listening tcp://127.0.0.1:"))
        assert unix == f"listening unix://{path}"
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain:
            assert greeted(plain)[:16] == b"TMQP/2.0" + WELCOME
        context = ssl.create_default_context(cafile=str(certificate))
        raw = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        with context.wrap_socket(raw, server_hostname="localhost") as inside:
            assert greeted(inside)[:16] == b"TMQP/2.0" + WELCOME
        with socket.socket(socket.AF_UNIX) as local:
            local.connect(str(path))
            assert greeted(local)[-2:] == b"me"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert not os.path.exists(path)


def test_a_config_that_cannot_be_used(tmp_path: Path) -> None:
    command = [*COMMAND, "--config", str(tmp_path / "none")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert "No such file" in done.stderr
    assert "Traceback" not in done.stderr
