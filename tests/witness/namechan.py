"""An independent witness: a namechan server of profile 1, written from the document and its errata alone.

`python tests/witness/namechan.py --port 0 --hook PATH [--data FOLDER] [--ping-interval 50] ...`

It imports nothing of this project, and its design is another one than that of the reference server: threads that block,
a reader that takes one byte after the other, one lock for all queues, all messages in memory, and a text file as log.
Speed does not matter here. Where it and the cases disagree, one of them has read the document wrongly (docs/errata.md).
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import signal
import socket
import struct
import sys
import threading
import time
import zlib
from collections import deque
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

ERROR, PING, MESSAGE, SUBSCRIBED, UNSUBSCRIBED = range(5)
Tree = bytes | list["Tree"]
ESCAPES = dict(zip(b"ntbr\\\"'", b"\n\t\b\r\\\"'", strict=True))
BACKLOG = 64 << 20
"""Bytes that may wait for a client that does not read."""
LINGER = 1.0
"""Seconds in which what a client still sends is thrown away, so that it can read why it is disconnected."""


class MalformedError(Exception):
    """A line that is no request (N13)."""


class Lines:
    """Reads one expression after the other from a blocking stream."""

    def __init__(self, stream: BinaryIO, longest: int) -> None:
        self.stream, self.longest, self.taken, self.kept = stream, longest, 0, -1

    def get(self) -> int:
        if self.kept >= 0:
            found, self.kept = self.kept, -1
            return found
        data = self.stream.read(1)
        if not data:
            raise EOFError
        self.taken += 1
        if self.taken > self.longest:
            raise MalformedError(f"a line has at most {self.longest} bytes")
        return data[0]

    def next(self) -> Tree | None:
        """Return the next expression; None for a line without one."""
        self.taken = 0
        lists: list[list[Tree]] = [[]]
        drops = [0]
        while True:
            one = self.get()
            if one == 10 and len(lists) == 1 and not drops[0]:
                return lists[0][0] if lists[0] else None
            if one in b" \t\r\n\f":
                continue
            if one == ord(";"):
                self._line_comment()
                continue
            second = self.get() if one == ord("#") else -1
            if second == ord("|"):
                self._block_comment()
                continue
            if second == ord(";"):
                drops[-1] += 1
                continue
            if second >= 0:
                self.kept = second
            if len(lists) == 1 and lists[0] and not drops[0]:
                raise MalformedError("two requests in one line")
            if one == ord("("):
                lists.append([])
                drops.append(0)
                continue
            if one == ord(")"):
                if len(lists) == 1 or drops.pop():
                    raise MalformedError("a parenthesis that closes nothing, or a comment of nothing")
                done: Tree = lists.pop()
            else:
                done = self._quoted() if one == ord('"') else self._bare(one)
            if drops[-1]:
                drops[-1] -= 1
            else:
                lists[-1].append(done)

    def _line_comment(self) -> None:
        while (one := self.get()) != 10:
            pass
        self.kept = one

    def _block_comment(self) -> None:
        depth, last = 1, 0
        while depth:
            one = self.get()
            step = {(35, 124): 1, (124, 35): -1}.get((last, one), 0)
            depth, last = depth + step, 0 if step else one

    def _bare(self, first: int) -> bytes:
        found = bytearray([first])
        while (one := self.get()) not in b' \t\r\n\f()";':
            found.append(one)
        self.kept = one
        if b"#|" in found or b"|#" in found:
            raise MalformedError("an atom with the mark of a comment")
        return bytes(found)

    def _quoted(self) -> bytes:
        found = bytearray()
        while (one := self.get()) != ord('"'):
            if one != ord("\\"):
                found.append(one)
                continue
            kind = self.get()
            if kind in ESCAPES:
                found.append(ESCAPES[kind])
            elif kind in b"\r\n":
                if kind == 13 and self.get() != 10:
                    raise MalformedError("a backslash before a lone CR")
                while (one := self.get()) in b" \t":
                    pass
                self.kept = one
            else:
                found.append(self._number(kind))
        return bytes(found)

    def _number(self, kind: int) -> int:
        text = bytes([self.get(), self.get()]) if kind in b"x0123456789" else b""
        try:
            if kind == ord("x") and re.fullmatch(rb"[0-9a-fA-F]{2}", text):
                return int(text, 16)
            if text.isdigit() and int(bytes([kind]) + text) < 256:
                return int(bytes([kind]) + text)
        except ValueError:
            pass
        raise MalformedError("an escape that is none")


def word(tree: Tree, known: str) -> str:
    """Return which of some constructors an atom is; its first letter may have either case."""
    for one in known.split():
        if isinstance(tree, bytes) and tree[1:] == one[1:].encode() and tree[:1].upper() == one[:1].encode():
            return one
    raise MalformedError(f"expected one of {known}")


def text(tree: Tree) -> bytes:
    if isinstance(tree, list):
        raise MalformedError("expected an atom")
    return tree


def number(tree: Tree, least: int, most: int) -> int:
    digits = text(tree)
    if not re.fullmatch(rb"-?[0-9]{1,40}", digits) or not least <= int(digits) <= most:
        raise MalformedError(f"expected a number from {least} to {most}")
    return int(digits)


def check_time(tree: Tree) -> None:
    """Check a time: what it is does not matter here."""
    if isinstance(tree, bytes) and re.fullmatch(rb"[0-9]{1,11}", tree):
        return
    parts = tree if isinstance(tree, list) else [tree]
    if isinstance(tree, list) and len(parts) != 2:
        raise MalformedError("expected a time")
    said = b" ".join(map(text, parts)).decode("latin-1")
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,6})?(?:Z|[+-]([01]\d|2[0-3]):[0-5]\d)?", said, re.A)
    try:
        datetime.strptime(found[1] if found else "", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        raise MalformedError("expected a time") from None


def atom(value: bytes) -> bytes:
    """Write an atom, bare where that is possible."""
    if re.fullmatch(rb"[!-~]+", value) and not re.search(rb'[()";\\]|#\||\|#', value):
        return value
    return b'"' + re.sub(rb'[^ !#-\[\]-~]', lambda found: b"\\%03d" % found[0][0], value) + b'"'


class Log:
    """The lines of a text file: a checksum, then JSON. What is not whole at the end is cut off."""

    def __init__(self, folder: Path | None) -> None:
        self.file, self.size = None, 0
        self.found: list[dict[str, object]] = []
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self.file = os.open(folder / "witness.log", os.O_RDWR | os.O_CREAT, 0o600)
            self._recover()

    def _recover(self) -> None:
        assert self.file is not None
        data = b""
        while piece := os.read(self.file, 1 << 20):
            data += piece
        self.size = data.rfind(b"\n") + 1
        os.ftruncate(self.file, self.size)
        for line in data[: self.size].splitlines():
            if line[:8] == b"%08x" % zlib.crc32(line[9:]):
                self.found.append(json.loads(line[9:]))
            else:
                print("a damaged record is left out", file=sys.stderr)

    def add(self, *, sync: bool, **record: object) -> None:
        """Write a record. Raises `OSError`, and then nothing is written."""
        if self.file is None:
            return
        body = json.dumps(record).encode()
        line = b"%08x %s\n" % (zlib.crc32(body), body)
        try:
            done = 0
            while done < len(line):
                done += os.pwrite(self.file, line[done:], self.size + done)
            if sync:
                os.fsync(self.file)
        except OSError:
            os.ftruncate(self.file, self.size)
            raise
        self.size += len(line)

    def flush(self) -> None:
        if self.file is not None:
            os.fsync(self.file)


class Topic:
    """A queue with its subscribers: connection -> the least id that it wants."""

    def __init__(self, name: bytes, topic: int, settings: tuple[str, str, str]) -> None:
        self.name, self.id, self.settings = name, topic, settings
        self.last = self.delivered = 0
        self.subscribers: dict[Connection, int] = {}
        self.turns: deque[Connection] = deque()
        self.kept: deque[tuple[int, bytes]] = deque()
        """All that can be replayed; of a round-robin queue what waits for a subscriber."""

    @property
    def is_broadcast(self) -> bool:
        return self.settings[0] == "Broadcast"

    @property
    def is_persistent(self) -> bool:
        return self.settings[1] == "Persistent"

    def record(self) -> bytes:
        return b"((id %d)(topic %s))" % (self.id, atom(self.name))


class World:
    """All queues, under one lock."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.lock = given, threading.RLock()
        self.topics: dict[bytes, Topic] = {}
        self.log = Log(given.data)
        for one in self.log.found:
            self._restored(one)
        self.log.found.clear()

    def _restored(self, one: dict[str, object]) -> None:
        name = str(one["name"]).encode("latin-1")
        if one["kind"] == "queue":
            self.topics[name] = Topic(name, int(str(one["id"])), tuple(one["settings"]))  # type: ignore[arg-type]
            return
        topic, message = self.topics[name], int(str(one["id"]))
        if one["kind"] == "message":
            topic.last = message
            topic.kept.append((message, str(one["body"]).encode("latin-1")))
        else:
            topic.delivered = message
            while topic.kept and topic.kept[0][0] <= message:
                topic.kept.popleft()

    def create(self, name: bytes, settings: tuple[str, str, str]) -> str:
        """Make a queue; return why that is not possible."""
        with self.lock:
            if name in self.topics:
                return "" if self.topics[name].settings == settings else "it has other settings"
            topic = 1 + max((one.id for one in self.topics.values()), default=0)
            if settings[1] == "Persistent":
                try:
                    self.log.add(sync=True, kind="queue", name=name.decode("latin-1"), id=topic, settings=settings)
                except OSError as error:
                    return f"not written: {error}"
            self.topics[name] = Topic(name, topic, settings)
            return ""

    def publish(self, name: bytes, body: bytes) -> str:
        """Publish a message; return why that is not possible."""
        with self.lock:
            topic = self.topics.get(name)
            if topic is None:
                return "unknown topic"
            waits = not topic.is_broadcast and not topic.turns
            if waits and not topic.is_persistent and len(topic.kept) >= self.given.max_kept:
                return "nobody subscribes, and no more is kept"
            if topic.is_persistent:
                record = {"name": name.decode("latin-1"), "id": topic.last + 1, "body": body.decode("latin-1")}
                try:
                    self.log.add(sync=topic.settings[2] == "Strong", kind="message", **record)
                except OSError as error:
                    return f"not written: {error}"
            topic.last += 1
            if topic.is_persistent or waits:
                topic.kept.append((topic.last, body))
            if topic.is_broadcast:
                for one, least in topic.subscribers.items():
                    if topic.last >= least:
                        one.message(topic, topic.last, body)
            else:
                if not topic.is_persistent and not waits:
                    topic.kept.append((topic.last, body))
                self.hand_out(topic)
            return ""

    def hand_out(self, topic: Topic) -> None:
        """Give what is kept of a round-robin queue to its subscribers, in turns."""
        while topic.kept and topic.turns:
            message, body = topic.kept.popleft()
            topic.turns[0].message(topic, message, body)
            topic.turns.rotate(-1)
            topic.delivered = message
        if topic.is_persistent and topic.delivered:
            with suppress(OSError):  # after a kill it may come again (N24)
                self.log.add(sync=False, kind="delivered", name=topic.name.decode("latin-1"), id=topic.delivered)

    def leave(self, connection: Connection, topic: Topic) -> None:
        topic.subscribers.pop(connection, None)
        if connection in topic.turns:
            topic.turns.remove(connection)


class Connection:
    """One client: this thread reads, another one writes, a third one pings."""

    def __init__(self, world: World, sock: socket.socket) -> None:
        self.world, self.sock = world, sock
        self.out: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.waiting = 0
        self.heard = time.monotonic()
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
            silent = self.heard + 2 * interval
            if self.gone.wait(max(0.0, min(due, silent) - time.monotonic())):
                return
            now = time.monotonic()
            if now >= self.heard + 2 * interval:
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
            self.heard = time.monotonic()
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
    options.add_argument("--handshake-timeout", type=float, default=5.0)
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
