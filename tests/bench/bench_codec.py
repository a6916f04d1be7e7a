"""Speed of the codec beside its peers, as ratios of one run: `python -m tests.bench.bench_codec`.

A mixed stream of eight request types (7.1.0, uint16, keys of 8 to 32 bytes) is decoded into message objects and
encoded from them. CPU time, medians of interleaved rounds: a slow moment of the machine hits all alike.
Exit code 1 when a target ratio is missed.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from random import Random

from tests.bench.codec_peers import HandDecoder, hand_encode
from tests.bench.codec_peers_libraries import construct_peer, kaitai_peer, scapy_peer
from wireproof.protocols import NEED_DATA
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import V710, ClientConnection, Codec, ServerConnection
from wireproof.protocols.throttr.requests import Get, Insert, Publish, Purge, Query, Set, Stat, Update

Run = Callable[[], object]
CHUNK = 64 * 1024
FRAMES = 40_000
SAMPLE = 800
"""What slow peers are given of it; one sample holds all eight types."""
ROUNDS = 9
TARGETS = {"hand-written": 0.9, "construct": 20.0, "construct compiled": 0.0, "kaitaistruct": 4.0, "scapy": 50.0}
CODEC = Codec.of(V710, "uint16")


def mixed_requests(count: int) -> list[Request]:
    """Return the same `count` requests each time, an equal share of each type."""
    random = Random(7)
    requests: list[Request] = []
    for index in range(count):
        key, body = random.randbytes(random.randint(8, 32)), random.randbytes(random.randint(0, 32))
        small, byte = random.randrange(1 << 16), random.randrange(3)
        match index % 8:
            case 0:
                requests.append(Insert(small, 4, small, key))
            case 1:
                requests.append(Query(key))
            case 2:
                requests.append(Update(byte % 2, byte, small, key))
            case 3:
                requests.append(Purge(key))
            case 4:
                requests.append(Set(4, small, key, body))
            case 5:
                requests.append(Get(key))
            case 6:
                requests.append(Stat(key))
            case _:
                requests.append(Publish(key, body))
    random.shuffle(requests)
    return requests


def chunks(stream: bytes) -> list[bytes]:
    """Return the stream as a socket would give it."""
    return [stream[at : at + CHUNK] for at in range(0, len(stream), CHUNK)]


def batches(stream: bytes) -> Run:
    """Decode through the connection, a list at a time."""
    parts = chunks(stream)

    def run() -> list[Request]:
        connection, found = ServerConnection(CODEC), []
        for part in parts:
            connection.receive_data(part)
            found += connection.next_requests()
        return found

    return run


def events(stream: bytes) -> Run:
    """Decode through the connection, one event at a time."""
    parts = chunks(stream)

    def run() -> list[object]:
        connection, found = ServerConnection(CODEC), []
        for part in parts:
            connection.receive_data(part)
            while (event := connection.next_event()) is not NEED_DATA:
                found.append(event)
        return found

    return run


def by_hand(stream: bytes) -> Run:
    """Decode with the hand-written decoder."""
    parts = chunks(stream)

    def run() -> list[Request]:
        decoder, found = HandDecoder(), []
        for part in parts:
            found += decoder.feed(part)
        return found

    return run


def sending(requests: list[Request]) -> Run:
    """Encode through the client's connection, one request at a time."""

    def run() -> bytes:
        send = ClientConnection(CODEC).send
        return b"".join([send(request) for request in requests])

    return run


def sending_all(requests: list[Request]) -> Run:
    """Encode through the client's connection, a list at a time."""
    return lambda: ClientConnection(CODEC).send_all(requests)


def measured(runs: dict[str, tuple[Run, int]]) -> dict[str, float]:
    """Return name -> median seconds a frame, rounds interleaved; each run is (function, frames it handles)."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, (run, frames) in runs.items():
            gc.collect()
            started = time.process_time()
            run()
            times[name].append((time.process_time() - started) / frames)
    return {name: statistics.median(each) for name, each in times.items()}


def peers(stream: bytes, requests: list[Request]) -> dict[str, tuple[Run, Run]]:
    """Return name -> (decode, encode) of the libraries that are installed."""
    found = {}
    for name, make in {
        "construct": lambda: construct_peer(stream, requests, compiled=False),
        "construct compiled": lambda: construct_peer(stream, requests, compiled=True),
        "kaitaistruct": lambda: kaitai_peer(stream, requests),
        "scapy": lambda: scapy_peer(stream, requests),
    }.items():
        try:
            found[name] = make()
        except ImportError as missing:
            print(f"skipped {name}: {missing}")
    return found


def check(runs: dict[str, tuple[Run, int]], expected: list[Request] | bytes) -> None:
    """Refuse to compare what does not do the same work."""
    for name, (run, frames) in runs.items():
        got = run()
        if frames == FRAMES:
            assert got == expected, name
        elif isinstance(expected, bytes):
            assert got == expected[: len(got)], name  # type: ignore[arg-type]
        else:
            assert len(got) == SAMPLE, name  # type: ignore[arg-type]
            for one, other in zip(got, expected, strict=False):  # type: ignore[call-overload]
                prefix = "f_" if name == "scapy" else ""
                read = {field: getattr(one, prefix + field) for field in other.__struct_fields__}
                assert type(other)(**read) == other, name


def report(title: str, seconds: dict[str, float], ours: tuple[str, ...], frame: float) -> bool:
    """Print one table; True when our first way reaches every target."""
    print(f"\n{title:<22}{'ns/frame':>10}{'frames/s':>13}{'MB/s':>8}" + "".join(f"{'x ' + way:>18}" for way in ours))
    reached = True
    for name, each in seconds.items():
        ratios = [each / seconds[way] for way in ours]
        detail = "".join(f"{ratio:>18.2f}" for ratio in ratios)
        target = TARGETS.get(name, 0)
        verdict = "" if not target else f"  target {target:g}: {'reached' if ratios[0] >= target else 'MISSED'}"
        reached = reached and (not target or ratios[0] >= target)
        print(f"{name:<22}{each * 1e9:>10.0f}{1 / each:>13,.0f}{frame / each / 1e6:>8.1f}{detail}{verdict}")
    return reached


def main() -> int:
    """Measure, print, tell whether the targets are reached."""
    requests = mixed_requests(FRAMES)
    stream, sample = hand_encode(requests), requests[:SAMPLE]
    libraries = peers(hand_encode(sample), sample)
    print(f"{FRAMES} frames, {len(stream) / FRAMES:.1f} bytes on average, {ROUNDS} interleaved rounds, medians")
    decoding = {
        "next_requests": (batches(stream), FRAMES),
        "next_event": (events(stream), FRAMES),
        "hand-written": (by_hand(stream), FRAMES),
        **{name: (decode, SAMPLE) for name, (decode, _) in libraries.items()},
    }
    encoding = {
        "encode_requests": (lambda: CODEC.encode_requests(requests), FRAMES),
        "send_all": (sending_all(requests), FRAMES),
        "send": (sending(requests), FRAMES),
        "hand-written": (lambda: hand_encode(requests), FRAMES),
        **{name: (encode, SAMPLE) for name, (_, encode) in libraries.items()},
    }
    check(decoding, requests)
    check(encoding, stream)
    frame = len(stream) / FRAMES
    reached = report("decode", measured(decoding), ("next_requests", "next_event"), frame)
    reached = report("encode", measured(encoding), ("encode_requests", "send_all", "send"), frame) and reached
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
