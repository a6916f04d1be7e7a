"""The bytes that the facts name, as written and as read."""

from __future__ import annotations

import pytest

from tests.protocols.psrt.talking import CODEC, TOKEN
from wireproof.protocols import LocalProtocolError, Message
from wireproof.protocols.psrt import PROFILES, PROTOCOL, Encryption, seal
from wireproof.protocols.psrt.enums import Mode
from wireproof.protocols.psrt.replies import (
    Beacon,
    DatagramReply,
    DataGreetingReply,
    GreetingReply,
    PushedMessage,
    Response,
    Token,
)
from wireproof.protocols.psrt.requests import (
    Attach,
    Bye,
    Content,
    Datagram,
    DataGreeting,
    Greeting,
    Login,
    Nop,
    Publish,
    PublishRepl,
    ReplData,
    Sealed,
    Subscribe,
    Unsubscribe,
)
from wireproof.protocols.psrt.sealing import OpeningError, open_sealed

KEY, NONCE = bytes(range(32)), bytes(range(0x64, 0x70))
CONTENT = Content(1, 0x7F, b"t", b"m")
EXAMPLES: list[tuple[Message, str]] = [
    (Greeting(Mode.PLAIN), "ee aa 00"),
    (Greeting(Mode.STARTTLS), "ee aa 01"),
    (GreetingReply(1), "ee aa 01 00"),
    (Login(b"", b""), "01 00 00 00 00"),
    (Login(b"user1", b"secret"), "0c 00 00 00 75 73 65 72 31 00 73 65 63 72 65 74"),
    (Token(TOKEN), TOKEN.hex()),
    (Nop(), "00"),
    (Bye(), "ff"),
    (Subscribe(b"unit/#"), "02 06 00 00 00 75 6e 69 74 2f 23"),
    (Subscribe(b"r/two\0r/+/x\0"), "02 0c 00 00 00 72 2f 74 77 6f 00 72 2f 2b 2f 78 00"),
    (Unsubscribe(b""), "03 00 00 00 00"),
    (Publish(0x7F, b"a", b"\0x"), "01 7f 04 00 00 00 61 00 00 78"),
    (PublishRepl(b"q/z"), "11 03 00 00 00 71 2f 7a"),
    (ReplData(0x7F, 1, b"m"), "7f 01 00 00 00 00 00 00 00 01 00 00 00 6d"),
    (Response(0xE0), "e0"),
    (DataGreeting(Mode.PLAIN), "ee ab 00"),
    (DataGreetingReply(1), "ee ab 01 00"),
    (Attach(TOKEN, 5), TOKEN.hex() + "05"),
    (
        PushedMessage(0x7F, b"unit/tests/test1", b"hello"),
        "01 7f 16 00 00 00 75 6e 69 74 2f 74 65 73 74 73 2f 74 65 73 74 31 00 68 65 6c 6c 6f",
    ),
    (Beacon(), "00"),
    (Datagram(1, 0, b"", b"", 1, 0x7F, b"t", b"m"), "ee aa 01 00 00 00 00 01 7f 74 00 6d"),
    (DatagramReply(1, 0xFE), "ee aa 01 00 fe"),
    (CONTENT, "01 7f 74 00 6d"),
]
SEALED = {
    Encryption.AES_256_GCM: "eeaa0100037573657231006465666768696a6b6c6d6e6f4964aa6614c92f4f81696feb6c45c1d6efdef20d71",
    Encryption.AES_128_GCM: "eeaa0100027573657231006465666768696a6b6c6d6e6f1b1d3aa5b675764fa2be8e0890f851c33c529071e0",
}


@pytest.mark.parametrize(("message", "data"), EXAMPLES, ids=lambda one: getattr(one, "NAME", None))
def test_an_example_is_written_and_read(message: Message, data: str) -> None:
    assert CODEC.encode(message).hex() == data.replace(" ", "")
    assert CODEC.decode(type(message), bytes.fromhex(data)) == message


@pytest.mark.parametrize("encryption", SEALED)
def test_the_sealed_vectors_of_the_facts(encryption: Encryption) -> None:
    sealed = seal(key=KEY, nonce=NONCE, encryption=encryption, of=CODEC.encode(CONTENT))
    data = CODEC.encode(Sealed(1, encryption, b"user1", NONCE, sealed))

    assert data.hex() == SEALED[encryption]
    read = CODEC.decode_datagram(data)
    assert isinstance(read, Sealed)
    opened = open_sealed(key=KEY, nonce=read.nonce, encryption=read.encryption, sealed=read.sealed)
    assert CODEC.decode_content(opened) == CONTENT


@pytest.mark.parametrize(
    ("changed", "value"),
    [("key", bytes(32)), ("nonce", bytes(12)), ("nonce", bytes(16)), ("encryption", 1), ("sealed", b"short")],
)
def test_what_is_not_sealed_so_is_not_opened(changed: str, value: object) -> None:
    sealed = seal(key=KEY, nonce=NONCE, encryption=3, of=b"text")
    given = {"key": KEY, "nonce": NONCE, "encryption": 3, "sealed": sealed, changed: value}

    with pytest.raises(OpeningError):
        open_sealed(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(("encryption", "key"), [(0, KEY), (1, KEY), (3, KEY[:16]), (2, KEY[:15])])
def test_sealing_needs_a_cipher_and_its_key(encryption: int, key: bytes) -> None:
    with pytest.raises(LocalProtocolError, match="expected encryption 02 or 03"):
        seal(key=key, nonce=NONCE, encryption=encryption, of=b"")


def test_both_profiles_have_the_same_bytes() -> None:
    first, second = (PROTOCOL.codec(profile, "standard") for profile in PROFILES.values())

    assert {name: first.layout(one).fields for name, one in first.profile.messages.items()} == {
        name: second.layout(one).fields for name, one in second.profile.messages.items()
    }
