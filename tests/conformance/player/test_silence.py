"""A silence that no step asked for is why a target may end a connection; one that a step asked for is not."""

from __future__ import annotations

import pytest

from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.player.silence import longest_silence

OPENED, SENT, RECEIVED, WAITED, SILENT, CLOSED = (
    Kind.OPENED, Kind.SENT, Kind.RECEIVED, Kind.WAITED, Kind.SILENT, Kind.CLOSED,
)  # fmt: skip


def made(*events: tuple[float, str, Kind]) -> list[TraceEvent]:
    return [TraceEvent(round(at * 1e6), name, kind, b"") for at, name, kind in events]


@pytest.mark.parametrize(
    ("events", "longest"),
    [
        ([], 0),
        ([(0, "a", OPENED), (1, "a", SENT), (8, "a", RECEIVED)], 9),
        ([(0, "a", OPENED), (6, "a", SENT), (7, "b", OPENED)], 6),
        ([(0, "a", OPENED), (1, "a", SENT), (2, "b", OPENED), (9, "b", SENT)], 9),
        ([(0, "a", OPENED), (1, "a", SENT), (6, "", WAITED), (7, "a", SENT)], 3),
        ([(0, "a", OPENED), (1, "a", SENT), (9, "a", SILENT)], 1),
        ([(0, "a", OPENED), (1, "a", CLOSED)], 1),
    ],
)
def test_the_longest_silence_is_that_of_one_connection(events: list[tuple[float, str, Kind]], longest: float) -> None:
    assert longest_silence(made(*events), 10_000_000) == pytest.approx(longest)
