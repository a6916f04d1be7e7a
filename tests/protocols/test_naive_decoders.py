"""What the codec writes is what a second, naive decoder reads: lengths, widths and offsets."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.protocols.naive_decoders import psrt, throttr_reply, throttr_request
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.strategies import holding, messages, replies
from wireproof.protocols.throttr.replies import InfoReply

WIDTHS = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}
EXAMPLES = settings(max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck))
every_width = pytest.mark.parametrize(("variant", "n"), WIDTHS.items())


def plain(value: object) -> Any:
    """Return a message as dicts and lists."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    return [plain(one) for one in value] if isinstance(value, tuple) else value


@every_width
@given(data=st.data())
@EXAMPLES
def test_requests_of_throttr(variant: str, n: int, data: st.DataObject) -> None:
    codec = FuzzContext("throttr", "7.3.2", variant).symbols.codec
    for kind in codec.profile.replies:
        message = data.draw(messages(codec, kind))
        written = codec.encode(message)
        assert throttr_request(written, n) == (message.NAME, plain(message), len(written))


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
