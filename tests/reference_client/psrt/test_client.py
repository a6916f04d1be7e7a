"""The PSRT SDK against the reference server: sessions, messages, rights, TLS, replication and datagrams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reference_client.peers import LOOPBACK, in_a_loop
from tests.reference_client.psrt.peers import connected, pair, served
from wireproof.reference_client.psrt import (
    AccessError,
    BadRequestError,
    Client,
    ClientError,
    ClosedError,
    DatagramOperation,
    DeadlineError,
    Encryption,
    Message,
    RefusedError,
    ResponseCode,
    TooLongError,
    TooWideError,
    UntrustedError,
)
from wireproof.reference_server.certificates import self_signed

USER = {"login": b"user1", "password": b"secret"}
LIM = {"login": b"lim", "password": b"secret"}
KEY = bytes(range(32))


@pytest.mark.parametrize("profile", ["1", "psrtd-0.3"])
@in_a_loop
async def test_messages_go_from_one_client_to_another(profile: str) -> None:
    async with (
        served(profile) as port,
        connected(port) as (sender, _),
        connected(port, **USER) as (receiver, received),
    ):
        assert await receiver.subscribe([b"a/+", "ü/#".encode()]) is ResponseCode.OK
        assert await sender.publish(b"//a/b", b"\0one\0") is ResponseCode.OK
        await sender.publish("ü/1".encode(), b"", priority=0)
        await sender.publish(b"nobody", b"lost")
        await receiver.unsubscribe(b"a/+")
        await sender.publish(b"a/b", b"late")
        await sender.publish("ü/2".encode(), b"x" * 100_000)
        await received.until(lambda: len(received.messages) == 3)

    assert received.messages == [
        Message(127, b"a/b", b"\0one\0"),
        Message(0, "ü/1".encode(), b""),
        Message(127, "ü/2".encode(), b"x" * 100_000),
    ]
    assert received.losses == []


@in_a_loop
async def test_what_the_client_may_not_do_is_distinguished_and_the_session_goes_on() -> None:
    async with served(max_topic_depth=3) as port, connected(port, **LIM) as (client, received):
        with pytest.raises(AccessError, match="SUBSCRIBE: access denied") as denied:
            await client.subscribe(b"#")
        with pytest.raises(RefusedError, match="PUBLISH: the server answered ERROR") as deep:
            await client.publish(b"a/b/c/d/e", b"m")
        with pytest.raises(AccessError):
            await client.publish_repl(b"a/x", b"m")

        assert not isinstance(deep.value, AccessError)
        assert [getattr(one.value.reply, "code", None) for one in (denied, deep)] == [0xFE, 0xFF]
        assert await client.publish(b"a/x", b"m") is ResponseCode.OK
        assert received.losses == []


@pytest.mark.parametrize(
    "given",
    [{"login": b"user1", "password": b"wrong"}, {"login": b"nobody"}, {"login": b"noacl", "password": b"secret"}],
)
@in_a_loop
async def test_a_login_that_is_refused_is_reported(given: dict[str, bytes]) -> None:
    async with served() as port:
        with pytest.raises(AccessError, match=f"the login {given['login']!r} was refused") as refused:
            await Client.connect(LOOPBACK, port, **given)

    assert refused.value.reply is None


@in_a_loop
async def test_replication_is_one_call() -> None:
    async with (
        served() as port,
        connected(port, login=b"repl", password=b"secret") as (client, _),
        connected(port) as (receiver, received),
    ):
        assert await client.publish_repl(b"q/z", b"m") is ResponseCode.NOT_REQUIRED
        await receiver.subscribe(b"q/#")
        assert await client.publish_repl(b"q/z", b"m", priority=9, timestamp=1) is ResponseCode.OK
        await received.until(lambda: bool(received.messages))

    assert received.messages == [Message(9, b"q/z", b"m")]


@in_a_loop
async def test_bye_ends_the_session_and_is_no_loss() -> None:
    async with served() as port, connected(port) as (client, received):
        assert await client.bye() is ResponseCode.OK
        with pytest.raises(ClosedError, match="BYE"):
            await client.publish(b"a", b"m")
        with pytest.raises(ClosedError, match="BYE"):
            await client.bye()

    assert received.losses == []


@in_a_loop
async def test_both_sockets_go_on_inside_tls(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    async with (
        served(tls=(certificate, key), allow_no_tls=False) as port,
        connected(port, tls="starttls", ca=str(certificate), **USER) as (client, received),
    ):
        await client.subscribe(b"t")
        await client.publish(b"t", b"secret")
        await received.until(lambda: bool(received.messages))
        with pytest.raises(ClosedError):
            await Client.connect(LOOPBACK, port)


@in_a_loop
async def test_a_server_that_cannot_be_trusted_is_not_talked_to(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path / "mine")
    other, _ = self_signed(tmp_path / "other")
    async with served(tls=(certificate, key)) as port:
        with pytest.raises(UntrustedError, match="certificate"):
            await Client.connect(LOOPBACK, port, tls="starttls", ca=str(other))
        with pytest.raises(UntrustedError, match="certificate"):
            await Client.connect(LOOPBACK, port, tls="starttls")


@in_a_loop
async def test_a_server_without_tls_closes() -> None:
    async with served() as port:
        with pytest.raises(ClientError, match=r"closed|broke off"):
            await Client.connect(LOOPBACK, port, tls="starttls")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"login": b"user1", "password": b"secret"},
        {"login": b"user1", "password": KEY, "encryption": Encryption.AES_128_GCM},
        {"login": b"user1", "password": KEY, "encryption": Encryption.AES_256_GCM},
        {"login": b"", "password": bytes(range(32, 64)), "encryption": Encryption.AES_256_GCM, "priority": 0},
    ],
)
@in_a_loop
async def test_datagrams_are_published_in_clear_and_sealed(given: dict[str, Any]) -> None:
    async with served() as port, connected(port) as (client, received):
        await client.subscribe(b"udp")
        assert await client.datagram(b"udp", b"asked", **given) is ResponseCode.OK
        assert await client.datagram(b"udp", b"\0", op=DatagramOperation.PUBLISH_NO_ACK, **given) is None
        await received.until(lambda: len(received.messages) == 2)

    priority = given.get("priority", 127)
    assert received.messages == [Message(priority, b"udp", b"asked"), Message(priority, b"udp", b"\0")]


@in_a_loop
async def test_what_becomes_of_a_datagram_is_reported() -> None:
    async with served() as port, connected(port) as (client, _):
        with pytest.raises(AccessError, match="DATAGRAM: access denied"):
            await client.datagram(b"t", b"m", login=b"user1", password=b"wrong")
        with pytest.raises(RefusedError, match="DATAGRAM: the server answered ERROR"):
            await client.datagram(b"a/#", b"m")
        with pytest.raises(TooLongError, match="at most 65507"):
            await client.datagram(b"t", bytes(70_000))
        with pytest.raises(BadRequestError, match="seal"):
            await client.datagram(b"t", b"m", password=b"short", encryption=Encryption.AES_256_GCM)


@in_a_loop
async def test_a_datagram_that_is_not_answered_is_reported() -> None:
    async with served() as port, connected(port, timeout=0.2) as (client, _):
        with pytest.raises(DeadlineError, match=r"no answer to SEALED in 0\.2 s"):
            await client.datagram(b"t", b"m", login=b"user1", password=bytes(32), encryption=Encryption.AES_256_GCM)


@in_a_loop
async def test_a_datagram_that_nobody_takes_is_reported() -> None:
    async with pair() as port, connected(port) as (client, _):
        with pytest.raises(ClosedError, match="did not arrive"):
            await client.datagram(b"t", b"m")


@pytest.mark.parametrize(
    ("topic", "message", "priority", "error"),
    [
        (b"a\0b", b"", 127, BadRequestError),
        ("a", b"", 127, BadRequestError),
        (b"a", None, 127, BadRequestError),
        (b"a", b"", 256, TooWideError),
        (b"a", b"", -1, BadRequestError),
    ],
)
@in_a_loop
async def test_what_no_request_can_carry_is_refused_before_a_byte_is_sent(
    topic: Any, message: Any, priority: int, error: type[ClientError]
) -> None:
    async with served() as port, connected(port) as (client, _):
        with pytest.raises(error, match="PUBLISH"):
            await client.publish(topic, message, priority=priority)
        with pytest.raises(BadRequestError, match="topics: expected bytes without 00"):
            await client.subscribe([b"a\0b"])
        assert await client.publish(b"a", b"m") is ResponseCode.OK


@pytest.mark.parametrize(
    "given", [{"profile": "2"}, {"variant": "wide"}, {"tls": "always"}, {"tls": "starttls", "ca": "/no/such.pem"}]
)
def test_what_cannot_be_is_refused_at_once(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Client.connect(LOOPBACK, 1, **given)
