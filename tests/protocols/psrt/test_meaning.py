"""What says the same in other bytes, and what the first bytes of a stream tell."""

from __future__ import annotations

import pytest

from wireproof.protocols import Message
from wireproof.protocols.psrt import PROTOCOL
from wireproof.protocols.psrt.codec import Codec
from wireproof.protocols.psrt.enums import DatagramOperation, Encryption
from wireproof.protocols.psrt.meaning import canonical, link_of_stream, parts, unsealed
from wireproof.protocols.psrt.profiles import V1
from wireproof.protocols.psrt.requests import Attach, Content, Datagram, Nop, Publish, Sealed, Subscribe, Unsubscribe
from wireproof.protocols.psrt.sealing import seal

KEY, NONCE = bytes(range(32)), bytes(12)
ASKED = Datagram(1, Encryption.AES_128_GCM, b"user1", KEY, DatagramOperation.PUBLISH, 0x7F, b"t", b"m")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Subscribe(b"a\0b\0"), Subscribe(b"a\0b"), True),
        (Unsubscribe(b"\0a\0\0b"), Unsubscribe(b"a\0b"), True),
        (Subscribe(b"b\0a"), Subscribe(b"a\0b"), False),
        (Subscribe(b"a"), Unsubscribe(b"a"), False),
        (Publish(1, b"a", b"\0"), Publish(1, b"a", b""), False),
    ],
)
def test_topics_are_the_same_however_they_are_separated(one: Message, other: Message, same: bool) -> None:
    assert (canonical(one) == canonical(other)) is same


@pytest.mark.parametrize(
    ("data", "link"),
    [(b"", None), (b"\xee", None), (b"\xee\xaa", ""), (b"\xee\xab", "data"), (b"\xef", ""), (b"\xee\xac", "")],
)
def test_the_header_names_the_socket(data: bytes, link: str | None) -> None:
    assert link_of_stream(data) == link


def test_what_is_sealed_is_opened_with_the_key_of_the_datagram_asked_for_and_with_no_other() -> None:
    inside = Codec.of(V1, "standard").encode(Content(ASKED.op, ASKED.priority, ASKED.topic, ASKED.message))
    came = Sealed(1, 2, b"user1", NONCE, seal(key=KEY, nonce=NONCE, encryption=2, of=inside))

    assert unsealed(came, ASKED) == ASKED
    assert unsealed(came, Nop()) is came
    other = Datagram(1, 2, b"user1", bytes(32), ASKED.op, ASKED.priority, b"t", b"m")
    assert unsealed(came, other) is came


def test_every_request_belongs_to_one_link() -> None:
    assert [PROTOCOL.link_for(one) for one in (Publish, Attach, Sealed)] == ["", "data", "datagram"]
    assert sum(len(one.requests) for one in PROTOCOL.links.values()) == len(V1.replies)


def test_a_list_of_topics_is_a_request_for_each() -> None:
    assert parts(Subscribe(b"a\0\0b")) == [Subscribe(b"a"), Subscribe(b"b")]
    assert parts(Nop()) == (Nop(),)
