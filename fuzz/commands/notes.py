"""Notes that commands print once, however often they apply."""

from __future__ import annotations

from functools import cache

import click

from wireproof.conformance.report.capture import MISSING, is_available

__all__ = ["say_what_is_missing"]


@cache
def say_what_is_missing() -> None:
    """Print, once in a process, which part of a finding cannot be written."""
    if not is_available():
        click.echo(MISSING, err=True)
