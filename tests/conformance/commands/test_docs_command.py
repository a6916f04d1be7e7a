"""`wireproof docs`: a case file that is wrong is named, with no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands import docs
from wireproof.conformance.suite.cases import CaseError


def test_a_case_file_that_is_wrong_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise CaseError(f"vectors/{name}/cases/query.yaml: line 3: unknown step 'sned'; near it: send")

    monkeypatch.setattr(docs, "load_suite", broken)
    done = CliRunner().invoke(docs.command, ["--folder", str(tmp_path)])

    assert done.exit_code == 1
    assert done.stderr.startswith("Error: vectors/")
    assert "near it: send" in done.stderr
    assert list(tmp_path.iterdir()) == []
