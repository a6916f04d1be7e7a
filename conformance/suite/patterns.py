"""What a reply must look like: patterns over messages by field name, and the first byte at which a reply differs.

A field that a pattern does not mention may hold anything. Tables are judged as sets of rows (T32-like clauses):
`contains`, `excludes`, `exactly`, `count`; fragments are flattened into `rows`, their numbering has its own matcher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from wireproof.conformance.model.wording import describe, shown_fields
from wireproof.conformance.suite.symbols import DATA_FORMS, SymbolError, Symbols
from wireproof.protocols import Message, Push
from wireproof.protocols.fields import Repeated
from wireproof.protocols.messages import declared_layout


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where a message is not what a pattern says."""

    expected: str
    got: str
    field: str = ""
    """Name of the first field that differs; empty when the message itself is another one."""


def match(spec: Any, message: Message, symbols: Symbols) -> Mismatch | None:
    """Return None when `message` is what `spec` says, else the first difference. Saves what the pattern saves."""
    if spec == "any":
        return None
    if isinstance(spec, dict) and "any_of" in spec:
        tried = []
        for one in spec["any_of"]:
            problem = match(one, message, symbols)
            if problem is None:
                return None
            tried.append(problem)
        field = next((problem.field for problem in tried if problem.field), "")
        return Mismatch(" or ".join(problem.expected for problem in tried), describe(message), field)
    name, fields = symbols.named(spec)
    if name == "ok" or name == "refused":
        name, fields = "STATUS", {"ok": name == "ok"}
    if name == "push":
        return _match_push(fields, message, symbols)
    wanted = symbols.message_class(name)
    if type(message) is not wanted:
        return Mismatch(f"{name}{shown_fields(fields)}", describe(message))
    return match_fields(fields, message, symbols)


