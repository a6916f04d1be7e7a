"""Appends a case or frame to a file, and adds inputs to the folder that campaigns replay first."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from wireproof.conformance.suite.cases import CaseError, Suite, frames_in, vectors_root
from wireproof.conformance.suite.yaml_documents import parsed
from wireproof.fuzz.corpus import merge
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.promotion.entry import PromotionError, check_frame, conforming_case
from wireproof.protocols.json_values import JsonObject

__all__ = ["add", "keep_input", "regressions"]

HEADS = {
    "cases": "# What fuzzing found (`wireproof fuzz promote`; `found` says where each comes from), or captures had\n"
    "# (`wireproof check-capture --case`).\n",
    "frames": "# Frames that fuzzing found, written by `wireproof fuzz promote`.\n",
}


class _Dumper(yaml.SafeDumper):
    """Writes what our own reader reads: only `true` and `false` are booleans, no dates."""

    def ignore_aliases(self, data: object) -> bool:
        """Write no anchors."""
        return True


def regressions(protocol: str, engine: str) -> Path:
    """Return the folder of inputs that an engine always replays first."""
    return vectors_root() / protocol / "regressions" / engine


def keep_input(found: FuzzFinding, folder: Path | None) -> Path:
    """Write the input of a finding that no case can express; return the folder. Raises `PromotionError`, `OSError`."""
    if not found.data:
        raise PromotionError(f"a finding of engine {found.engine} without an input cannot be kept")
    directory = folder or regressions(found.protocol, found.engine)
    merge(directory, [found.data])
    return directory


def add(path: Path, kind: str, entry: JsonObject, suite: Suite) -> tuple[str, ...]:
    """Append an entry to `path`, relaxed to what every conforming server answers; return the variants that required it.

    Raises `PromotionError` for a used id, an unsuitable file, or an entry that the reference fails; `OSError`.
    """
    taken = {one.id for one in suite.cases} | {one.id for one in suite.frames}
    if entry["id"] in taken:
        raise PromotionError(f"the id {entry['id']!r} is already used: give another one with --id")
    context = FuzzContext(suite.protocol, entry["profiles"][0], entry["variants"][0])
    left_open: tuple[str, ...] = ()
    head = f"{HEADS[kind]}protocol: {suite.protocol}\n{kind}:\n"
    before = path.read_text(encoding="utf-8") if path.exists() else head
    try:
        if kind == "cases":
            entry, left_open = conforming_case(entry, suite, context)
        text = before + ("" if before.endswith("\n") else "\n") + _written(entry)
        document = parsed(text, path.name)
        entries = document.get(kind) if isinstance(document, dict) else None
        if not isinstance(entries, list) or entries[-1] != entry:
            raise CaseError(f"expected {kind} to be the last key of the file, so that one can be added at its end")
        frames_in(document, suite.context, path.name)
        for frame in frames_in({kind: [dict(entry)]}, suite.context, path.name):
            check_frame(frame, suite, context)
    except CaseError as error:
        raise PromotionError(f"{path}: cannot be extended: {error}") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return left_open


_Dumper.yaml_implicit_resolvers = {
    first: [one for one in resolvers if one[0].rpartition(":")[2] not in ("bool", "timestamp")]
    for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
}
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), ["t", "f"])


def _written(entry: JsonObject) -> str:
    """Return an item of a YAML list, one step a line."""
    head = {key: value for key, value in entry.items() if key != "steps"}
    lines = [f"{key}: {_flow(value)}" for key, value in head.items()]
    if "steps" in entry:
        lines += ["steps:", *(f"  - {_flow(step)}" for step in entry["steps"])]
    return "  - " + "\n    ".join(lines) + "\n"


def _flow(value: object) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=True, width=1 << 30, sort_keys=False, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")
