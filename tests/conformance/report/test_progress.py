"""Progress where the console is no terminal: lines, while nothing is reported, too."""

from __future__ import annotations

import io
import sys
import time

import pytest
from rich.console import Console

from wireproof.conformance.report.console import LiveProgress


def lines_of(console: Console, monkeypatch: pytest.MonkeyPatch, *, lines: int) -> list[str]:
    until, stream = time.monotonic() + 10, io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with LiveProgress(console, 941, every=0.01) as progress:
        progress({"verdict": "pass"})
        progress({"verdict": "hang"})
        while stream.getvalue().count("\n") < lines and time.monotonic() < until:
            time.sleep(0.005)
    return stream.getvalue().splitlines()


def test_a_console_that_is_no_terminal_shows_lines_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.StringIO()
    lines = lines_of(Console(file=stdout, width=200), monkeypatch, lines=3)

    assert len(lines) >= 3
    assert lines[-1].partition(" s: ")[2] == "2 of 941 plays: 1 pass, 1 hang"
    assert stdout.getvalue() == ""


def test_a_quiet_console_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines_of(Console(file=io.StringIO(), quiet=True), monkeypatch, lines=0) == []


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_play_that_takes_long_is_named(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", told := io.StringIO())
    drawn = io.StringIO()
    began = time.monotonic()
    plays = {"pressure/idle": began - 61.5, "get/plain": began}
    console = Console(file=drawn, force_terminal=is_terminal, width=200)
    until = began + 10
    with LiveProgress(console, 941, every=0.01, under_way=plays) as progress:
        progress({"verdict": "pass"})
        while "idle" not in told.getvalue() + drawn.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        del plays["pressure/idle"]

    assert "; pressure/idle for 6" in (drawn if is_terminal else told).getvalue()
    assert "get/plain" not in told.getvalue() + drawn.getvalue()


class Full(io.StringIO):
    """A disk without room."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_a_disk_without_room_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Full())
    with LiveProgress(Console(file=io.StringIO()), 1, every=0.001) as progress:
        time.sleep(0.01)
        progress({"verdict": "pass"})
