"""What is kept of a file of cases is read again, not parsed anew: a run begins in less than a second."""

from __future__ import annotations

from pathlib import Path

import pytest

from wireproof.conformance.suite import case_documents
from wireproof.conformance.suite.case_documents import read_cases
from wireproof.conformance.suite.case_files import CaseFile
from wireproof.conformance.suite.cases import load_suite, vectors_root
from wireproof.conformance.suite.sdk_steps import SdkCaseFile
from wireproof.protocols import protocol_names


@pytest.mark.parametrize("name", protocol_names())
@pytest.mark.parametrize(("folder", "kind"), [("cases", CaseFile), ("sdk", SdkCaseFile)])
def test_what_is_kept_is_what_was_read(
    name: str, folder: str, kind: type[CaseFile | SdkCaseFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    context = load_suite(name).context
    paths = sorted((vectors_root() / name / folder).glob("*.yaml"))
    first = [read_cases(path, context, kind) for path in paths]
    monkeypatch.setattr(case_documents, "_read", lambda *_: pytest.fail("it was parsed again"))

    assert [read_cases(path, context, kind) for path in paths] == first
