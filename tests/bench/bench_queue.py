"""The TMQP server's speed as ratios in one run: messages through a queue, beside two bare uvloop relays of frames.

`python -m tests.bench.bench_queue [--seconds 8]`. A producer pushes messages, a consumer acknowledges each, and the
acknowledgements travel back to the producer; then come the next ones: one at a time, and 64. Both relays send what one
side sends to the other, as it is. The relay of bytes never looks at them: 64 frames that come as one piece cost it as
much as one, and the server 64 frames. The relay of frames finds the end of each frame, and nothing else of it, as
whatever handles messages must: for 64 it is the fairer peer. It still has no queue, no receiver to choose, no
acknowledgement to wait for, and writes no byte of its own. For 64 a line says, too, how many times more the server does
than one at a time. Frames are made before the clock starts, and the servers run on another core than this process where
there are two. Rounds are interleaved and the best of each server is shown, because a busy machine only ever makes one
slower. No process is left behind.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.bench.bench_server import announced
from wireproof.protocols.tmqp import DOC, Codec, Header, QueueStatus
from wireproof.protocols.tmqp.bodies import QueueOptions
from wireproof.protocols.tmqp.replies import Confirmation, ProtocolReply, QueueMessage, Response, Welcome
from wireproof.protocols.tmqp.requests import Acknowledge, CreateQueue, Hello, Join, Produce, Protocol

CODEC = Codec.of(DOC, "standard")
ROUNDS = 8
SHAPES = ((1, 16), (1, 1024), (64, 16), (64, 1024))
"""Messages in a turn, bytes of a payload."""
NAMES = b"prod", b"cons"
RELAY = """
import asyncio, sys, uvloop
waiting = []
class Bytes(asyncio.Protocol):
    rest = b""
    def connection_made(self, transport):
        self.transport = transport
        waiting.append(self)
        if len(waiting) == 2:
            one, other = waiting
            one.other, other.other = other.transport, one.transport
            waiting.clear()
    def data_received(self, data): self.other.write(data)
class Frames(Bytes):
    def data_received(self, data):
        data, at, frames = self.rest + data, 0, []
        end = len(data)
        while end - at >= 8:
            size, stop = data[at + 7], at + 8
            if size > 252:
                stop += 2 << size - 253
                if stop > end: break
                size = int.from_bytes(data[at + 8 : stop], "little")
            stop += data[at + 2] + data[at + 3] + data[at + 4]
            if data[at + 1] & 0x20:
                if stop + 2 > end: break
                stop += 2 + int.from_bytes(data[stop : stop + 2], "little")
            stop += size
            if stop > end: break
            frames.append(data[at:stop])
            at = stop
        self.rest = data[at:]
        self.other.write(b"".join(frames))
async def main():
    kind = {"bytes": Bytes, "frames": Frames}[sys.argv[1]]
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0)
    print("listening tcp://127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
uvloop.run(main())
"""
RELAYS = ("bytes", "frames")


@dataclass(frozen=True)
class Load:
    """One turn: what each side sends, and how many bytes come of it."""

    pushed: bytes
    delivered: int
    acknowledged: bytes
    confirmed: int


def load(depth: int, payload: bytes, *, relayed: bool) -> Load:
    """Return a turn of `depth` messages; `relayed`: what comes is what was sent."""
    ids = [b"%032d" % number for number in range(depth)]
    at = {"target": b"room", "content_type": 7}
    pushed = b"".join(CODEC.encode(Produce(id=one, pending_ack=1, payload=payload, **at)) for one in ids)
    acknowledged = b"".join(CODEC.encode(Acknowledge(id=one, **at)) for one in ids)
    if relayed:
        return Load(pushed, len(pushed), acknowledged, len(acknowledged))
    messages = (QueueMessage(id=one, source=NAMES[0], payload=payload, **at) for one in ids)
    confirmations = (Confirmation(id=one, source=NAMES[1], **at) for one in ids)
    delivered, confirmed = (sum(len(CODEC.encode(one)) for one in some) for some in (messages, confirmations))
    return Load(pushed, delivered, acknowledged, confirmed)


@contextmanager
def connected(port: int, *, relayed: bool) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Connect producer and consumer; the latter joins the queue."""
    with ExitStack() as stack:
        ends = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=5)) for _ in NAMES]
        for end in ends:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not relayed:
            for name, end in zip(NAMES, ends, strict=True):
                hello = Hello(payload=b"CONNECT /\r\nClient-Id:" + name + b"\r\n")
                welcome = Welcome(id=bytes(32), target=name)
                ask(end, CODEC.encode(Protocol()) + CODEC.encode(hello), [ProtocolReply(), welcome])
            options = QueueOptions(
                Status=QueueStatus.PUSH, RequestAcknowledge=True, MessageDeliveryHandler=b"after-acknowledged"
            )
            queue = CreateQueue(
                id=b"q",
                pending_response=1,
                target=b"room",
                headers=(Header(b"Queue-Id", b"7"),),
                payload=CODEC.encode(options),
            )
            ask(ends[0], CODEC.encode(queue), [Response(id=b"q", target=NAMES[0])])
            join = Join(id=b"j", pending_response=1, target=b"room")
            ask(ends[1], CODEC.encode(join), [Response(id=b"j", target=NAMES[1])])
        yield ends[0], ends[1]


