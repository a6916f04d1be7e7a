"""Matches messages with patterns, and names the first field at which a message differs.

A field that a pattern does not mention may hold anything. Tables are judged as sets of rows (T32-like clauses):
`contains`, `excludes`, `exactly`, `count`; fragments are flattened into `rows`, their numbering has its own matcher.
`pattern_types.py` has the types of patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import cast

from wireproof.conformance.model.wording import describe, shown_fields
from wireproof.conformance.suite.pattern_types import (
    AnyOf,
    AtLeast,
    AtMost,
    Between,
    Contains,
    Count,
    EachRow,
    Exactly,
    Excludes,
    FieldChoice,
    FieldPattern,
    Is,
    Matcher,
    Matchers,
    MessagePattern,
    OneOf,
    Other,
    Padded,
    Pattern,
    ReadsAs,
    RowPattern,
    Save,
    Size,
    StartsWith,
    Unlike,
    Unseen,
    Utf8,
    ZeroPadded,
)
from wireproof.conformance.suite.symbols import Saved, SymbolError, Symbols
from wireproof.conformance.suite.values import Value
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import Message, ProtocolError, Push
from wireproof.protocols.fields import Repeated
from wireproof.protocols.messages import declared_layout

NUMBERED = ("contiguous", "from_one")
"""What a list of numbers may be: each one more than the one before; `from_one` begins with 1."""
PIECE = 5
"""Bytes in a row that random values do not have in common."""
TABLE_MATCHERS = ("contains", "excludes", "exactly", "count", "each")


Table = tuple[Message, ...] | tuple[int, ...]
Found = Saved | Message | Table
"""What a field of a message holds."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where a message is not what a pattern says."""

    expected: str
    got: str
    field: str = ""
    """Name of the first field that differs; empty when the message itself is another one."""


def match(spec: Pattern, message: Message, symbols: Symbols) -> Mismatch | None:
    """Return None when `message` is what `spec` says, else the first difference. Saves what the pattern saves.

    Raises `SymbolError` where the pattern names what this profile does not have.
    """
    match spec:
        case AnyOf(options):
            return _match_any_of(options, message, symbols)
        case MessagePattern("any"):
            return None
        case MessagePattern("push", fields):
            return _match_push(fields, message, symbols)
        case MessagePattern("ok" | "refused" as name):
            return _match_named("STATUS", {"ok": name == "ok"}, message, symbols)
        case MessagePattern(name, fields):
            return _match_named(name, fields, message, symbols)
    raise SymbolError(f"expected a pattern, got {as_written(spec)!r}")


def _match_any_of(options: Iterable[Pattern], message: Message, symbols: Symbols) -> Mismatch | None:
    tried = []
    for one in options:
        problem = match(one, message, symbols)
        if problem is None:
            return None
        tried.append(problem)
    field = next((problem.field for problem in tried if problem.field), "")
    return Mismatch(" or ".join(problem.expected for problem in tried), describe(message), field)


def _match_named(name: str, fields: Mapping[str, FieldPattern], message: Message, symbols: Symbols) -> Mismatch | None:
    if type(message) is not symbols.message_class(name):
        return Mismatch(f"{name}{_shown(fields)}", describe(message))
    return match_fields(fields, message, symbols)


def _shown(fields: Mapping[str, FieldPattern]) -> str:
    return shown_fields({name: as_written(one) for name, one in fields.items()})


def _match_push(fields: Mapping[str, FieldPattern], message: Message, symbols: Symbols) -> Mismatch | None:
    """Match a push; a field that pushes have in another profile only (a channel, say) is not on the wire here."""
    pushes = [push for profile in symbols.protocol.profiles.values() for push in profile.pushes]
    known = {name for push in pushes for name in push.__struct_fields__}
    if unknown := set(fields) - known:
        raise SymbolError(f"a push has no field {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}")
    if not isinstance(message, Push):
        return Mismatch(f"a push{_shown(fields)}", describe(message))
    here = {name: value for name, value in fields.items() if name in message.__struct_fields__}
    return match_fields(here, message, symbols)


