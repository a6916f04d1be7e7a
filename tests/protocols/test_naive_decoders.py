"""What the codec writes is what a second, naive decoder reads: lengths, widths and offsets."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from tests.protocols.naive_decoders import PERIODS, psrt, throttr_push, throttr_reply, throttr_request
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.strategies import holding, messages, replies
from wireproof.protocols import Message, Reply, Request
from wireproof.protocols.fields import U8, U32, U64, Absent, Blob, Constant, Raw
from wireproof.protocols.throttr import Codec as ThrottrCodec
from wireproof.protocols.throttr.profiles import SUCCESS, V710
from wireproof.protocols.throttr.replies import (
    ChannelsRow,
    ConnectionRow,
    GetReply,
    InfoReply,
    ListReply,
    StatReply,
    Subscriber,
    WhoamiReply,
)
from wireproof.protocols.tmqp.frames import Header
from wireproof.protocols.tmqp.requests import Hello
from wireproof.reference_server.tmqp.oracle.reader import frame as tmqp_frame

WIDTHS = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}
EXAMPLES = settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
every_width = pytest.mark.parametrize(("variant", "n"), WIDTHS.items())


def plain(value: object) -> Any:
    """Return a message as dicts and lists."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    return [plain(one) for one in value] if isinstance(value, tuple) else value


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
@every_width
@given(data=st.data())
@EXAMPLES
def test_requests_of_throttr(profile: str, variant: str, n: int, data: st.DataObject) -> None:
    codec = FuzzContext("throttr", profile, variant).symbols.codec
    for kind in codec.profile.replies:
        message = data.draw(messages(codec, kind))
        written = codec.encode(message)
        assert throttr_request(written, n, profile) == (message.NAME, plain(message), len(written))


def compare_reply(codec: ThrottrCodec, kind: type[Request], message: Reply) -> None:
    """Write a reply to a request and read it with the naive decoder. Raises `AssertionError`."""
    written = codec.answers[kind][type(message)](message)
    name, fields, size = throttr_reply(written, WIDTHS[codec.variant.name], kind.NAME, codec.profile.name)
    assert (name, size) == (message.NAME, len(written)), kind.NAME
    assert fields == present(codec, message), kind.NAME


def present(codec: ThrottrCodec, message: Any) -> Any:
    """Return a message as dicts and lists, without the fields that this profile does not have."""
    if isinstance(message, tuple):
        return [present(codec, one) for one in message]
    if not isinstance(message, Message):
        return message
    names = [name for name, form in codec.layout(type(message)).fields if not isinstance(form, Absent)]
    return {name: present(codec, getattr(message, name)) for name in names}


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
@every_width
@given(data=st.data())
@EXAMPLES
def test_replies_of_throttr(profile: str, variant: str, n: int, data: st.DataObject) -> None:
    codec = FuzzContext("throttr", profile, variant).symbols.codec
    for kind in codec.profile.replies:
        if holding(codec, kind) is None:
            compare_reply(codec, kind, data.draw(replies(codec, kind)))


WRONG_CODECS: dict[str, dict[str, Any]] = {
    "T1: a status byte before INFO": {"leads": {InfoReply: SUCCESS}},
    "T2: a status byte before LIST": {"leads": {ListReply: SUCCESS}},
    "T3: a status byte before WHOAMI": {"leads": {WhoamiReply: SUCCESS}},
    "T6: rows of 237 bytes": {"overrides": {(ConnectionRow, "type"): U8, (ConnectionRow, "kind"): U8}},
    "T7: rows of 25 bytes": {"overrides": {(ChannelsRow, "subscribed_connections"): U64}},
    "T9: rows of 28 bytes": {"overrides": {(Subscriber, "connection_id"): Raw(4)}},
    "the size of a value in one byte": {"overrides": {(GetReply, "value"): Blob(U8)}},
    "a port of four bytes": {"overrides": {(ConnectionRow, "port"): U32}},
    "two fields change places": {"orders": {StatReply: ("total_reads", *PERIODS[:2], "total_writes")}},
    "numbers with their high byte first": {"byte_order": ">"},
}
"""What is wrong with replies of 7.1.0 -> changes of the profile that make it so, in both directions of the codec."""


@pytest.mark.parametrize("changes", WRONG_CODECS.values(), ids=WRONG_CODECS)
def test_a_codec_of_replies_that_is_wrong_in_both_directions_is_found(changes: dict[str, Any]) -> None:
    codec = ThrottrCodec.of(V710.derive("7.1.0", **changes), "uint16")
    drawn = [st.tuples(st.just(kind), replies(codec, kind)) for kind in codec.profile.replies]

    def differs(pair: tuple[type[Request], Reply]) -> bool:
        try:
            compare_reply(codec, *pair)
        except AssertionError:
            return True
        return False

    find(st.one_of(drawn), differs, settings=settings(EXAMPLES, max_examples=2000, phases=[Phase.generate]))


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
@every_width
@given(data=st.data())
@EXAMPLES
def test_pushes_of_throttr(profile: str, variant: str, n: int, data: st.DataObject) -> None:
    codec = FuzzContext("throttr", profile, variant).symbols.codec
    for kind in codec.profile.pushes:
        message = data.draw(messages(codec, kind))
        written = codec.encode(message)
        assert throttr_push(written, n) == (message.NAME, plain(message), len(written))


