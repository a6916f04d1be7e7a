"""Mutants of what survives a death: only `wireproof durability` shows them, no case does.

Each names the promise of vectors/namechan/durability.yaml that it breaks.
"""

from __future__ import annotations

from collections.abc import Mapping

from wireproof.mutants.edits import Edit, edit, first
from wireproof.mutants.namechan.server.mutant import ServerMutant, mutant

__all__ = ["DURABILITY_MUTANTS", "PROMISES"]

KEPT = "found.append(KeptQueue(topic, bytes(name), settings, max(last or 0, position), position))"
INSERT = '"INSERT INTO message VALUES (?, ?, ?, ?)"'
COMMIT = 'self._file.execute("COMMIT")'
LATER = "self._commit_timer = self.clock.call_at(self.clock.monotonic_ns(), self._commit)"
LATE = "self._commit_timer = self.clock.call_at(self.clock.monotonic_ns() + 200_000_000, self._commit)"
WAIT = "self._waiting.append(_Waiting(queue, body, done))"
OPEN = 'self._where = str(folder / FILE) if folder is not None else ""'
REPLACE = edit("store.Store.write", INSERT, INSERT.replace("INSERT", "INSERT OR REPLACE"))


def _row(promise: str, name: str, description: str, *edits: Edit) -> tuple[str, ServerMutant]:
    return promise, mutant(f"restart-{name}", description, "REPLAY-8", *edits)


