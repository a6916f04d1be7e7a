"""Where requests and fields begin in sent bytes: read back from the bytes, whoever wrote them."""

import pytest

from tests.conformance.scripted import INSERT, make_symbols
from wireproof.conformance.suite.field_boundaries import BoundaryReader, boundaries_of
from wireproof.conformance.suite.symbolic import message_of

QUERY = bytes.fromhex("02 03 6b6579")


@pytest.mark.parametrize(
    ("variant", "boundaries"),
    [("uint8", (1, 2, 3, 4, 5)), ("uint16", (1, 3, 4, 6, 7)), ("uint64", (1, 9, 10, 18, 19))],
)
def test_every_fixed_field_and_the_key_after_them_begins_somewhere(variant: str, boundaries: tuple[int, ...]) -> None:
    symbols = make_symbols(variant=variant)
    found = boundaries_of(symbols, symbols.codec.encode(symbols.message(message_of(INSERT))))

    assert (found.boundaries, found.whole) == (boundaries, True)


def test_bodies_of_blobs_begin_after_all_fixed_fields() -> None:
    symbols = make_symbols("7.3.2", "uint16")
    data = symbols.codec.encode(
        symbols.message(message_of({"SET": {"key": "key", "value": "value", "ttl_type": "seconds", "ttl": 1}}))
    )

    assert data[-8:] == b"keyvalue"
    assert boundaries_of(symbols, data).boundaries == (1, 2, 4, 5, 7, 10)


def test_requests_in_one_write_have_their_ends_among_the_boundaries() -> None:
    found = boundaries_of(make_symbols(), QUERY + b"\x07" + QUERY)

    assert (found.boundaries, found.whole) == ((1, 2, 5, 6, 7, 8), True)


@pytest.mark.parametrize("rest", [b"\x02", b"\x02\x03ke", b"\x0a", b"\xff\xff", b"\x01\x00"])
def test_what_is_no_whole_request_has_no_boundaries_but_those_before_it(rest: bytes) -> None:
    found = boundaries_of(make_symbols(), QUERY + rest)

    assert (found.boundaries, found.whole) == ((1, 2, 5), False)


def test_a_message_in_two_writes_has_its_boundaries_in_the_write_that_ends_it() -> None:
    symbols = make_symbols()
    reader = BoundaryReader(symbols.protocol.link, symbols.codec)

    assert (reader.read(QUERY[:3]).boundaries, reader.read(QUERY[3:] + QUERY).boundaries) == ((), (2, 3, 4))


def test_after_a_write_that_is_no_request_the_next_one_is_read_by_itself() -> None:
    symbols = make_symbols()
    reader = BoundaryReader(symbols.protocol.link, symbols.codec)
    broken, following = reader.read(b"\xff"), reader.read(QUERY)

    assert not broken.whole
    assert (following.boundaries, following.whole) == ((1, 2), True)


def test_nothing_is_made_of_nothing() -> None:
    assert boundaries_of(make_symbols(), b"").boundaries == ()
