"""The engine of the transport inside TLS: silent on the transport as it is, and loud where a line of it is wrong."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from wireproof.fuzz import transport_input
from wireproof.fuzz.known_targets import TARGETS
from wireproof.fuzz.seed_replay import replayed_seeds
from wireproof.reference_server.streams import SecurableProtocol, StreamProtocol
from wireproof.reference_server.tls import PIECE, ServerTls


@cache
def inside(name: str) -> list[bytes]:
    """Return seeds that are inside TLS."""
    return [one for one in transport_input.seeds(name) if one[1] & transport_input.TLS][:160]


TARGET = replace(TARGETS["transport"], seeds=inside)


@pytest.mark.parametrize("name", ["psrt", "tmqp"])
def test_the_transport_as_it_is_breaks_nothing_inside_tls(name: str) -> None:
    replayed = replayed_seeds(TARGET, name, 1, most=120)

    assert replayed.broken is None
    assert replayed.checked == 120


def test_a_protocol_without_tls_has_no_seeds_of_it() -> None:
    assert not [one for one in transport_input.seeds("namechan") if one[1] & transport_input.TLS]


def test_a_finding_says_that_it_is_inside_tls() -> None:
    described = transport_input.described("psrt", inside("psrt")[0])

    assert " inside TLS; " in described.steps[0]


def drops_the_first_bytes(protocol: Any, first: bytes) -> None:
    RIGHT_SECURE(protocol, b"")


def forgets_what_waits(tls: Any, data: bytes) -> None:
    if tls.is_established:
        RIGHT_SEND(tls, data)


def keeps_what_waited(tls: Any) -> None:
    with suppress(ssl.SSLWantReadError):
        tls._tls.do_handshake()
        tls.is_established = True
        for data in tls._waiting * 2:
            tls._tls.write(data)


def reads_one_record(tls: Any) -> bytes:
    try:
        return tls._tls.read(PIECE) if tls.is_established else b""
    except ssl.SSLWantReadError:
        return b""
    except ssl.SSLZeroReturnError:
        tls.has_ended = True
        return b""


def hides_the_end(tls: Any) -> bytes:
    data = RIGHT_READ(tls)
    tls.has_ended = False
    return data


def ends_at_once(protocol: Any) -> bool:
    StreamProtocol.eof_received(protocol)
    return False


def writes_in_clear(protocol: Any, data: bytes) -> None:
    protocol.transport.write(data)


RIGHT_SECURE, RIGHT_SEND, RIGHT_READ = SecurableProtocol._secure, ServerTls.send, ServerTls._read


@pytest.mark.parametrize(
    ("name", "owner", "method", "wrong"),
    [
        ("tmqp", SecurableProtocol, "_secure", drops_the_first_bytes),
        ("psrt", SecurableProtocol, "_secure", drops_the_first_bytes),
        ("psrt", ServerTls, "send", forgets_what_waits),
        ("psrt", ServerTls, "_handshake", keeps_what_waited),
        ("tmqp", ServerTls, "_read", reads_one_record),
        ("psrt", SecurableProtocol, "_send", writes_in_clear),
        ("psrt", SecurableProtocol, "eof_received", ends_at_once),
        ("psrt", ServerTls, "_read", hides_the_end),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_wrong_line_of_tls_is_found(
    name: str, owner: type, method: str, wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, wrong)

    replayed = replayed_seeds(TARGET, name, 1, most=160)

    assert replayed.broken is not None
