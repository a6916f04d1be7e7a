"""Every command line in a code block of the pages names commands and options that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.places import ROOT
from wireproof.cli import command

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(group: click.Group = command) -> Iterator[click.Command]:
    """Yield every command under `group`."""
    context = click.Context(group)
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        assert one is not None
        yield from commands(one) if isinstance(one, click.Group) else [one]


def shown(page: Path) -> list[str]:
    """Return the lines of code blocks that begin with `wireproof COMMAND`, without their comments."""
    lines = "".join(BLOCK.findall(page.read_text(encoding="utf-8"))).splitlines()
    return [line.split("  #")[0] for line in lines if line.startswith("wireproof ")]


def unknown(line: str) -> list[str]:
    """Return the words of a command line that are neither a known command nor a known option."""
    words = shlex.split(line)[1:]
    found: click.Command = command
    while isinstance(found, click.Group):
        name = words.pop(0)
        inner = found.get_command(click.Context(found), name)
        if inner is None:
            return [name]
        found = inner
    known = {name for option in found.params for name in (*option.opts, *option.secondary_opts)}
    return [word for word in words if word.startswith("-") and word not in known]


@pytest.mark.parametrize("page", [one for one in PAGES if shown(one)], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_shown_command_exists(page: Path) -> None:
    assert {line: unknown(line) for line in shown(page) if unknown(line)} == {}


def test_an_unknown_option_is_noticed() -> None:
    assert unknown("wireproof test throttr simulation --no-such") == ["--no-such"]


def test_the_variant_is_also_called_width_wherever_it_is_an_option() -> None:
    options = [option.opts for one in commands() for option in one.params if option.name == "variant"]

    assert len(options) > 15
    assert [opts for opts in options if set(opts) != {"--variant", "--width"}] == []
