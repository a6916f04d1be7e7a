"""The Throttr server's speed as ratios in one run: beside redis-server and a bare uvloop echo, under one C loader.

`python -m tests.bench.bench_server [--seconds 3]`. The loader (`loadgen.c`) is compiled into a temporary folder; it and
the server under test run on separate cores where there are two. Rounds of all servers are interleaved and the best of
each is shown; ratios compare the best tenth of windows of 5 ms, because a busy machine only ever makes one slower.
Where others keep it busy all the time, the ratio of the median round trips at 1 x 64 says more: it is the last column.
No process is left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import V710, V732, Codec
from wireproof.protocols.throttr.requests import Get, Insert, Query, Set

HERE = Path(__file__).parent
SHAPES = {"1 x 64": (1, 64), "50 x 1": (50, 1), "50 x 64": (50, 64)}
"""Connections x requests under way on each."""
ROUNDS = 6
KEYS = [b"key:%012d" % n for n in range(64)]
VALUE = b"0123456789abcdef"

ECHO = """
import asyncio, uvloop
class Echo(asyncio.Protocol):
    def connection_made(self, transport): self.transport = transport
    def data_received(self, data): self.transport.write(data)
async def main():
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
    print("listening tcp://127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
uvloop.run(main())
"""


@dataclass(frozen=True)
class Load:
    """What the loader sends: depth -> (bytes of a batch, bytes of its replies)."""

    setup: bytes
    setup_reply_size: int
    requests: list[tuple[bytes, int]]

    def batch(self, depth: int) -> tuple[bytes, int]:
        """Return `depth` requests, alternating over the kinds, and the size of their replies."""
        taken = [self.requests[n % len(self.requests)] for n in range(depth)]
        return b"".join(frame for frame, _ in taken), sum(size for _, size in taken)


def throttr_counters() -> Load:
    """INSERT of a known key (refused), QUERY of it."""
    codec = Codec.of(V710, "uint16")
    inserts = [codec.encode(Insert(7, 6, 60, key)) for key in KEYS]
    queries = [codec.encode(Query(key)) for key in KEYS]
    pairs = [pair for n in range(0, 64, 2) for pair in ((inserts[n], 1), (queries[n + 1], 6))]
    return Load(b"".join(inserts), len(KEYS), pairs)


def throttr_buffers(profile: Profile) -> Load:
    """SET of a known key (refused in 7.1.0, stored in 7.3.2), GET of another."""
    codec = Codec.of(profile, "uint16")
    sets = [codec.encode(Set(6, 60, key, VALUE)) for key in KEYS]
    gets = [codec.encode(Get(key)) for key in KEYS]
    pairs = [pair for n in range(0, 64, 2) for pair in ((sets[n], 1), (gets[n + 1], 6 + len(VALUE)))]
    return Load(b"".join(sets), len(KEYS), pairs)


def redis_strings() -> Load:
    """SET and GET with the same keys and value."""

    def command(*words: bytes) -> bytes:
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)

    sets = [command(b"SET", key, VALUE) for key in KEYS]
    got = len(b"$%d\r\n%s\r\n" % (len(VALUE), VALUE))
    pairs = [pair for n in range(0, 64, 2) for pair in ((sets[n], 5), (command(b"GET", KEYS[n + 1]), got))]
    return Load(b"".join(sets), 5 * len(KEYS), pairs)


def echo_frames() -> Load:
    """The same requests as `throttr_counters`, sent back as they are."""
    frames = [frame for frame, _ in throttr_counters().requests]
    return Load(b"", 0, [(frame, len(frame)) for frame in frames])


@contextmanager
def process(command: list[str], cores: set[int]) -> Iterator[subprocess.Popen[str]]:
    """Run a process on `cores` and end it."""
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        with suppress(OSError):
            os.sched_setaffinity(running.pid, cores)
        yield running
    finally:
        running.terminate()
        try:
            running.wait(5)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        assert running.stdout is not None
        running.stdout.close()


@contextmanager
def announced(command: list[str], cores: set[int]) -> Iterator[int]:
    """Run a server that prints `listening tcp://host:port`; gives the port."""
    with process(command, cores) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        if not line.startswith("listening tcp://"):
            raise SystemExit(f"{command[:4]} did not start: {line!r}")
        yield int(line.rsplit(":", 1)[1])


@contextmanager
def redis(program: str, cores: set[int]) -> Iterator[int]:
    """Run redis-server without persistence; gives the port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
    with process([program, *options], cores):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.02)
        yield port


