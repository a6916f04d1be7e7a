"""The vectors are language-neutral: a program that knows nothing but the JSON checks a codec function of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT

EXAMPLE = ROOT / "vectors" / "examples" / "node" / "check.mjs"
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="no Node.js on this machine: the example in another language cannot run")
def test_a_codec_in_node_agrees_with_every_insert_vector() -> None:
    done = subprocess.run([NODE or "node", EXAMPLE], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert not done.stdout.startswith("0 vectors")


@pytest.mark.skipif(NODE is None, reason="no Node.js on this machine: the example in another language cannot run")
def test_the_example_notices_a_wrong_vector(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE.parents[2] / "throttr", tmp_path / "throttr")
    victim = tmp_path / "throttr" / "7.1.0" / "uint16" / "insert.json"
    text = victim.read_text(encoding="utf-8")
    victim.write_text(text.replace('"quota": 1,', '"quota": 2,'), encoding="utf-8")

    done = subprocess.run(
        [NODE or "node", EXAMPLE, tmp_path / "throttr"], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 1
