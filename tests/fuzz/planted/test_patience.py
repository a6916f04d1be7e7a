"""A command hangs once it works far too long, or not at all; one that only waits for the machine does not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from wireproof.fuzz.planted.patience import ended

SHORT = 0.2
LONG = 600.0


@contextmanager
def command(code: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_one_that_works_has_its_processor_time() -> None:
    busy = "import time\nwhile time.process_time() < 1.0: pass"
    with command(busy) as process:
        assert ended(process, SHORT, grace=LONG, still=LONG)


def test_one_that_works_far_too_long_hangs() -> None:
    with command("while True: pass") as process:
        assert not ended(process, SHORT, grace=0.3, still=LONG)


def test_one_that_waits_for_ever_hangs() -> None:
    with command("import threading; threading.Event().wait()") as process:
        assert not ended(process, SHORT, grace=LONG, still=1.0)


def test_what_it_started_counts() -> None:
    busy = "import time\nwhile time.process_time() < 2.0: pass"
    with command(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])") as process:
        assert ended(process, SHORT, grace=LONG, still=1.0)