def frame(codec: Any, kind: Any, source: Random, size: int) -> Any:
    """Return a frame with a payload of `size` bytes and any values in its other fields."""
    names = {name: source.randbytes(source.choice((0, 1, 7, 255))) for name in ("id", "source", "target")}
    rows = tuple(Header(b"n%d" % at, source.randbytes(9).hex().encode()) for at in range(source.randrange(3)))
    more = {
        "type": source.choice((0x20, 0x3E)),
        "ttl": source.choice((0, 16, 31)),
        "headers": rows,
        "payload": source.randbytes(size),
        "content_type": source.randrange(1 << 16),
        **names,
    }
    values: dict[str, Any] = {}
    for name, form in codec.layout(kind).fields:
        if not isinstance(form, Absent | Constant):
            values[name] = more[name] if name in more else source.randint(form.minimum, form.maximum)
    return kind(**values)


@pytest.mark.parametrize("size", [0, 1, 252, 253, 254, 255, 256, 65535, 65536])
@pytest.mark.parametrize("profile", ["doc", "twino-3.0.0"])
def test_frames_of_tmqp(profile: str, size: int) -> None:
    codec = FuzzContext("tmqp", profile, "standard").symbols.codec
    requests = {*codec.profile.replies}
    sent = {*codec.profile.pushes} | {reply for some in codec.profile.replies.values() for reply in some}
    checked = 0
    for kind in sorted(requests | sent, key=lambda one: one.__name__):
        if "payload" not in kind.__struct_fields__ or isinstance(dict(codec.layout(kind).fields)["payload"], Absent):
            continue
        message = frame(codec, kind, Random(f"{kind.NAME} {size}"), size)
        written = codec.encode(message)
        by_client, is_first = kind in requests, kind is Hello
        found, fields, stop = tmqp_frame(
            written, 0, by_client=by_client, is_release=profile != "doc", is_first=is_first
        )
        # a server's WELCOME and answers to operations are frames of type 10, told apart by their place alone
        assert found in (message.NAME, "OPERATION"), message.NAME
        fixed = {name: one.value for name, one in codec.layout(kind).fields if isinstance(one, Constant)}
        read = {name: plain(value) for name, value in fields.items()}
        assert (read, stop) == ({**plain(message), **fixed}, len(written)), message.NAME
        if fields["headers"]:
            assert written.removesuffix(fields["payload"]).endswith(b"\r\n"), "the last line is ended, too"
        checked += 1
    assert checked > 20


def test_the_sizes_that_the_facts_state() -> None:
    codec = FuzzContext("throttr", "7.3.2", "uint16").symbols.codec
    (info,) = [kind for kind in codec.profile.replies if kind.NAME == "INFO"]
    zeros = InfoReply(**{name: b"\0" * 16 if name == "version" else 0 for name in InfoReply.__struct_fields__})

    assert len(codec.answers[info][InfoReply](zeros)) == 433


@pytest.mark.parametrize("profile", ["1", "psrtd-0.3"])
@given(data=st.data())
@EXAMPLES
def test_messages_of_psrt(profile: str, data: st.DataObject) -> None:
    codec = FuzzContext("psrt", profile, "standard").symbols.codec
    kinds = {*codec.profile.replies, *codec.profile.pushes}
    kinds |= {reply for some in codec.profile.replies.values() for reply in some}
    for kind in sorted(kinds, key=lambda one: one.__name__):
        message = data.draw(messages(codec, kind))
        written = codec.encode(message)
        assert psrt(written, message.NAME) == (message.NAME, plain(message), len(written))


def test_the_facts_of_a_table_are_read_apart() -> None:
    query = throttr_reply(bytes.fromhex("01 07 00 04 3b 00".replace(" ", "")), 2, "QUERY", "7.3.2")
    listed = bytes.fromhex(re.sub(r"\s", "", """01 0100000000000000 0100000000000000 0100000000000000
        02 01 04 4f5fbc4ae8fae918 0000 6530"""))  # fmt: skip

    assert query == ("QUERY_REPLY", {"quota": 7, "ttl_type": 4, "ttl": 59}, 6)
    for data, profile in ((listed, "7.3.2"), (listed[1:], "7.1.0")):
        _, fields, size = throttr_reply(data, 2, "LIST", profile)
        (fragment,) = fields["fragments"]
        assert (fragment["fragment"], fragment["rows"][0]["key"], size) == (1, b"e0", len(data))