ROWS = (
    _row("seen", "strong-is-async", "Strong messages go out before they are written.",
         edit("state.State.publish", "elif queue.settings.sync is Sync.ASYNC:", "elif queue.settings.sync is not Sync.WEAK:")),
    _row("seen", "weak-is-async", "Weak messages go out before they are written.",
         edit("state.State.publish", "elif queue.settings.sync is Sync.ASYNC:", "elif queue.settings.sync is not Sync.STRONG:")),
    _row("seen", "out-before-the-commit", "A message goes out a moment before its transaction is begun.",
         edit("state.State.publish", LATER, LATE), edit("state.State.publish", WAIT, "queue.out(body); queue.last -= 1", WAIT)),
    _row("acknowledged", "acknowledged-early", "A publisher is told before its message is written.",
         edit("state.State.publish", LATER, LATE), edit("state.State.publish", WAIT, 'done(""); self._waiting.append(_Waiting(queue, body, lambda why: None))')),
    _row("seen", "commits-of-fifty", "Fifty transactions are one.",
         edit("store.Store.write", 'self._file.execute("BEGIN IMMEDIATE")', 'self._file.in_transaction or self._file.execute("BEGIN IMMEDIATE")'),
         edit("store.Store.write", COMMIT, "self._count = vars(self).get('count', 0) + 1", "self.__dict__['count'] = self._count", 'if self._count % 50 == 0: self._file.execute("COMMIT")'),
         edit("store.Store._synchronous", "if full is not self._is_full:", "if full is not self._is_full and not self._file.in_transaction:")),
    _row("seen", "log-is-thrown-away", "What is in the write-ahead log is thrown away at the start.",
         edit("store.Store.__init__", OPEN, OPEN, 'if folder is not None: (folder / (FILE + "-wal")).unlink(missing_ok=True)')),
    _row("seen", "begins-empty", "Messages are dropped at the start.",
         first("store.Store.queues", 'self._file.execute("DELETE FROM message WHERE id > 0")')),
    _row("seen", "forgets-queues", "Queues are not kept, only their messages.",
         first("store.Store.queues", 'self._file.execute("DELETE FROM queue")')),
    _row("queues", "forgets-the-sync", "Every queue is Async after a restart.",
         edit("store.Store.queues", "Sync(sync)", "Sync.ASYNC")),
    _row("queues", "forgets-the-delivery", "Every queue is a broadcast queue after a restart.",
         edit("store.Store.queues", "Delivery(delivery)", "Delivery.BROADCAST")),
    _row("seen", "ids-begin-again", "Ids begin at 1 after a restart; what had them is overwritten.",
         edit("store.Store.queues", KEPT, KEPT.replace("max(last or 0, position)", "position")), REPLACE),
    _row("seen", "last-id-again", "The last id is given again after a restart; its message is overwritten.",
         edit("store.Store.queues", KEPT, KEPT.replace("max(last or 0, position)", "max((last or 0) - 1, position)")), REPLACE),
    _row("ids", "ids-jump", "Ids jump to the next hundred after a restart.",
         edit("store.Store.queues", KEPT, KEPT.replace("max(last or 0, position)", "-(-max(last or 0, position) // 100) * 100"))),
    _row("ids", "first-id-is-passed-over", "The first id of a queue that was restarted empty is 2.",
         edit("store.Store.queues", KEPT, KEPT.replace("last or 0", "last or 1"))),
    _row("once", "last-twice", "The last message is there twice after a restart.",
         edit("store.Store.queues", KEPT, 'row = self._file.execute("SELECT body FROM message WHERE topic = ? AND id = ?", (topic, last or 0)).fetchone()',
              'if row: self._file.execute("INSERT INTO message VALUES (?, ?, ?, ?)", _with_checksum((topic, last + 1, row[0]))); last += 1', KEPT)),
    _row("whole", "half-of-the-last", "The last message is half there after a restart.",
         edit("store.Store.queues", KEPT, 'row = self._file.execute("SELECT body FROM message WHERE topic = ? AND id = ?", (topic, last or 0)).fetchone()',
              'if row: self._file.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?)", _with_checksum((topic, last, row[0][: len(row[0]) // 2])))', KEPT)),
    _row("whole", "checksums-do-not-count", "A damaged message is delivered.",
         edit("store.Store.read", "if checksum != crc32(body, crc32(_pack(topic, number))):", "if False:")),
    _row("topics", "topic-ids-move", "Topic ids are others in each life.",
         edit("Queue._frame", "Message(number, self.topic, body)", "Message(number, self.topic + __import__('os').getpid(), body)"),
         edit("LineHandlers.subscribe", "reply = Subscribed(queue.topic, queue.name)", "reply = Subscribed(queue.topic + __import__('os').getpid(), queue.name)")),
    _row("distinct", "counts-what-is-kept", "The next topic id after a restart is counted from the queues that were kept.",
         edit("state.State._restore", "self._topics = max(self._topics, kept.topic)", "self._topics += 1")),
    _row("topics", "topics-are-renumbered", "Topic ids are counted anew after a restart, without the queues that it ended.",
         edit("state.State._restore", 'for text in self.options["queue"]:', 'for at, one in enumerate(self.queues.values(), 1): one.shown = at', 'for text in self.options["queue"]:'),
         edit("Queue._frame", "Message(number, self.topic, body)", "Message(number, vars(self).get('shown', self.topic), body)"),
         edit("LineHandlers.subscribe", "reply = Subscribed(queue.topic, queue.name)", "reply = Subscribed(vars(queue).get('shown', queue.topic), queue.name)")),
    _row("ended", "async-is-never-written", "Messages of an Async queue are kept in memory only.",
         edit("state.State.publish", "self._unsaved.append((queue.topic, queue.out(body), body))", "queue.out(body)")),
    _row("turns", "position-is-lost", "What a round-robin queue delivered comes again after a restart.",
         edit("store.Store.write", 'self._file.execute("DELETE FROM message WHERE topic = ? AND id <= ?", (topic, position))', "pass"),
         edit("store.Store.queues", KEPT, KEPT.replace(", position))", ", 0))"))),
    _row("turns", "position-is-not-written", "How far a round-robin queue has come is not written.",
         edit("state.State.moved", "self._moved[queue.topic] = queue", "pass")),
    _row("turns", "position-is-not-written-at-the-end", "How far a round-robin queue has come is not written at a clean end.",
         edit("state.State.close", "self.save()", "pass")),
    _row("turns", "what-waits-is-lost", "What waits in a round-robin queue is passed over after a restart.",
         edit("store.Store.queues", KEPT, KEPT.replace(", position))", ", max(last or 0, position)))"))),
    _row("turns", "one-that-waits-is-lost", "The first message that waits is passed over after a restart.",
         edit("store.Store.queues", KEPT, KEPT.replace(", position))", ", position + ((last or 0) > position)))"))),
    _row("acknowledged", "full-disk-is-ignored", "What a full disk does not take is sent and acknowledged all the same.",
         edit("state.State._write", "self.store.write(", "try: self.store.write([*unsaved, *rows], [(topic, queue.position) for topic, queue in moved.items()], sync=sync)",
              "except StoreError: pass", "if False: self.store.write(")),
    _row("seen", "full-disk-delivers", "What a full disk does not take is refused, and sent to subscribers all the same.",
         edit("state.State._commit", 'one.done(f"it cannot be stored: {error}")', "one.queue.out(one.body); one.queue.last -= 1", 'one.done(f"it cannot be stored: {error}")')),
    _row("full", "full-disk-ends-it", "The server ends when the disk is full.",
         edit("state.State._commit", "except StoreError as error:", "except StoreError as error:", "    __import__('os')._exit(1)")),
    _row("full", "full-disk-for-ever", "What was refused once is refused for ever.",
         edit("state.State._commit", "waiting, self._waiting = self._waiting, []", "waiting, self._waiting = self._waiting, []", "if 'full' in vars(self): [one.done('full') for one in waiting]; return"),
         edit("state.State._commit", "except StoreError as error:", "except StoreError as error:", "    self.full = True")),
    _row("starts", "log-in-the-way", "The server does not start where a write-ahead log is left.",
         edit("store.Store.__init__", OPEN, OPEN, 'if folder is not None and (folder / (FILE + "-wal")).exists(): raise StoreError("locked")')),
    _row("once", "replay-skips-the-seam", "What is published during a replay comes live, too.",
         edit("Queue.out", "if one.cursor is None and number >= one.start:", "if number >= one.start:")),
    _row("seen", "replay-of-this-life", "A replay begins with the first message of this life.",
         edit("Queue.__init__", "self.last = last", "self.last = self.before = last"),
         edit("Queue.subscribe", "found.cursor = start", "found.cursor = max(start, self.before + 1)")),
)  # fmt: skip
DURABILITY_MUTANTS: Mapping[str, ServerMutant] = {one.name: one for _, one in ROWS}
"""Name -> mutant."""
PROMISES: Mapping[str, str] = {one.name: promise for promise, one in ROWS}
"""Name -> the promise that it breaks first."""
