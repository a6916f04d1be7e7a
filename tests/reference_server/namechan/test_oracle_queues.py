"""The model of a namechan queue names the clause that a message breaks which must not come now."""

from __future__ import annotations

import pytest

from wireproof.reference_server.namechan.oracle.queues import ModelQueue


@pytest.mark.parametrize(
    ("is_broadcast", "number", "body", "clause"),
    [
        (True, 1, b"other", "NCH-MESSAGE-2"),
        (True, 3, b"two", "NCH-MESSAGE-4"),
        (True, 9, b"none", "NCH-MESSAGE-5"),
        (False, 2, b"one", "NCH-MESSAGE-2"),
        (False, 7, b"one", "NCH-MESSAGE-4"),
        (False, 7, b"none", "NCH-ROUND_ROBIN-1"),
    ],
)
def test_a_message_that_must_not_come_breaks_what_is_said_of_it(
    is_broadcast: bool, number: int, body: bytes, clause: str
) -> None:
    queue = ModelQueue(b"t", (0, 0, 0), is_broadcast, is_persistent=False)
    member = queue.join("a", None)
    member.is_announced = True
    queue.publish(b"one")
    queue.publish(b"two")

    assert not member.takes(number, body)
    assert member.broken_by(number, body) == clause
