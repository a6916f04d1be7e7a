"""Renders the pages under docs/ that repeat data: the clauses and the layouts of a protocol.

A test compares the committed pages with the rendered ones, so a page always says what the code says.
"""

from __future__ import annotations

from collections.abc import Iterator

from wireproof.conformance.suite.cases import Clause, Suite
from wireproof.protocols import Message, Protocol
from wireproof.protocols.fields import (
    Absent,
    Blob,
    Flag,
    Kind,
    Nested,
    Raw,
    Repeated,
    Rest,
    Rows,
    Split,
    Terminated,
    UInt,
)
from wireproof.protocols.messages import declared_layout


def clauses_page(suite: Suite) -> str:
    """Return the page of a protocol's clauses as Markdown, with one table for each group."""
    lines = [
        f"# Clauses of {suite.protocol}",
        "",
        f"{len(suite.clauses)} clauses, rendered from `vectors/{suite.protocol}/clauses.yaml` by `wireproof docs`.",
        "Ids are stable and never reused.",
        "docs/reading-a-report.md explains the levels, and docs/errata.md the errata that sources name.",
    ]
    for group in dict.fromkeys(clause.group for clause in suite.clauses.values()):
        lines += ["", f"## {group}", "", "| id | level | text | source |", "|---|---|---|---|"]
        lines += [_clause_row(clause) for clause in suite.clauses.values() if clause.group == group]
    return "\n".join(lines) + "\n"


def _clause_row(clause: Clause) -> str:
    distinct = set(clause.levels.values())
    level = distinct.pop().value if len(distinct) == 1 else ""
    levels = ", ".join(f"{profile}: {level or own.value}" for profile, own in clause.levels.items())
    source = ", ".join([clause.section, *clause.errata])
    return f"| {clause.id} | {levels} | {clause.text.replace('|', chr(92) + '|')} | {source} |"


def layouts_page(spoken: Protocol) -> str:
    """Return the page of a protocol's layouts as Markdown: a section for each profile, a row for each message."""
    lines = [
        f"# Layouts of {spoken.name}",
        "",
        f"Rendered from `protocols/{spoken.name}/` by `wireproof docs`.",
        "A fixed field is `name:size`, with sizes in bytes; the variant gives the symbolic sizes.",
        "A body `name:[size]` comes after all fixed fields, in order.",
    ]
    for profile in spoken.profiles.values():
        names = ", ".join(f"{one.name} {dict(one.sizes)}" for one in profile.variants.values())
        lines += ["", f"## Profile {profile.name}", "", f"Variants: {names}.", ""]
        lines += ["| message | begins with | layout |", "|---|---|---|"]
        seen: dict[type[Message], None] = {}
        for message in profile.messages.values():
            _collect(message, seen)
        for message in seen:
            fields = {
                name: profile.overrides.get((message, name), kind) for name, kind in declared_layout(message).items()
            }
            lead = profile.leads.get(message, b"").hex() or "-"
            lines.append(f"| {message.NAME} | {lead} | {', '.join(_shown(fields)) or '-'} |")
    return "\n".join(lines) + "\n"


def _collect(message: type[Message], seen: dict[type[Message], None]) -> None:
    """Add a message to `seen` and, after it, the rows and parts inside it."""
    seen.setdefault(message)
    for kind in declared_layout(message).values():
        if isinstance(kind, Rows):
            _collect(kind.row, seen)
        elif isinstance(kind, Repeated):
            _collect(kind.part, seen)


def _delimited(name: str, kind: Split | Rest | Terminated) -> tuple[list[str], list[str]]:
    """Return the fixed fields and the bodies of a field that ends by a delimiter or with the message."""
    if isinstance(kind, Split):
        return [f"size:{kind.size.size} of everything after it"], [f"{name}, then 00"]
    return ([], [f"{name} to the end"]) if isinstance(kind, Rest) else ([f"{name}, then 00"], [])


def _shown(fields: dict[str, Kind]) -> Iterator[str]:
    bodies = []
    for name, kind in fields.items():
        if isinstance(kind, Split | Rest | Terminated):
            head, tail = _delimited(name, kind)
            yield from head
            bodies += tail
            continue
        match kind:
            case UInt(size) | Raw(size):
                yield f"{name}:{size}"
            case Flag():
                yield f"{name}:1"
            case Blob(size):
                yield f"{name}_size:{size.size}"
                bodies.append(f"{name}:[{name}_size]")
            case Rows(row, count):
                yield f"count:{count.size}, then count {row.NAME}: all fixed fields, then all bodies"
            case Repeated(part, count):
                yield f"count:{count.size}, then count {part.NAME}, one after another"
            case Nested():
                yield f"{name}: a whole reply"
            case Absent():
                continue
    yield from bodies
