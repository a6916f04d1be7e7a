"""`kill -9` of wireproof: the server that it started goes, too, and so does what that server started."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import PATIENCE, have_ended
from wireproof.conformance.run.processes import module_command, module_environment

SERVER = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
open({pids!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
os.execv(sys.executable, [sys.executable, "-m", "wireproof.reference_server", "throttr", "--port", sys.argv[1]])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9")
def test_a_started_server_does_not_outlive_a_wireproof_that_is_killed(tmp_path: Path) -> None:
    pids, script, out = tmp_path / "pids", tmp_path / "server.py", tmp_path / "out"
    script.write_text(SERVER.format(pids=str(pids)))
    command = f"{sys.executable} {script} {{port}}"
    with subprocess.Popen(
        module_command("wireproof", "test", "throttr", "--target-command", command, "--jobs", "1", "--out", str(out)),
        env=module_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        until = time.monotonic() + PATIENCE
        while not (out / "run.json").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        process.kill()

    started = [int(one) for one in pids.read_text().split()]
    assert len(started) == 2
    assert have_ended(*started)
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert run["finished_at"] is None
    assert run["partial"] == ["it is under way, or was killed"]
