"""Bytes with some bits changed: each bit that is asked for, and no other."""

from __future__ import annotations

import pytest

from wireproof.protocols.changes import xor
from wireproof.protocols.errors import LocalProtocolError


def test_the_bits_that_are_set_are_changed_and_no_others() -> None:
    assert xor(of=b"\x00\xff\x5a", by=b"\x01\x80\x00") == b"\x01\x7f\x5a"


def test_bytes_of_another_size_are_an_error() -> None:
    with pytest.raises(LocalProtocolError, match="expected 2 bytes in `by`, got 1"):
        xor(of=b"ab", by=b"a")
