"""Where a stream is cut so that a decoder stops at a border of its structure, or next to one.

Borders are the ends of frames, of leads, of fields, of counts, of the fixed parts of each row and of each body, as the
layouts say. Places drawn evenly hardly ever meet them: of a table of some hundred bytes only a few are borders, and
what a decoder keeps between two segments depends on which of them it has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from wireproof.conformance.suite.field_boundaries import field_boundaries
from wireproof.fuzz.invariants.codec_invariants import StreamReading
from wireproof.protocols import Message
from wireproof.protocols.fields import Blob, Lines, Nested, Repeated, Rows
from wireproof.protocols.profile import Layout

__all__ = ["WAYS", "borders", "structural_cuts"]

LayoutOf = Callable[[type[Message]], Layout]
LONGEST = 512
"""The most borders of a stream that are looked at."""


def structural_cuts(reading: StreamReading, layout_of: LayoutOf, size: int, way: int, draw: int) -> Iterable[int]:
    """Return the offsets at which a stream of `size` bytes is cut, of what was read from it whole.

    `way` selects one of `WAYS`, `draw` the border or borders.
    """
    marks = set[int]()
    for event, (start, stop) in reading.events:
        if isinstance(event, Message):
            marks |= {start, stop, *borders(event, layout_of, start)}
        if len(marks) > LONGEST:
            break
    inside = sorted(one for one in marks if 0 < one < size)
    return WAYS[way % len(WAYS)](inside, draw) if inside else ()


def borders(message: Message, layout_of: LayoutOf, at: int = 0) -> Iterator[int]:
    """Yield the offsets of the borders within a message that begins at `at`."""
    layout = layout_of(type(message))
    yield from (at + one for one in field_boundaries(layout, message))
    name, form = layout.fields[-1] if layout.fields else ("", None)
    body = at + layout.fixed_size
    match form:
        case Rows(row) if not isinstance(form, Lines):
            yield from _rows(layout_of(row), getattr(message, name), body)
        case Repeated():
            for one in getattr(message, name):
                yield from borders(one, layout_of, body)
                body = max(borders(one, layout_of, body), default=body)
        case Nested():
            yield from borders(getattr(message, name), layout_of, body)


def _rows(layout: Layout, rows: Sequence[Any], at: int) -> Iterator[int]:
    """Yield the borders of the rows of a table: fixed parts of all rows, then their bodies."""
    fixed = layout.fixed_size - len(layout.lead)
    blobs = [name for name, kind in layout.fields if isinstance(kind, Blob)]
    yield from (at + fixed * number for number in range(1, len(rows) + 1))
    at += fixed * len(rows)
    for one in rows:
        for name in blobs:
            at += len(getattr(one, name))
            yield at


def _at_each(marks: Sequence[int], draw: int) -> Iterable[int]:
    return marks


def _at_one(marks: Sequence[int], draw: int) -> Iterable[int]:
    return (marks[draw % len(marks)],)


def _around_one(marks: Sequence[int], draw: int) -> Iterable[int]:
    one = marks[draw % len(marks)]
    return one - 1, one, one + 1


def _from_one_on(marks: Sequence[int], draw: int) -> Iterable[int]:
    return marks[draw % len(marks) :]


def _at_two(marks: Sequence[int], draw: int) -> Iterable[int]:
    return marks[draw % len(marks)], marks[draw // len(marks) % len(marks)]


def _before_each(marks: Sequence[int], draw: int) -> Iterable[int]:
    return [one - 1 for one in marks]


def _behind_each(marks: Sequence[int], draw: int) -> Iterable[int]:
    return [one + 1 for one in marks]


def _between(marks: Sequence[int], draw: int) -> Iterable[int]:
    return [(one + other) // 2 for one, other in pairwise(marks)] or marks


WAYS: Sequence[Callable[[Sequence[int], int], Iterable[int]]] = (
    _at_each, _at_one, _around_one, _from_one_on, _at_two, _before_each, _behind_each, _between,
)  # fmt: skip
