"""Puts a case or frame behind those of a file, and inputs into the folder that campaigns replay first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from wireproof.conformance.suite.cases import CaseError, Suite, frames_in, vectors_root
from wireproof.conformance.suite.yaml_documents import parsed
from wireproof.fuzz.corpus import merge
from wireproof.fuzz.findings.finding import Finding
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.promotion.entry import PromotionError, check_frame, legal_case

__all__ = ["add", "keep_input", "regressions"]

HEADS = {
    "cases": "# What fuzzing found, written by `wireproof fuzz promote`; `found` tells where each comes from.\n",
    "frames": "# Frames that fuzzing found, written by `wireproof fuzz promote`.\n",
}


class _Dumper(yaml.SafeDumper):
    """Writes as our own reader reads: no truths but true and false, no dates."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything out: no anchors."""
        return True


def regressions(protocol: str, engine: str) -> Path:
    """Return the folder of inputs that an engine replays first, whatever corpus is named."""
    return vectors_root() / protocol / "regressions" / engine


def keep_input(found: Finding, folder: Path | None) -> Path:
    """Keep the input of a finding that no case can say; return the folder; raises `PromotionError`, `OSError`."""
    if not found.data:
        raise PromotionError(f"a finding of engine {found.engine} without an input cannot be kept")
    place = folder or regressions(found.protocol, found.engine)
    merge(place, [found.data])
    return place


def add(path: Path, kind: str, entry: Mapping[str, Any], suite: Suite) -> tuple[str, ...]:
    """Write an entry behind those of `path`, asking only what every right server answers; return what it leaves open.

    Raises `PromotionError` for an id that is taken, a file that cannot take it, and what the reference does not pass.
    """
    taken = {one.id for one in suite.cases} | {one.id for one in suite.frames}
    if entry["id"] in taken:
        raise PromotionError(f"the id {entry['id']!r} is taken: name another one with --id")
    ground = Ground(suite.protocol, entry["profiles"][0], entry["variants"][0])
    opened: tuple[str, ...] = ()
    head = f"{HEADS[kind]}protocol: {suite.protocol}\n{kind}:\n"
    before = path.read_text(encoding="utf-8") if path.exists() else head
    try:
        if kind == "cases":
            entry, opened = legal_case(entry, suite, ground)
        text = before + ("" if before.endswith("\n") else "\n") + _written(entry)
        document = parsed(text, path.name)
        entries = document.get(kind) if isinstance(document, dict) else None
        if not isinstance(entries, list) or entries[-1] != entry:
            raise CaseError(f"expected {kind} to be the last key of the file, so that one can be added at its end")
        frames_in(document, suite.context, path.name)
        for frame in frames_in({kind: [dict(entry)]}, suite.context, path.name):
            check_frame(frame, suite, ground)
    except CaseError as error:
        raise PromotionError(f"{path}: cannot take it: {error}") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return opened


_Dumper.yaml_implicit_resolvers = {
    first: [one for one in resolvers if one[0].rpartition(":")[2] not in ("bool", "timestamp")]
    for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
}
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), ["t", "f"])


def _written(entry: Mapping[str, Any]) -> str:
    """Return an item of a list, steps one a line."""
    head = {key: value for key, value in entry.items() if key != "steps"}
    lines = [f"{key}: {_flow(value)}" for key, value in head.items()]
    if "steps" in entry:
        lines += ["steps:", *(f"  - {_flow(step)}" for step in entry["steps"])]
    return "  - " + "\n    ".join(lines) + "\n"


def _flow(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=True, width=1 << 30, sort_keys=False, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")
