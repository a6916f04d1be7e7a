"""Data sockets: tokens, beacons, slow readers, and what their end means."""

from __future__ import annotations

import gc
import weakref
from itertools import cycle
from typing import Any

import pytest

from tests.reference_server.psrt.simulated import (
    BEACON,
    DATA_HELLO,
    ERROR,
    OK,
    QUEUE,
    SENT_DATA_HELLO,
    TIMEOUT,
    Line,
    Server,
    publish,
    pushed,
    subscribe,
)


def attached(server: Server, token: bytes, timeout: int = 255) -> bytes:
    """What a new data socket is answered for a token; it must be closed exactly when that is no OK."""
    line = server.line()
    answer = line.send(DATA_HELLO, token, bytes([timeout]))
    assert answer.startswith(SENT_DATA_HELLO)
    assert line.closed is (answer[4:] != OK)
    return answer[4:]


def keep(server: Server, control: Line, seconds: float) -> None:
    """Let time pass while the control socket pings."""
    while seconds > 0:
        server.wait(min(seconds, 1))
        seconds -= 1
        assert control.send(b"\0") == OK


@pytest.mark.parametrize("token", [bytes(32), b"\xff" * 32])
def test_an_unknown_token_is_an_error_and_the_end(server: Server, token: bytes) -> None:
    server.control()
    assert attached(server, token) == ERROR


def test_a_token_that_differs_in_its_last_bit_is_unknown(server: Server) -> None:
    token: Any = server.control().token  # type: ignore[attr-defined]
    assert attached(server, token[:31] + bytes([token[31] ^ 1])) == ERROR


def test_a_second_socket_on_a_token_is_an_error_and_the_first_goes_on(server: Server) -> None:
    control, data = server.both("a")
    assert attached(server, control.token) == ERROR  # type: ignore[attr-defined]
    control.send(publish("a"))
    assert data.take() == pushed("a")


def test_a_token_of_a_control_socket_that_is_gone_is_an_error(server: Server) -> None:
    control = server.control()
    control.send(b"\xff")
    assert attached(server, control.token) == ERROR  # type: ignore[attr-defined]


def test_what_a_client_says_after_its_token_is_ignored(server: Server) -> None:
    control, data = server.both("a")
    assert data.send(b"\xff" * 10_000) == b""
    control.send(publish("a"))
    assert data.take() == pushed("a")
    line = server.line()
    other = server.control()
    assert line.send(DATA_HELLO, other.token, b"\5", b"garbage") == SENT_DATA_HELLO + OK  # type: ignore[attr-defined]
    assert not line.closed


def test_a_data_socket_is_never_closed_for_being_silent(server: Server) -> None:
    control, data = server.both("a")
    keep(server, control, 10 * TIMEOUT)
    assert not data.closed


def test_one_publish_is_one_write_to_each_data_socket_and_one_object_for_all(server: Server) -> None:
    lines = [server.both("a")[1] for _ in range(3)]
    server.control().send(publish("a", b"m"))

    assert [len(line.written) for line in lines] == [1, 1, 1]
    assert len({id(line.written[0]) for line in lines}) == 1


def test_beacons_come_twice_in_each_timeout(server: Server) -> None:
    control, data = server.both("a", timeout=2)
    for _ in range(4):
        keep(server, control, 0.999)
        assert data.take() == b""
        keep(server, control, 0.001)
        assert data.take() == BEACON


