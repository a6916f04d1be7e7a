"""The TMQP server's speed as a ratio in one run: messages through a queue, beside a bare uvloop relay of their frames.

`python -m tests.bench.bench_queue [--seconds 8]`. A producer pushes messages, a consumer acknowledges each, and the
acknowledgements travel back to the producer; then come the next ones: one at a time, and 64. The relay sends what one
side sends to the other, as it is, and never looks where a frame ends: 64 cost it as much as one, and the server 64
frames. So the ratio is one of servers for one at a time only; for 64 a line says, too, how many times more the server
does than one at a time. Frames are made before the clock starts, and the servers run on another core than this process
where there are two. Rounds are interleaved and the best of each server is shown, because a busy machine only ever makes
one slower. No process is left behind.
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
import asyncio, uvloop
waiting = []
class Relay(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        waiting.append(self)
        if len(waiting) == 2:
            one, other = waiting
            one.other, other.other = other.transport, one.transport
            waiting.clear()
    def data_received(self, data): self.other.write(data)
async def main():
    server = await asyncio.get_running_loop().create_server(Relay, "127.0.0.1", 0)
    print("listening tcp://127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
uvloop.run(main())
"""


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
            "relay": connected(stack.enter_context(announced([sys.executable, "-c", RELAY], theirs)), relayed=True),
            "server": connected(stack.enter_context(announced(server, theirs)), relayed=False),
        }
        opened = {name: stack.enter_context(one) for name, one in ends.items()}
        for _ in range(ROUNDS):
            for depth, size in SHAPES:
                for name, pair in opened.items():
                    one = load(depth, b"x" * size, relayed=name == "relay")
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
        server, relay = found["server", depth, size], found["relay", depth, size]
        detail = f"server {server:9,.0f}, bare uvloop relay {relay:9,.0f}, ratio {server / relay:.2f}"
        alone = "" if depth == 1 else f"; {server / found['server', 1, size]:.1f} times one at a time"
        print(f"{depth:3} at a time, {size:5} bytes: {detail}{alone}")


if __name__ == "__main__":
    main()
