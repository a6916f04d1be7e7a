"""Progress where the console is no terminal: lines, while nothing is reported, too."""

from __future__ import annotations

import io
import time

from rich.console import Console

from wireproof.conformance.report.console import LiveProgress


def lines_of(console: Console, stream: io.StringIO, *, lines: int) -> list[str]:
    until = time.monotonic() + 10
    with LiveProgress(console, 941, every=0.01) as progress:
        progress({"verdict": "pass"})
        progress({"verdict": "hang"})
        while stream.getvalue().count("\n") < lines and time.monotonic() < until:
            time.sleep(0.005)
    return stream.getvalue().splitlines()


def test_a_console_that_is_no_terminal_shows_lines() -> None:
    stream = io.StringIO()
    lines = lines_of(Console(file=stream, width=200), stream, lines=3)

    assert len(lines) >= 3
    assert lines[-1].partition(" s: ")[2] == "2 of 941 plays: 1 pass, 1 hang"


def test_a_quiet_console_shows_none() -> None:
    stream = io.StringIO()

    assert lines_of(Console(file=stream, quiet=True), stream, lines=0) == []


class Full(io.StringIO):
    """A disk without room."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_disk_without_room_ends_nothing() -> None:
    with LiveProgress(Console(file=Full()), 1, every=0.001) as progress:
        time.sleep(0.01)
        progress({"verdict": "pass"})
