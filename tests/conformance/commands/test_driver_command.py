"""`wireproof driver check`: plain lines, and an exit code that says whether the driver is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wireproof.conformance.commands import driver

TOY = Path(__file__).parents[1] / "sdk" / "toy_driver.py"
REFERENCE = f"{sys.executable} -m reference_client throttr --driver"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(driver.command, ["check", *arguments], catch_exceptions=False)


def test_a_right_driver_is_confirmed_in_every_line() -> None:
    done = run(REFERENCE, "--profile", "7.3.2", "--variant", "uint8")

    lines = done.output.splitlines()
    assert done.exit_code == 0, done.output
    assert lines[0].startswith("right  hello from wireproof reference client")
    assert lines[-2] == "right  quit"
    assert lines[-1] == f"{len(lines) - 1} right, 0 wrong"


def test_a_wrong_driver_gets_what_was_expected() -> None:
    done = run(f"{sys.executable} -I {TOY}", "--protocol", "throttr")

    assert done.exit_code == 1
    assert done.output.splitlines() == [
        "WRONG  hello from toy 1 (Python)",
        "         protocol: expected 'throttr', got 'toy'",
        "0 right, 1 wrong",
    ]


def test_the_lines_can_be_seen() -> None:
    done = run(f"{sys.executable} -I {TOY}", "--trace")

    assert done.output.startswith('> {"id": 1, "do": "hello"}\n< {"id": 1, "ok": true,')


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        ([], "expected either a COMMAND that starts the driver, or --attach"),
        (["x", "--attach"], "expected either a COMMAND"),
        (["'x"], "No closing quotation"),
    ],
)
def test_usage(arguments: list[str], detail: str) -> None:
    done = run(*arguments)

    assert done.exit_code == 2
    assert detail in done.output


def test_an_author_may_start_the_driver() -> None:
    check = subprocess.Popen(
        [sys.executable, "-m", "wireproof", "driver", "check", "--attach"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert check.stderr is not None
    assert "waiting 600 s for your driver" in check.stderr.readline()
    author = subprocess.Popen(f"exec {REFERENCE} {check.stderr.readline()}", shell=True)
    output, errors = check.communicate(timeout=30)

    assert (check.returncode, errors) == (0, "")
    assert author.wait(10) == 0
    assert output.endswith("right, 0 wrong\n")
