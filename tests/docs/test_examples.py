"""Each command line in examples/ is one that our command line takes: commands, arguments, options and their values."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from tests.places import ROOT
from wireproof.cli import command

EXAMPLES = ROOT / "examples"
FILES = sorted(path for path in EXAMPLES.rglob("*") if path.is_file())
INPUTS = yaml.safe_load((EXAMPLES / "github-action" / "action.yml").read_text(encoding="utf-8"))["inputs"]
VALUES = {"PROTOCOL": "throttr", "COMMAND": "my-server --port {port}", "OUT": "runs/x", "BASELINE": "known-failures"}
"""What stands for variables of the examples."""


def lines_of(path: Path) -> list[str]:
    """Return the command lines of a file, continued lines joined, variables filled in."""
    text = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8"))
    text = re.sub(r"\$\{(\w+):\+([^}]*)\}", r"\2", text).replace("$OPTIONS", "--profile 7.3.2")
    found = []
    for line in (one for one in text.splitlines() if "description:" not in one):
        for place in re.finditer(r"(?:^|[\s;&|(\[])(wireproof [a-z][^#;|]*)", line):
            words = re.sub(r"\$\{?(\w+)\}?", lambda name: VALUES.get(name[1], "x"), place[1])
            found.append(words.strip())
    return [line for line in found if not line.startswith(("wireproof is ", "wireproof and "))]


def parsed(line: str) -> None:
    """Let click read a command line, without calling the command; raises `click.ClickException`."""
    words, found = shlex.split(line)[1:], command
    while isinstance(found, click.Group):
        _, inner, words = found.resolve_command(click.Context(found), words)
        assert inner is not None
        found = inner
    found.make_context(line, list(words))


COMMANDS = [(path.relative_to(EXAMPLES).as_posix(), line) for path in FILES for line in lines_of(path)]


def test_there_are_examples() -> None:
    assert {name.partition("/")[0] for name, _ in COMMANDS} >= {"github-action", "gitlab"}


@pytest.mark.parametrize(("name", "line"), COMMANDS)
def test_an_example_is_a_line_that_we_take(name: str, line: str) -> None:
    parsed(line)


def test_a_wrong_line_is_noticed() -> None:
    with pytest.raises(click.ClickException):
        parsed("wireproof test throttr simulation --no-such")
    with pytest.raises(click.ClickException):
        parsed("wireproof test nonsense simulation")


def test_a_workflow_gives_the_action_what_it_takes() -> None:
    workflow = yaml.safe_load((EXAMPLES / "github-action" / "workflow.yml").read_text(encoding="utf-8"))
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    given = [step["with"] for step in steps if step.get("uses", "").endswith("/wireproof")]
    required = {name for name, one in INPUTS.items() if one.get("required")}

    assert given
    for one in given:
        assert set(one) <= set(INPUTS)
        assert required <= set(one)
