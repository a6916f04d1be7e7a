"""What matching a topic and fanning a message out cost, as ratios in one run.

`python -m tests.bench.bench_topics`. Matching: the reference server's tree of subscriptions beside paho-mqtt's
MQTTMatcher (whose `a/#` matches `a`, too) and a look at every mask, with 1,000 to 100,000 masks of which a handful
match; a third of the masks hold wildcards. Prints microseconds a match and how they grow. Fan-out: the reference server
with 1,000 data sockets beside a bare broadcast of the same bytes on the same event loop, both in a process of their own
and read by this one; prints messages delivered a second and the ratio.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from paho.mqtt.matcher import MQTTMatcher

from wireproof.reference_server.psrt.subscriptions import Subscriptions
from wireproof.reference_server.psrt.topics import levels, matches

SIZES = (1_000, 10_000, 100_000)
READERS, MESSAGES = 1_000, 200
TOPIC, BODY = b"plant/1/temperature", b"x" * 64
FRAME = b"\x01\x7f" + (len(TOPIC) + 1 + len(BODY)).to_bytes(4, "little") + TOPIC + b"\0" + BODY
BROADCASTER = """
import asyncio, sys
try:
    import uvloop
    make = uvloop.new_event_loop
except ImportError:
    make = None
FRAME = bytes.fromhex(sys.argv[1])
readers = []
class Bare(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, data):
        if data == b"r":
            readers.append(self.transport)
            self.transport.write(b"!")
        else:
            for _ in data:
                for one in readers:
                    one.write(FRAME)
            self.transport.write(data)
async def main():
    server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", 0, backlog=4096)
    print("listening tcp://127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
with asyncio.Runner(loop_factory=make) as runner:
    runner.run(main())
"""


def masks(number: int, seed: int = 1) -> list[str]:
    """Return masks as a plant's clients may have: device, room and quantity, wildcards in a third of them."""
    source = random.Random(seed)
    found = []
    for at in range(number):
        parts = ["plant", str(at), source.choice(["temperature", "pressure", "flow"])]
        if at % 3 == 0:
            parts[source.choice([0, 2])] = "+"
        found.append("/".join(parts) if at % 9 else f"plant/{at}/#")
    return found


def each(match: Callable[[str], object], topics: list[str]) -> float:
    """Return microseconds a match, the best of five rounds."""
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        for topic in topics:
            match(topic)
        best = min(best, time.perf_counter() - began)
    return best / len(topics) * 1e6


def bench_matching() -> None:
    """Print what one match costs as the number of masks grows."""
    print("us a match with so many masks, each of another subscriber")
    print(f"{'masks':>8} {'ours':>8} {'paho-mqtt':>10} {'every mask':>11} {'ours/paho':>10}")
    for size in SIZES:
        _compare(size)


def _compare(size: int) -> None:
    """Print one line."""
    known = masks(size)
    ours: Subscriptions[int] = Subscriptions()
    paho = MQTTMatcher()
    for who, text in enumerate(known):
        ours.add(who, text)
        paho[text] = who
    split = [levels(text) for text in known]
    source = random.Random(2)
    topics = [f"plant/{source.randrange(size)}/temperature" for _ in range(2_000)]
    mine = each(ours.match, topics)
    other = each(lambda topic: list(paho.iter_match(topic)), topics)
    naive = each(lambda topic: [m for m in split if matches(m, tuple(topic.split("/")))], topics[: 200_000 // size])
    print(f"{size:>8} {mine:>8.2f} {other:>10.2f} {naive:>11.1f} {mine / other:>10.2f}")


@contextmanager
def serving(words: list[str]) -> Iterator[int]:
    """Start a server and yield its port."""
    server = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield int(server.stdout.readline().rpartition(":")[2])
    finally:
        server.terminate()
        server.wait(10)


async def attached(port: int, keep: list[asyncio.StreamWriter]) -> asyncio.StreamReader:
    """Return a data socket that is subscribed to the topic."""
    control, ask = await asyncio.open_connection("127.0.0.1", port)
    ask.write(b"\xee\xaa\x00\x01\0\0\0\0")
    token = (await control.readexactly(36))[4:]
    ask.write(b"\x02" + len(TOPIC).to_bytes(4, "little") + TOPIC)
    await control.readexactly(1)
    data, say = await asyncio.open_connection("127.0.0.1", port)
    say.write(b"\xee\xab\x00" + token + b"\xff")
    await data.readexactly(5)
    keep += [ask, say]
    return data


async def bare(port: int, keep: list[asyncio.StreamWriter]) -> asyncio.StreamReader:
    """Return a connection that is told everything."""
    data, say = await asyncio.open_connection("127.0.0.1", port)
    say.write(b"r")
    await data.readexactly(1)
    keep.append(say)
    return data


async def fan_out(port: int, join: Callable[[int, list[asyncio.StreamWriter]], object], *, speaks: bool) -> float:
    """Return messages delivered a second to all readers."""
    keep: list[asyncio.StreamWriter] = []
    readers = [await join(port, keep) for _ in range(READERS)]  # type: ignore[misc]
    answers, ask = await asyncio.open_connection("127.0.0.1", port)
    keep.append(ask)
    if speaks:
        ask.write(b"\xee\xaa\x00\x01\0\0\0\0")
        await answers.readexactly(36)
    began = time.perf_counter()
    taking = [asyncio.create_task(one.readexactly(len(FRAME) * MESSAGES)) for one in readers]
    for _ in range(MESSAGES):
        ask.write(FRAME if speaks else b"p")
        await answers.readexactly(1)
    await asyncio.gather(*taking)
    taken = time.perf_counter() - began
    for one in keep:
        one.close()
    return READERS * MESSAGES / taken


def bench_fan_out() -> None:
    """Print deliveries a second of both, in three rounds."""
    serve = ["-m", "wireproof.reference_server", "psrt", "--timeout", "60"]
    print(f"\n{READERS} data sockets, {MESSAGES} messages of {len(FRAME)} bytes, published one after the other")
    for number in range(1, 4):
        with serving(serve) as port:
            ours = asyncio.run(fan_out(port, attached, speaks=True))
        with serving(["-c", BROADCASTER, FRAME.hex()]) as port:
            peer = asyncio.run(fan_out(port, bare, speaks=False))
        detail = f"reference server {ours:,.0f}/s, bare broadcast {peer:,.0f}/s, ratio {ours / peer:.2f}"
        print(f"round {number}: {detail}")


if __name__ == "__main__":
    bench_matching()
    bench_fan_out()
