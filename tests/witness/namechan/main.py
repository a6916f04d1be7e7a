"""An independent witness: a namechan server of profile 1, written from the document and its errata alone.

`python tests/witness/namechan/main.py --port 0 --hook PATH [--data FOLDER] [--ping-interval 50] ...`

It imports nothing of this project, and its design is another one than that of the reference server: threads that block,
a reader that takes one byte after the other, one lock for all queues, all messages in memory, and a text file as log.
Speed does not matter here. Where it and the cases disagree, one of them has read the document wrongly (docs/errata.md).
"""

from __future__ import annotations

import argparse
import queue
import signal
import socket
import struct
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from lines import Lines, MalformedError, Tree, check_time, number, text, word
from queues import Topic, World

ERROR, PING, MESSAGE, SUBSCRIBED, UNSUBSCRIBED = range(5)
BACKLOG = 64 << 20
"""Bytes that may wait for a client that does not read."""
LINGER = 1.0
"""Seconds in which what a client still sends is thrown away, so that it can read why it is disconnected."""


class Connection:
    """One client: this thread reads, another one writes, a third one pings."""

    def __init__(self, world: World, sock: socket.socket) -> None:
        self.world, self.sock = world, sock
        self.out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.waiting = 0
        self.last_input = time.monotonic()
        self.gone = threading.Event()
        self.flushed = threading.Event()

    def frame(self, kind: int, payload: bytes) -> None:
        self.put(struct.pack(">IB", len(payload) + 1, kind) + payload)

    def message(self, topic: Topic, message: int, body: bytes) -> None:
        self.frame(MESSAGE, struct.pack(">QI", message, topic.id) + body)

    def put(self, data: bytes) -> None:
        self.waiting += len(data)
        if self.waiting > BACKLOG:
            self.cut()
        elif not self.gone.is_set():
            self.out.put(data)

    def cut(self) -> None:
        self.gone.set()
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def write(self) -> None:
        """Write what is put, until nothing more will be; then say so."""
        with suppress(OSError):
            while (data := self.out.get()) is not None:
                self.sock.sendall(data)
                self.waiting -= len(data)
            self.sock.shutdown(socket.SHUT_WR)
        self.flushed.set()

    def ping(self) -> None:
        interval = self.world.given.ping_interval
        due = time.monotonic() + interval * 0.9
        while True:
            silent = self.last_input + 2 * interval
            if self.gone.wait(max(0.0, min(due, silent) - time.monotonic())):
                return
            now = time.monotonic()
            if now >= self.last_input + 2 * interval:
                self.frame(ERROR, b"nothing was heard for two ping intervals")
                self.out.put(None)
                self.flushed.wait(LINGER)
                self.cut()
                return
            if now >= due:
                self.frame(PING, struct.pack(">I", int(time.time())))
                due = now + interval * 0.9

    def run(self) -> None:
        """Serve the client to its end."""
        threading.Thread(target=self.write, daemon=True).start()
        stream = self.sock.makefile("rb")
        try:
            if self.handshake():
                threading.Thread(target=self.ping, daemon=True).start()
                self.serve(Lines(stream, self.world.given.max_line))
        except MalformedError as error:
            self.frame(ERROR, str(error).encode())
        except (EOFError, OSError):
            pass
        self.end(stream)

    def end(self, stream: BinaryIO) -> None:
        with self.world.lock:
            for topic in self.world.topics.values():
                self.world.leave(self, topic)
        self.gone.set()
        self.out.put(None)
        self.flushed.wait(LINGER)
        with suppress(OSError):
            self.sock.settimeout(LINGER)
            until = time.monotonic() + LINGER
            while time.monotonic() < until and self.sock.recv(1 << 16):
                pass
        stream.close()
        self.sock.close()

    def handshake(self) -> bool:
        self.sock.settimeout(self.world.given.handshake_timeout)
        data = b""
        while len(data) < 8:
            piece = self.sock.recv(8 - len(data))
            if not piece:
                return False
            data += piece
        self.sock.settimeout(None)
        is_known = struct.unpack(">q", data) == (1,)
        self.put(data if is_known else b"\xff" * 8)
        return is_known

    def next_request(self, lines: Lines) -> list[Tree]:
        while True:
            tree = lines.next()
            self.last_input = time.monotonic()
            if tree is not None:
                break
        if not isinstance(tree, list) or not tree:
            raise MalformedError("expected a list that begins with a constructor")
        return tree

    def serve(self, lines: Lines) -> None:
        first = self.next_request(lines)
        if word(first[0], "Connect") and (len(first) != 3 or number(first[1], -(1 << 63), (1 << 63) - 1) != 1):
            raise MalformedError("expected (Connect 1 id)")
        text(first[2])
        while True:
            name, *rest = self.next_request(lines)
            kind = word(name, "Subscribe Unsubscribe Ack")
            if len(rest) != (2 if kind == "Subscribe" else 1):
                raise MalformedError(f"{kind}: too few or too many arguments")
            if kind == "Ack":
                check_time(rest[0])
            elif kind == "Subscribe":
                self.subscribe(text(rest[0]), rest[1])
            else:
                self.unsubscribe(text(rest[0]))

    def subscribe(self, name: bytes, replay: Tree) -> None:
        least: int | None = 0
        if isinstance(replay, list):
            if len(replay) != 2:
                raise MalformedError("expected (From_message id)")
            word(replay[0], "From_message")
            least = number(replay[1], 0, (1 << 64) - 1)
        elif word(replay, "From_beginning From_current") == "From_current":
            least = None
        with self.world.lock:
            topic = self.world.topics.get(name)
            if topic is None:
                self.frame(ERROR, b"unknown topic")
            elif self in topic.subscribers or self in topic.turns:
                self.frame(SUBSCRIBED, topic.record())
            elif least is not None and not (topic.is_broadcast and topic.is_persistent):
                self.frame(ERROR, b"only a persistent broadcast queue can be replayed")
            else:
                self.frame(SUBSCRIBED, topic.record())
                if topic.is_broadcast:
                    topic.subscribers[self] = least or 0
                    for message, body in topic.kept if least is not None else ():
                        if message >= least:
                            self.message(topic, message, body)
                else:
                    topic.turns.append(self)
                    self.world.hand_out(topic)

    def unsubscribe(self, name: bytes) -> None:
        with self.world.lock:
            topic = self.world.topics.get(name)
            if topic is None or not (self in topic.subscribers or self in topic.turns):
                self.frame(ERROR, b"not subscribed")
                return
            self.world.leave(self, topic)
            self.frame(UNSUBSCRIBED, topic.record())


