"""Progress of long work: the first line within a second, what is under way, what is left."""

from __future__ import annotations

import time

import pytest

from wireproof.conformance.report.work_progress import Progress, Steps, waiting


def test_the_first_line_comes_within_the_first_second(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(3) as progress, progress.under_way("throttr-7.1.0"):
        time.sleep(0.9)

    assert "0 of 3 done; now throttr-7.1.0" in capsys.readouterr().err


def test_lines_say_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(2, every=0.05) as progress:
        with progress.under_way("one"):
            time.sleep(0.1)
        with progress.under_way("two"):
            time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()

    assert any("1 of 2 done, about 0 s left; now two" in line for line in lines)
    assert all(line.startswith("wireproof: ") for line in lines)


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(1) as progress, progress.under_way("one"):
        pass

    assert capsys.readouterr().err == ""


def test_what_takes_long_is_reported_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting("reading", after=0.05, every=0.1):
        time.sleep(0.4)
    with waiting("writing", after=5), waiting("silence", after=0.0, quiet=True):
        pass
    lines = capsys.readouterr().err.splitlines()

    assert 2 <= len(lines) <= 5
    assert set(lines) == {"wireproof: 0 s: reading"}


def test_steps_are_counted_without_a_thread(capsys: pytest.CaptureFixture[str]) -> None:
    steps = Steps(3, "mutants", every=0.0)
    steps()
    Steps(3, "mutants", quiet=True)()

    assert capsys.readouterr().err == "wireproof: 0 s: 0 of 3 mutants\nwireproof: 0 s: 1 of 3 mutants\n"
