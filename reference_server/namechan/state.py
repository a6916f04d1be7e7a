"""The state that all connections of one server share: queues, what is to be written, and when it goes out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wireproof.protocols.messages import Reply, Request
from wireproof.protocols.namechan import Codec, Sync
from wireproof.protocols.profile import Profile
from wireproof.reference_server.clock import Clock, Timer
from wireproof.reference_server.namechan.queue import Queue
from wireproof.reference_server.namechan.rules import Rules
from wireproof.reference_server.namechan.settings import Settings, parse_queue
from wireproof.reference_server.namechan.store import Row, Store, StoreError
from wireproof.reference_server.service import Ids, Limits

if TYPE_CHECKING:
    from wireproof.reference_server.namechan.session import NamechanSession

__all__ = ["Answer", "Done", "Handler", "Handlers", "State"]

log = logging.getLogger(__name__)

Answer = Reply | bytes | tuple[Reply, ...] | None
"""Replies, or bytes that are written instead (mutants send what has no message)."""
Handler = Callable[[Any, Any, int], Answer]
"""(request, session, now in monotonic ns) -> the answer."""
Handlers = dict[type[Request], Handler]
Done = Callable[[str], object]
"""Called once a message is out, with "", or once it is refused, with why."""

SECOND = 1_000_000_000
SAVED_EVERY, FLUSHED_EVERY = SECOND // 5, 2 * SECOND
"""ns after which Async messages are written, and those of Weak queues flushed."""
MOST_UNSAVED = 4096
"""Async messages that wait to be written."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A message that goes out once it is written."""

    queue: Queue
    body: bytes
    done: Done


