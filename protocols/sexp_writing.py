"""How a message is written as an s-expression: its tokens, their compact form, and other ways to write the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from wireproof.protocols.fields import Atom, Kind, Word
from wireproof.protocols.messages import Message
from wireproof.protocols.sexp import quoted, written_atom

__all__ = ["EPOCH", "Token", "compact", "is_record", "spans", "spellings", "written_tokens"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Fields = Sequence[tuple[str, Kind]]


@dataclass(frozen=True, slots=True)
class Token:
    """A parenthesis or an atom."""

    text: bytes
    """As it is written."""
    field: str = ""
    """The field whose value it is."""
    value: bytes | None = None
    """What an atom says; None: a parenthesis."""
    is_constructor: bool = False
    """Its first letter may be of either case."""

    @property
    def is_atom(self) -> bool:
        """Whether it is no parenthesis."""
        return self.value is not None


OPEN, CLOSE = Token(b"("), Token(b")")


def is_record(fields: Fields) -> bool:
    """Say whether a message is a list of names with values."""
    return any(isinstance(kind, Atom) and kind.is_member for _, kind in fields)


def written_tokens(lead: bytes, fields: Fields, message: Message) -> list[Token]:
    """Return the tokens of a message; `lead` is its constructor. Raises what a wrong value raises."""
    head = [] if is_record(fields) else [_atom(lead, is_constructor=True)]
    return [OPEN, *head, *_tokens(fields, message), CLOSE]


def _tokens(fields: Fields, message: Message) -> Iterator[Token]:
    rest = iter(fields)
    for name, kind in rest:
        value = getattr(message, name)
        if isinstance(kind, Word) and kind.takes >= 0:
            behind, inner = next(rest)
            argument = getattr(message, behind)
            if value == kind.takes:
                yield from (OPEN, _token(name, kind, value), _token(behind, inner, argument), CLOSE)
            elif argument == 0:
                yield _token(name, kind, value)
            else:
                raise ValueError
        elif isinstance(kind, Atom) and kind.is_member:
            yield from (OPEN, _atom(name.encode()), _token(name, kind, value), CLOSE)
        else:
            yield _token(name, kind, value)


def _atom(value: bytes, field: str = "", *, is_constructor: bool = False) -> Token:
    return Token(written_atom(value), field, value, is_constructor)


def _token(name: str, kind: Any, value: object) -> Token:
    if isinstance(kind, Word):
        return _atom(kind.words[_number(kind, value)].encode(), name, is_constructor=True)
    if kind.form == "text":
        if type(value) is not bytes:
            raise TypeError
        return _atom(value, name)
    number = _number(kind, value)
    if kind.form == "number":
        return _atom(b"%d" % number, name)
    at = EPOCH + timedelta(microseconds=number)
    return _atom(f"{at.year:04}-{at:%m-%d %H:%M:%S.%f}Z".encode(), name)


def _number(kind: Atom | Word, value: object) -> int:
    if type(value) is bool or not isinstance(value, int) or not kind.minimum <= value <= kind.maximum:
        raise ValueError
    return int(value)


def compact(tokens: Sequence[Token]) -> bytes:
    """Return the text that converters write: a space between atoms, none beside parentheses."""
    parts = bytearray()
    for at, token in enumerate(tokens):
        if at and token.is_atom and tokens[at - 1].is_atom:
            parts += b" "
        parts += token.text
    return bytes(parts)


def spans(tokens: Sequence[Token]) -> Iterator[tuple[str, int, int]]:
    """Yield (field, start, stop) of each value in the compact form."""
    for at, token in enumerate(tokens):
        if token.field:
            stop = len(compact(tokens[: at + 1]))
            yield token.field, stop - len(token.text), stop


def spellings(tokens: Sequence[Token]) -> Mapping[str, bytes]:
    """Return name -> another legal text of the same message, each with its line end."""
    found = {
        "spaces": _between(tokens, b"  ", around=b" "),
        "tabs": _between(tokens, b"\t", around=b"\t"),
        "lines": _between(tokens, b"\n"),
        "crlf": compact(tokens) + b"\r",
        "lower-case": compact([_first(one, upper=False) for one in tokens]),
        "quoted": compact([_respelled(one, quoted) for one in tokens]),
        "touching": b"".join(_respelled(one, quoted).text for one in tokens),
        "hexadecimal": compact([_respelled(one, _hexadecimal) for one in tokens]),
        "decimal": compact([_respelled(one, _decimal) for one in tokens]),
        "continued": compact([_respelled(one, _continued) for one in tokens]),
        "line-comments": _between(tokens, b' ; ) " #| (\n'),
        "block-comments": _between(tokens, b" #| ) #| ; ( |# |#"),
        "expression-comments": _between(tokens, b" #;(gone #;(too) (a) b) #;gone "),
        "comment-before": b"#| before |#" + compact(tokens),
        "comment-behind": compact(tokens) + b" ; behind )",
    }
    return {name: text + b"\n" for name, text in found.items()}


def _between(tokens: Sequence[Token], by: bytes, around: bytes = b"") -> bytes:
    """Return the text with something between all tokens."""
    return around + by.join(one.text for one in tokens) + around


def _first(token: Token, *, upper: bool) -> Token:
    if not token.is_constructor or token.value is None:
        return token
    letter = token.value[:1]
    return replace(token, text=(letter.upper() if upper else letter.lower()) + token.value[1:])


def _respelled(token: Token, how: Callable[[bytes], bytes]) -> Token:
    return token if token.value is None else replace(token, text=how(token.value))


def _hexadecimal(value: bytes) -> bytes:
    return b'"' + b"".join(b"\\x%02X" % one if one % 2 else b"\\x%02x" % one for one in value) + b'"'


def _decimal(value: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03d" % one for one in value) + b'"'


def _continued(value: bytes) -> bytes:
    half = len(value) // 2
    return (
        quoted(value[:half])[:-1]
        + b"\\\n  \t"
        + b"\\x20" * (value[half : half + 1] == b" ")
        + (quoted(value[half + (value[half : half + 1] == b" ") :])[1:])
    )
