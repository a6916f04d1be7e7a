"""Messages, patterns, values and steps from what is written outside of files of cases: probes, vectors, scripts, tests.

Nothing is known of the protocol here, so any name of a message or field will do; the rest is checked as in a file.
"""

from __future__ import annotations

from wireproof.conformance.suite.case_forms import FORMS
from wireproof.conformance.suite.case_reader import CaseReader, Kind, MisreadError
from wireproof.conformance.suite.pattern_types import Pattern
from wireproof.conformance.suite.steps import AnyStep
from wireproof.conformance.suite.symbols import SymbolError
from wireproof.conformance.suite.values import Node, SymbolicMessage, Value


def message_of(node: Node) -> SymbolicMessage:
    """Return `NAME` or `{NAME: fields}` as a message; raises `SymbolError` that says what is wrong with it."""
    found = _read(SymbolicMessage, node)
    assert isinstance(found, SymbolicMessage)
    return found


def value_of(node: Node) -> Value:
    """Return a value as cases write it; raises `SymbolError`."""
    return _read(Value, node)  # type: ignore[return-value]


def pattern_of(node: Node) -> Pattern:
    """Return a pattern as cases write it; raises `SymbolError`."""
    return _read(Pattern, node)  # type: ignore[return-value]


def steps_of(nodes: list[Node]) -> tuple[AnyStep, ...]:
    """Return steps as cases write them; raises `SymbolError`."""
    return _read(tuple[AnyStep, ...], nodes)  # type: ignore[return-value]


def _read(kind: Kind, node: Node) -> object:
    reader = CaseReader(FORMS)
    try:
        return reader.read(kind, node, ())
    except MisreadError:
        shown = (
            f"{'.'.join(map(str, one.path))}: {one.message}" if one.path else one.message for one in reader.problems
        )
        raise SymbolError("; ".join(shown)) from None
