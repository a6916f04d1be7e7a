"""Load on a server that is about to die: publishers, subscribers and one that replays, a thread each.

They end when the server is gone, or when they are told to; what they learned stands in the ledgers then.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping

from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.durability.conversation import Conversation, Speaker, TestedQueue
from wireproof.conformance.run.durability.promises import BrokenPromise, Ledger

__all__ = ["JOIN", "PUBLISHERS", "Load"]

PUBLISHERS = 3
DEPTH = 8
"""Messages that a publisher has on the way."""
LONGEST = 3000
"""Bytes of the longest body, about."""
JOIN = 15.0
"""Seconds in which a thread ends once the server is gone."""
TICK = 0.05


class Load:
    """The load of one life of a server."""

    def __init__(
        self,
        talk: Conversation,
        ledgers: Mapping[bytes, Ledger],
        server: Address,
        hook: Address,
        *,
        round_number: int,
        seed: int,
        only: TestedQueue | None = None,
    ) -> None:
        """`only`: load on this queue alone, which nobody replays meanwhile."""
        self._talk, self._ledgers = talk, ledgers
        self._server, self._hook = server, hook
        self._round, self._seed = round_number, seed
        self._is_replayed = only is None
        self._queues = [only] if only else [one for one in talk.queues if not one.is_shared]
        self._stop = threading.Event()
        self.first_acknowledged = threading.Event()
        self.replaying = threading.Event()
        """Somebody has got the first message of a replay."""
        self.breaches: list[BrokenPromise] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin; subscribers first."""
        for queue in self._queues:
            self._run(self._follow, queue, False)
            if self._is_replayed:
                self._run(self._follow, queue, True)
        for number in range(PUBLISHERS):
            self._run(self._publish, number)

    def join(self) -> None:
        """Wait until all have ended; those that do not end are left behind (they are daemons)."""
        self._stop.set()
        deadline = time.monotonic() + JOIN
        for one in self._threads:
            one.join(max(deadline - time.monotonic(), 0.0))

    def _run(self, work: Callable[..., None], *given: object) -> None:
        def until_gone() -> None:
            try:
                work(*given)
            except OSError:
                return

        self._threads.append(threading.Thread(target=until_gone, daemon=True))
        self._threads[-1].start()

    def _publish(self, number: int) -> None:
        """Publish to each queue in turn, a few on the way, and note what is acknowledged."""
        chance = random.Random(f"{self._seed} {self._round} {number}")
        queues = [one.name for one in self._queues]
        on_the_way: list[tuple[bytes, bytes]] = []
        count = 0
        with Speaker(self._talk, self._talk.document["link"], self._hook) as speaker:
            while not self._stop.is_set():
                while len(on_the_way) < DEPTH:
                    queue, body = queues[count % len(queues)], body_of(chance, f"{self._round}-{number}-{count}")
                    count += 1
                    with self._lock:
                        self._ledgers[queue].published[body] = count
                    on_the_way.append((queue, body))
                    speaker.say(self._talk.message("publish", queue=queue, body=body))
                message = speaker.receive()
                if message is None:
                    return
                queue, body = on_the_way.pop(0)
                if self._talk.is_ok(message):
                    with self._lock:
                        self._ledgers[queue].acknowledged[body] = None
                    self.first_acknowledged.set()

    def _follow(self, queue: TestedQueue, is_replayed: bool) -> None:
        """Read a queue from now on, or all of it: ids without a gap, each noted."""
        last = 0
        with Speaker(self._talk, "", self._server) as speaker:
            speaker.say(self._talk.message("replay" if is_replayed else "follow", queue=queue.name))
            while not self._stop.is_set():
                message = speaker.receive(TICK)
                one = None if message is None else self._talk.delivered(message)
                if one is None:
                    continue
                if is_replayed:
                    self.replaying.set()
                with self._lock:
                    if (last or is_replayed) and one[0] != last + 1:
                        kind = "a replay" if is_replayed else "what came live"
                        detail = f"in {kind} of {queue.name.decode()} id {one[0]} came behind {last}"
                        self.breaches.append(BrokenPromise("once" if one[0] <= last else "ids", detail))
                    self._ledgers[queue.name].saw(*one)
                last = one[0]


def body_of(chance: random.Random, name: str) -> bytes:
    """Return a body that nothing else has: some are short, some long, all have bytes of any value."""
    size = chance.choice((0, 10, 100, LONGEST))
    return f"<{name}:".encode() + chance.randbytes(chance.randint(0, size)) + b">"
