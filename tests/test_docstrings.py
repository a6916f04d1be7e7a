"""A public function names in its docstring every error that it raises itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import ROOT

PACKAGES = ("protocols", "reference_server", "reference_client", "mutants", "conformance", "fuzz", "spark")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def raised(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the names of the error classes that the function's own body raises, not those of inner functions."""
    inner = {
        id(node)
        for one in ast.walk(function)
        if isinstance(one, FUNCTIONS) and one is not function
        for node in ast.walk(one)
    }
    caught = {
        id(node)
        for one in ast.walk(function)
        if isinstance(one, ast.Try) and one.handlers
        for statement in one.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Raise) and node.exc is not None and id(node) not in inner | caught:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = error.attr if isinstance(error, ast.Attribute) else getattr(error, "id", "")
            if name.endswith("Error") or name in ("Stopped", "Violation"):
                yield name


def silent(path: Path) -> Iterator[str]:
    """Yield the public functions of a file that raise an error which their docstring does not name."""
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, FUNCTIONS) or function.name.startswith("_"):
            continue
        documentation = ast.get_docstring(function) or ""
        for name in dict.fromkeys(raised(function)):
            if name not in documentation and "abstract" not in name:
                yield f"{path.relative_to(ROOT)}:{function.lineno} {function.name} raises {name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_public_function_names_the_errors_that_it_raises(package: str) -> None:
    files = [file for file in (ROOT / package).rglob("*.py") if "commands" not in file.parts]

    assert [line for file in files for line in silent(file)] == []
