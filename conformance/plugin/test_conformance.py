"""Every case as a pytest item: `pytest --pyargs conformance --wireproof-target tcp://127.0.0.1:9000`."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.conformance.plugin.pytest_plugin import Session
from wireproof.conformance.suite.cases import Case


def test_conformance(wireproof_case: Case, wireproof: Session, record_property: Callable[[str, object], None]) -> None:
    """The target does what the case says."""
    record = wireproof.check(wireproof_case)
    record_property("clauses", " ".join(record["clauses"]))
    if record["observed"]:
        record_property("observed", record["observed"])
