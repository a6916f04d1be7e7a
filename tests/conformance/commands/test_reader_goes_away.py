"""Who reads what is printed may go away (`wireproof test … | head -1`): the files of a run are whole all the same."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from wireproof.conformance.run.processes import module_command, module_environment

WORDS = ("test", "throttr", "simulation", "--profile", "7.3.2", "--variant", "uint16", "-k", "query/")


@pytest.mark.parametrize("reads", ["nothing", "a line"])
def test_files_are_whole_when_nobody_reads(reads: str, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("junit.xml", "sarif.json", "badge.json")}
    options = [f"--{path.stem}={path}" for path in files.values()]
    command = module_command("wireproof", *WORDS, f"--out={tmp_path / 'run'}", *options)
    with subprocess.Popen(
        command, env=module_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        assert running.stderr
        if reads == "a line":
            running.stdout.readline()
        running.stdout.close()
        reported = running.stderr.read()
        running.wait(60)

    records = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]
    suite = next(ElementTree.parse(files["junit.xml"]).iter("testsuite"))
    assert "Traceback" not in reported
    assert len(records) == int(suite.attrib["tests"]) == len(suite.findall("testcase")) > 30
    assert json.loads((tmp_path / "run" / "run.json").read_text())["finished_at"]
    assert json.loads(files["sarif.json"].read_text())["version"] == "2.1.0"
    assert "MUST" in json.loads(files["badge.json"].read_text())["message"]
