"""How what an SDK sent and reported is compared with what it should have: functions of bytes and driver lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from wireproof.conformance.sdk.driver_protocol import DriverAnswer, DriverEvent, Hello
from wireproof.conformance.sdk.reported_values import all_misread, differences, without_binary
from wireproof.protocols import Message
from wireproof.protocols.codec import Codec
from wireproof.protocols.fields import Blob, Repeated, Rest, Rows, Split, Terminated, UInt

__all__ = [
    "ReportDifference",
    "SdkRefusal",
    "error_text",
    "event_differs",
    "report_differs",
    "reports_nothing",
]


@dataclass(frozen=True, slots=True)
class ReportDifference:
    """Where a report differs from the bytes."""

    field: str
    """The innermost one; empty where the report as a whole is another one."""
    expected: str
    got: str
    misread: bool = False
    """Nothing but numbers differ, for which a type of the SDK has no room."""


@dataclass(frozen=True, slots=True)
class SdkRefusal:
    """Whether messages hold what an SDK says that it cannot carry."""

    numbers: bool
    bytes: bool

    @classmethod
    def of(cls, codec: Codec, hello: Hello, words: Collection[str], messages: Iterable[Message]) -> SdkRefusal:
        """Return what of `messages`, their rows too, is beyond `hello`; fields of `words` are given as words."""
        wide, texts = False, []
        for one in _with_rows(codec, messages):
            for name, kind in codec.layout(type(one)).fields:
                value = getattr(one, name)
                if isinstance(kind, UInt) and name not in words:
                    wide = wide or value > hello.largest(name, kind.width)
                elif isinstance(kind, Blob | Split | Rest | Terminated):
                    texts.append(value)
                    wide = wide or len(value) > int(hello.largest_numbers.get(f"{name}_size", len(value)))
        binary = not hello.binary_safe and not all(map(_is_text, texts))
        return cls(wide, binary)


def _with_rows(codec: Codec, messages: Iterable[Message]) -> Iterable[Message]:
    for one in messages:
        yield one
        for name, kind in codec.layout(type(one)).fields:
            if isinstance(kind, Rows | Repeated):
                yield from _with_rows(codec, getattr(one, name))


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def report_differs(
    expected: Mapping[str, object], answer: DriverAnswer, place: int | None, *, textual: bool = False
) -> ReportDifference | None:
    """Return how an answer, or result number `place` of a batch, differs from the reply.

    `textual`: bytes that are no text may be reported otherwise.
    """
    if answer.error is not None:
        return ReportDifference("", f"the result {_short(expected)}", f"the error {error_text(answer)}")
    got: object = answer.result
    if place is not None:
        results = answer.result.get("results")
        if not isinstance(results, list) or place >= len(results):
            return ReportDifference("", f"results with at least {place + 1} of them", f"{_short(got)}")
        got = results[place]
    wanted = without_binary(expected, got) if textual else expected
    return _first(differences(wanted, got), wanted, got)


def reports_nothing(answer: DriverAnswer, place: int | None) -> bool:
    """Say whether an answer, or result number `place` of a batch, is `{}`: of an API that returns nothing."""
    if answer.error is not None:
        return False
    results = answer.result.get("results")
    if place is None:
        return not answer.result
    return isinstance(results, list) and place < len(results) and results[place] == {}


def event_differs(
    expected: Mapping[str, object], event: DriverEvent, optional: Collection[str] = frozenset()
) -> ReportDifference | None:
    """Return how an event differs from what was pushed; fields without a value are as good as none."""
    got = {name: value for name, value in event.fields.items() if value is not None}
    expected = {name: value for name, value in expected.items() if name in got or name not in optional}
    return _first(differences(expected, got, "event"), expected, got)


def _first(found: Sequence[str], expected: object, got: object) -> ReportDifference | None:
    """Return the first difference: the field alone where it has another value, else all that was reported."""
    if not found:
        return None
    where, _, detail = found[0].partition(": ")
    more = f" and {len(found) - 1} differences more" if len(found) > 1 else ""
    path = [step for step in where.split(".")[1:] if not step.isdigit()]
    wanted, split, came = detail.removeprefix("expected ").partition(", got ")
    if split and path and not came.startswith("nothing"):
        return ReportDifference(path[-1], f"{where} {wanted}", f"{came}{more}", all_misread(expected, got))
    text = f"{_short(got)}: {where}: {detail}{more}"
    return ReportDifference(path[-1] if path else "", f"{_short(expected)}", text)


def error_text(answer: DriverAnswer) -> str:
    """Return an error in one line."""
    return f"{answer.error.kind}: {answer.error.detail}" if answer.error else ""


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 400 else f"{text[:400]}…"
