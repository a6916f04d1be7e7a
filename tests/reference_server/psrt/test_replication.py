"""Replication: what one server publishes at another, on a control socket."""

from __future__ import annotations

from pathlib import Path

from tests.reference_server.psrt.account_files import write
from tests.reference_server.psrt.simulated import (
    DENIED,
    OK,
    PUB_SIZE,
    UNWANTED,
    WAITING,
    Server,
    publish,
    pushed,
    repl_data,
    replicate,
    subscribe,
)


def test_a_replication_is_delivered_to_whom_it_concerns(server: Server) -> None:
    control = server.control()
    _, data = server.both("q/#")

    assert control.send(replicate("q/z")) == WAITING
    assert control.send(repl_data(b"m\0", 9), b"\0") == OK * 2
    assert data.take() == pushed("q/z", b"m\0", 9)


def test_a_replication_in_one_segment_with_what_follows_it(server: Server) -> None:
    control, data = server.both("q")
    assert control.send(replicate("q"), repl_data(b"1"), replicate("x"), b"\0") == WAITING + OK + UNWANTED + OK
    assert data.take() == pushed("q", b"1")


def test_a_replicated_topic_is_taken_as_it_is(server: Server) -> None:
    control, data = server.both("t/x", "+/+")
    assert control.send(replicate("//t/x"), replicate("t/#")) == UNWANTED + WAITING
    assert control.send(repl_data(b"m")) == OK
    assert data.take() == pushed("t/#", b"m")


def test_a_replication_needs_nobody_who_listens_only_one_who_is_subscribed(server: Server) -> None:
    control = server.control()
    server.control().send(subscribe("a"))
    assert control.send(replicate("a"), repl_data(b"")) == WAITING + OK


def test_a_replication_too_long_is_refused_by_its_length(server: Server) -> None:
    control = server.control()
    assert control.send(subscribe("a"), replicate("a")) == OK + WAITING
    assert control.refuses(b"\x7f" + bytes(8) + (PUB_SIZE + 1).to_bytes(4, "little"))


def test_only_a_replicator_replicates(tmp_path: Path) -> None:
    server = Server(**write(tmp_path))
    server.control(b"user1", b"secret").send(subscribe("a"))

    assert server.control(b"user1", b"secret").send(replicate("a"), b"\0") == DENIED + OK
    replicator = server.control(b"repl", b"secret")
    assert replicator.send(replicate("a"), repl_data(b"m"), publish("a"), subscribe("a")) == WAITING + OK + DENIED * 2


def test_where_nothing_is_replicated_asking_for_it_closes() -> None:
    assert Server(replication=False).control().refuses(replicate("a"))