class State:
    """One server's queues and connections, under the rules of its profile."""

    def __init__(
        self,
        profile: Profile,
        variant: str,
        clock: Clock,
        ids: Ids,
        limits: Limits,
        options: Mapping[str, Any],
        rules: Rules,
    ) -> None:
        """Raises ValueError for queues and folders that cannot be used."""
        self.codec = Codec.of(profile, variant)
        self.rules = rules
        self.clock, self.limits, self.options = clock, limits, options
        self.max_kept: int = options["max_kept"]
        self.queues: dict[bytes, Queue] = {}
        self.sessions: dict[NamechanSession, None] = {}
        """Open connections, oldest first."""
        self.touched: list[NamechanSession] = []
        """Connections that have frames to write once the current requests are handled."""
        self._waiting: list[_Waiting] = []
        self._unsaved: list[Row] = []
        self._moved: dict[int, Queue] = {}
        self._commit_timer: Timer | None = None
        self._save_timer: Timer | None = None
        self._flush_timer: Timer | None = None
        self._is_closed = False
        self._topics = 0
        self._restore()

    @cached_property
    def store(self) -> Store:
        """What is persistent; opened when it is first needed."""
        folder = self.options["data"]
        return Store(None if folder is None else Path(folder))

    def _restore(self) -> None:
        try:
            for kept in self.store.queues() if self.options["data"] is not None else ():
                self._topics = max(self._topics, kept.topic)
                self.queues[kept.name] = Queue(self, kept.topic, kept.name, kept.settings, kept.last, kept.position)
                log.info("topic %d has messages up to %d", kept.topic, kept.last)
            for text in self.options["queue"]:
                why = self.create(*parse_queue(text))
                if why:
                    raise ValueError(f"queue {text!r}: {why}")
        except StoreError as error:
            raise ValueError(f"data: {error}") from None

    def create(self, name: bytes, settings: Settings) -> str:
        """Make a queue; return why that is not possible, "" where it is there now."""
        there = self.queues.get(name)
        if there is not None:
            return "" if there.settings == settings else "it is there with other settings"
        topic = self._topics + 1
        if settings.is_persistent:
            try:
                self.store.add_queue(topic, name, settings)
            except StoreError as error:
                return f"it cannot be stored: {error}"
        self._topics = topic
        self.queues[name] = Queue(self, topic, name, settings)
        return ""

    def find(self, name: bytes) -> Queue | None:
        """Return the queue of that name, made where the server makes queues by itself (N7)."""
        if name not in self.queues and self.options["auto_create"]:
            self.create(name, Settings())
        return self.queues.get(name)

    def publish(self, name: bytes, body: bytes, done: Done) -> None:
        """Publish a message; `done` is called, maybe at once."""
        queue = self.find(name)
        if queue is None:
            done("unknown topic")
        elif queue.is_full():
            done("nobody subscribes, and no more is kept")
        elif not queue.settings.is_persistent:
            queue.out(body)
            done("")
        elif queue.settings.sync is Sync.ASYNC:
            self._unsaved.append((queue.topic, queue.out(body), body))
            self._save_later()
            done("")
        else:
            self._waiting.append(_Waiting(queue, body, done))
            if self._commit_timer is None:
                self._commit_timer = self.clock.call_at(self.clock.monotonic_ns(), self._commit)

    def _commit(self) -> None:
        """Write what waits, in one transaction; then it goes out."""
        self._commit_timer = None
        waiting, self._waiting = self._waiting, []
        given: dict[Queue, int] = {}
        rows: list[Row] = []
        for one in waiting:
            given[one.queue] = given.get(one.queue, one.queue.last) + 1
            rows.append((one.queue.topic, given[one.queue], one.body))
        try:
            self._write(rows, sync=any(one.queue.settings.sync is Sync.STRONG for one in waiting))
        except StoreError as error:
            log.error("%d messages are refused: %s", len(rows), error)
            for one in waiting:
                one.done(f"it cannot be stored: {error}")
        else:
            for one in waiting:
                one.queue.out(one.body)
                one.done("")
            if self._flush_timer is None and any(one.queue.settings.sync is Sync.WEAK for one in waiting):
                self._flush_timer = self.clock.call_at(self.clock.monotonic_ns() + FLUSHED_EVERY, self._flush_store)
        self.flush()

    def _write(self, rows: list[Row], *, sync: bool) -> None:
        """Write messages, with those that were not saved yet. Raises `StoreError`, and then nothing was."""
        unsaved, moved = self._unsaved, self._moved
        self.store.write([*unsaved, *rows], [(topic, queue.position) for topic, queue in moved.items()], sync=sync)
        self._unsaved, self._moved = [], {}

    def save(self) -> None:
        """Write what is out and not written: messages of Async queues, and positions."""
        if self._save_timer is not None:
            self._save_timer.cancel()
            self._save_timer = None
        if not (self._unsaved or self._moved):
            return
        try:
            self._write([], sync=False)
        except StoreError as error:
            log.error("%d messages are not written yet: %s", len(self._unsaved), error)
            del self._unsaved[:-MOST_UNSAVED]

    def moved(self, queue: Queue) -> None:
        """Note that the position of a queue is to be written."""
        self._moved[queue.topic] = queue
        self._save_later()

    def _save_later(self) -> None:
        if len(self._unsaved) >= MOST_UNSAVED:
            self.save()
        elif self._save_timer is None:
            self._save_timer = self.clock.call_at(self.clock.monotonic_ns() + SAVED_EVERY, self.save)

    def _flush_store(self) -> None:
        self._flush_timer = None
        try:
            self.store.flush()
        except StoreError as error:
            log.error("the log is not flushed: %s", error)

    def later(self, work: Callable[[], object]) -> None:
        """Do work in the next turn of the loop, and write what comes of it."""

        def run() -> None:
            if not self._is_closed:
                work()
                self.flush()

        self.clock.call_at(self.clock.monotonic_ns(), run)

    def flush(self) -> None:
        """Write the frames that are queued for connections."""
        touched, self.touched = self.touched, []
        for session in touched:
            session.flush()

    def close(self) -> None:
        """Write what is not written, and drop everything."""
        if self._waiting:
            self._commit()
        self.save()
        self._is_closed = True
        for timer in (self._commit_timer, self._save_timer, self._flush_timer):
            if timer is not None:
                timer.cancel()
        if "store" in vars(self):
            self.store.close()
        self.queues.clear()
