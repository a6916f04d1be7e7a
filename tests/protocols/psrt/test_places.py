"""Where fields lie on the wire, for layouts that share a body or are read in one pass."""

from __future__ import annotations

import pytest

from wireproof.protocols import LocalProtocolError, Message
from wireproof.protocols.fields import U8, Rest, Split
from wireproof.protocols.frames import compile_encoder
from wireproof.protocols.profile import Layout
from wireproof.protocols.psrt import V1, Codec
from wireproof.protocols.psrt.requests import Attach, Datagram, Login, Subscribe
from wireproof.protocols.runs import compile_run


@pytest.mark.parametrize(
    ("message", "places"),
    [
        (Login(b"ab", b"c"), [("login", 0, 4, False), ("login", 4, 6, True), ("password", 7, 8, True)]),
        (
            Datagram(1, 0, b"", b"pw", 1, 0x7F, b"t", b"mm"),
            [
                ("version", 2, 4, False),
                ("encryption", 4, 5, False),
                ("login", 5, 5, True),
                ("password", 6, 8, True),
                ("op", 9, 10, False),
                ("priority", 10, 11, False),
                ("topic", 11, 12, True),
                ("message", 13, 15, True),
            ],
        ),
        (Subscribe(b"ab"), [("topics", 1, 5, False), ("topics", 5, 7, True)]),
        (Attach(bytes(32), 5), [("token", 0, 32, False), ("timeout", 32, 33, False)]),
    ],
    ids=lambda one: getattr(one, "NAME", None),
)
def test_places_of_fields_on_the_wire(message: Message, places: list[tuple[str, int, int, bool]]) -> None:
    codec = Codec.of(V1, "standard")

    assert codec.layout(type(message)).places(message) == places
    assert max(stop for _, _, stop, _ in places) == len(codec.encode(message))


def test_a_body_longer_than_its_size_can_express_is_refused() -> None:
    encode = compile_encoder(Layout(Login, b"", (("login", Split(U8)), ("password", Rest()))), "<")

    assert len(encode(Login(b"a" * 127, b"b" * 127))) == 256
    with pytest.raises(LocalProtocolError, match="LOGIN: expected fewer bytes than its size field can count"):
        encode(Login(b"a" * 127, b"b" * 128))


def test_a_run_takes_no_body_that_is_split() -> None:
    fields = Codec.of(V1, "standard").layout(Login).fields

    with pytest.raises(TypeError, match="Login: a body that is split needs its decoder"):
        compile_run([(Layout(Login, b"\x02", fields), print)], "<")
