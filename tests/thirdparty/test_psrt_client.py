"""The client `psrt` 0.0.19 from PyPI, written by others, against our server, as users run both.

Its own environment: `tox -e thirdparty`. What it does with an answer is its business and told here as it is; where
that is no good, a comment says so. What the server did is what counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from queue import Queue
from typing import Any

import pytest

from tests.thirdparty.conftest import Server

psrt = pytest.importorskip("psrt")

PATIENCE = 20
TIMEOUT = 1.5 * Server.timeout
"""Seconds: the client pings every half of it."""
KEY = bytes(range(32))
LIM = {"user": "lim", "password": "secret"}
USER = {"user": "user1", "password": "secret"}
pytestmark = [
    pytest.mark.filterwarnings("ignore:ssl.PROTOCOL_TLSv1_2 is deprecated:DeprecationWarning"),
    # It leaves sockets of datagrams and of refused logins to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]


@contextmanager
def connected(server: Server, **options: Any) -> Iterator[Any]:
    """A client with `received`, a queue of the messages it got."""
    need_data_socket = options.pop("need_data_socket", True)
    client = psrt.Client(path=server.path, timeout=TIMEOUT, **options)
    client.need_data_socket = need_data_socket
    client.received = Queue()
    client.on_message = lambda _client, _userdata, message: client.received.put((message.topic, message.payload))
    client.connect()
    with closing(_Leaving(client)):
        yield client


class _Leaving:
    def __init__(self, client: Any) -> None:
        self._client = client

    def close(self) -> None:
        """Say BYE; it must not take the other sockets of the test with it."""
        self._client.bye()
        assert not self._client.is_connected()


def received(client: Any, count: int = 1) -> list[tuple[str, bytes]]:
    return [client.received.get(timeout=PATIENCE) for _ in range(count)]


@pytest.mark.parametrize("account", [{}, USER], ids=["anonymous", "login"])
def test_messages_are_published_and_received(server: Server, account: dict[str, str]) -> None:
    # Its sockets have buffers of 1024 bytes unless told otherwise: large messages then take seconds.
    with connected(server, buf_size=1 << 18, **account) as client:
        client.subscribe("unit/#")
        client.publish("unit/tests/test1", "hello")
        client.publish("//unit//ü", b"\0\xff")
        client.publish("unit/empty", "")
        client.publish("unit/large", b"x" * 200_000)
        assert received(client, 4) == [
            ("unit/tests/test1", b"hello"),
            ("unit/ü", b"\0\xff"),
            ("unit/empty", b""),
            ("unit/large", b"x" * 200_000),
        ]


def test_many_topics_are_subscribed_to_and_unsubscribed_from_at_once(server: Server) -> None:
    with connected(server) as client:
        client.subscribe_bulk(["bulk/1", "bulk/2", "bulk/+/x"])
        client.unsubscribe_bulk(["bulk/1"])
        client.unsubscribe("bulk/2")
        for topic in ("bulk/1", "bulk/2", "bulk/1/x"):
            client.publish(topic, "m")
        assert received(client) == [("bulk/1/x", b"m")]
        assert client.received.empty()


@pytest.mark.parametrize(
    "account", [{"user": "user1", "password": "wrong"}, {"user": "nobody"}, {"user": "noacl", "password": "secret"}]
)
def test_a_login_that_is_refused_is_an_access_error(server: Server, account: dict[str, str]) -> None:
    with pytest.raises(psrt.AccessError), connected(server, **account):
        pass


def test_a_client_without_a_data_socket_publishes(server: Server) -> None:
    with connected(server) as receiver, connected(server, need_data_socket=False) as client:
        receiver.subscribe("nodata")
        client.subscribe("nodata")
        client.publish("nodata", "m")
        assert received(receiver) == [("nodata", b"m")]
        assert client.data_socket is None


def test_a_client_idle_for_longer_than_the_timeout_stays(server: Server) -> None:
    with connected(server) as client, connected(server) as other:
        client.subscribe("idle")
        time.sleep(1.25 * Server.timeout)
        assert client.is_connected()
        other.publish("idle", "still there")
        assert received(client) == [("idle", b"still there")]


def test_both_sockets_go_on_inside_tls(server: Server) -> None:
    with connected(server, tls=True, tls_ca=server.ca, **USER) as client:
        client.subscribe("tls")
        client.publish("tls", "m")
        assert received(client) == [("tls", b"m")]
        assert {one.version() for one in (client.control_socket, client.data_socket)} == {"TLSv1.2"}


def test_without_an_authority_it_does_not_trust_the_server(server: Server) -> None:
    with pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"), connected(server, tls=True):
        pass


@pytest.mark.parametrize(
    "options",
    [
        {},
        USER,
        {"user": "user1", "password": KEY[:16], "auth": "AUTH_KEY_AES_128_GCM"},
        {"user": "user1", "password": KEY, "auth": "AUTH_KEY_AES_256_GCM"},
        {"user": "user1", "password": KEY.hex(), "auth": "AUTH_KEY_AES_256_GCM"},
    ],
    ids=["anonymous", "login", "aes-128", "aes-256", "aes-256 in hex"],
)
@pytest.mark.parametrize("need_ack", [True, False])
def test_datagrams_are_published(server: Server, options: dict[str, Any], need_ack: bool) -> None:
    with connected(server) as client:
        client.subscribe("udp/#")
        publish(server, "udp/a", b"\0m", need_ack=need_ack, **options)
        assert received(client) == [("udp/a", b"\0m")]


def test_datagrams_that_are_refused_are_reported_as_such(server: Server) -> None:
    with pytest.raises(psrt.AccessError):
        publish(server, "t", "m", user="user1", password="wrong")
    with pytest.raises(psrt.AccessError):
        publish(server, "c", "m", **LIM)
    for topic in ("a/#", "a/b/c/d/e"):
        # It tells the first byte of the header, 238, for the code.
        with pytest.raises(RuntimeError, match="Server error: 238"):
            publish(server, topic, "m")


@pytest.mark.parametrize("auth", ["AUTH_KEY_AES_128_GCM", "AUTH_KEY_AES_256_GCM"])
def test_a_datagram_sealed_with_another_key_is_not_answered(server: Server, auth: str) -> None:
    # For AES-128 it must be given 16 bytes: with 32 it seals with AES-256 and says AES-128.
    key = KEY if auth == "AUTH_KEY_AES_128_GCM" else bytes(32)
    with pytest.raises(TimeoutError):
        publish(server, "t", "m", user="user1", password=key, auth=auth, timeout=0.2)


@pytest.mark.parametrize(("topic", "detail"), [("a/+", "0x0"), ("a/#", "0x0"), ("a/b/c/d/e", "0xff")])
def test_topics_that_cannot_be_published_to_end_its_session(server: Server, topic: str, detail: str) -> None:
    # The server closes on a wildcard, which is told as the answer 00. On a topic too deep it answers FF and stays, and
    # the client closes.
    with connected(server) as client:
        with pytest.raises(RuntimeError, match=f"server error .*: {detail}$"):
            client.publish(topic, "m")
        assert not client.is_connected()


def test_a_publication_that_is_denied_is_reported_and_the_session_goes_on(server: Server) -> None:
    with connected(server, **LIM) as client:
        client.subscribe("a/x")
        with pytest.raises(psrt.AccessError, match="pub access denied"):
            client.publish("c", "m")
        client.publish("a/x", "m")
        assert received(client) == [("a/x", b"m")]


def test_a_subscription_that_is_denied_is_reported(server: Server) -> None:
    # It closes then; the server does not.
    with connected(server, **LIM) as client:
        with pytest.raises(psrt.AccessError, match="sub access denied"):
            client.subscribe("#")
        assert not client.is_connected()


def test_a_client_in_a_cluster_takes_the_node_that_is_there(server: Server) -> None:
    client = psrt.Client(timeout=TIMEOUT)

    assert client.connect_cluster(["127.0.0.1:1", server.path], randomize=False) == server.path
    client.bye()


def publish(server: Server, topic: str, message: str | bytes, **options: Any) -> None:
    """Publish by a datagram; `auth` by the name of its constant."""
    options["auth"] = getattr(psrt, options.get("auth", "AUTH_LOGIN_PASS"))
    send: Callable[..., None] = psrt.pub_udp
    send(server.path, topic, message, **{"timeout": PATIENCE, **options})
