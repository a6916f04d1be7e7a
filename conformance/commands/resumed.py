"""What a folder holds before a run writes into it: reported to the user, or continued (`--resume`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.report.claim import PARTIAL, RUN, holds_complete_run
from wireproof.conformance.report.outputs import OutputError
from wireproof.conformance.report.run_files import RunFileError, read_run
from wireproof.conformance.verdict.crashes import is_unplayed
from wireproof.conformance.verdict.records import Record, Run, wireproof_version

__all__ = ["earlier_results", "resumed"]

SAME = ("protocol", "profile", "variant", "role", "implementation", "implementation_version")
"""What a run that goes on must share with what was played before."""
AGAIN = frozenset({Verdict.UNTESTABLE, Verdict.HARNESS_ERROR})
"""Verdicts that are asked for again."""


def earlier_results(folder: Path | None) -> str:
    """Return what a folder holds and what becomes of it, in one line; "" for nothing."""
    if folder is None or not (folder / RUN).is_file():
        return ""
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        who = f"{run['implementation']} {run['implementation_version']}, {run['profile']} {run['variant']}"
        began = run["started_at"]
    except (OSError, ValueError, KeyError, TypeError):
        return f"{folder} holds a run that cannot be read: it is replaced"
    if holds_complete_run(folder):
        return f"{folder} holds a run of {who} ({began}): it stays until this one is complete"
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
