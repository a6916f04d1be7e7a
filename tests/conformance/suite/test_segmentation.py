"""Deliveries as cuts: no byte is changed, the cuts are where they are said to be, and bounded."""

from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.scripted import make_symbols
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.field_boundaries import boundaries_of
from wireproof.conformance.suite.segmentation import (
    ALL_CUTS,
    ALL_CUTS_SLOWLY,
    GAP,
    MOST_CUTS,
    MOST_CUTS_SLOWLY,
    SEGMENTATIONS,
    SLOW_GAP,
    Carrier,
    spread,
)
from wireproof.protocols import protocol_names

QUERY = bytes.fromhex("02 05 6b65796b65")
SYMBOLS = make_symbols()


def carrier(name: str) -> Carrier:
    return Carrier(SEGMENTATIONS[name])


def pieces(carries: Carrier, data: bytes) -> Sequence[tuple[bytes, float | None]]:
    return carries.pieces(data, lambda: boundaries_of(SYMBOLS, data).boundaries)


def test_the_beginning_of_a_write_stays_in_one_piece() -> None:
    found = carrier("bytes").pieces(QUERY, lambda: boundaries_of(SYMBOLS, QUERY).boundaries, 5)
    assert [len(piece) for piece, _ in found] == [5, 1, 1]


def cuts(name: str, data: bytes) -> list[int]:
    return list(accumulate(len(piece) for piece, _ in pieces(carrier(name), data)))[:-1]


@pytest.mark.parametrize(
    ("name", "data", "where"),
    [
        ("whole", QUERY, []),
        ("joined", QUERY, []),
        ("half-closed", QUERY, []),
        ("bytes", QUERY, [1, 2, 3, 4, 5, 6]),
        ("dripped", QUERY, [1, 2, 3, 4, 5, 6]),
        ("fields", QUERY, [1, 2]),
        ("beside", QUERY, [3, 6]),
        ("fields", QUERY + QUERY, [1, 2, 7, 8, 9]),
        ("beside", QUERY + QUERY, [3, 6, 10, 13]),
        ("fields", b"\xff\xff\xff", []),
        ("beside", b"\xff\xff\xff", []),
        ("bytes", b"\xff\xff\xff", [1, 2]),
        ("fields", b"\x07", []),
        ("bytes", b"\x07", []),
        ("beside", b"\x07\x07", []),
        ("bytes", b"", []),
    ],
)
def test_the_cuts_are_where_the_delivery_says(name: str, data: bytes, where: list[int]) -> None:
    assert cuts(name, data) == where


@given(st.sampled_from(list(SEGMENTATIONS)), st.lists(st.binary(max_size=1200) | st.just(QUERY), max_size=4))
def test_no_byte_is_lost_or_turned_and_no_piece_is_empty(name: str, writes: list[bytes]) -> None:
    carries = carrier(name)
    for data in writes:
        made = [piece for piece, _ in pieces(carries, data)]

        assert b"".join(made) == data
        assert all(made) or made == [b""]


@pytest.mark.parametrize(("name", "gap"), [("bytes", GAP), ("fields", GAP), ("beside", GAP), ("dripped", SLOW_GAP)])
def test_the_target_has_time_after_each_piece_but_the_last(name: str, gap: float) -> None:
    gaps = [seconds for _, seconds in pieces(carrier(name), QUERY)]

    assert gaps == [gap] * (len(gaps) - 1) + [0.0]
    assert len(gaps) > 1


@pytest.mark.parametrize("name", SEGMENTATIONS)
def test_nothing_cannot_leave_by_itself(name: str) -> None:
    assert pieces(carrier(name), b"") == [(b"", None)]


def test_what_is_whole_is_left_to_the_system_and_what_is_joined_leaves_by_itself() -> None:
    assert [pieces(carrier(name), QUERY) for name in ("whole", "half-closed", "joined")] == [
        [(QUERY, None)], [(QUERY, None)], [(QUERY, 0.0)],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "write", "play"), [("bytes", MOST_CUTS, ALL_CUTS), ("dripped", MOST_CUTS_SLOWLY, ALL_CUTS_SLOWLY)]
)
def test_cuts_are_bounded_in_a_write_and_in_a_play(name: str, write: int, play: int) -> None:
    carries, made = carrier(name), []
    for _ in range(10):
        made.append(len(pieces(carries, bytes(5000))) - 1)

    assert made[0] == write
    assert sum(made) == carries.changes == play
    assert made[-1] == 0


def test_changes_are_counted_and_nothing_else() -> None:
    carries = carrier("fields")
    for data in (QUERY, b"\x07", b"", QUERY):
        pieces(carries, data)

    assert carries.changes == 4


@given(st.integers(1, 60), st.integers(1, 60))
def test_fewer_cuts_are_spread_from_the_first_to_the_last(many: int, most: int) -> None:
    kept = spread(list(range(many)), most)

    assert len(kept) == len(set(kept)) == min(many, most)
    assert kept == sorted(kept)
    assert most == 1 or (kept[0], kept[-1]) == (0, many - 1)


def test_no_cuts_are_left_when_none_is_allowed() -> None:
    assert spread([1, 2], 0) == []


def test_only_whole_does_nothing() -> None:
    assert [name for name, one in SEGMENTATIONS.items() if one.plain] == ["whole"]


@pytest.mark.parametrize("name", protocol_names())
def test_each_protocol_says_which_clause_asks_for_the_same_answers_under_other_segmentations(name: str) -> None:
    asking = load_suite(name).segmentations

    assert {"bytes", "fields", "beside", "dripped", "joined"} <= asking.keys()
