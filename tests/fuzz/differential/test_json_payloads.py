"""A payload is the JSON value whose members it names, whatever their order and whatever stands beside them."""

from __future__ import annotations

import pytest

from wireproof.fuzz.differential.json_payloads import body_in
from wireproof.fuzz.live.context import FuzzContext

TMQP = FuzzContext("tmqp", "doc", "standard").symbols.codec


def test_order_and_unknown_members_mean_nothing() -> None:
    one = body_in(b'{"Name":"c","ActiveClients":2,"ClientLimit":0}', TMQP)
    other = body_in(b'{"Own":[1], "ClientLimit":0, "ActiveClients":2, "Name":"c"}', TMQP)

    assert one is not None
    assert one == other
    assert one.NAME == "CHANNEL_INFORMATION"


def test_rows_are_those_of_the_list_that_names_their_members() -> None:
    rows = body_in(b'[{"Channel":"c","Id":1,"Messages":3},{"Channel":"c","Id":2}]', TMQP)

    assert rows is not None
    assert rows.NAME == "QUEUE_LIST"


@pytest.mark.parametrize(
    "payload",
    [b"", b"text", b"12", b'{"Name":', b"[1,2]", b'{"Own":1}', b'{"Name":1,"ActiveClients":2}', b'{"\xff":1}'],
)
def test_other_payloads_are_bytes(payload: bytes) -> None:
    assert body_in(payload, TMQP) is None


def test_a_protocol_without_json_has_no_such_payloads() -> None:
    assert body_in(b'{"Name":"c"}', FuzzContext("throttr", "7.1.0", "uint16").symbols.codec) is None
