"""The exchange of a record: what is written is read again, whole or with a word on what is missing."""

from __future__ import annotations

import random

import pytest

from wireproof.conformance.model.exchange import SHOWN_BYTES, SHOWN_OF_PLAY, event_of, written
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent

NOISE = random.Random(7).randbytes


def test_every_kind_of_event_is_read_again() -> None:
    words = {Kind.WAITED: b"0.5 s", Kind.MEASURED: b'{"memory": 1}'}
    bytes_of = {Kind.SENT: b"\x01\x02", Kind.RECEIVED: b"\xff"}
    trace = Trace(TraceEvent(at, "a", kind, {**words, **bytes_of}.get(kind, b"")) for at, kind in enumerate(Kind))
    trace.append(TraceEvent(99, "b", Kind.OPENED, link="data"))

    assert list(map(event_of, written(trace))) == trace


def test_long_padding_is_whole_and_shown_in_part() -> None:
    one = TraceEvent(1, "a", Kind.SENT, b"key" + bytes(1 << 22))
    (found,) = written(Trace([one]))

    assert (len(found["hex"]), found["text"]) == (2 * SHOWN_BYTES, f"{len(one.data)} bytes, {SHOWN_BYTES} shown")
    assert len(found["zlib"]) < 8192
    assert event_of(found) == one


def test_what_does_not_compress_is_kept_until_a_play_has_too_much() -> None:
    trace = Trace(TraceEvent(at, "a", Kind.SENT, NOISE(1 << 18)) for at in range(4))
    found = written(trace)

    assert ["zlib" in one for one in found] == [True, True, False, False]
    assert sum(len(one.get("zlib", "")) for one in found) <= SHOWN_OF_PLAY
    with pytest.raises(ValueError, match="262144 bytes, 4096 shown"):
        event_of(found[2])


def test_damaged_bytes_are_refused() -> None:
    (found,) = written(Trace([TraceEvent(1, "a", Kind.SENT, bytes(5000))]))

    with pytest.raises(ValueError, match="its `zlib` is damaged"):
        event_of({**found, "zlib": "AAAA"})
