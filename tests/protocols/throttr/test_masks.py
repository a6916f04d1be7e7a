"""What two right servers are compared by: every field of every reply is either that or masked, and said so once."""

from __future__ import annotations

from collections.abc import Iterator

from wireproof.protocols import Message
from wireproof.protocols.fields import Repeated, Rows
from wireproof.protocols.messages import declared_layout
from wireproof.protocols.throttr import PROTOCOL, TTLType
from wireproof.protocols.throttr.masks import own_names

COMPARED = {
    "ok", "quota", "ttl_type", "value", "key", "key_type", "bytes_used", "total_reads", "total_writes", "channel",
    "payload", "subscribed_connections", "reply",
}  # fmt: skip


def fields(message: type[Message]) -> Iterator[str]:
    for name, kind in declared_layout(message).items():
        if isinstance(kind, Rows | Repeated):
            yield from fields(kind.row if isinstance(kind, Rows) else kind.part)
        else:
            yield name


def test_every_field_that_comes_is_compared_or_masked() -> None:
    replies = {one for profile in PROTOCOL.profiles.values() for some in profile.replies.values() for one in some}
    pushes = {one for profile in PROTOCOL.profiles.values() for one in profile.pushes}

    found = {name for message in replies | pushes for name in fields(message)}

    assert found - PROTOCOL.masked - set(PROTOCOL.time_left) == COMPARED
    assert not PROTOCOL.masked & COMPARED


def test_the_time_that_is_left_has_a_unit_of_known_length() -> None:
    unit, lengths = PROTOCOL.time_left["ttl"]

    assert unit == "ttl_type"
    assert set(lengths) == set(map(int, TTLType))
    assert lengths[TTLType.SECONDS] == 10**9


def test_a_connection_has_channels_of_its_own_from_7_3_2_on() -> None:
    assert own_names("7.1.0", b"\x0a") == ()
    assert own_names("7.3.2", b"\x0a") == (b"*", b"0a")
