"""The page about drivers: its example passes the check, and its lines are valid against the schemas."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.places import ROOT
from wireproof.conformance.commands.driver import command
from wireproof.conformance.sdk.driver_protocol import FailureKind, command_faults, message_faults

PAGE = (ROOT / "docs" / "writing-a-driver.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| `(\{.*?\})` \|", PAGE, re.MULTILINE)
EVENTS = re.findall(r"^(\{\"event\": .*\})$", PAGE, re.MULTILINE)


def test_the_example_passes_the_check(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "driver.py").write_text(example)

    done = CliRunner().invoke(command, ["check", f"{sys.executable} {tmp_path / 'driver.py'}"], catch_exceptions=False)

    shown = re.findall(r"^right  .*[^.]$", PAGE, re.MULTILINE)
    assert done.exit_code == 0, done.output
    assert len(shown) > 5
    assert [line for line in shown if line not in done.output.splitlines()] == []
    assert done.output.splitlines()[-1] in PAGE


def test_every_line_it_shows_is_valid() -> None:
    assert len(LINES) == 6
    assert len(EVENTS) == 3
    for line in LINES:
        assert command_faults(json.loads(line)) == [], line
    for line in EVENTS:
        assert message_faults(json.loads(line)) == [], line


@pytest.mark.parametrize("kind", FailureKind)
def test_every_kind_of_error_is_explained(kind: FailureKind) -> None:
    assert re.search(rf"^\| .*`{kind}`.* \|", PAGE, re.MULTILINE)
