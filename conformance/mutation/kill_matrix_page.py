"""The published kill matrix: kill-matrix.json (reports/schema/kill-matrix.schema.json) and a page to read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from wireproof.conformance.mutation.kill_matrix import KillMatrix
from wireproof.conformance.mutation.mutant_result import MutantResult
from wireproof.conformance.mutation.random_edits import EditResult
from wireproof.conformance.report.outputs import OutputError
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.verdict.records import wireproof_version

__all__ = ["SCHEMA", "document", "write"]

SCHEMA = "wireproof.kill-matrix/1"
TEMPLATES = Path(__file__).resolve().parents[2] / "reports" / "templates"
Document = dict[str, Any]


def document(suite: Suite, matrix: KillMatrix, edits: Sequence[EditResult] = ()) -> Document:
    """Return the kill matrix as plain data: mutants x cases, which case kills which, what survives, what kills none.

    The keys `faults`, `told` and `fate` are those of the schema, which keeps them.
    """
    right, kills = matrix.blame
    killers = matrix.killers
    return {
        "schema": SCHEMA,
        "wireproof_version": wireproof_version(),
        "protocol": suite.protocol,
        "profile": matrix.profile,
        "variant": matrix.variant,
        "blame": {"right": right, "kills": kills},
        "complaints": [one.message for one in matrix.complaints()],
        "mutants": [{"edit": str(one.edit), "fate": one.status.value, "case": one.case or None} for one in edits],
        "faults": [_mutant(suite, result) for result in matrix.results],
        "cases": [
            {
                "id": case.id,
                "title": case.title,
                "group": suite.clauses[case.clauses[0]].group,
                "level": matrix.levels[case.id].value,
                "clauses": list(case.clauses),
                "no_fault": case.no_fault or None,
                "kills": killers[case.id],
            }
            for case in matrix.cases
        ],
    }


def _mutant(suite: Suite, result: MutantResult) -> Document:
    mutant = result.mutant
    return {
        "name": mutant.name,
        "told": mutant.description,
        "group": suite.clauses[mutant.clauses[0]].group if mutant.clauses else None,
        "clauses": list(mutant.clauses),
        "legal": mutant.is_legal,
        "live": mutant.live,
        "error": result.error,
        "kills": [
            {
                "case": one.case,
                "verdict": one.verdict.value,
                "blamed": one.blamed,
                "right": one not in result.misblamed,
                "deliveries": list(one.segmentations),
            }
            for one in result.kills
        ],
        "untestable": sum(not one.kills for one in result.findings),
    }


def write(folder: Path, found: Document) -> None:
    """Write both files into `folder`; raises `OutputError` when that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kill-matrix.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        (folder / "index.html").write_text(page(found), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}") from None


def page(found: Document) -> str:
    """Return the page: the picture of all kills, the kills by group, then every mutant and every case."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    mutants = [one for one in found["faults"] if not one["legal"]]
    return environment.get_template("kill-matrix.html.j2").render(
        matrix=found,
        wrong=mutants,
        legal=[one for one in found["faults"] if one["legal"]],
        picture=_picture(mutants, found["cases"]),
        groups=_by_group(mutants, found["cases"]),
    )


def _picture(mutants: list[Document], cases: list[Document]) -> Document:
    """Return the kills as SVG path data, one square a kill: those that blame a broken clause, and the others."""
    place = {one["id"]: x for x, one in enumerate(cases)}
    squares: dict[bool, list[str]] = {True: [], False: []}
    for y, mutant in enumerate(mutants):
        for kill in mutant["kills"]:
            squares[kill["right"]].append(f"M{place[kill['case']]} {y}h1v1h-1z")
    return {
        "width": len(cases),
        "height": len(mutants),
        "right": "".join(squares[True]),
        "wrong": "".join(squares[False]),
        "columns": _starts(one["group"] for one in cases),
        "rows": _starts(one["group"] for one in mutants),
    }


def _starts(groups: Iterable[str]) -> list[tuple[int, str]]:
    """Return where each run of equal groups begins."""
    found: list[tuple[int, str]] = []
    for at, group in enumerate(groups):
        if not found or found[-1][1] != group:
            found.append((at, group))
    return found


def _by_group(mutants: list[Document], cases: list[Document]) -> list[Mapping[str, Any]]:
    """Return for each group of clauses its mutants, how many are killed, its cases, how many kill one."""
    names = dict.fromkeys([*(one["group"] for one in cases), *(one["group"] for one in mutants)])
    scored = [one for one in cases if one["level"] != "MAY"]
    return [
        {
            "group": name,
            "faults": sum(one["group"] == name for one in mutants),
            "killed": sum(one["group"] == name and bool(one["kills"]) for one in mutants),
            "cases": sum(one["group"] == name for one in scored),
            "killing": sum(one["group"] == name and bool(one["kills"]) for one in scored),
        }
        for name in names
    ]
