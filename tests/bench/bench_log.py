"""The namechan server's log as ratios in one run: Strong publishes, starts, and a replay.

`python -m tests.bench.bench_log [--seconds 90] [--messages 1000000] [--folder FOLDER]`.

- Publishes: 1, 16 and 64 publishers at the hook, each of which waits for its `ok`, to one Strong queue. Beside it as
  many threads that insert the same body into an SQLite database in WAL mode, `synchronous=FULL`, a transaction each;
  and one file to which a body is appended and synced. Rounds are short and interleaved, since what an fsync takes
  changes from second to second: medians are shown, of rates and of the ratios within a round.
- Start: from the command to `listening`, by messages in the log; rounds are interleaved, too.
- Replay: one subscriber reads all messages of a queue from the beginning; beside it the server's file, read raw.

The folder must be on the disk that is meant: in memory an fsync costs nothing. No process is left behind.
"""

from __future__ import annotations

import argparse
import os
import selectors
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from statistics import median

from tests.bench.bench_server import announced
from wireproof.protocols.namechan import V1, Codec, Delivery, Persistence, Replay, Sync
from wireproof.protocols.namechan.requests import Connect, HookPublish, Subscribe, Version
from wireproof.reference_server.namechan.settings import Settings
from wireproof.reference_server.namechan.store import FILE, Store

CODEC = Codec.of(V1, "standard")
BODY = b"x" * 100
PUBLISHERS = (1, 16, 64)
ROUNDS, SLICES, STARTS = 3, 15, 7
SHORTEST = 20
NAME = b"prices"
SETTINGS = Settings(Delivery.BROADCAST, Persistence.PERSISTENT, Sync.STRONG)
FRAME = 4 + 1 + 8 + 4 + len(BODY)
"""Bytes of a message on the wire."""


@contextmanager
def served(folder: Path) -> Iterator[tuple[int, Path]]:
    """Start the server; yield its port and its hook."""
    command = [sys.executable, "-m", "wireproof.reference_server", "namechan", "--loop", "uvloop", "--port", "0"]
    queue = ["--queue", f"{NAME.decode()}:broadcast:persistent:strong"]
    hook = folder / "hook"
    cores = set(os.sched_getaffinity(0))
    with announced([*command, *queue, "--data", str(folder), "--publish-command-socket", str(hook)], cores) as port:
        yield port, hook


def publish(hook: Path, publishers: int, seconds: float) -> float:
    """Return the acknowledged messages a second of so many publishers."""
    line, done = CODEC.encode(HookPublish(NAME, BODY)), 0
    with ExitStack() as stack:
        known = stack.enter_context(selectors.DefaultSelector())
        for _ in range(publishers):
            end = stack.enter_context(socket.socket(socket.AF_UNIX))
            end.connect(str(hook))
            known.register(end, selectors.EVENT_READ)
            end.sendall(line)
        began = time.perf_counter()
        while (now := time.perf_counter()) < began + seconds:
            for key, _ in known.select(1.0):
                end = key.fileobj  # type: ignore[assignment]
                if end.recv(64) != b"ok\n":
                    raise SystemExit("a publisher was refused")
                done += 1
                end.sendall(line)
        return done / (now - began)


def insert(file: Path, publishers: int, seconds: float) -> float:
    """Return the committed inserts a second of so many threads, each with a connection of its own."""
    counts = [0] * publishers
    until = time.perf_counter() + seconds

    def work(number: int) -> None:
        with closing(sqlite3.connect(file, isolation_level=None, timeout=30)) as database:
            database.execute("PRAGMA synchronous=FULL")
            while time.perf_counter() < until:
                with suppress(sqlite3.OperationalError):
                    database.execute("INSERT INTO message (body) VALUES (?)", (BODY,))
                    counts[number] += 1

    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, body BLOB)")
    threads = [threading.Thread(target=work, args=(one,)) for one in range(publishers)]
    began = time.perf_counter()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return sum(counts) / (time.perf_counter() - began)


def sync(file: Path, seconds: float) -> float:
    """Return how often a second a body can be appended and synced."""
    done, began = 0, time.perf_counter()
    with file.open("ab", buffering=0) as log:
        while (now := time.perf_counter()) < began + seconds:
            log.write(BODY)
            os.fsync(log.fileno())
            done += 1
    return done / (now - began)