def test_a_look_that_comes_late_puts_off_no_other_beacon(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    in_time, late_ns = server.clock.call_at, cycle([1_000_000, 3_000_000])
    monkeypatch.setattr(server.clock, "call_at", lambda when, callback: in_time(when + next(late_ns), callback))
    control, data = server.both("a", timeout=2)
    keep(server, control, 0.005)
    for _ in range(4):
        keep(server, control, 0.9)
        assert data.take() == b""
        keep(server, control, 0.1)
        assert data.take() == BEACON


def test_a_beacon_comes_half_the_timeout_after_the_last_message(document: Server) -> None:
    control, data = document.both("a", timeout=2)
    document.wait(0.7)
    control.send(publish("a"))
    data.take()
    document.wait(0.999)
    assert data.take() == b""
    document.wait(0.001)
    assert data.take() == BEACON


def test_a_beacon_is_left_out_on_a_tick_in_the_release(released: Server) -> None:
    control, data = released.both("a", timeout=2)
    seen = []
    for tenth in range(1, 41):
        released.wait(0.1)
        control.send(b"\0")
        if data.take() == BEACON:
            seen.append(tenth)
        if tenth == 11:
            control.send(publish("a"))
            data.take()

    assert seen == [10, 30, 40]


@pytest.mark.parametrize(("timeout", "beacons"), [(0, 10), (1, 10), (5, 2), (255, 0)])
def test_a_timeout_of_nothing_is_no_flood(server: Server, timeout: int, beacons: int) -> None:
    control, data = server.both(timeout=timeout)
    keep(server, control, 5)
    assert data.take() == BEACON * beacons


def test_the_end_of_a_data_socket_frees_its_token(document: Server) -> None:
    control, data = document.both("a")
    data.session.eof_received()
    assert data.closed
    control.send(publish("a"))
    again = document.data(control)
    control.send(publish("a", b"2"))
    assert again.take() == pushed("a", b"2")
    assert data.take() == b""


def test_a_data_socket_that_is_cut_frees_its_token(server: Server) -> None:
    control, data = server.both("a")
    data.session.connection_lost()
    assert attached(server, control.token) == OK  # type: ignore[attr-defined]


def test_the_end_of_a_data_socket_is_not_noticed_in_the_release(released: Server) -> None:
    control, data = released.both("a", timeout=2)
    data.session.eof_received()
    assert not data.closed
    control.send(publish("a"))
    assert data.take() == pushed("a")
    released.wait(1)
    assert data.take() == BEACON
    assert attached(released, control.token) == ERROR  # type: ignore[attr-defined]
    data.session.connection_lost()
    assert attached(released, control.token) == ERROR  # type: ignore[attr-defined]
    control.send(b"\xff")


def test_a_slow_reader_loses_its_data_socket_and_nothing_else(server: Server) -> None:
    control, slow = server.both("a")
    other, quick = server.both("a")
    slow.session.pause_writing()
    for _ in range(QUEUE):
        assert other.send(publish("a")) == OK
    assert not slow.closed

    assert other.send(publish("a")) == OK
    assert slow.closed
    assert quick.take() == pushed("a") * (QUEUE + 1)
    assert control.send(b"\0") == OK
    again = server.data(control)
    other.send(publish("a", b"2"))
    assert again.take() == pushed("a", b"2")


def test_a_slow_reader_is_closed_by_the_bytes_that_wait_not_only_by_their_number() -> None:
    server = Server(limits={"push_limit": 1000}, max_pub_size=10_000)
    _, slow = server.both("a")
    publisher = server.control()
    slow.session.pause_writing()
    assert publisher.send(publish("a", bytes(5000))) == OK
    assert not slow.closed
    assert publisher.send(publish("a")) == OK
    assert slow.closed


def test_one_who_reads_gets_messages_of_any_size() -> None:
    server = Server(limits={"push_limit": 1000}, max_pub_size=10_000)
    control, data = server.both("a")
    control.send(*([publish("a", bytes(5000))] * 3))
    assert data.take() == pushed("a", bytes(5000)) * 3


def test_a_connection_that_is_gone_holds_nothing_of_an_unfinished_request(server: Server) -> None:
    line = server.control()
    line.send(subscribe("a")[:-2])
    decoder = weakref.ref(line.session.connection)
    line.session.connection_lost()
    gc.collect()
    assert decoder() is None


def test_what_waited_is_written_in_order_once_it_is_taken(server: Server) -> None:
    control, data = server.both("a")
    control.send(publish("a", b"0"))
    data.session.pause_writing()
    control.send(*(publish("a", b"%d" % n) for n in range(1, QUEUE)))
    assert data.take() == pushed("a", b"0")
    data.session.resume_writing()
    control.send(publish("a", b"last"))

    assert data.take() == b"".join(pushed("a", b"%d" % n) for n in range(1, QUEUE)) + pushed("a", b"last")


def test_a_burst_longer_than_the_queue_reaches_one_who_reads(server: Server) -> None:
    control, data = server.both("a")
    assert control.send(*([publish("a")] * (QUEUE * 5))) == OK * QUEUE * 5
    assert data.take() == pushed("a") * (QUEUE * 5)


def test_messages_do_not_gather_beyond_what_a_transport_should_hold() -> None:
    server = Server(limits={"high_water": 1000}, max_pub_size=10_000)
    control, data = server.both("a")
    control.send(*([publish("a", bytes(600))] * 4))
    assert [len(one) for one in data.written] == [len(pushed("a", bytes(600))) * 2] * 2


def test_no_beacon_goes_to_one_who_takes_nothing(server: Server) -> None:
    control, data = server.both(timeout=2)
    data.session.pause_writing()
    keep(server, control, 10)
    assert data.take() == b""
    data.session.resume_writing()
    keep(server, control, 2)
    assert data.take() in (BEACON, BEACON * 2)


def test_a_publisher_is_delivered_its_own_message_after_the_answer(server: Server) -> None:
    order: list[str] = []
    control, data = server.both("a")
    control.session._write = lambda _: order.append("answer")
    data.session.feed._write = lambda _: order.append("push")
    control.send(publish("a"))
    assert order == ["answer", "push"]


def test_a_thousand_data_sockets_are_reported_and_a_slow_one_among_them_holds_nobody_up(server: Server) -> None:
    datas = [server.both("news/#")[1] for _ in range(1000)]
    datas[500].session.pause_writing()
    publisher = server.control()
    for _ in range(QUEUE + 1):
        publisher.send(publish("news/1", b"m"))

    assert datas[500].closed
    detail = [data.take() for place, data in enumerate(datas) if place != 500]
    assert detail == [pushed("news/1", b"m") * (QUEUE + 1)] * 999


def test_two_servers_with_the_same_ids_say_the_same(server: Server) -> None:
    twin = Server(next(name for name in ("1", "psrtd-0.3") if Server(name).rules == server.rules))
    assert twin.control().token == server.control().token  # type: ignore[attr-defined]
    assert server.control().send(subscribe("x")) == OK
