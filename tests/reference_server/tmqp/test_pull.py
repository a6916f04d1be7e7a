"""Pulls: counts, order, what is told and cleared, what is sent where there is nothing; caches."""

from __future__ import annotations

from typing import Any

import pytest

from tests.reference_server.tmqp.simulated import Server, heading, payloads, produce, pull
from wireproof.protocols import NEED_DATA, EndOfStream
from wireproof.protocols.tmqp.requests import Pull

PULL, CACHE = 3, 4


def ready(server: Server, *bodies: bytes, **options: Any) -> Any:
    line = server.client("me")
    server.queue(line, **{"Status": PULL, **options})
    server.join(line)
    for body in bodies:
        line.send(produce(body, high_priority=int(body.startswith(b"high"))))
    return line


def no_content(found: list[Any]) -> list[bytes]:
    return [value for one in found if (value := heading(one, b"No-Content")) is not None]


def test_pulling(server: Server) -> None:
    line = ready(server, b"a", b"b", b"high")
    found = line.send(pull("2"))

    assert payloads(found) == [b"high", b"a", b""]
    assert [heading(one, b"Index") for one in found] == [b"1", b"2", None]
    assert {heading(one, b"Count") for one in found[:2]} == {b"2"}
    assert {heading(one, b"Request-Id") for one in found} == {b"p"}
    assert (found[2].id, found[2].ttl, found[2].one_delivery, no_content(found)) == (b"p", 16, 0, [b"End"])
    left = line.send(pull("9"))
    assert payloads(left) == ([b"b", b""] if not server.rules.loses_one_after_pull else [b""])
    assert no_content(line.send(pull("1"))) == [b"Empty"]


def test_the_count_that_is_reported(server: Server) -> None:
    found = ready(server, b"a", b"b").send(pull("5"))

    assert {heading(one, b"Count") for one in found[:2]} == {b"2" if server.rules.counts_what_there_is else b"5"}


def test_lifo_and_info(server: Server) -> None:
    line = ready(server, b"a", b"b", b"c", b"high")
    found = line.send(pull("3", Order="lifo", Info="YES"))

    assert payloads(found)[:3] == [b"high", b"c", b"b"]
    assert [(heading(one, b"Priority-Messages"), heading(one, b"Messages")) for one in found[:3]] == [
        (b"0", b"3"),
        (b"0", b"2"),
        (b"0", b"1"),
    ]


@pytest.mark.parametrize(
    ("clear", "left"), [("", 4), ("none", 4), ("All", 0), ("high-priority", 3), ("DEFAULT-priority", 1)]
)
def test_clearing(document: Server, clear: str, left: int) -> None:
    line = ready(document, b"high1", b"high2", b"a", b"b", b"c")
    line.send(pull("1", Clear=clear))

    assert len(payloads(line.send(pull("9")))) == (left + 1 if left else 1)


@pytest.mark.parametrize("count", ["", "0", "-1", "x"])
def test_counts_that_are_none(document: Server, released: Server, count: str) -> None:
    for server in (document, released):
        line = ready(server, b"a")
        found = line.send(pull(count))
        closes = server is released and count in ("-1", "x")
        assert no_content(found) == ([] if closes else [b"Unacceptable"])
        assert line.closed == closes


def test_who_may_not_pull(server: Server) -> None:
    ready(server, b"a")
    other = server.client("other")

    assert no_content(other.send(pull())) == [b"Unauthorized"]
    server.queue(other, 2, Status=1)
    assert no_content(other.send(pull(number=2))) == [b"Unacceptable"]


def test_pulling_from_nothing(document: Server, released: Server) -> None:
    line = ready(document)
    assert no_content(line.send(pull(number=2))) == [b"No-Queue"]
    assert no_content(line.send(pull(name="none"))) == [b"No-Channel"]
    assert no_content(line.send(Pull(target=b"ch", content_type=1))) == [b"Id-Required"]
    line = ready(released, b"a")
    assert line.codes(pull(number=2), pull(name="none")) == [("RESPONSE", 404)] * 2
    found = line.send(Pull(target=b"ch", content_type=1, headers=pull().headers))
    assert [len(heading(one, b"Request-Id") or b"") for one in found] == [32, 32]


def test_caches(document: Server, released: Server) -> None:
    line = ready(document, Status=CACHE)
    assert line.codes(pull()) == [("RESPONSE", 404)]
    line.send(produce(b"a"), produce(b"b"))
    for _ in range(2):
        (found,) = line.send(pull(""))
        assert (found.NAME, found.id, found.content_type, found.payload) == ("RESPONSE", b"p", 0, b"b")
    assert document.client("other").codes(pull()) == [("RESPONSE", 401)]
    line = ready(released, b"a", Status=CACHE)
    assert no_content(line.send(pull())) == [b"Unacceptable"]


def test_a_large_pull_is_sliced(server: Server) -> None:
    line = ready(server)
    for _ in range(300):
        line.session.take(produce(b"a"))
    line.session.flush()
    line.take()
    found = line.send(pull("300"))

    assert [heading(one, b"Index") for one in found[:-1]] == [b"%d" % n for n in range(1, 301)]
    assert no_content(found) == [b"End"]


def test_what_is_pulled_is_acknowledged(server: Server) -> None:
    line = ready(server, b"a", RequestAcknowledge=True)
    found = line.send(pull())

    assert [one.pending_ack for one in found] == [1, 0]


def test_a_pull_is_served_whole_though_its_client_asks_no_more(server: Server) -> None:
    """What was pulled in a later turn of the loop was lost, and the word that it was all, too."""
    line = ready(server, *[b"%d" % number for number in range(300)])
    line.write(line.codec.send(pull("299")))
    line.session.eof_received()
    server.clock.advance(0)
    found = [one for one in iter(line.codec.next_event, NEED_DATA) if not isinstance(one, EndOfStream)]

    assert len(payloads(found)) == 300
    assert no_content(found) == [b"End"]
    assert line.closed
