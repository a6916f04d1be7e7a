"""The byte a failure names is where the reply differs: one field of a real encoded reply is changed at a time."""

from typing import Any

import msgspec
import pytest

from tests.conformance.scripted import make_symbols
from wireproof.conformance.model.wording import first_byte
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.symbolic import message_of, pattern_of
from wireproof.protocols import Message, protocol
from wireproof.protocols.fields import Absent, Nested, Raw, Repeated, Rows

PROFILES = ("7.1.0", "7.3.2")
FLAT = [
    (profile, variant, reply)
    for profile in PROFILES
    for variant in ("uint8", "uint64")
    for reply in sorted(
        {one.NAME for answers in protocol("throttr").profiles[profile].replies.values() for one in answers}
        | {one.NAME for one in protocol("throttr").profiles[profile].pushes}
    )
]


def changed(kind: Any, value: Any) -> Any:
    """Return another value whose first byte on the wire differs."""
    if isinstance(value, bool):
        return not value
    return bytes([value[0] ^ 1]) + value[1:] if isinstance(value, bytes) else value ^ 1


def example(message: type[Message], layout: Any) -> Message:
    values: dict[str, Any] = {}
    for name, kind in layout.fields:
        match kind:
            case Absent():
                values[name] = 0
            case Raw(size):
                values[name] = bytes(range(1, size + 1))
            case _ if message.__annotations__.get(name, "").startswith("Annotated[bytes"):
                values[name] = b"bytes"
            case _ if message.NAME == "STATUS":
                values[name] = True
            case _:
                values[name] = 6
    return message(**values)


@pytest.mark.parametrize(("profile", "variant", "name"), FLAT)
def test_the_first_byte_is_that_of_the_changed_field(profile: str, variant: str, name: str) -> None:
    symbols = make_symbols(profile, variant)
    kind = symbols.message_class(name)
    layout = symbols.codec.layout(kind)
    if any(isinstance(how, Rows | Repeated | Nested) for _, how in layout.fields):
        assert all(len(layout.lead) == first_byte(layout, kind(()), one) for one in ("rows", layout.fields[0][0]))
        return
    good = example(kind, layout)
    encoded = symbols.codec.encode(good)
    for field, how in layout.fields:
        if not isinstance(how, Absent):
            bad = msgspec.structs.replace(good, **{field: changed(how, getattr(good, field))})
            differing = next(
                at
                for at, pair in enumerate(zip(encoded, symbols.codec.encode(bad), strict=True))
                if len(set(pair)) == 2
            )
            problem = match(pattern_of({name: {field: spec(getattr(good, field))}}), bad, symbols)

            assert problem is not None
            assert (field, differing) == (problem.field, first_byte(layout, bad, problem.field))


def spec(value: Any) -> Any:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def test_an_empty_blob_differs_at_its_size() -> None:
    symbols = make_symbols()
    empty = symbols.message(message_of({"GET_REPLY": {"ttl_type": 4, "ttl": 1, "value": ""}}))

    assert first_byte(symbols.codec.layout(type(empty)), empty, "value") == 4


def test_another_message_differs_at_its_first_byte() -> None:
    symbols = make_symbols()
    reply = symbols.message(message_of("ok"))

    assert first_byte(symbols.codec.layout(type(reply)), reply, "") == 0
