"""The independent witness of throttr passes the cases: what they ask can be read from the document and facts alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wireproof.conformance.commands.test import command as conformance

SERVER = Path(__file__).parent / "throttr" / "main.js"
NODE = shutil.which("node")
BUILT_IN = {"crypto", "net", "util"}
WIDTHS = ("uint8", "uint16", "uint32", "uint64")

needs_node = pytest.mark.skipif(NODE is None, reason="the witness of throttr runs on node, which is not on the PATH")


def played(folder: Path, profile: str, width: str, *more: str) -> Result:
    """Play cases on the witness, started for them."""
    server = f"{NODE} {SERVER} --profile {profile} --width {width} --port {{port}}"
    options = ["--profile", profile, "--width", width, "--target-command", server]
    return CliRunner().invoke(conformance, ["throttr", *options, *more, "--out", str(folder / "run")])


def test_it_uses_nothing_but_itself_and_node() -> None:
    for file in SERVER.parent.glob("*.js"):
        for name in re.findall(r"require\('([^']+)'\)", file.read_text()):
            assert name in BUILT_IN or (SERVER.parent / f"{name}.js").is_file()


@needs_node
def test_it_passes_a_case_of_each_clause(tmp_path: Path) -> None:
    done = played(tmp_path, "7.1.0", "uint16", "--effort", "smoke", "--max-time", "200")

    assert done.exit_code == 0, done.output


@needs_node
@pytest.mark.nightly
@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_passes_every_must_and_should(tmp_path: Path, profile: str, width: str) -> None:
    done = played(tmp_path, profile, width, "--slow", "--resource-limits")

    assert done.exit_code == 0, done.output
    assert "0 MUST or SHOULD failed" in done.output