class Hook(Connection):
    """A harness, which creates queues and publishes (N21)."""

    def run(self) -> None:
        threading.Thread(target=self.write, daemon=True).start()
        stream = self.sock.makefile("rb")
        lines = Lines(stream, self.world.given.max_line)
        try:
            while True:
                why = self.done(*self.next_request(lines))
                self.put(f"error {why}\n".encode() if why else b"ok\n")
        except MalformedError as error:
            self.put(f"error {error}\n".encode())
        except (EOFError, OSError):
            pass
        self.end(stream)

    def done(self, name: Tree, *rest: Tree) -> str:
        kind = word(name, "Create Publish")
        if len(rest) != (3 if kind == "Create" else 2):
            raise MalformedError("too few or too many arguments")
        if kind == "Publish":
            return self.world.publish(text(rest[0]), text(rest[1]))
        delivery, kept, sync = word(rest[1], "Broadcast Round_robin"), rest[2], ""
        if isinstance(kept, list):
            if len(kept) != 2:
                raise MalformedError("expected (Persistent sync)")
            kept, sync = kept[0], word(kept[1], "Strong Weak Async")
        return self.world.create(text(rest[0]), (delivery, word(kept, "Persistent" if sync else "Transient"), sync))


def accept(world: World, listener: socket.socket, kind: type[Connection]) -> None:
    while True:
        with suppress(OSError):
            sock, _ = listener.accept()
            threading.Thread(target=kind(world, sock).run, daemon=True).start()


def main() -> None:
    """Serve until SIGTERM."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, default=2874)
    options.add_argument("--hook", type=Path)
    options.add_argument("--data", type=Path)
    options.add_argument("--ping-interval", type=float, default=50.0)
    options.add_argument("--handshake-timeout", type=float, default=2.0)
    options.add_argument("--max-line", type=int, default=64 << 10)
    options.add_argument("--max-kept", type=int, default=10_000)
    given = options.parse_args()
    world = World(given)
    listener = socket.create_server(("127.0.0.1", given.port))
    threading.Thread(target=accept, args=(world, listener, Connection), daemon=True).start()
    if given.hook is not None:
        with suppress(FileNotFoundError):
            given.hook.unlink()
        beside = socket.socket(socket.AF_UNIX)
        beside.bind(str(given.hook))
        beside.listen()
        threading.Thread(target=accept, args=(world, beside, Hook), daemon=True).start()
    ended = threading.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, lambda *_: ended.set())
    print(f"listening tcp://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    while not ended.wait(2.0):
        with suppress(OSError):
            world.log.flush()


if __name__ == "__main__":
    main()