def _match_push(fields: Mapping[str, Any], message: Message, symbols: Symbols) -> Mismatch | None:
    """Match a push; a field that pushes have in another profile only (a channel, say) is not on the wire here."""
    pushes = [push for profile in symbols.protocol.profiles.values() for push in profile.pushes]
    known = {name for push in pushes for name in push.__struct_fields__}
    if unknown := set(fields) - known:
        raise SymbolError(f"a push has no field {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    if not isinstance(message, Push):
        return Mismatch(f"a push{shown_fields(fields)}", describe(message))
    here = {name: value for name, value in fields.items() if name in message.__struct_fields__}
    return match_fields(here, message, symbols)


def match_fields(fields: Mapping[str, Any], message: Message, symbols: Symbols) -> Mismatch | None:
    """Match the named fields of a message or row."""
    for field, wanted in fields.items():
        found = _field_of(message, field)
        problem = match_value(wanted, found, symbols, field)
        if problem:
            return Mismatch(f"{message.NAME}.{field} {problem}", describe(found), field)
    return None


def _field_of(message: Message, field: str) -> Any:
    if field in message.__struct_fields__:
        return getattr(message, field)
    repeated = _repeated(message)
    if repeated is not None:
        parts = getattr(message, repeated)
        if field == "rows":
            return tuple(row for part in parts for row in part.rows)
        if field == "numbering":
            return tuple(part.fragment for part in parts)
        if field == "per_part":
            return tuple(len(part.rows) for part in parts)
    raise SymbolError(f"{message.NAME} has no field {field!r}; it has {', '.join(message.__struct_fields__)}")


def _repeated(message: Message) -> str | None:
    for name, kind in declared_layout(type(message)).items():
        if isinstance(kind, Repeated):
            return name
    return None


def match_value(wanted: Any, found: Any, symbols: Symbols, field: str = "") -> str:
    """Return "" when the value is what is wanted, else what was expected, in words."""
    if isinstance(found, Message):
        inner = match(wanted, found, symbols)
        return inner.expected if inner else ""
    if isinstance(found, tuple):
        return _match_table(wanted, found, symbols)
    if isinstance(wanted, dict) and not set(wanted) & DATA_FORMS:
        for name, argument in wanted.items():
            if name not in _MATCHERS:
                raise SymbolError(f"{field}: unknown matcher {name!r}; known: {', '.join(sorted(_MATCHERS))}")
            problem = _MATCHERS[name](argument, found, symbols, field)
            if problem:
                return problem
        return ""
    if wanted == "any":
        return ""
    exact = _concrete(wanted, found, symbols, field)
    return "" if exact == found else f"= {describe(exact)}"


def _concrete(wanted: Any, found: Any, symbols: Symbols, field: str) -> Any:
    if isinstance(found, bool):
        return wanted
    return symbols.data(wanted) if isinstance(found, bytes) else symbols.number(wanted, field)


def _at_least(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    low = symbols.number(argument, field)
    return "" if found >= low else f">= {low}"


def _at_most(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    high = symbols.number(argument, field)
    return "" if found <= high else f"<= {high}"


def _between(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    low, high = (symbols.number(one, field) for one in argument)
    return "" if low <= found <= high else f"from {low} to {high}"


def _save(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    symbols.saved[symbols.filled(argument)] = found
    return ""


def _one_of(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    options = [_concrete(one, found, symbols, field) for one in argument]
    return "" if found in options else "one of " + ", ".join(describe(one) for one in options)


def _not(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    return "" if match_value(argument, found, symbols, field) else f"other than {argument}"


def _starts_with(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    start = symbols.data(argument)
    return "" if found.startswith(start) else f"beginning with {describe(start)}"


def _padded(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    text = symbols.data(argument)
    return "" if found == text.ljust(len(found), b"\0") else f"{describe(text)}, zero padded"


def _zero_padded(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    return "" if b"\0" not in found.rstrip(b"\0") else "with nothing but zero bytes behind the first one"


def _size(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    return match_value(argument, len(found), symbols, "size") and f"of size {argument}"


def _exact(argument: Any, found: Any, symbols: Symbols, field: str) -> str:
    exact = _concrete(argument, found, symbols, field)
    return "" if exact == found else f"= {describe(exact)}"


_MATCHERS: Mapping[str, Callable[[Any, Any, Symbols, str], str]] = {
    "at_least": _at_least,
    "at_most": _at_most,
    "between": _between,
    "save": _save,
    "one_of": _one_of,
    "not": _not,
    "starts_with": _starts_with,
    "padded": _padded,
    "zero_padded": _zero_padded,
    "size": _size,
    "is": _exact,
}


def _match_table(wanted: Any, rows: tuple[Any, ...], symbols: Symbols) -> str:
    if wanted == "any":
        return ""
    if isinstance(wanted, list):
        exact = [symbols.number(one) for one in wanted]
        return "" if list(rows) == exact else f"= {exact}"
    if wanted in ("contiguous", "from_one"):
        first = rows[0] if rows and wanted == "contiguous" else 1
        ok = list(rows) == list(range(first, first + len(rows)))
        return "" if ok else f"numbered {first}, {first + 1}, {first + 2}, …"
    if not isinstance(wanted, dict) or set(wanted) - _TABLE_MATCHERS.keys():
        raise SymbolError(f"expected a table with {', '.join(_TABLE_MATCHERS)}; got {wanted!r}")
    for name, argument in wanted.items():
        problem = _TABLE_MATCHERS[name](argument, rows, symbols)
        if problem:
            return problem
    return ""


def _matching(pattern: Any, rows: Iterable[Any], symbols: Symbols) -> list[int]:
    fields = {name: value for name, value in pattern.items() if name not in ("position", "times")}
    rows = tuple(rows)
    exact = _exact_fields(fields, rows[0], symbols) if rows else {}
    starts = _starts(fields, rows[0], symbols) if rows else {}
    others = {name: value for name, value in fields.items() if name not in exact and name not in starts}
    found: Iterable[tuple[int, Any]] = enumerate(rows)
    for name, value in exact.items():
        get = attrgetter(name)
        found = [one for one in found if get(one[1]) == value]
    for name, start in starts.items():
        get = attrgetter(name)
        found = [one for one in found if get(one[1]).startswith(start)]
    return [index for index, row in found if match_fields(others, row, symbols) is None]


def _exact_fields(fields: Mapping[str, Any], row: Message, symbols: Symbols) -> dict[str, Any]:
    """Return the fields whose value does not depend on the row, made concrete once for all rows."""
    saves = any(isinstance(value, dict) and "save" in value for value in fields.values())
    return {
        name: _concrete(value, getattr(row, name), symbols, name)
        for name, value in fields.items()
        if name in row.__struct_fields__
        and value != "any"
        and (bool(set(value) & DATA_FORMS) if isinstance(value, dict) else not isinstance(value, list))
        and not (saves and "@" in str(value))
    }


def _starts(fields: Mapping[str, Any], row: Message, symbols: Symbols) -> dict[str, bytes]:
    """Return the fields of which only the beginning is told, made concrete once for all rows."""
    return {
        name: symbols.data(value["starts_with"])
        for name, value in fields.items()
        if type(value) is dict
        and value.keys() == {"starts_with"}
        and name in row.__struct_fields__
        and isinstance(getattr(row, name), bytes)
        and "@" not in str(value)
    }


def _contains(argument: Any, rows: tuple[Any, ...], symbols: Symbols) -> str:
    for pattern in argument:
        found = _matching(pattern, rows, symbols)
        times = symbols.integer(pattern.get("times", 1))
        if len(found) != times:
            return f"with {times} row(s) like {_plain(pattern, symbols)} (found {len(found)} among {len(rows)})"
        if "position" in pattern and found:
            told = match_value(pattern["position"], found[0], symbols, "position")
            if told:
                return f"with {_plain(pattern, symbols)} at a position {told} (it is at {found[0]})"
        _matching(pattern, (rows[index] for index in found), symbols)
    return ""


def _plain(pattern: Any, symbols: Symbols) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, str) and value[:1] in "$@":
            return describe(symbols.data(value))
        return str(value)

    return ", ".join(f"{name}={shown(value)}" for name, value in pattern.items())


def _excludes(argument: Any, rows: tuple[Any, ...], symbols: Symbols) -> str:
    for pattern in argument:
        if _matching(pattern, rows, symbols):
            return f"without a row like {_plain(pattern, symbols)}"
    return ""


def _exactly(argument: Any, rows: tuple[Any, ...], symbols: Symbols) -> str:
    problem = _contains(argument, rows, symbols)
    named = {index for pattern in argument for index in _matching(pattern, rows, symbols)}
    foreign = next((row for index, row in enumerate(rows) if index not in named), None)
    return problem or ("" if foreign is None else f"of nothing but {len(named)} rows (got {describe(foreign)}, too)")


def _count(argument: Any, rows: tuple[Any, ...], symbols: Symbols) -> str:
    return match_value(argument, len(rows), symbols, "count") and f"with {argument} rows (got {len(rows)})"


def _each(argument: Any, rows: tuple[Any, ...], symbols: Symbols) -> str:
    for row in rows:
        if not isinstance(row, Message):
            if told := match_value(argument, row, symbols):
                return f"each {told} (got {row})"
        elif problem := match_fields(argument, row, symbols):
            return f"each with {problem.expected} (got {problem.got})"
    return ""


_TABLE_MATCHERS: Mapping[str, Callable[[Any, tuple[Any, ...], Symbols], str]] = {
    "contains": _contains,
    "excludes": _excludes,
    "exactly": _exactly,
    "count": _count,
    "each": _each,
}
