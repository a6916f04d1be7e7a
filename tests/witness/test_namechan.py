"""The independent witness of namechan passes the cases: what they ask can be read from the document alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wireproof.conformance.commands.durability import command as durability
from wireproof.conformance.commands.test import command as conformance

SERVER = Path(__file__).parent / "namechan" / "main.py"
LIMITS = "--ping-interval 4 --handshake-timeout 2 --max-kept 20"
"""The parameters of vectors/namechan/parameters.yaml."""


def played(folder: Path, *more: str) -> Result:
    """Play cases on the witness, started for them."""
    server = f"{sys.executable} {SERVER} --port {{port}} --hook {folder}/hook --data {folder}/data {LIMITS}"
    options = ["--target-command", server, "--listener", f"hook=unix://{folder}/hook", "--feature", "replay"]
    return CliRunner().invoke(
        conformance, ["namechan", "--profile", "1", *options, *more, "--out", str(folder / "run")]
    )


def test_it_imports_nothing_of_this_project() -> None:
    files = list(SERVER.parent.glob("*.py"))
    known = {*sys.stdlib_module_names, *(one.stem for one in files)}
    for one in (node for file in files for node in ast.walk(ast.parse(file.read_text()))):
        if isinstance(one, ast.Import | ast.ImportFrom):
            names = [one.module] if isinstance(one, ast.ImportFrom) else [alias.name for alias in one.names]
            assert {str(name).partition(".")[0] for name in names} <= known


def test_it_passes_a_case_of_each_clause(tmp_path: Path) -> None:
    done = played(tmp_path, "--effort", "smoke", "--max-time", "200")

    assert done.exit_code == 0, done.output


@pytest.mark.nightly
def test_it_passes_every_must_and_should(tmp_path: Path) -> None:
    done = played(tmp_path, "--slow", "--limit", "PING_INTERVAL=4")

    assert done.exit_code == 0, done.output
    assert "0 MUST or SHOULD failed" in done.output


@pytest.mark.nightly
def test_it_keeps_what_it_promised_when_it_is_killed(tmp_path: Path) -> None:
    server = f"{sys.executable} {SERVER} --port {{port}} --hook {{data}}/hook --data {{data}}"
    options = ["--kills", "10", "--listener", "unix://{data}/hook", "--out", str(tmp_path)]
    done = CliRunner().invoke(durability, ["namechan", *options, "--target-command", server])

    assert done.exit_code == 0, done.output
