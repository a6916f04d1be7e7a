"""What the codec writes is what a second, naive decoder reads: lengths, widths and offsets."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocols.naive_decoders import psrt, throttr_push, throttr_reply, throttr_request
from tests.protocols.naive_frames import tmqp
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.strategies import holding, messages, replies
from wireproof.protocols.fields import Absent, Constant
from wireproof.protocols.throttr.replies import InfoReply
from wireproof.protocols.tmqp.frames import Header
from wireproof.protocols.tmqp.requests import Hello

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


@every_width
@given(data=st.data())
@EXAMPLES
def test_replies_of_throttr(variant: str, n: int, data: st.DataObject) -> None:
    codec = FuzzContext("throttr", "7.3.2", variant).symbols.codec
    for kind in codec.profile.replies:
        if holding(codec, kind) is not None:
            continue
        message = data.draw(replies(codec, kind))
        written = codec.answers[kind][type(message)](message)
        name, fields, size = throttr_reply(written, n, kind.NAME)
        assert (fields, size) == (plain(message), len(written)), name


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
        found, fields, stop = tmqp(
            written, by_client=kind in requests, is_release=profile != "doc", is_first=kind is Hello
        )
        # a server's WELCOME and answers to operations are frames of type 10, told apart by their place alone
        assert found in (message.NAME, "OPERATION"), message.NAME
        fixed = {name: one.value for name, one in codec.layout(kind).fields if isinstance(one, Constant)}
        assert (fields, stop) == ({**plain(message), **fixed}, len(written)), message.NAME
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
    fields = throttr_reply(bytes.fromhex("01 07 00 04 3b 00".replace(" ", "")), 2, "QUERY")
    listed = bytes.fromhex(re.sub(r"\s", "", """01 0100000000000000 0100000000000000 0100000000000000
        02 01 04 4f5fbc4ae8fae918 0000 6530"""))  # fmt: skip

    assert fields == ("QUERY_REPLY", {"quota": 7, "ttl_type": 4, "ttl": 59}, 6)
    (fragment,) = throttr_reply(listed, 2, "LIST")[1]["fragments"]
    assert (fragment["fragment"], fragment["rows"][0]["key"], throttr_reply(listed, 2, "LIST")[2]) == (1, b"e0", 40)
