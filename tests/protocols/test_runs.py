"""A run of frames decoded straight into calls stops exactly where an ordinary decoder must look."""

from __future__ import annotations

import pytest

from wireproof.protocols.runs import DeclinedError
from wireproof.protocols.throttr import PROFILES, V710, V732, Codec
from wireproof.protocols.throttr.requests import ConnectionById, Get, Insert, Purge, Query, Set, Whoami

LIMIT = 1 << 20
COMBINATIONS = [(profile, width) for profile in PROFILES.values() for width in profile.variants]


def fields(*values: object) -> tuple[object, ...]:
    return values


def runs(codec: Codec, data: bytes, *, limit: int = LIMIT, stop_at: int | None = None) -> tuple[int, list[object], int]:
    """Run calls that return their fields; (where it stopped, results, frames counted)."""
    run = codec.run({request: fields for request in (Insert, Query, Set, Get, Purge)})
    counts, results = [0] * 32, list[object]()
    at = run(data, 0, len(data) if stop_at is None else stop_at, limit, counts, results)
    return at, results, sum(counts)


@pytest.mark.parametrize(("profile", "width"), COMBINATIONS, ids=lambda one: getattr(one, "name", one))
def test_calls_get_the_fields_in_wire_order(profile: object, width: str) -> None:
    codec = Codec.of(profile, width)  # type: ignore[arg-type]
    requests = [Insert(7, 4, 60, b"k"), Query(b"qq"), Set(4, 9, b"key", b"value"), Get(b""), Purge(b"p" * 255)]
    data = b"".join(codec.encode(request) for request in requests)

    stopped, results, counted = runs(codec, data)

    assert results == [(7, 4, 60, b"k"), (b"qq",), (4, 9, b"key", b"value"), (b"",), (b"p" * 255,)]
    assert (stopped, counted) == (len(data), 5)


def test_every_cut_leaves_the_frame_that_is_not_whole() -> None:
    codec = Codec.of(V732, "uint16")
    frames = [codec.encode(one) for one in (Set(4, 9, b"key", b"value"), Query(b"qq"), Insert(7, 4, 60, b"k"))]
    data = b"".join(frames)
    edges = [0, *(sum(map(len, frames[: n + 1])) for n in range(3))]

    stops = [runs(codec, data[:cut])[0] for cut in range(len(data) + 1)]

    assert stops == [max(edge for edge in edges if edge <= cut) for cut in range(len(data) + 1)]


@pytest.mark.parametrize("other", [b"\x18", b"\x00", b"\xff", b"\x0a", b"\x03"])
def test_a_frame_without_a_call_ends_the_run(other: bytes) -> None:
    codec = Codec.of(V710, "uint16")
    query = codec.encode(Query(b"k"))

    assert runs(codec, query * 2 + other + query) == (2 * len(query), [(b"k",)] * 2, 2)


def test_a_frame_beyond_the_limit_ends_the_run() -> None:
    codec = Codec.of(V732, "uint16")
    frame = codec.encode(Set(4, 9, b"k", bytes(100)))

    assert runs(codec, frame, limit=len(frame))[0] == len(frame)
    assert runs(codec, frame, limit=len(frame) - 1)[0] == 0
    assert runs(codec, frame * 3, limit=len(frame))[0] == 3 * len(frame)
    assert runs(codec, codec.encode(Get(b"k")) + frame * 3, limit=len(frame) - 1)[0] == 3


def test_no_frame_is_begun_at_or_after_the_end_of_the_stretch() -> None:
    codec = Codec.of(V710, "uint16")

    assert [runs(codec, b"\x02\x01k" * 3, stop_at=stop_at)[0] for stop_at in (0, 1, 3, 4, 9)] == [0, 3, 3, 6, 9]


def test_a_call_that_declines_leaves_its_frame() -> None:
    codec = Codec.of(V710, "uint16")

    def call(key: bytes) -> bytes:
        if key == b"no":
            raise DeclinedError
        return key

    results, counts = list[object](), [0] * 32
    data = b"".join(codec.encode(Query(key)) for key in (b"a", b"no", b"b"))

    assert codec.run({Query: call})(data, 0, len(data), LIMIT, counts, results) == 3
    assert (results, counts[2]) == ([b"a"], 1)


def test_without_calls_nothing_runs() -> None:
    codec = Codec.of(V710, "uint16")

    assert codec.run({})(codec.encode(Whoami()), 0, 1, LIMIT, [], []) == 0


def test_requests_without_fields_or_bodies_run_too() -> None:
    run = Codec.of(V732, "uint16").run({Whoami: fields, ConnectionById: fields})
    counts, results = [0] * 32, list[object]()

    assert run(b"\x18\x15" + bytes(16) + b"\x18", 0, 19, LIMIT, counts, results) == 19
    assert results == [(), (bytes(16),), ()]