def match_fields(fields: Mapping[str, FieldPattern], message: Message, symbols: Symbols) -> Mismatch | None:
    """Match the named fields of a message or row."""
    for field, wanted in fields.items():
        found = _field_of(message, field)
        problem = match_value(wanted, found, symbols, field)
        if problem:
            return Mismatch(f"{message.NAME}.{field} {problem}", describe(found), field)
    return None


def _field_of(message: Message, field: str) -> Found:
    if field in message.__struct_fields__:
        found: Found = getattr(message, field)
        return found
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


def match_value(wanted: FieldPattern, found: Found, symbols: Symbols, field: str = "") -> str:
    """Return "" when the value is what is wanted, else what was expected, in words; raises `SymbolError`."""
    if isinstance(found, Message):
        inner = match(_pattern(wanted, field), found, symbols)
        return inner.expected if inner else ""
    if isinstance(found, tuple):
        return _match_table(wanted, found, symbols)
    if isinstance(wanted, Matchers):
        for one in wanted.matchers:
            if problem := _match_one(one, found, symbols, field):
                return problem
        return ""
    return "" if wanted == "any" else _exact(_value(wanted, field), found, symbols, field)


def _pattern(wanted: FieldPattern, field: str) -> Pattern:
    if isinstance(wanted, str):
        return MessagePattern(wanted, {})
    if isinstance(wanted, MessagePattern | AnyOf):
        return wanted
    raise SymbolError(f"{field}: expected the pattern of a message, got {as_written(wanted)!r}")


def _value(wanted: FieldPattern, field: str) -> Value:
    if isinstance(wanted, MessagePattern | AnyOf | Matchers | FieldChoice):
        raise SymbolError(f"{field}: expected a value or matchers, got {as_written(wanted)!r}")
    return wanted


def _match_one(matcher: Matcher, found: Saved, symbols: Symbols, field: str) -> str:
    """Return "" when a value is as one matcher has it, else what was expected."""
    match matcher:
        case Save(name):
            symbols.saved[symbols.filled(name)] = found
            return ""
        case Unseen(name):
            return "" if symbols.is_new(name, [found]) else f"none of the {len(symbols.seen[name])} before it"
        case Unlike(name):
            whole = bytes(found) if isinstance(found, bytes) else b""
            pieces = [whole[at : at + PIECE] for at in range(len(whole) - PIECE + 1)]
            return "" if symbols.is_new(name, pieces) else f"no {PIECE} bytes in a row twice"
        case OneOf(values):
            options = [_concrete(one, found, symbols, field) for one in values]
            return "" if found in options else "one of " + ", ".join(describe(one) for one in options)
        case Other(inner):
            return "" if match_value(inner, found, symbols, field) else f"other than {as_written(inner)}"
        case Is(value):
            return _exact(value, found, symbols, field)
    if isinstance(found, bytes):
        return _match_bytes(matcher, found, symbols, field)
    return _match_number(matcher, found, symbols, field)


def _match_number(matcher: Matcher, found: Saved, symbols: Symbols, field: str) -> str:
    if not isinstance(found, int | float):
        raise _unfit(matcher, found, field)
    match matcher:
        case AtLeast(bound):
            low = symbols.number(bound, field)
            return "" if found >= low else f">= {low}"
        case AtMost(bound):
            high = symbols.number(bound, field)
            return "" if found <= high else f"<= {high}"
        case Between(bounds):
            low, high = (symbols.number(one, field) for one in bounds)
            return "" if low <= found <= high else f"from {low} to {high}"
    raise _unfit(matcher, found, field)


