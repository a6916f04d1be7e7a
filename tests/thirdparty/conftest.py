"""Our server in a process of its own, for clients of others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT
from wireproof.protocols.psrt import PROFILES
from wireproof.reference_server.certificates import self_signed

ACCOUNTS = ROOT / "vectors" / "psrt" / "accounts"
PATIENCE = 20


class Server:
    """PSRT over TCP, TLS and UDP, with accounts and a timeout of two seconds."""

    timeout = 2.0

    def __init__(self, profile: str, folder: Path) -> None:
        certificate, key = self_signed(folder)
        self.ca = str(certificate)
        accounts = [word for name in ("users", "acl", "keys") for word in (f"--{name}", str(ACCOUNTS / name))]
        options = ["--udp", "--tls-cert", self.ca, "--tls-key", str(key), "--timeout", str(self.timeout)]
        words = ["psrt", "--profile", profile, *accounts, *options, "--max-topic-depth", "3"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reference_server", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        detail = self._process.stdout.readline()
        assert detail.startswith("listening tcp://"), self.close()
        self.path = detail.split("//")[1].strip()
        self.port = int(self.path.split(":")[1])

    def close(self) -> str:
        """Stop; return what it had to say."""
        self._process.terminate()
        return self._process.communicate(timeout=PATIENCE)[1]


@pytest.fixture(scope="module", params=PROFILES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(request.param, tmp_path_factory.mktemp("server"))
    yield running
    assert running.close() == ""
