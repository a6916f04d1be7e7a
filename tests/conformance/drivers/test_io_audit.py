"""The audit lets pass what crossed, and nothing else: a driver that loses bytes is told from a target that does."""

from __future__ import annotations

import pytest

from wireproof.conformance.drivers.io_audit import IoAudit, IoAuditError
from wireproof.conformance.model.actions import Answer, Read, Write
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty

READ = Read("a", 1.0)
QUIET = [Kind.SILENT, Kind.ENDED, Kind.RESET]


def received(data: bytes) -> Answer:
    return Answer(Kind.RECEIVED, 0.5, data)


def test_what_came_is_let_pass_in_any_pieces() -> None:
    audit = IoAudit()
    audit.came(b"ab")
    audit.came(b"cd")

    for piece in (b"a", b"bc", b"d"):
        assert audit.checked(READ, received(piece)).data == piece
    for kind in QUIET:
        assert audit.checked(READ, Answer(kind, 1.0, b"why")).kind is kind


@pytest.mark.parametrize("given", [b"b", b"ba", b"aa", b"abc", b"ab\0"])
def test_bytes_lost_turned_or_doubled_are_reported(given: bytes) -> None:
    audit = IoAudit()
    audit.came(b"xab")
    audit.checked(READ, received(b"x"))

    with pytest.raises(IoAuditError, match="other bytes than came") as detail:
        audit.checked(READ, received(given))
    assert (detail.value.connection, detail.value.stream, detail.value.offset) == ("a", Guilty.TARGET, 1)
    assert detail.value.at_us == 500_000


@pytest.mark.parametrize("kind", QUIET)
def test_bytes_kept_from_the_player_are_reported(kind: Kind) -> None:
    audit = IoAudit()
    audit.came(b"abc")

    with pytest.raises(IoAuditError, match="3 bytes came and were kept"):
        audit.checked(READ, Answer(kind, 1.0))


@pytest.mark.parametrize("left", [(), (b"a",), (b"ab", b"ab"), (b"b", b"a")])
def test_bytes_that_did_not_leave_as_given_are_reported(left: tuple[bytes, ...]) -> None:
    audit = IoAudit()
    for data in left:
        audit.left(data)

    with pytest.raises(IoAuditError, match="other bytes were sent") as detail:
        audit.checked(Write("b", b"ab"), Answer(Kind.SENT, 1.0))
    assert (detail.value.connection, detail.value.stream, detail.value.offset) == ("b", Guilty.HARNESS, 0)


def test_each_write_is_held_by_itself_and_a_failed_one_is_not() -> None:
    audit = IoAudit()
    for data, kind in ((b"ab", Kind.SENT), (b"cd", Kind.RESET), (b"", Kind.SENT)):
        audit.left(data[:1])
        audit.left(data[1:])
        assert audit.checked(Write("a", data), Answer(kind, 1.0)).kind is kind
    audit.left(b"x")

    with pytest.raises(IoAuditError) as detail:
        audit.checked(Write("a", b"y"), Answer(Kind.SENT, 1.0))
    assert detail.value.offset == 4