def ask(end: socket.socket, data: bytes, answers: list[Response | Welcome | ProtocolReply]) -> None:
    """Send and wait for as many bytes as the answers have."""
    end.sendall(data)
    take(end, sum(len(CODEC.encode(one)) for one in answers))


def take(end: socket.socket, size: int) -> None:
    """Read so many bytes; raises `TimeoutError` where they do not come."""
    while size > 0:
        data = end.recv(min(size, 1 << 20))
        if not data:
            raise SystemExit("the server closed the connection")
        size -= len(data)


def turns(ends: tuple[socket.socket, socket.socket], one: Load, seconds: float) -> float:
    """Return the turns a second in the best tenth of the turns of one round."""
    producer, consumer = ends
    times: list[float] = []
    until = time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        producer.sendall(one.pushed)
        take(consumer, one.delivered)
        consumer.sendall(one.acknowledged)
        take(producer, one.confirmed)
        times.append(time.perf_counter() - began)
    best = sorted(times)[: max(1, len(times) // 10)]
    return len(best) / sum(best)


def measure(seconds: float) -> dict[tuple[str, int, int], float]:
    """Return (server, messages in a turn, bytes of a payload) -> messages a second."""
    cores = sorted(os.sched_getaffinity(0))
    theirs, ours = ({cores[0]}, {cores[-1]}) if len(cores) > 1 else (set(cores), set(cores))
    os.sched_setaffinity(0, ours)
    best: dict[tuple[str, int, int], float] = {}
    server = [sys.executable, "-m", "wireproof.reference_server", "tmqp", "--loop", "uvloop", "--port", "0"]
    with ExitStack() as stack:
        ends = {
            one: connected(stack.enter_context(announced([sys.executable, "-c", RELAY, one], theirs)), relayed=True)
            for one in RELAYS
        }
        ends["server"] = connected(stack.enter_context(announced(server, theirs)), relayed=False)
        opened = {name: stack.enter_context(one) for name, one in ends.items()}
        for _ in range(ROUNDS):
            for depth, size in SHAPES:
                for name, pair in opened.items():
                    one = load(depth, b"x" * size, relayed=name in RELAYS)
                    found = depth * turns(pair, one, seconds / ROUNDS / len(SHAPES) / len(opened))
                    best[name, depth, size] = max(found, best.get((name, depth, size), 0.0))
    return best


def main() -> None:
    """Print a line for each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0, help="how long everything may take")
    found = measure(parser.parse_args().seconds)
    print("messages a second through one queue to one consumer, each acknowledged to its producer")
    for depth, size in SHAPES:
        server = found["server", depth, size]
        relays = "; ".join(
            f"relay of {one} {found[one, depth, size]:9,.0f}, ratio {server / found[one, depth, size]:.2f}"
            for one in RELAYS
        )
        alone = "" if depth == 1 else f"; {server / found['server', 1, size]:.1f} times one at a time"
        print(f"{depth:3} at a time, {size:5} bytes: server {server:9,.0f}; {relays}{alone}")


if __name__ == "__main__":
    main()
