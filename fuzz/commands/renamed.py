"""Options of `wireproof fuzz` under the names they had: accepted for one release, with a hint."""

from __future__ import annotations

from collections.abc import Mapping

import click

__all__ = ["CommandWithRenamedOptions", "hint"]

RENAMED_OPTIONS: Mapping[str, str] = {"--effort": "--preset", "--fault": "--bug", "--patience": "--reply-timeout"}
"""Old name of an option -> its name."""


def hint(old: str, new: str) -> None:
    """Print on stderr that `old` is called `new`."""
    click.echo(f"wireproof: {old} is now called {new}; the old name will be removed in the next release", err=True)


class CommandWithRenamedOptions(click.Command):
    """A command that accepts the old names of its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Replace old names before click parses the arguments."""
        mine = {name for parameter in self.params for name in parameter.opts}
        return super().parse_args(ctx, [_renamed(argument, mine) for argument in args])


def _renamed(argument: str, known: set[str]) -> str:
    name, equals, value = argument.partition("=")
    new = RENAMED_OPTIONS.get(name)
    if new is None or new not in known:
        return argument
    hint(name, new)
    return f"{new}{equals}{value}"
