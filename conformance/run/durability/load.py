"""Load on a server that is about to die: publishers, subscribers and one that replays, a thread each.

They end when the server is gone, or when they are asked to; what they learned is in `DurabilityRun.known` then.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from wireproof.conformance.run.durability.conversation import TestedQueue
from wireproof.conformance.run.durability.durability_run import DurabilityRun
from wireproof.conformance.run.durability.harness_connection import HarnessConnection
from wireproof.conformance.run.durability.promises import BrokenPromise
from wireproof.protocols import Message

__all__ = ["DEPTH", "Load", "Publisher", "QueueReader", "body_of", "under_threads"]

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

    def __init__(self, run: DurabilityRun, round_number: int, only: TestedQueue | None = None) -> None:
        """`only`: load on this queue alone, which nobody replays meanwhile."""
        self._at, self._round = run, round_number
        self._is_replayed = only is None
        self._queues = [only] if only else [one for one in run.talk.queues if not one.is_shared]
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
            self._run(self._follow, queue, "follow")
            if self._is_replayed:
                self._run(self._follow, queue, "replay")
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
        chance = random.Random(f"{self._at.seed} {self._round} {number}")
        count = 0
        with self._at.connect(self._at.talk.document["link"], patience=0.0) as connection:
            publisher = Publisher(self._at, connection)
            while not self._stop.is_set():
                while len(publisher.on_the_way) < DEPTH:
                    queue = self._queues[count % len(self._queues)].name
                    with self._lock:
                        publisher.publish((queue, body_of(chance, f"{self._round}-{number}-{count}")))
                    count += 1
                message = connection.receive()
                if message is None:
                    return
                with self._lock:
                    if publisher.takes(message):
                        self.first_acknowledged.set()

    def _follow(self, queue: TestedQueue, how: str) -> None:
        """Read a queue from now on, or all of it: ids without a gap, each noted."""
        with self._at.connect(name=f"{how} {queue.name.decode()}", patience=0.0) as connection:
            follower = QueueReader(self._at, connection, queue, how)
            while not self._stop.is_set():
                message = connection.receive(TICK)
                if message is not None:
                    with self._lock:
                        self.breaches += follower.takes(message)
                    if follower.last and how == "replay":
                        self.replaying.set()


class Publisher:
    """One connection that publishes; it knows what is not answered yet."""

    def __init__(self, run: DurabilityRun, connection: HarnessConnection) -> None:
        self._run, self.connection = run, connection
        self.on_the_way: list[tuple[bytes, bytes]] = []

    def publish(self, *bodies: tuple[bytes, bytes]) -> None:
        """Publish (queue, body), in one write; raises `OSError`."""
        for queue, body in bodies:
            self._run.known[queue].published[body] = 0
        self.on_the_way += bodies
        talk = self._run.talk
        self.connection.send(*(talk.message("publish", queue=queue, body=body) for queue, body in bodies))

    def takes(self, message: Message) -> bool:
        """Follow an answer, and say whether it acknowledges."""
        queue, body = self.on_the_way.pop(0)
        if is_ok := self._run.talk.is_ok(message):
            self._run.known[queue].acknowledged[body] = None
        return is_ok


class QueueReader:
    """One connection that reads a queue, from now on or all of it."""

    def __init__(self, run: DurabilityRun, connection: HarnessConnection, queue: TestedQueue, how: str) -> None:
        """Subscribe; `how`: "follow" or "replay". Raises `OSError`."""
        self._run, self.connection, self._queue, self._how = run, connection, queue, how
        self.last = 0
        connection.send(run.talk.message(how, queue=queue.name))

    def takes(self, message: Message) -> list[BrokenPromise]:
        """Note a message; return what is wrong with its id."""
        one = self._run.talk.delivered(message)
        if one is None:
            return []
        before, self.last = self.last, one[0]
        self._run.known[self._queue.name].saw(*one)
        if one[0] == before + 1 or not (before or self._how == "replay"):
            return []
        kind = "a replay" if self._how == "replay" else "what came live"
        detail = f"in {kind} of {self._queue.name.decode()} id {one[0]} came after {before}"
        promise = "once" if one[0] <= before else "ids"
        return [BrokenPromise(promise, detail, one[0], self.connection.evidence(one[0]))]


def under_threads(run: DurabilityRun, number: int) -> tuple[str, list[BrokenPromise]]:
    """Put a process under load of threads, and kill it; see `UnderLoad`."""
    moment = ("random", "random-alone", "first-acknowledgement", "random-alone", "replay")[number % 5]
    queues = [one for one in run.talk.queues if not one.is_shared]
    load = Load(run, number, queues[number // 2 % len(queues)] if moment == "random-alone" else None)
    load.start()
    if moment == "first-acknowledgement":
        load.first_acknowledged.wait(5.0)
    elif moment == "replay":
        load.replaying.wait(5.0)
    else:
        load.first_acknowledged.wait(5.0)
        time.sleep(run.chance("kill", number).uniform(0.0, 0.5))
    run.kill()
    load.join()
    return moment, list(load.breaches)


def body_of(chance: random.Random, name: str) -> bytes:
    """Return a body that nothing else has: some are short, some long, all have bytes of any value."""
    size = chance.choice((0, 10, 100, LONGEST))
    return f"<{name}:".encode() + chance.randbytes(chance.randint(0, size)) + b">"
