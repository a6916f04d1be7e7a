"""`kill -9` of a run: what was played is on disk, and whoever reads the folder says that the run is incomplete."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.clauses import command as clauses
from wireproof.conformance.report.outputs import JOURNAL, is_incomplete
from wireproof.conformance.run.processes import module_command, module_environment

INSERT = 0x01
PROBE = b"\x01\x18"
BEFORE = (0x02, 0x04)
"""How what is asked before the cases begins: how the target is reached, and whether it is fresh."""
HELD = "insert/stored-or-not"
"""Fails at once, and waits for a case that may explain it and is never answered."""
PATIENCE = 60.0
"""Seconds until a test gives up; the run itself would wait longer for its first answer."""


class Wrong(BaseRequestHandler):
    """Answers what asks for profile and width, and an INSERT with a byte that is no status.

    It closes at what else is asked before the cases, so that nobody waits for it, and answers nothing in the cases.
    """

    def handle(self) -> None:
        while data := self.request.recv(1 << 16):
            if data.startswith(PROBE):
                self.request.sendall(bytes(481))
            elif data[0] == INSERT:
                self.request.sendall(b"\x07")
            elif data[0] in BEFORE:
                return


@pytest.fixture
def wrong() -> Iterator[str]:
    """Serve what is wrong; return its address."""
    with ThreadingTCPServer(("127.0.0.1", 0), Wrong) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def lines_of(path: Path) -> dict[str, dict[str, Any]]:
    """Return the records of the file by case, without a line that is not whole yet."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return {one["case"]: one for one in (json.loads(line) for line in lines if line.endswith("\n"))}


def test_a_failure_that_waits_for_other_cases_outlives_the_run(wrong: str, tmp_path: Path) -> None:
    named = ("--profile", "7.1.0", "--variant", "uint16", "--implementation-version", "1", "--delivery", "whole")
    some = ("-k", "insert/stored-or-not or insert/starts-with-01", "--timeout", "600", "--out", str(tmp_path))
    with subprocess.Popen(
        module_command("wireproof", "test", "throttr", wrong, *named, *some),
        env=module_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        until = time.monotonic() + PATIENCE
        while process.poll() is None and HELD not in lines_of(tmp_path / JOURNAL) and time.monotonic() < until:
            time.sleep(0.01)
        process.kill()

    assert HELD not in lines_of(tmp_path / "records.jsonl")
    held = lines_of(tmp_path / JOURNAL)[HELD]
    assert (held["verdict"], held["delivery"], held["schema"]) == ("fail", "whole", "wireproof.record/1")
    assert is_incomplete(tmp_path)
    assert f"incomplete run: {tmp_path}" in CliRunner().invoke(clauses, ["throttr", "--runs", str(tmp_path)]).output
