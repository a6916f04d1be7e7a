"""A request with another value in one field is refused by name, or read as the same."""

from __future__ import annotations

from itertools import islice

import pytest

from wireproof.fuzz import parser_input
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.seeded_bugs.bug_engines import seeded
from wireproof.fuzz.seeded_bugs.function_edits import Edit
from wireproof.protocols import packed


def redraw_all(name: str) -> None:
    """Redraw every field of some requests of the first server's endpoint in every way."""
    endpoints = parser_input.combinations(name)
    endpoint = next(one for one in reversed(endpoints) if not one.is_client and len(one.known) > 20)
    for request in range(0, min(len(endpoint.known), 256), 9):
        for field in range(12):
            for way in range(48):
                endpoint.redraw(request, bytes([field, way]) + b"value")


@pytest.mark.parametrize("name", ["tmqp", "throttr", "psrt", "namechan"])
def test_nothing_is_broken_by_our_codecs(name: str) -> None:
    redraw_all(name)


def test_a_password_that_is_longer_than_a_server_takes_is_not_judged() -> None:
    for endpoint in parser_input.combinations("psrt"):
        if endpoint.link_name == "control" and not endpoint.is_client:
            for request in range(len(endpoint.known)):
                endpoint.redraw(request, bytes([0, 0]) + bytes(b"u" * 1021))


def test_a_datagram_in_clear_that_says_it_is_sealed_is_not_judged() -> None:
    endpoints = parser_input.combinations("psrt")
    endpoint = next(one for one in endpoints if not one.is_client and not one.is_stream)

    for request in range(len(endpoint.known)):
        for field in range(9):
            for value in (0, 1, 3, 252, 253):
                endpoint.redraw(request, bytes([field, value % 6]) + bytes([value]) * 4)


@pytest.mark.parametrize(
    "edit",
    [
        Edit(packed, "_shortest", "size.to_bytes", "(size - (size == 253)).to_bytes"),
        Edit(packed, "_block_of", "or END in line", "or END in value"),
    ],
    ids=["a size of 253", "a line end in a name"],
)
def test_what_is_written_at_a_border_of_sizes_and_with_line_ends_is_drawn(edit: Edit) -> None:
    with seeded((edit,), "tmqp"), pytest.raises(InvariantError):
        redraw_all("tmqp")


def test_a_header_whose_value_is_empty_is_drawn() -> None:
    edit = Edit(packed, "_rows_of", "if name and colon)", "if name and value)")

    with seeded((edit,), "tmqp"), pytest.raises(InvariantError, match="read as"):
        redraw_all("tmqp")


def test_seeds_draw_fields_and_values_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = set[tuple[int, int]]()
    monkeypatch.setattr(
        parser_input.Endpoint, "redraw", lambda self, which, source: drawn.add((source[0] % 11, source[1] % 12))
    )
    for seed in islice(parser_input.seeds("tmqp"), 2000):
        parser_input.combinations("tmqp")[0].check_redrawn(seed)

    assert len(drawn) == 11 * 12
