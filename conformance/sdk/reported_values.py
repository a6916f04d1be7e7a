"""What a driver reported, compared with what crossed the wire."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping

from wireproof.conformance.sdk.shown_bytes import first_difference, shown
from wireproof.protocols.plain import PlainError, plain_bytes

__all__ = ["all_misread", "differences", "without_binary"]

KINDS = {"bytes": 'bytes are {"hex": "…"}', "text": "numbers are strings of digits, words are lower case"}
"""Kind of value -> how a driver writes it."""
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
"""What a program writes for a number, a rounded one too."""
LONG = 40
"""Bytes beyond which only what is around the difference is shown."""
WIDTHS = (8, 16, 32, 64)
LARGEST = {2**bits - 1: bits for bits in (31, 32, 53, 63)}
"""Largest number of a type -> its bits."""


def differences(expected: object, got: object, where: str = "result") -> list[str]:
    """Return where two plain values differ, each with what was expected; nothing when they say the same.

    Text says the same as its bytes in UTF-8, also without the zeros that pad a field of a fixed size.
    Beside the fields of a success, `status` may say that it is one. A table without rows may be left out.
    Nothing is asked of a field that is reported as None: the SDK does not expose it.
    """
    if _kind(expected) == "bytes":
        assert isinstance(expected, Mapping)
        return [] if _same_bytes(bytes.fromhex(expected["hex"]), got, where) else [_difference(expected, got, where)]
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return _in_fields(expected, got, where)
    if isinstance(expected, list) and isinstance(got, list):
        if len(expected) != len(got):
            return [f"{where}: expected {len(expected)} rows, got {len(got)}"]
        pairs = zip(expected, got, strict=True)
        return [detail for at, (one, other) in enumerate(pairs) for detail in differences(one, other, f"{where}.{at}")]
    return [] if type(expected) is type(got) and expected == got else [_difference(expected, got, where)]


def without_binary(expected: object, got: object) -> object:
    """Return what is expected of an SDK that carries text only: bytes that are none may be anything it reports."""
    if _kind(expected) == "bytes":
        assert isinstance(expected, Mapping)
        if _kind(got) != "bytes" or _is_text(bytes.fromhex(expected["hex"])):
            return expected
        return {"hex": plain_bytes(got).hex()}
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return {name: without_binary(one, got.get(name)) for name, one in expected.items()}
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        return [without_binary(one, other) for one, other in zip(expected, got, strict=True)]
    return expected


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _in_fields(expected: Mapping[str, object], got: Mapping[str, object], where: str) -> list[str]:
    found = [
        _difference(one, None, f"{where}.{name}") for name, one in expected.items() if name not in got and one != []
    ]
    known = ", ".join(expected)
    more = [name for name in got if name not in expected and not _is_success(name, got[name])]
    found += [f"{where}.{name}: expected no such field, only {known}" for name in more]
    both = [name for name in expected if got.get(name) is not None]
    return found + [detail for name in both for detail in differences(expected[name], got[name], f"{where}.{name}")]


def _is_success(name: str, value: object) -> bool:
    """Say whether a field is the status of a success, which may stand beside the fields of any result."""
    return name == "status" and value is True


def _same_bytes(expected: bytes, got: object, where: str) -> bool:
    try:
        data = plain_bytes(got, where)
    except PlainError:
        return False
    return data == expected or (isinstance(got, Mapping) and "text" in got and data == expected.rstrip(b"\0"))


def _difference(expected: object, got: object, where: str) -> str:
    wanted = _kind(expected)
    if wanted == _kind(got) == "bytes" and (long := _of_long_bytes(expected, got)):
        return f"{where}: {long}"
    text = f"{where}: expected {_shown(expected)}, got {'nothing' if got is None else _shown(got)}"
    if got is None or not wanted:
        return text
    if wanted != _kind(got):
        return f"{text} ({KINDS[wanted]})"
    if wanted == "bytes" and (how := _text_of_bytes(expected, got)):
        return f"{text} ({how})"
    if wanted == "text" and (how := misread(str(expected), str(got))):
        return f"{text} ({how})"
    if wanted == "text" and str(expected).isdigit() is not str(got).isdigit():
        return f"{text} ({_digits_or_word(str(expected))})"
    return text


def _of_long_bytes(expected: object, got: object) -> str:
    """Say at which byte long bytes differ, and show what is there; "" where they are short."""
    try:
        wanted, came = plain_bytes(expected), plain_bytes(got)
    except PlainError:
        return ""
    at = first_difference(wanted, came)
    if max(len(wanted), len(came)) <= LONG:
        return ""
    return f"expected {shown(wanted, at)}, got {shown(came, at)}: they differ at byte {at}"


def _text_of_bytes(expected: object, got: object) -> str:
    """Say where bytes are reported as their hex digits; "" otherwise."""
    assert isinstance(expected, Mapping)
    try:
        digits = plain_bytes(got).decode().lower()
    except (PlainError, UnicodeDecodeError):
        return ""
    wanted = bytes.fromhex(expected["hex"]) if "hex" in expected else str(expected["text"]).encode()
    return "the text of their hex digits, not the bytes" if wanted and digits == wanted.hex() else ""


def misread(expected: str, got: str) -> str:
    """Say how a number became another one for want of room in a type of the SDK; "" where that does not explain it."""
    if not (expected.isdigit() and NUMBER.fullmatch(got)) or expected == got:
        return ""
    value = int(expected)
    if got.isdigit() and int(got) in LARGEST and value > int(got):
        return f"the largest number of {LARGEST[int(got)]} bits"
    if float(got) == float(value) and value > 2**53:
        return "rounded as a 64-bit float is, which is exact up to 2^53"
    if not got.lstrip("-").isdigit():
        return ""
    came = int(got)
    if 2**24 < value < 2**64 and came == struct.unpack("f", struct.pack("f", value))[0]:
        return "rounded as a 32-bit float is, which is exact up to 2^24"
    for bits in WIDTHS:
        if came < 0 and came == value - 2**bits:
            return f"read as a signed number of {bits} bits"
        if came and came == value % 2**bits:
            return f"only the low {bits} bits"
    return ""


def all_misread(expected: object, got: object) -> bool:
    """Say whether two plain values differ, and only in numbers for which a type of the SDK has no room."""
    pairs = list(_unlike(expected, got))
    return bool(pairs) and all(
        isinstance(one, str) and isinstance(other, str) and misread(one, other) for one, other in pairs
    )


def _unlike(expected: object, got: object) -> Iterator[tuple[object, object]]:
    """Yield the innermost pairs that differ."""
    if _kind(expected) == "bytes" or _kind(got) == "bytes":
        if differences(expected, got):
            yield expected, got
    elif isinstance(expected, Mapping) and isinstance(got, Mapping):
        for name in {*expected, *got}:
            if name in expected or not _is_success(name, got[name]):
                yield from _unlike(expected.get(name), got.get(name))
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for one, other in zip(expected, got, strict=True):
            yield from _unlike(one, other)
    elif expected != got:
        yield expected, got


def _digits_or_word(expected: str) -> str:
    return "a number is given in digits" if expected.isdigit() else "a number that has a name is given by its name"


def _kind(value: object) -> str:
    """Return whether a value is bytes, a number or word (`text`), or neither (the empty string)."""
    if isinstance(value, Mapping):
        return "bytes" if value.keys() in ({"hex"}, {"text"}) else ""
    return "text" if isinstance(value, str) else ""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}…"
