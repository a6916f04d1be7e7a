"""Whole commands over all that is shipped; what each says of its result is printed at the end of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.places import ROOT

Passes = Callable[..., str]
MOST_LINES = 3
"""How many of a command's last lines are printed."""


@pytest.fixture
def passes(record_property: Callable[[str, object], None]) -> Passes:
    """Run `python -m WORDS`, which must exit 0; return what it printed."""

    def run(*words: str | Path, timeout_s: float = 500, lines: int = MOST_LINES) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *map(str, words)],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
        )
        assert done.returncode == 0, f"exit {done.returncode} of {' '.join(map(str, words))}\n{done.stdout}"
        record_property("printed", [line for line in done.stdout.splitlines() if line.strip()][-lines:])
        return done.stdout

    return run
