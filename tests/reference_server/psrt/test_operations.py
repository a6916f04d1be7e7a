"""What is asked on a control socket once logged in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reference_server.psrt.account_files import write
from tests.reference_server.psrt.simulated import (
    DENIED,
    ERROR,
    OK,
    PUB_SIZE,
    TIMEOUT,
    TOPIC_LENGTH,
    UNWANTED,
    Server,
    publish,
    pushed,
    replicate,
    sized,
    subscribe,
    unsubscribe,
)


def test_nop_is_answered(server: Server) -> None:
    assert server.control().send(b"\0\0\0") == OK * 3


def test_bye_is_answered_and_closes_both_sockets(server: Server) -> None:
    control, data = server.both("a")

    assert control.send(b"\xff\0") == OK
    assert control.closed
    assert data.closed
    assert not server.service.state.clients


@pytest.mark.parametrize("operation", [0x04, 0x10, 0x12, 0x21, 0x77, 0xFE])
def test_an_unknown_operation_closes_after_the_answers_before_it(server: Server, operation: int) -> None:
    control, data = server.both()
    assert control.send(b"\0\0", bytes([operation])) == OK * 2
    assert control.closed
    assert data.closed


@pytest.mark.parametrize(
    ("mask", "topic", "delivered"),
    [
        ("unit/tests/#", "unit/tests/test1", "unit/tests/test1"),
        ("//unit//a", "unit/a", "unit/a"),
        ("unit/a", "//unit//a", "unit/a"),
        ("a/", "a//", "a/"),
        ("/", "/", ""),
        ("+", "/", ""),
        ("#", "$x", "$x"),
        ("a/+", "a/", "a/"),
        ("a/#", "a/b/c", "a/b/c"),
        ("\u00e4 \u2603/+", "\u00e4 \u2603/b", "\u00e4 \u2603/b"),
    ],
)
def test_a_message_is_delivered_under_its_topic_made_alike(
    server: Server, mask: str, topic: str, delivered: str
) -> None:
    control, data = server.both(mask)

    assert control.send(publish(topic, b"hello\0there", 42)) == OK
    assert data.take() == pushed(delivered, b"hello\0there", 42)


def test_the_transcript_of_the_facts(server: Server) -> None:
    control, data = server.both()
    assert control.send(bytes.fromhex("02 06000000 756e69742f23")) == OK
    sent = bytes.fromhex("01 7f 16000000 756e69742f74657374732f7465737431 00 68656c6c6f")

    assert control.send(sent) == OK
    assert data.take() == sent


@pytest.mark.parametrize(("mask", "topic"), [("a/#", "a"), ("a/+", "a/b/c"), ("a", "A"), ("**", "a"), ("!a", "b")])
def test_what_is_not_asked_for_is_not_delivered(server: Server, mask: str, topic: str) -> None:
    control, data = server.both(mask)
    assert control.send(publish(topic)) == OK
    assert data.take() == b""


def test_overlapping_masks_deliver_one_copy_to_each_client(server: Server) -> None:
    control, data = server.both("a/b", "a/+", "#", "a/#")
    _, other = server.both("a/b")
    control.send(publish("a/b", b"", 0))

    assert data.take() == other.take() == pushed("a/b", b"", 0)


def test_messages_of_one_publisher_keep_their_order(server: Server) -> None:
    control, data = server.both("a")
    control.send(*(publish("a", b"%d" % n) for n in range(10)))

    assert data.take() == b"".join(pushed("a", b"%d" % n) for n in range(10))


def test_what_is_published_without_data_socket_is_dropped(server: Server) -> None:
    control = server.control()
    assert control.send(subscribe("a"), publish("a")) == OK * 2
    assert server.data(control).take() == b""


def test_a_list_of_topics_is_answered_once_and_empty_ones_are_skipped(server: Server) -> None:
    control, data = server.both()

    assert control.send(b"\x02", sized(b"a\0\0b\0")) == OK
    assert control.send(b"\x02", sized(b"")) == OK
    control.send(publish("a"), publish("b"))
    assert data.take() == pushed("a") + pushed("b")
    assert control.send(b"\x03", sized(b"\0a\0")) == OK
    assert control.send(unsubscribe("b", "never"), publish("a"), publish("b")) == OK * 3
    assert data.take() == b""


def test_a_list_is_applied_up_to_its_first_bad_item(server: Server) -> None:
    control, data = server.both()

    assert control.send(subscribe("a", "b/1/2/3/4", "c"), publish("a"), publish("c")) == ERROR + OK * 2
    assert data.take() == pushed("a")
    assert control.send(unsubscribe("x", "b/1/2/3/4", "a"), publish("a")) == ERROR + OK
    assert data.take() == pushed("a")


def test_a_topic_is_unsubscribed_by_its_text(server: Server) -> None:
    control, data = server.both("t", "t")

    assert control.send(unsubscribe("#"), publish("t")) == OK * 2
    assert data.take() == pushed("t")
    assert control.send(unsubscribe("//t"), publish("t")) == OK * 2
    assert data.take() == b""


def test_a_mask_that_means_the_same_stays(document: Server) -> None:
    control, data = document.both("a/#/z", "a/#")
    control.send(unsubscribe("a/#/z"), publish("a/b"))
    assert data.take() == pushed("a/b")


def test_a_mask_that_means_the_same_is_silenced_too(released: Server) -> None:
    control, data = released.both("a/#/z", "a/#")
    control.send(unsubscribe("a/#/z"), publish("a/b"))
    assert data.take() == b""


def test_depth_is_counted_in_what_was_made_alike(server: Server) -> None:
    control = server.control()

    assert control.send(subscribe("//a//b//c//d"), publish("/a/b/c/d"), unsubscribe("a/b/c/")) == OK * 3
    assert control.send(subscribe("a/b/c/d/"), publish("a/b/c/d/e"), unsubscribe("a/b/c/d/e")) == ERROR * 3
    assert control.send(subscribe("a/b/c/d/#")) == ERROR
    assert not control.closed


def test_too_deep_comes_before_a_mask_and_a_mask_before_rights(tmp_path: Path) -> None:
    server = Server(**write(tmp_path))
    assert server.control(b"lim", b"secret").send(publish("a/b/c/d/#"), b"\0") == ERROR + OK
    assert server.control(b"lim", b"secret").refuses(publish("z/#"))


@pytest.mark.parametrize(
    "operation",
    [
        publish("a+b"),
        publish("#"),
        publish("a/b#"),
        publish(""),
        publish(b"a\xff"),
        b"\x01\x7f" + sized(b""),
        b"\x01\x7f" + sized(b"no end"),
        b"\x02" + sized(b"a\0\xff"),
        b"\x03" + sized(b"\xff"),
        b"\x11" + sized(b"\xff"),
    ],
    ids=range(10),
)
def test_what_is_malformed_closes_without_a_byte(server: Server, operation: bytes) -> None:
    assert server.control().refuses(operation)


def heads(size: int) -> list[bytes]:
    announced = size.to_bytes(4, "little")
    return [b"\x02" + announced, b"\x03" + announced, b"\x11" + announced]


def test_one_byte_beyond_a_limit_is_refused_by_its_length(server: Server) -> None:
    for head in (*heads(TOPIC_LENGTH + 1), b"\x01\x7f" + (PUB_SIZE + 1).to_bytes(4, "little")):
        assert server.control().refuses(head)
    assert server.control().refuses(b"\x02\xff\xff\xff\xff")


def test_a_frame_as_long_as_the_limit_is_taken(server: Server) -> None:
    control = server.control()
    assert control.send(subscribe("x" * TOPIC_LENGTH), unsubscribe("x" * TOPIC_LENGTH)) == OK * 2
    assert control.send(replicate("x" * TOPIC_LENGTH)) == UNWANTED
    assert control.send(publish("t", bytes(PUB_SIZE - 2))) == OK


def test_topics_beyond_the_limit_of_one_client_are_an_error() -> None:
    server = Server(max_topics=2)
    control = server.control()
    assert control.send(subscribe("a", "b", "a")) == OK
    assert control.send(subscribe("c"), unsubscribe("a"), subscribe("c")) == ERROR + OK + OK


def test_masks_beyond_the_limit_of_one_client_are_an_error() -> None:
    server = Server(max_masks=2)
    control = server.control()
    assert control.send(subscribe("a/+", "#", "a", "a/+"), subscribe("b/#")) == OK + ERROR
    assert control.send(unsubscribe("#"), subscribe("b/#"), subscribe("c/+"), subscribe("c")) == OK + OK + ERROR + OK
    assert server.control().send(subscribe("c/+")) == OK


@pytest.fixture(name="lim")
def _lim(tmp_path: Path) -> Any:
    return Server(**write(tmp_path)).control(b"lim", b"secret")


@pytest.mark.parametrize(
    ("mask", "answer"),
    [
        ("a/x", OK),
        ("a/x/y", DENIED),
        ("a", DENIED),
        ("a/", OK),
        ("/a/x", OK),
        ("a//x", OK),
        ("a/+", OK),
        ("a/#", DENIED),
        ("#", DENIED),
        ("+/x", DENIED),
        ("b", DENIED),
        ("b/#", OK),
        ("m/q/r", OK),
    ],
)
def test_a_subscription_is_granted_as_a_set_of_topics(lim: Any, mask: str, answer: bytes) -> None:
    assert lim.send(subscribe(mask)) == answer
    assert lim.send(unsubscribe("z", mask), b"\0") == OK * 2


@pytest.mark.parametrize(("topic", "answer"), [("a/x", OK), ("a/x/y", DENIED), ("/a/x", OK), ("b", DENIED)])
def test_publishing_is_granted_by_the_topic_made_alike(lim: Any, topic: str, answer: bytes) -> None:
    assert lim.send(publish(topic), b"\0") == answer + OK


def test_a_list_stops_at_what_is_denied(tmp_path: Path) -> None:
    server = Server(**write(tmp_path))
    control = server.control(b"lim", b"secret")
    data = server.data(control)

    assert control.send(subscribe("a/1", "c", "a/2"), publish("a/1"), publish("a/2")) == DENIED + OK * 2
    assert data.take() == pushed("a/1")


def test_one_without_rights_may_be_there(tmp_path: Path) -> None:
    control = Server(**write(tmp_path)).control(b"none", b"secret")
    assert control.send(b"\0", publish("a"), subscribe("a"), unsubscribe("a")) == OK + DENIED * 2 + OK
    assert control.send(replicate("a")) == DENIED


def test_a_silent_control_socket_is_closed_with_its_data_socket(server: Server) -> None:
    control, data = server.both("a")
    server.wait(TIMEOUT - 0.001)
    assert not control.closed
    server.wait(0.001)
    assert control.closed
    assert data.closed
    assert control.take() + data.take() == b""


def test_every_operation_gives_another_wait(server: Server) -> None:
    control = server.control()
    for _ in range(5):
        server.wait(TIMEOUT * 0.9)
        assert control.send(b"\0") == OK
    server.wait(TIMEOUT)
    assert control.closed


def test_an_operation_has_the_timeout_for_itself(document: Server) -> None:
    control = document.control()
    document.wait(2.5)
    control.send(publish("a", b"m")[:1])
    document.wait(2.9)
    assert control.send(publish("a", b"m")[1:]) == OK
    control.send(b"\x01")
    document.wait(TIMEOUT)
    assert control.closed


def test_an_operation_that_trickles_is_not_waited_for_longer(server: Server) -> None:
    control = server.control()
    for byte in publish("a", b"m")[:4]:
        control.send(bytes([byte]))
        server.wait(TIMEOUT / 4)
    assert control.closed


def test_the_wait_counts_for_the_operation_in_the_release(released: Server) -> None:
    control = released.control()
    released.wait(2.5)
    control.send(publish("a", b"m")[:1])
    released.wait(0.5)
    assert control.closed


@pytest.mark.parametrize("how", ["eof_received", "connection_lost"])
def test_whatever_ends_the_control_socket_ends_token_and_subscriptions(server: Server, how: str) -> None:
    control, data = server.both("a")
    getattr(control.session, how)()

    assert data.closed
    assert control.closed is (how == "eof_received")
    assert server.service.state.subscriptions.match("a") == []
    late = server.line()
    assert late.send(b"\xee\xab\0", control.token, b"\5")[4:] == ERROR  # type: ignore[attr-defined]


def test_one_who_takes_no_answers_is_not_worked_for(server: Server) -> None:
    control, data = server.both("a")
    control.session.pause_writing()
    assert control.send(publish("a"), b"\0") == b""
    assert data.take() == b""
    control.session.resume_writing()
    assert control.take() == OK * 2
    assert data.take() == pushed("a")


def test_what_was_asked_before_the_end_is_answered_once_answers_are_taken(server: Server) -> None:
    control = server.control()
    control.session.pause_writing()
    control.send(b"\0\0")
    control.session.eof_received()
    assert not control.closed
    control.session.resume_writing()
    assert control.take() == OK * 2
    assert control.closed


def test_a_server_that_is_closed_leaves_no_timer(server: Server) -> None:
    server.both("a")
    server.line()
    server.service.close()
    assert server.clock.next_ns is None


def test_what_is_asked_and_answered_is_traced_without_passwords(tmp_path: Path) -> None:
    server = Server(**write(tmp_path))
    server.control(b"user1", b"secret").send(subscribe("a"), b"\xff")
    server.line().send(b"\xee\xaa\0", sized(b"user1\0wrong"))

    detail = "\n".join(server.traced)
    assert "1 > Greeting(mode=0)" in detail
    assert "1 > Subscribe(topics=b'a')\n1 < Response(code=<ResponseCode.OK: 1>)" in detail
    assert "2 < nothing: unknown login, wrong password or no rights" in detail
    assert "secret" not in detail
    assert "wrong'" not in detail
