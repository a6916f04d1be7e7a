"""A protocol is complete only when all its places are there, and the folder names show the architecture."""

from __future__ import annotations

import ast
from pathlib import Path

import grimp
import pytest

from wireproof.protocols import protocol_names
from wireproof.reference_client.registry import driven_protocols
from wireproof.reference_server.registry import served_protocols

ROOT = Path(__file__).resolve().parents[1]
PACKAGE_FILES = ("enums.py", "profiles.py", "states.py", "connection.py")
LONGEST, LONGEST_FUNCTION = 400, 50
PACKAGES = ("protocols", "reference_server", "reference_client", "mutants", "conformance", "fuzz", "spark", "tests")


@pytest.mark.parametrize("name", protocol_names())
@pytest.mark.parametrize(
    "place",
    [
        *(f"protocols/{{}}/{file}" for file in PACKAGE_FILES),
        "reference_server/{}/rules.py",
        "vectors/{}/clauses.yaml",
        "vectors/{}/probe.yaml",
        "vectors/{}/cases",
        "docs/{}-clauses.md",
        "docs/{}-layouts.md",
    ],
)
def test_a_protocol_has_every_place(name: str, place: str) -> None:
    assert (ROOT / place.format(name)).exists()


def test_every_protocol_has_a_reference_server() -> None:
    assert protocol_names() == served_protocols()


def test_every_reference_client_is_of_a_protocol_there_is() -> None:
    assert set(driven_protocols()) <= set(protocol_names())


def test_only_the_registries_name_protocols() -> None:
    shared = [
        *(ROOT / "protocols").glob("*.py"),
        *(ROOT / "reference_server").glob("*.py"),
        *(ROOT / "reference_client").glob("*.py"),
        *(ROOT / "conformance").rglob("*.py"),
        *(ROOT / "spark").rglob("*.py"),
    ]
    importing = [
        str(file.relative_to(ROOT))
        for file in shared
        for name in protocol_names()
        if f"protocols.{name}" in file.read_text(encoding="utf-8") and file.name != "registry.py"
    ]

    assert importing == []


def test_no_source_file_outgrows_its_room() -> None:
    long = {
        str(file.relative_to(ROOT)): lines
        for folder in PACKAGES
        for file in (ROOT / folder).rglob("*.py")
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > LONGEST
    }

    assert long == {}


def test_no_function_of_the_product_is_longer_than_a_screen() -> None:
    long = {
        f"{file.relative_to(ROOT)}: {one.name}": lines
        for folder in PACKAGES[:-1]
        for file in (ROOT / folder).rglob("*.py")
        for one in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        if (lines := (one.end_lineno or 0) - one.lineno + 1) > LONGEST_FUNCTION
    }

    assert long == {}


def test_no_imports_form_a_cycle() -> None:
    graph = grimp.build_graph("wireproof", exclude_type_checking_imports=True, cache_dir=None)
    around = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    while leaves := {name for name, imported in around.items() if not imported & around.keys()}:
        around = {name: imported for name, imported in around.items() if name not in leaves}

    assert sorted(around) == []


def test_the_command_line_stays_small() -> None:
    assert len((ROOT / "wireproof" / "cli.py").read_text(encoding="utf-8").splitlines()) <= 120
