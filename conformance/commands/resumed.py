"""What a folder holds before a run writes into it: reported to the user, or continued (`--resume`)."""

from __future__ import annotations

import errno
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.report.claim import PARTIAL, RUN, holds_complete_run
from wireproof.conformance.report.outputs import OutputError, is_incomplete
from wireproof.conformance.report.run_files import RunFileError, read_run
from wireproof.conformance.verdict.crashes import is_unplayed
from wireproof.conformance.verdict.records import Record, Run, wireproof_version

__all__ = ["earlier_results", "go_on", "on_full_disk", "resumed", "with_options_of_run"]

SAME = ("protocol", "profile", "variant", "role", "implementation", "implementation_version")
"""What a run that goes on must share with what was played before."""
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
AGAIN = frozenset({Verdict.UNTESTABLE, Verdict.HARNESS_ERROR})
"""Verdicts that are asked for again."""


SELECTING = {
    "-k": "expression",
    "--level": "level",
    "--effort": "effort",
    "--slow": "slow",
    "--segmentation": "delivery",
}
"""Options that decide what is played: a run that goes on has those that it began with."""


def go_on(folder: Path) -> str:
    """Return how a run that ended early goes on, as a part of a message."""
    return f"go on with --resume {folder}"


def on_full_disk(error: Exception, folder: Path | None) -> str:
    """Return how a run goes on that ended since its disk was full, as the end of a message; "" for other errors."""
    cause = error.__context__
    if folder is None or not isinstance(cause, OSError) or cause.errno not in NO_SPACE:
        return ""
    began = next((one for one in (folder / PARTIAL, folder) if is_incomplete(one) and (one / RUN).exists()), None)
    return f"; what was played is kept: make space, then {go_on(folder)}" if began else ""


def with_options_of_run(context: click.Context, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run that goes on: where the user names none, those that say what the run plays."""
    folder, found = options["resume"], dict(options)
    if folder is None:
        return found
    before = _recorded_options(folder / PARTIAL) or _recorded_options(folder)
    default = click.core.ParameterSource.DEFAULT
    named = []
    for flag, name in SELECTING.items():
        if (value := before.get(name)) is None or context.get_parameter_source(name) is not default:
            continue
        parameter = next(one for one in context.command.params if one.name == name)
        try:
            found[name] = parameter.process_value(context, (value,) if parameter.multiple else value)
        except click.BadParameter:
            continue  # it was written by hand, or by a wireproof that is refused later
        if found[name] != options[name]:
            named.append(flag if found[name] is True else f"{flag} {shlex.quote(str(value))}")
    if named:
        click.echo(f"wireproof: it continues with the options of the run: {' '.join(named)}", err=True)
    return found


def _recorded_options(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / RUN).read_text(encoding="utf-8"))["options"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def earlier_results(folder: Path | None) -> str:
    """Return what a folder holds and what becomes of it, in one line; "" for nothing."""
    if folder is None or not (folder / RUN).is_file():
        return ""
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        who = f"{run['implementation']} {run['implementation_version']}, {run['profile']} {run['variant']}"
        began, chosen = run["started_at"], run["finished_at"] is not None and run.get("partial")
    except (OSError, ValueError, KeyError, TypeError):
        return f"{folder} holds a run that cannot be read: it is replaced"
    if holds_complete_run(folder):
        return f"{folder} holds a run of {who} ({began}): it stays until this one is complete"
    if chosen and not is_incomplete(folder):
        return f"{folder} holds a run of {who} ({began}; partial: {'; '.join(map(str, chosen))}): it is replaced"
    return f"{folder} holds an incomplete run of {who} ({began}): it is replaced; --resume {folder} would go on with it"


def resumed(folder: Path | None, run: Run) -> list[Record]:
    """Return what was played for good of an incomplete run in a folder, and let `run` be that run.

    Raises `OutputError` where there is none, or where it is one of another target, profile, variant or version.
    """
    if folder is None:
        raise OutputError("--resume: no folder of a run")
    shown = folder.parent if folder.name == PARTIAL else folder
    try:
        found = read_run(folder)
    except RunFileError as error:
        raise OutputError(f"nothing to resume in {shown}: {error}") from None
    for name in SAME:
        if found.summary.get(name) != getattr(run, name):
            raise OutputError(
                f"cannot resume {shown}: its {name} is {found.summary.get(name)}, now {getattr(run, name)}"
            )
    if found.summary.get("wireproof_version", wireproof_version()) != wireproof_version():
        raise OutputError(f"cannot resume {shown}: wireproof {found.summary['wireproof_version']} played it")
    run.run_id, run.started_at = str(found.summary["run_id"]), str(found.summary["started_at"])
    return _for_good(found.records)


def _for_good(records: Sequence[Record]) -> list[Record]:
    """Return the records that need not be played again: all plays of cases whose play in one piece was judged."""
    judged = {
        one["case"]
        for one in records
        if one["delivery"] == "whole" and one["verdict"] not in AGAIN and not is_unplayed(one)
    }
    return [one for one in records if one["case"] in judged and one["verdict"] not in AGAIN]
