"""Renders the pages under docs/ that repeat data: the clauses and the layouts of a protocol.

A test compares the committed pages with the rendered ones, so a page always says what the code says.
"""

from __future__ import annotations

from collections.abc import Iterator

from wireproof.conformance.suite.cases import Clause, Suite
from wireproof.protocols import Message, Protocol
from wireproof.protocols.fields import (
    Atom,
    Bits,
    Blob,
    Constant,
    Flag,
    Json,
    JsonRows,
    Kind,
    Lines,
    Nested,
    Raw,
    Repeated,
    Rest,
    Rows,
    Shortest,
    Split,
    Terminated,
    UInt,
    Word,
)
from wireproof.protocols.messages import declared_layout

LONG = Blob(Shortest())


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
            lead = profile.leads.get(message, b"")
            begins = lead.decode() if lead.isalpha() and lead.isascii() else lead.hex() or "-"
            size = profile.sized.get(message, 0)
            begins = f"length:{size} of what follows, {begins}" if size else begins
            lines.append(f"| {message.NAME} | {begins} | {', '.join(_shown(fields)) or '-'} |")
    return "\n".join(lines) + "\n"


def _collect(message: type[Message], seen: dict[type[Message], None]) -> None:
    """Add a message to `seen` and, after it, the rows and parts inside it."""
    seen.setdefault(message)
    for kind in declared_layout(message).values():
        if isinstance(kind, Rows | JsonRows):
            _collect(kind.row, seen)
        elif isinstance(kind, Repeated):
            _collect(kind.part, seen)


def _delimited(name: str, kind: Split | Rest | Terminated) -> tuple[list[str], list[str]]:
    """Return the fixed fields and the bodies of a field that ends by a delimiter or with the message."""
    if isinstance(kind, Split):
        return [f"size:{kind.size.size} of everything after it"], [f"{name}, then 00"]
    return ([], [f"{name} to the end"]) if isinstance(kind, Rest) else ([f"{name}, then {kind.by.hex(' ')}"], [])


def _of_several_forms(name: str, kind: Kind) -> tuple[list[str], list[str]]:
    """Return the fixed fields and the bodies of a field that is no plain number, or has several forms."""
    match kind:
        case Bits(at, count):
            return [f"{name}:{count} bits from bit {at}"], []
        case Constant(size, value):
            return [f"{name}:{size} = {value}"], []
        case Json(form, is_left_out):
            return [f"{name}: {form}{', left out where it is none' if is_left_out else ''}"], []
        case JsonRows(row):
            return [f"a JSON array of {row.NAME}"], []
        case Atom(form):
            return [f"{name}: {form}"], []
        case Word(words, takes):
            forms = (f"({one} ...) with the next field" if at == takes else one for at, one in enumerate(words))
            return [f"{name}: {' or '.join(forms)}"], []
        case Lines(row, count, flag):
            return [], [f"if bit {flag} is set: {name}_size:{count.size}, lines of {row.NAME}"]
    return [f"{name}_size:1, 3, 5 or 9"], [f"{name}:[{name}_size]"]


def _plain(name: str, kind: Kind) -> tuple[list[str], list[str]]:
    """Return the fixed fields and the bodies of any other field."""
    match kind:
        case UInt(size) | Raw(size):
            return [f"{name}:{size}"], []
        case Flag():
            return [f"{name}:1"], []
        case Blob(size):
            return [f"{name}_size:{size.size}"], [f"{name}:[{name}_size]"]
        case Rows(row, count):
            return [f"count:{count.size}, then count {row.NAME}: all fixed fields, then all bodies"], []
        case Repeated(part, count):
            return [f"count:{count.size}, then count {part.NAME}, one after another"], []
        case Nested():
            return [f"{name}: a whole reply"], []
    return [], []


def _shown(fields: dict[str, Kind]) -> Iterator[str]:
    bodies = []
    for name, kind in fields.items():
        if isinstance(kind, Split | Rest | Terminated):
            head, tail = _delimited(name, kind)
        elif isinstance(kind, Bits | Constant | Json | JsonRows | Lines | Atom | Word) or kind == LONG:
            head, tail = _of_several_forms(name, kind)
        else:
            head, tail = _plain(name, kind)
        yield from head
        bodies += tail
    yield from bodies