def _match_bytes(matcher: Matcher, found: bytes, symbols: Symbols, field: str) -> str:
    match matcher:
        case ReadsAs(inner):
            return _match_inside(inner, found, symbols)
        case StartsWith(value):
            start = symbols.data(value)
            return "" if found.startswith(start) else f"beginning with {describe(start)}"
        case Padded(value):
            text = symbols.data(value)
            return "" if found == text.ljust(len(found), b"\0") else f"{describe(text)}, zero padded"
        case ZeroPadded():
            return "with nothing but zero bytes after the first one" if b"\0" in found.rstrip(b"\0") else ""
        case Utf8():
            return "" if found.decode(errors="ignore").encode() == found else "UTF-8"
        case Size(wanted):
            return match_value(wanted, len(found), symbols, "size") and f"of size {as_written(wanted)}"
    raise _unfit(matcher, found, field)


def _match_inside(wanted: MessagePattern, found: bytes, symbols: Symbols) -> str:
    """Return "" when bytes are a message as a pattern says, else what was expected."""
    try:
        message = symbols.codec.decode(symbols.message_class(wanted.name), found)
    except ProtocolError as error:
        return f"{wanted.name} ({error.message})"
    problem = match(wanted, message, symbols)
    return f"{problem.expected} (got {problem.got})" if problem else ""


def _unfit(matcher: Matcher, found: Found, field: str) -> SymbolError:
    """Return the error of a matcher of bytes for a number, of a table for bytes, and so on."""
    return SymbolError(f"{field}: {as_written(matcher)!r} cannot be asked of {describe(found)}")


def _exact(wanted: Value, found: Saved, symbols: Symbols, field: str) -> str:
    exact = _concrete(wanted, found, symbols, field)
    return "" if exact == found else f"= {describe(exact)}"


def _concrete(wanted: Value, found: Found, symbols: Symbols, field: str) -> Found:
    """Return what is wanted as a value of the kind that was found."""
    if found is None or wanted is None or isinstance(found, bool):
        return cast(Saved, wanted)
    return symbols.data(wanted) if isinstance(found, bytes) else symbols.number(wanted, field)


def _match_table(wanted: FieldPattern, rows: Table, symbols: Symbols) -> str:
    match wanted:
        case "any":
            return ""
        case tuple():
            exact = [symbols.number(cast(Value, one)) for one in wanted]
            return "" if list(rows) == exact else f"= {exact}"
        case "contiguous" | "from_one":
            numbers = cast("tuple[int, ...]", rows)
            first = numbers[0] if numbers and wanted == "contiguous" else 1
            ok = list(numbers) == list(range(first, first + len(numbers)))
            return "" if ok else f"numbered {first}, {first + 1}, {first + 2}, …"
        case Matchers(matchers):
            for one in matchers:
                if problem := _match_rows(one, rows, symbols):
                    return problem
            return ""
    raise SymbolError(f"expected a table with {', '.join(TABLE_MATCHERS)}; got {as_written(wanted)!r}")


def _match_rows(matcher: Matcher, rows: Table, symbols: Symbols) -> str:
    match matcher:
        case Contains(patterns):
            return _contains(patterns, rows, symbols)
        case Excludes(patterns):
            return _excludes(patterns, rows, symbols)
        case Exactly(patterns):
            return _exactly(patterns, rows, symbols)
        case Count(wanted):
            fits = not match_value(wanted, len(rows), symbols, "count")
            return "" if fits else f"with {as_written(wanted)} rows (got {len(rows)})"
        case EachRow(wanted):
            return _each(wanted, rows, symbols)
    raise SymbolError(f"expected a table with {', '.join(TABLE_MATCHERS)}; got {as_written(matcher)!r}")


