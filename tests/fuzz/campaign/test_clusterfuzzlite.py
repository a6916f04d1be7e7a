"""The build script of ClusterFuzzLite, run with stand-ins for what only its image has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tests.places import ROOT
from wireproof.fuzz import coverage_guided
from wireproof.fuzz.targets.packaged import command, write_fuzzers

FOLDER = ROOT / "examples" / "clusterfuzzlite"
TOOLS = {
    "python3": f'#!/bin/sh\ncase "$*" in "-m pip "*) exit 0;; esac\nexec {sys.executable} "$@"\n',
    "compile_python_fuzzer": '#!/bin/sh\ncp "$1" "$OUT/"\n',
    "zip": f'#!/bin/sh\nexec {sys.executable} -m zipfile -c "$3" *\n',
}
"""The installation, the packing and the archives of the image."""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    tools, out = tmp_path / "tools", tmp_path / "out"
    tools.mkdir()
    out.mkdir()
    for name, text in TOOLS.items():
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "OUT": str(out)}
    environment |= {"PROTOCOLS": "throttr", "TARGETS": "parser scheduler"}
    script = ["bash", str(FOLDER / "build.sh")]
    done = subprocess.run(script, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_the_build_script_makes_fuzzers_with_seeds_and_dictionaries(built: Path) -> None:
    names = {"parser_throttr", "scheduler_throttr"}

    assert {path.stem for path in built.glob("*.py")} == names
    assert {path.stem for path in built.glob("*.dict")} == names
    for name in names:
        with zipfile.ZipFile(built / f"{name}_seed_corpus.zip") as seeds:
            assert len(seeds.namelist()) > 10
        compile((built / f"{name}.py").read_text(), name, "exec")


@pytest.mark.skipif(not coverage_guided.is_available(), reason="no atheris here")
def test_a_fuzzer_runs_alone(tmp_path: Path) -> None:
    write_fuzzers(tmp_path, ["throttr"], ["parser"])

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "parser_throttr.py", "parser_throttr", "-dict=parser_throttr.dict", "-runs=600"]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_targets_without_a_model_are_left_out_and_unknown_ones_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof.fuzz.targets.packaged.has_model", lambda name: False)

    assert write_fuzzers(tmp_path, ["throttr"], ["scheduler", "store"]) == ["scheduler_throttr"]
    result = CliRunner().invoke(command, [str(tmp_path), "throttr", "--targets", "lexer"])
    assert result.exit_code == 2
    assert "got 'lexer'" in result.output


def test_the_project_file_names_what_the_service_reads() -> None:
    project = yaml.safe_load((FOLDER / "project.yaml").read_text(encoding="utf-8"))

    assert project["language"] == "python"
    assert "build.sh" in (FOLDER / "Dockerfile").read_text(encoding="utf-8")
