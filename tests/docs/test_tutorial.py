"""The tutorial, played: its servers are written, its commands run, and they end as it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.places import ROOT
from wireproof.conformance.run.processes import module_environment

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODES = {"runs/second": 1, "runs/fourth": 1}
"""Folder of a run -> the exit code that the page says, where it is not 0."""


def played(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(line.replace('"python server.py', f'"{sys.executable} server.py'))
    command = [sys.executable, "-m", "wireproof", *words[1:]]
    return subprocess.run(command, cwd=folder, env=module_environment(), capture_output=True, text=True, timeout=120)


def test_the_tutorial_ends_as_it_says(tmp_path: Path) -> None:
    ran = []
    for language, text in BLOCK.findall(PAGE):
        if language == "python":
            (tmp_path / "server.py").write_text(text)
            continue
        for line in (one for one in text.splitlines() if one.startswith("wireproof ")):
            done = played(line, tmp_path)
            ran.append(done)
            expected = next((code for name, code in CODES.items() if line.endswith(f"--out {name}")), 0)
            assert done.returncode == expected, f"{line}\n{done.stdout}\n{done.stderr}"
    texts = [one.stdout for one in ran]
    assert len(ran) == 10
    assert texts[3].splitlines()[-1].startswith("passed: 1 case")
    assert "insert/quota-read-back" in texts[4]
    assert "fixed" in texts[6]
