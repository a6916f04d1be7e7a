"""JSON bodies: members in any order and beside others, nulls, types that are wrong."""

from __future__ import annotations

import pytest

from tests.protocols.tmqp.talking import CODEC
from wireproof.protocols import LocalProtocolError
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import Json
from wireproof.protocols.json_bodies import is_of_form
from wireproof.protocols.tmqp.bodies import (
    BODIES,
    ChannelInformation,
    ChannelList,
    ChannelOptions,
    ClientEvent,
    QueueOptions,
)


def test_options_are_written_as_far_as_they_are_given() -> None:
    options = QueueOptions(Status=1, RequestAcknowledge=True, MessageDeliveryHandler=b"x")

    data = CODEC.encode(options)

    assert data == b'{"RequestAcknowledge":true,"Status":1,"MessageDeliveryHandler":"x"}'
    assert CODEC.decode(QueueOptions, data) == options


def test_what_a_server_reports_is_written_with_nulls() -> None:
    event = ClientEvent(Id=b"a", Name=b"", Type=None)

    assert CODEC.encode(event) == b'{"Id":"a","Name":"","Type":null,"Node":null}'
    assert CODEC.decode(ClientEvent, b' {"Node": null, "Other": [1], "Name": "", "Id": "a"} ') == event


def test_arrays() -> None:
    rows = ChannelList((ChannelInformation(Name=b"a", Queues=(1, 2)), ChannelInformation()))

    assert CODEC.decode(ChannelList, CODEC.encode(rows)) == rows
    assert CODEC.encode(ChannelList(())) == b"[]"
    with pytest.raises(MalformedFrameError, match=r"expected an array, got \{\}"):
        CODEC.decode(ChannelList, b"{}")


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        (b"", "expected JSON"),
        (b"{", "expected JSON"),
        (b"\xff", "expected JSON"),
        (b"[]", "expected an object"),
        (b'{"Status":"1"}', "Status: expected a whole number, got 1"),
        (b'{"Status":1.5}', "Status: expected a whole number"),
        (b'{"Status":true}', "Status: expected a whole number"),
        (b'{"UseMessageId":1}', "UseMessageId: expected true or false"),
        (b'{"MessageDeliveryHandler":[]}', "MessageDeliveryHandler: expected a text"),
        (b'{"AllowedQueues":[1,"2"]}', "AllowedQueues: expected an array of whole numbers"),
    ],
)
def test_what_is_no_body(data: bytes, detail: str) -> None:
    with pytest.raises(MalformedFrameError, match=detail):
        CODEC.decode(ChannelOptions, data)


@pytest.mark.parametrize(
    "options",
    [
        ChannelOptions(Status=b"1"),  # type: ignore[arg-type]
        ChannelOptions(UseMessageId=1),  # type: ignore[arg-type]
        ChannelOptions(AllowedQueues=[1]),  # type: ignore[arg-type]
        ChannelOptions(Authenticator="x"),  # type: ignore[arg-type]
        ChannelOptions(Authenticator=b"\xff"),
    ],
)
def test_what_a_body_cannot_hold(options: ChannelOptions) -> None:
    with pytest.raises(LocalProtocolError):
        CODEC.encode(options)


def test_none_fits_every_form() -> None:
    assert all(is_of_form(Json(form), None) for form in ("text", "number", "flag", "numbers"))  # type: ignore[arg-type]
    assert len({one.NAME for one in BODIES}) == len(BODIES)