def _matching(pattern: RowPattern, rows: Iterable[object], symbols: Symbols) -> list[int]:
    """Return the places of the rows that are so; the fields that are the same for all rows are compared first."""
    table = tuple(one for one in rows if isinstance(one, Message))
    fields = pattern.fields
    exact = _exact_fields(fields, table[0], symbols) if table else {}
    starts = _starts(fields, table[0], symbols) if table else {}
    others = {name: value for name, value in fields.items() if name not in exact and name not in starts}
    found: Iterable[tuple[int, Message]] = enumerate(table)
    for name, value in exact.items():
        get = attrgetter(name)
        found = [one for one in found if get(one[1]) == value]
    for name, start in starts.items():
        get = attrgetter(name)
        found = [one for one in found if get(one[1]).startswith(start)]
    return [index for index, row in found if match_fields(others, row, symbols) is None]


def _exact_fields(fields: Mapping[str, FieldPattern], row: Message, symbols: Symbols) -> dict[str, Found]:
    """Return the fields whose value does not depend on the row, made concrete once for all rows."""
    saves = any(isinstance(one, Matchers) and any(isinstance(m, Save) for m in one.matchers) for one in fields.values())
    return {
        name: _concrete(_value(value, name), getattr(row, name), symbols, name)
        for name, value in fields.items()
        if name in row.__struct_fields__
        and value != "any"
        and not isinstance(value, tuple | Matchers | MessagePattern | AnyOf)
        and not (saves and "@" in str(value))
    }


def _starts(fields: Mapping[str, FieldPattern], row: Message, symbols: Symbols) -> dict[str, bytes]:
    """Return the fields of which only the beginning is given, made concrete once for all rows."""
    found = {}
    for name, value in fields.items():
        match value:
            case Matchers((StartsWith(start),)) if name in row.__struct_fields__ and "@" not in str(start):
                if isinstance(getattr(row, name), bytes):
                    found[name] = symbols.data(start)
    return found


def _contains(patterns: Iterable[RowPattern], rows: Table, symbols: Symbols) -> str:
    for pattern in patterns:
        found = _matching(pattern, rows, symbols)
        times = symbols.integer(cast(Value, pattern.written.get("times", 1)))
        if len(found) != times:
            return f"with {times} row(s) like {_plain(pattern, symbols)} (found {len(found)} among {len(rows)})"
        if pattern.position is not None and found:
            problem = match_value(pattern.position, found[0], symbols, "position")
            if problem:
                return f"with {_plain(pattern, symbols)} at a position {problem} (it is at {found[0]})"
        _matching(pattern, (rows[index] for index in found), symbols)
    return ""


def _plain(pattern: RowPattern, symbols: Symbols) -> str:
    def shown(value: object) -> str:
        if isinstance(value, str) and value[:1] in "$@":
            return describe(symbols.data(value))
        return str(value)

    written = as_written(pattern)
    assert isinstance(written, dict)
    return ", ".join(f"{name}={shown(value)}" for name, value in written.items())


def _excludes(patterns: Iterable[RowPattern], rows: Table, symbols: Symbols) -> str:
    for pattern in patterns:
        if _matching(pattern, rows, symbols):
            return f"without a row like {_plain(pattern, symbols)}"
    return ""


def _exactly(patterns: Iterable[RowPattern], rows: Table, symbols: Symbols) -> str:
    problem = _contains(patterns, rows, symbols)
    named = {index for pattern in patterns for index in _matching(pattern, rows, symbols)}
    foreign = next((row for index, row in enumerate(rows) if index not in named), None)
    return problem or ("" if foreign is None else f"of nothing but {len(named)} rows (got {describe(foreign)}, too)")


def _each(wanted: RowPattern | FieldPattern, rows: Table, symbols: Symbols) -> str:
    for row in rows:
        if isinstance(wanted, RowPattern):
            if not isinstance(row, Message):
                raise SymbolError(f"each: expected a matcher of numbers, got {as_written(wanted)!r}")
            if problem := match_fields(wanted.fields, row, symbols):
                return f"each with {problem.expected} (got {problem.got})"
        elif expected := match_value(wanted, row, symbols):
            return f"each {expected} (got {row})"
    return ""
