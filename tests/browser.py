"""Pages in headless Chromium, for nightly tests."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest

NEEDS_BROWSER = pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")


@cache
def dumped(url: str, profile: str) -> str:
    """Return a page after its scripts; a message on the console fails the test. `profile`: a new folder."""
    words = [
        *(
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ),
        *("--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--virtual-time-budget=5000"),
        *("--enable-logging=stderr", "--dump-dom", url),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=90, check=True)
    assert "CONSOLE" not in done.stderr
    return done.stdout
