"""What is persistent, on disk: queues, their messages, and how far a round-robin queue has come.

SQLite with a write-ahead log keeps it: whole transactions or nothing after a crash, readers beside the writer, a
full disk as an error that undoes the transaction. docs/namechan-server.md says why it was chosen.
"""

# Strategy
#
# All that is published in one turn of the loop is one transaction, whatever queues it is for, so that many publishers
# share one fsync (group commit). Whether that transaction is followed by an fsync is decided by what is in it: with a
# message of a Strong queue it is (`synchronous=FULL`), otherwise the pages go to the system's cache (`NORMAL`), where
# they survive the death of the process but not that of the machine. Weak queues are flushed by a checkpoint, which
# syncs the log, every few seconds.
#
# The log is made as long as it will be before anything is written to it: an fsync of a file that grows also writes
# where its blocks are, which takes several times as long. A transaction that is too large for the cache is spilled into
# the log and undone: its frames are committed by nothing, so recovery ignores them, and those that follow overwrite
# them. SQLite begins the log anew once it has a thousand pages, and does not shorten it.
#
# A page of the database has no checksum, so each message has one of its own (CRC-32 over topic, id and body). A
# message whose checksum is wrong is never delivered: it is left out, and logged.

from __future__ import annotations

import logging
import os
import sqlite3
import weakref
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from zlib import crc32

from wireproof.protocols.namechan import Delivery, Persistence, Sync
from wireproof.reference_server.namechan.settings import Settings

__all__ = ["KeptQueue", "Row", "Store", "StoreError"]

log = logging.getLogger(__name__)

FILE = "namechan.sqlite3"
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS queue (topic INTEGER PRIMARY KEY, name BLOB UNIQUE NOT NULL, delivery INTEGER NOT NULL,"
    " sync INTEGER NOT NULL, position INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS message (topic INTEGER NOT NULL, id INTEGER NOT NULL, crc INTEGER NOT NULL,"
    " body BLOB NOT NULL, PRIMARY KEY (topic, id)) WITHOUT ROWID",
)
CHUNK, CHUNK_BYTES = 512, 256 << 10
"""The most messages and bytes, about, that are read at a time."""
LOG_BYTES = 1100 * 4120
"""Bytes of the log from the start on: the pages after which SQLite begins it anew, and some, with their headers."""
_pack = Struct(">QQ").pack
Row = tuple[int, int, bytes]
"""Topic id, message id, body."""


class StoreError(Exception):
    """Raised when something cannot be written or read; nothing of the transaction was."""


@dataclass(frozen=True, slots=True)
class KeptQueue:
    """A persistent queue as it was found."""

    topic: int
    name: bytes
    settings: Settings
    last: int
    """The id of its last message; 0: it never had one."""
    position: int
    """The id of the last message that a round-robin queue delivered."""


class Store:
    """The file of one server; without a folder a temporary one, which the system removes."""

    def __init__(self, folder: Path | None) -> None:
        """Raises `StoreError` for a folder that cannot be used."""
        self._where = str(folder / FILE) if folder is not None else ""
        self._is_full: bool | None = None
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self._where, isolation_level=None, check_same_thread=False)
            weakref.finalize(self, self._file.close)  # of a server that nobody closes, in whatever thread
            self._file.execute("PRAGMA journal_mode=WAL")
            for statement in SCHEMA:
                self._file.execute(statement)
            if folder is not None:
                self._lengthen_log(folder / f"{FILE}-wal")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{folder}: {error}") from None

    def _lengthen_log(self, log_file: Path) -> None:
        """Make the log as long as it will be; where that is not possible, it grows as it is written."""
        if log_file.exists() and log_file.stat().st_size >= LOG_BYTES:
            return
        (usual,) = self._file.execute("PRAGMA cache_size").fetchone()
        try:
            self._file.execute("PRAGMA cache_size=8")
            self._file.execute("BEGIN IMMEDIATE")
            self._file.execute("INSERT INTO message VALUES (0, 0, 0, zeroblob(?))", (LOG_BYTES,))
        except sqlite3.Error as error:
            log.info("%s: the log is not lengthened: %s", self._where, error)
        finally:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")
            self._file.execute(f"PRAGMA cache_size={usual}")
        with suppress(OSError), log_file.open("rb") as file:
            os.fsync(file.fileno())

    def queues(self) -> list[KeptQueue]:
        """Return the queues that are there, in the order of their ids. Raises `StoreError`."""
        found = []
        with _store_errors():
            for topic, name, delivery, sync, position in self._file.execute("SELECT * FROM queue ORDER BY topic"):
                (last,) = self._file.execute("SELECT max(id) FROM message WHERE topic = ?", (topic,)).fetchone()
                settings = Settings(Delivery(delivery), Persistence.PERSISTENT, Sync(sync))
                found.append(KeptQueue(topic, bytes(name), settings, max(last or 0, position), position))
        return found

    def add_queue(self, topic: int, name: bytes, settings: Settings) -> None:
        """Keep a queue. Raises `StoreError`."""
        with _store_errors():
            self._synchronous(full=True)
            row = (topic, name, int(settings.delivery), int(settings.sync))
            self._file.execute("INSERT INTO queue VALUES (?, ?, ?, ?, 0)", row)

    def write(self, rows: Iterable[Row], positions: Iterable[tuple[int, int]], *, sync: bool) -> None:
        """Write messages, and (topic, position) of round-robin queues, in one transaction, with or without an fsync.

        Raises `StoreError`, and then nothing of it was written.
        """
        try:
            self._synchronous(full=sync)
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany("INSERT INTO message VALUES (?, ?, ?, ?)", map(_with_checksum, rows))
            for topic, position in positions:
                self._file.execute("UPDATE queue SET position = ? WHERE topic = ?", (position, topic))
                self._file.execute("DELETE FROM message WHERE topic = ? AND id <= ?", (topic, position))
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):
                self._file.execute("ROLLBACK")
            raise StoreError(str(error)) from None

    def read(self, topic: int, first: int) -> list[tuple[int, bytes]]:
        """Return (id, body) of messages from `first` on, a chunk of them. Raises `StoreError`."""
        found: list[tuple[int, bytes]] = []
        left = CHUNK_BYTES
        wanted = (topic, first, CHUNK)
        asked = "SELECT id, crc, body FROM message WHERE topic = ? AND id >= ? ORDER BY id LIMIT ?"
        with _store_errors(), closing(self._file.execute(asked, wanted)) as rows:
            for number, checksum, body in rows:
                if checksum != crc32(body, crc32(_pack(topic, number))):
                    log.warning("%s: message %d of topic %d is damaged and left out", self._where, number, topic)
                    continue
                found.append((number, body))
                left -= len(body)
                if left <= 0:
                    break
        return found

    def flush(self) -> None:
        """Sync what was written without. Raises `StoreError`."""
        with _store_errors():
            self._file.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Write no more; what was not committed is lost, as when the process dies."""
        self._file.close()

    def _synchronous(self, *, full: bool) -> None:
        if full is not self._is_full:
            self._file.execute(f"PRAGMA synchronous={'FULL' if full else 'NORMAL'}")
            self._is_full = full


class _store_errors:  # noqa: N801 - a context manager without state
    """Raises `StoreError` for what SQLite raises."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise StoreError(str(error)) from None


def _with_checksum(row: Row) -> tuple[int, int, int, bytes]:
    topic, number, body = row
    return topic, number, crc32(body, crc32(_pack(topic, number))), body