def bench_publishes(folder: Path, seconds: float) -> None:
    """Print a line for each number of publishers."""
    part = seconds / SLICES / (2 * len(PUBLISHERS) + 1)
    rounds: list[dict[tuple[str, int], float]] = []
    with served(folder / "served") as (_, hook):
        for _ in range(SLICES):
            found = {("fsync", 0): sync(folder / "bare", part)}
            for count in PUBLISHERS:
                found["server", count] = publish(hook, count, part)
                found["sqlite3", count] = insert(folder / "peer.sqlite3", count, part)
            rounds.append(found)
    bare = median(one["fsync", 0] for one in rounds)
    print(f"Strong publishes a second, {len(BODY)} bytes each; bare fsyncs {bare:,.0f}")
    for count in PUBLISHERS:
        mine, peer = (median(one[who, count] for one in rounds) for who in ("server", "sqlite3"))
        to_peer = median(one["server", count] / one["sqlite3", count] for one in rounds)
        to_bare = median(one["server", count] / one["fsync", 0] for one in rounds)
        ratios = f"ratio {to_peer:.2f} to sqlite3, {to_bare:.2f} to bare fsyncs"
        print(f"{count:3} publishers: server {mine:8,.0f}, sqlite3 {peer:8,.0f}, {ratios}")


def filled(folder: Path, messages: int) -> Path:
    """Write a log of so many messages; return its folder."""
    store = Store(folder)
    store.add_queue(1, NAME, SETTINGS)
    for first in range(1, messages + 1, 10_000):
        store.write(((1, one, BODY) for one in range(first, min(first + 10_000, messages + 1))), (), sync=False)
    store.close()
    return folder


def replay(port: int, messages: int) -> float:
    """Return the seconds in which a subscriber has all messages."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as end:
        lines = CODEC.encode(Connect(id=b"bench")) + CODEC.encode(Subscribe(NAME, Replay.FROM_BEGINNING))
        began = time.perf_counter()
        end.sendall(CODEC.encode(Version()) + lines)
        left = 8 + len(b"\0\0\0\0\3((id 1)(topic prices))") + messages * FRAME
        while left > 0:
            data = end.recv(min(left, 1 << 20))
            if not data:
                raise SystemExit("the server closed the connection")
            left -= len(data)
        return time.perf_counter() - began


def read_raw(file: Path) -> float:
    """Return the seconds in which a file is read."""
    began = time.perf_counter()
    with file.open("rb", buffering=0) as log:
        while log.read(1 << 20):
            pass
    return time.perf_counter() - began


def bench_starts(folders: dict[int, Path]) -> None:
    """Print how long a start takes by the size of the log; rounds are interleaved, as those of the publishes."""
    rounds: list[dict[int, float]] = []
    for _ in range(STARTS):
        found = {}
        for size, there in folders.items():
            began = time.perf_counter()
            with served(there):
                found[size] = time.perf_counter() - began
        rounds.append(found)
    print("start, from the command to `listening`, by messages in the log")
    for size, there in folders.items():
        took = median(one[size] for one in rounds)
        ratio = median(one[size] / one[0] for one in rounds)
        stored = (there / FILE).stat().st_size
        print(f"{size:9,} messages, {stored / 1e6:6.1f} MB: {took:.2f} s, ratio {ratio:.2f} to none")


def bench_replay(there: Path, messages: int) -> None:
    """Print how long a replay takes, beside the file read raw in the same round."""
    rounds = []
    with served(there) as (port, _):
        for _ in range(ROUNDS):
            rounds.append((replay(port, messages), read_raw(there / FILE)))
    took, raw = (median(column) for column in zip(*rounds, strict=True))
    ratio = median(one / other for one, other in rounds)
    rate, speed = messages / took, messages * FRAME / took / 1e6
    print(
        f"replay of {messages:,} messages of {len(BODY)} bytes: {took:.1f} s, {rate:,.0f} a second, {speed:.0f} MB/s;"
    )
    print(f"the file read raw in {raw:.3f} s, ratio {ratio:.0f}")


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90.0, help="how long the publishes may take")
    parser.add_argument("--messages", type=int, default=1_000_000, help="messages that are replayed")
    parser.add_argument("--folder", type=Path, help="where the logs are; default: the folder of temporary files")
    given = parser.parse_args()
    if given.seconds < SHORTEST:
        parser.error(
            f"--seconds: expected {SHORTEST} or more, got {given.seconds:g}: in less a peer may commit nothing"
        )
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        bench_publishes(Path(folder), given.seconds)
        sizes = [0, *(size for size in (10_000, 100_000) if size < given.messages), given.messages]
        logs = {size: filled(Path(folder) / f"log-{size}", size) for size in sizes}
        bench_starts(logs)
        bench_replay(logs[given.messages], given.messages)


if __name__ == "__main__":
    main()
