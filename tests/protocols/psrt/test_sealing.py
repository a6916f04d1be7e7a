"""What is sealed: opened as it was, refused when anything of it was changed, by one error and no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protocols.psrt.talking import CODEC
from wireproof.fuzz.strategies import messages
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.psrt.enums import NONCE_SIZE, TAG_SIZE, Encryption
from wireproof.protocols.psrt.requests import Content
from wireproof.protocols.psrt.sealing import OpeningError, open_sealed, seal

KEY = bytes(range(32))
SEALED = st.sampled_from([Encryption.AES_128_GCM, Encryption.AES_256_GCM])
nonces = st.binary(min_size=NONCE_SIZE, max_size=NONCE_SIZE)
anything = st.binary(max_size=80)


@given(st.binary(max_size=40), st.binary(max_size=20), st.integers(0, 255), anything)
def test_only_one_error_leaves_whatever_is_opened(key: bytes, nonce: bytes, encryption: int, sealed: bytes) -> None:
    with pytest.raises(OpeningError):
        open_sealed(key=key, nonce=nonce, encryption=encryption, sealed=sealed)


@given(SEALED, nonces, anything, st.integers(0, 1 << 20))
def test_what_is_sealed_is_opened_and_one_bit_more_is_not(
    encryption: Encryption, nonce: bytes, data: bytes, which: int
) -> None:
    sealed = seal(key=KEY, nonce=nonce, encryption=encryption, of=data)
    changed = bytearray(sealed)
    changed[which // 8 % len(sealed)] ^= 1 << which % 8

    assert len(sealed) == len(data) + TAG_SIZE
    assert open_sealed(key=KEY, nonce=nonce, encryption=encryption, sealed=sealed) == data
    with pytest.raises(OpeningError):
        open_sealed(key=KEY, nonce=nonce, encryption=encryption, sealed=bytes(changed))


@given(messages(CODEC, Content))
def test_contents_are_read_as_they_were_written(content: Content) -> None:
    assert CODEC.decode_content(CODEC.encode(content)) == content


@given(anything)
def test_only_malformed_contents_are_refused(data: bytes) -> None:
    try:
        assert CODEC.encode(CODEC.decode_content(data)) == data
    except MalformedFrameError:
        assert b"\0" not in data[2:]
