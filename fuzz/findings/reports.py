"""Findings for other tools: SARIF 2.1.0 for code scanning, JUnit XML for CI."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from wireproof.conformance.report.outputs import xml_text
from wireproof.conformance.verdict.records import wireproof_version
from wireproof.fuzz.findings.finding import FuzzFinding

__all__ = ["Clauses", "sarif", "write_junit", "write_sarif"]

Clauses = Mapping[str, str]
"""Clause id -> text."""
Kept = Sequence[tuple[Path, FuzzFinding]]
"""(directory, finding) pairs."""
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MODULE = re.compile(r"[^a-z0-9]+")


def rule_of(one: FuzzFinding) -> str:
    """Return the rule that a finding breaks: its clause, or the oracle as a slug."""
    return one.clause or MODULE.sub("-", one.oracle.lower()).strip("-")


def sarif(kept: Kept, clauses: Clauses) -> dict[str, object]:
    """Return findings as a SARIF run; a rule is a clause, or an oracle where no clause is known."""
    rules = list(dict.fromkeys(rule_of(one) for _, one in kept))
    texts = {rule_of(one): clauses.get(one.clause or "", one.oracle) for _, one in kept}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "wireproof",
                        "semanticVersion": wireproof_version(),
                        "rules": [{"id": rule, "shortDescription": {"text": texts[rule]}} for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(directory, one, rules) for directory, one in kept],
            }
        ],
    }


def _result(directory: Path, one: FuzzFinding, rules: list[str]) -> dict[str, object]:
    rule = rule_of(one)
    return {
        "ruleId": rule,
        "ruleIndex": rules.index(rule),
        "level": "error" if one.reproduced[0] == one.reproduced[1] else "warning",
        "message": {"text": _message(one)},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": _uri(directory / "finding.json")}},
                "logicalLocations": [{"name": one.engine, "kind": "module"}],
            }
        ],
        "partialFingerprints": {"wireproofFinding/v1": one.id},
        "properties": {
            "engine": one.engine,
            "protocol": one.protocol,
            "profile": one.profile,
            "variant": one.variant,
            "again": one.label,
        },
    }


def _message(one: FuzzFinding) -> str:
    return f"{one.oracle}: {one.detail} ({one.label}; {one.protocol} {one.profile} {one.variant})"


def _uri(path: Path) -> str:
    """Return a path below the working directory as a relative URI, any other as a file URI."""
    full = path.resolve()
    return full.relative_to(Path.cwd()).as_posix() if full.is_relative_to(Path.cwd()) else full.as_uri()


def write_sarif(path: Path, kept: Kept, clauses: Clauses) -> None:
    """Write a SARIF file. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sarif(kept, clauses), indent=1) + "\n", encoding="utf-8")


def write_junit(path: Path, kept: Kept, checked: Iterable[str] = ()) -> None:
    """Write JUnit XML: a failed case for each finding, a passed one for each name in `checked`. Raises `OSError`."""
    passed = list(checked)
    suite = ElementTree.Element("testsuite", name="wireproof.fuzz", errors="0", skipped="0")
    suite.attrib.update(tests=str(len(kept) + len(passed)), failures=str(len(kept)))
    for name in passed:
        ElementTree.SubElement(suite, "testcase", classname="wireproof.fuzz", name=xml_text(name), time="0")
    for directory, one in kept:
        group = f"wireproof.fuzz.{one.protocol}.{one.engine}"
        case = ElementTree.SubElement(suite, "testcase", classname=group, name=f"{rule_of(one)} {one.id}", time="0")
        failure = ElementTree.SubElement(case, "failure", message=xml_text(_message(one)), type=xml_text(one.oracle))
        failure.text = xml_text(f"{one.detail}\nreplay: wireproof replay {directory}")
    root = ElementTree.Element("testsuites")
    root.append(suite)
    path.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
