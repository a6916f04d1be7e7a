"""Streams are cut at borders of their structure: what a decoder keeps depends on those that it has passed."""

from __future__ import annotations

import pytest

from wireproof.fuzz import parser_input
from wireproof.fuzz.codec_checks import CodecCheck, check_of
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.parser_input import STRUCTURAL, Endpoint
from wireproof.fuzz.seeded_bugs.bug_engines import seeded
from wireproof.fuzz.seeded_bugs.function_edits import Edit
from wireproof.fuzz.structural_cuts import WAYS, borders
from wireproof.fuzz.table_seeds import tables
from wireproof.protocols import tables as code
from wireproof.protocols.throttr.replies import ListFragment, ListReply, ListRow

RESUMING = {
    "a part is skipped": Edit(
        code,
        "Measure.__call__",
        "        while context.left:\n",
        "        if context.left > 1 and context.seen > self._header.size: context.left -= 1\n"
        "        while context.left:\n",
    ),
    "rows that end with a segment have no bodies": Edit(
        code, "Measure._part_end", "if size <= limit and at + size <= end:", "if size <= limit and at + size < end:"
    ),
}


def client() -> tuple[int, Endpoint]:
    return next((at, one) for at, one in enumerate(parser_input.combinations("throttr")) if one.is_client)


def streams() -> list[bytes]:
    _, endpoint = client()
    return list(tables(endpoint.codec, endpoint.known))


def ways_that_find(edit: Edit, drawn: range) -> list[int]:
    """Return the values of an input's second byte under which a table shows a bug."""
    number, _ = client()
    inputs = [(way, bytes([number, way]) + one) for one in streams() for way in drawn]
    found = []
    with seeded((edit,), "throttr"):
        for way, data in inputs:
            try:
                parser_input.combinations("throttr")[number].check_segmentation(data)
            except InvariantError:
                found.append(way)
    return found


def test_the_borders_of_a_table_are_those_of_its_counts_rows_and_bodies() -> None:
    reply = ListReply(tuple(ListFragment(number, (ListRow(b"k" * number, 1, 1, 1, 1),)) for number in (1, 2)))
    _, endpoint = client()

    found = sorted(set(borders(reply, endpoint.codec.layout)))

    # Two numbers of eight bytes, of fragments and of the fragment; its count; a row of twelve fixed bytes; its key.
    assert found == [0, 8, 16, 24, 36, 37, 45, 53, 65, 67]


@pytest.mark.parametrize("name", RESUMING)
def test_a_bug_of_resuming_a_table_shows_under_cuts_at_borders(name: str) -> None:
    found = ways_that_find(RESUMING[name], range(STRUCTURAL, STRUCTURAL + len(WAYS)))

    assert len(set(found)) >= 2


def test_seeds_hold_tables_whose_check_cuts_them() -> None:
    number, _ = client()
    some = {
        one for one in parser_input.seeds("throttr") if one[0] == number and check_of(one) is CodecCheck.SEGMENTATION
    }

    assert {one for one in some if one[2:] in streams()}
