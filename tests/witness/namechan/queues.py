"""Queues, all messages in memory, under one lock; and the text file that they are restored from."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import zlib
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lines import atom

if TYPE_CHECKING:
    from main import Connection


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