def prepare(port: int, load: Load) -> None:
    """Store the keys."""
    if load.setup:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as sock:
            sock.sendall(load.setup)
            left = load.setup_reply_size
            while left and (data := sock.recv(left)):
                left -= len(data)


@dataclass(frozen=True)
class Loader:
    """The compiled loader."""

    program: Path
    cores: set[int]
    seconds: float

    def run(self, port: int, load: Load, connections: int, depth: int) -> dict[str, float]:
        """Measure one shape; requests a second, p50 and p99 of a batch in us."""
        data, reply_size = load.batch(depth)
        path = self.program.with_suffix(".batch")
        path.write_bytes(data)
        numbers = [str(port), str(connections), str(depth), str(self.seconds)]
        command = [str(self.program), "127.0.0.1", *numbers, str(path), str(reply_size)]
        if shutil.which("taskset"):
            command = ["taskset", "-c", ",".join(map(str, self.cores)), *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=self.seconds + 30, check=False)
        if done.returncode:
            raise SystemExit(done.stderr.strip())
        measured: dict[str, float] = json.loads(done.stdout)
        return measured


def compiled(folder: str) -> Path:
    """Compile the loader."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("no C compiler (cc): the load generator cannot be built")
    program = Path(folder) / "loadgen"
    subprocess.run([compiler, "-O2", "-o", str(program), str(HERE / "loadgen.c")], check=True)
    return program


def measure(seconds: float, loop: str) -> dict[tuple[str, str], dict[str, float]]:
    """Return (server, shape) -> the best round."""
    cores = sorted(os.sched_getaffinity(0))
    theirs, ours = ({cores[0]}, {cores[-1]}) if len(cores) > 1 else (set(cores), set(cores))
    server = [sys.executable, "-m", "wireproof.reference_server", "throttr", "--loop", loop]
    newer = [*server, "--profile", V732.name]
    best: dict[tuple[str, str], dict[str, float]] = {}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        loader = Loader(compiled(folder), ours, seconds / ROUNDS)
        targets = {
            "throttr INSERT/QUERY": (stack.enter_context(announced(server, theirs)), throttr_counters()),
            "throttr SET refused/GET": (stack.enter_context(announced(server, theirs)), throttr_buffers(V710)),
            "throttr SET stored/GET": (stack.enter_context(announced(newer, theirs)), throttr_buffers(V732)),
            "uvloop echo": (stack.enter_context(announced([sys.executable, "-c", ECHO], theirs)), echo_frames()),
        }
        program = shutil.which("redis-server")
        if program is None:
            print("redis-server not found: ratio skipped")
        else:
            targets["redis SET/GET"] = (stack.enter_context(redis(program, theirs)), redis_strings())
        for port, load in targets.values():
            prepare(port, load)
        for shape, (connections, depth) in SHAPES.items():
            for _ in range(ROUNDS):
                for name, (port, load) in targets.items():
                    found = loader.run(port, load, connections, depth)
                    if found["best_windows"] >= best.get((name, shape), found)["best_windows"]:
                        best[name, shape] = found
    return best


def show(best: dict[tuple[str, str], dict[str, float]]) -> None:
    """Print the table and the two ratios that have a target."""
    columns = f"{'conn x depth':12} {'server':24} {'req/s':>11} {'best':>11} {'p50 us':>9} {'p99 us':>9}"
    print(f"{columns}  of redis  of echo  of redis, p50")
    for (name, shape), found in best.items():
        ratios = [
            f"{found['best_windows'] / best[peer, shape]['best_windows']:8.2f}"
            if (peer, shape) in best
            else f"{'-':>8}"
            for peer in ("redis SET/GET", "uvloop echo")
        ]
        peer = best.get(("redis SET/GET", shape))
        ratios.append(f"{peer['p50_us'] / found['p50_us']:14.2f}" if peer else f"{'-':>14}")
        speeds = f"{found['requests_per_second']:11,.0f} {found['best_windows']:11,.0f}"
        print(f"{shape:12} {name:24} {speeds} {found['p50_us']:9.1f} {found['p99_us']:9.1f}  {' '.join(ratios)}")
    print("targets: 1 x 64 at least 0.80 of redis; 50 x 1 at least 0.65 of echo")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each server and shape")
    parser.add_argument("--loop", default="auto", help="event loop of the server: auto, uvloop or asyncio")
    options = parser.parse_args()
    show(measure(options.seconds, options.loop))
