"""Without derived files, as in an installation, vectors are derived when they are first asked for, and kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from wireproof.conformance.report import vector_store
from wireproof.conformance.report.vector_files import canonical
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.documents import vectors_root
from wireproof.fuzz import seeds

PLACE = ("psrt", "1", "standard")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the vectors' folder of an installation: cases, and nothing derived."""
    root = tmp_path / "vectors"
    shutil.copytree(vectors_root() / "schema", root / "schema")
    for part in ("cases/nop.yaml", "cases/login.yaml", "clauses.yaml", "probe.yaml", "sequences.yaml"):
        (root / "psrt" / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(vectors_root() / "psrt" / part, root / "psrt" / part)
    for part in ("features.yaml", "parameters.yaml", "server.yaml"):
        shutil.copy(vectors_root() / "psrt" / part, root / "psrt" / part)
    shutil.copytree(vectors_root() / "psrt" / "accounts", root / "psrt" / "accounts")
    for module in ("report.vector_store", "suite.cases", "suite.documents", "suite.declared", "run.reference_target"):
        monkeypatch.setattr(f"wireproof.conformance.{module}.vectors_root", lambda: root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget()
    yield root
    forget()


def forget() -> None:
    for cached in (load_suite, seeds._documents, seeds.requests, seeds.exchanges, seeds.conversations):
        cached.cache_clear()


def kept(installed: Path) -> list[Path]:
    return sorted((installed.parent / "cache" / "wireproof").glob("vectors-psrt-1-standard-*.json"))


def test_what_is_derived_is_kept_until_a_case_changes(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = vector_store.vectors_of(*PLACE)
    (file,) = kept(installed)

    with monkeypatch.context() as patch:
        patch.setattr(vector_store, "Deriver", None)
        assert vector_store.vectors_of(*PLACE) == first
    (installed / "psrt" / "cases" / "login.yaml").unlink()
    forget()
    assert [one["topic"] for one in vector_store.vectors_of(*PLACE)] == ["nop"]
    assert file in kept(installed)
    assert len(kept(installed)) == 2


def test_a_cache_that_cannot_be_written_is_done_without(installed: Path) -> None:
    (installed.parent / "cache").write_text("a file, not a folder")

    assert [one["topic"] for one in vector_store.vectors_of(*PLACE)] == ["login", "nop"]


def test_files_and_cases_give_the_same_vectors(installed: Path) -> None:
    derived = vector_store.vectors_of(*PLACE)
    folder = vector_store.derived_folder("psrt")
    folder.mkdir()
    for topic, document in vector_store.derive(load_suite("psrt")).items():
        (folder / f"{topic}.json").write_text(canonical(document), encoding="utf-8")
    for file in kept(installed):
        file.unlink()

    assert vector_store.vectors_of(*PLACE) == derived
    assert kept(installed) == []


def test_fuzzing_has_seeds_without_derived_files(installed: Path) -> None:
    assert seeds.conversations(*PLACE)
    assert all(exchange.sent for exchange in seeds.exchanges(*PLACE))
    assert len(seeds.requests(*PLACE)) > 3
