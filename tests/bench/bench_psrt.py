"""How long the PSRT server takes to find subscribers among many, and to tell a thousand data sockets.

`python -m tests.bench.bench_psrt [--sockets 1000] [--messages 200]`. Times of matching are the best of five rounds: a
busy machine only ever makes one slower. The fan-out runs over loopback against a server process of its own.
"""

from __future__ import annotations

import argparse
import random
import resource
import selectors
import socket
import subprocess
import sys
import time
from contextlib import ExitStack

from reference_server.psrt.subscriptions import Subscriptions

MASKS = ("site/{}/room/+/t", "site/{}/#", "+/{}/room/7/t", "site/{}/room/7/t")
SIZES = (1_000, 10_000, 100_000)
LOOKS, ROUNDS = 20_000, 5
HELLO, DATA_HELLO, ANONYMOUS = b"\xee\xaa\0", b"\xee\xab\0", b"\1\0\0\0\0"


def matching(size: int) -> float:
    """Return the seconds of one look among `size` subscriptions, each of another subscriber."""
    table: Subscriptions[int] = Subscriptions()
    for who in range(size):
        table.add(who, MASKS[who % len(MASKS)].format(who))
    topics = [f"site/{random.randrange(size)}/room/7/t" for _ in range(LOOKS)]
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for topic in topics:
            table.match(topic)
        rounds.append(time.perf_counter() - start)
    return min(rounds) / LOOKS


def asked(sock: socket.socket, data: bytes, size: int) -> bytes:
    """Send, and return the answer of `size` bytes."""
    sock.sendall(data)
    answer = b""
    while len(answer) < size:
        answer += sock.recv(size - len(answer))
    return answer


def fan_out(address: tuple[str, int], sockets: int, messages: int) -> tuple[float, float]:
    """Return the seconds from the first publish to the last byte at the last socket, and those of one message alone."""
    with ExitStack() as stack:
        controls, datas = [], []
        for _ in range(sockets):
            control = stack.enter_context(socket.create_connection(address))
            token = asked(control, HELLO + ANONYMOUS, 36)[4:]
            data = stack.enter_context(socket.create_connection(address))
            asked(data, DATA_HELLO + token + b"\xff", 5)
            asked(control, b"\2\6\0\0\0news/#", 1)
            controls.append(control)
            datas.append(data)
        body = b"news/1\0" + bytes(64)
        message = b"\1\x7f" + len(body).to_bytes(4, "little") + body
        alone = spread(controls[0], datas, message, 1)
        return spread(controls[0], datas, message, messages), alone


def spread(publisher: socket.socket, datas: list[socket.socket], message: bytes, copies: int) -> float:
    """Publish copies, each once the one before is answered; return the seconds until everybody has all of them."""
    left = {data: copies * len(message) for data in datas}
    with selectors.DefaultSelector() as selector:
        for data in datas:
            selector.register(data, selectors.EVENT_READ)
        start = time.perf_counter()
        for _ in range(copies):
            asked(publisher, message, 1)
            take(selector, left, 0)
        while left:
            take(selector, left, 5)
        return time.perf_counter() - start


def take(selector: selectors.BaseSelector, left: dict[socket.socket, int], timeout: float) -> None:
    """Read what is there; forget sockets that have everything."""
    for key, _ in selector.select(timeout):
        sock = key.fileobj
        assert isinstance(sock, socket.socket)
        left[sock] -= len(sock.recv(1 << 16))
        if not left[sock]:
            del left[sock]
            selector.unregister(sock)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sockets", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--server", nargs="*", default=[sys.executable, "-m", "reference_server", "psrt"])
    given = parser.parse_args()
    for size in SIZES:
        print(f"matching among {size:7} subscriptions: {matching(size) * 1e6:.2f} us")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with subprocess.Popen([*given.server, "--timeout", "300"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            host, port = process.stdout.readline().strip().removeprefix("listening tcp://").rsplit(":", 1)
            seconds, alone = fan_out((host, int(port)), given.sockets, given.messages)
        finally:
            process.terminate()
    told = given.sockets * given.messages
    print(f"one message to {given.sockets} data sockets: {alone * 1e3:.1f} ms until the last one has it")
    print(f"{given.messages} messages to each: {told / seconds:,.0f} deliveries/s")


if __name__ == "__main__":
    main()
