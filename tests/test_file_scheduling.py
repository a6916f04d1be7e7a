"""A test that ends its process is one red test: it is not played again, and the others run to their end."""

import subprocess
import sys
from pathlib import Path

from tests.places import ROOT

ENDS = "import os\ndef test_before(): pass\ndef test_ends_its_process(): os._exit(1)\ndef test_behind(): pass\n"
OTHER = "import time\ndef test_that_takes_time(): time.sleep(0.2)\n"
CONFTEST = "from tests.conftest import pytest_xdist_make_scheduler\n"


def test_what_ends_its_process_is_red_once_and_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_ends.py").write_text(ENDS, encoding="utf-8")
    for number in range(3):
        (tmp_path / f"test_other_{number}.py").write_text(OTHER, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", "-p", "no:randomly", "."]
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)

    assert "1 failed, 5 passed" in done.stdout
    assert done.stdout.count("crashed while running 'test_ends.py::test_ends_its_process'") >= 1
    assert done.returncode == 1
