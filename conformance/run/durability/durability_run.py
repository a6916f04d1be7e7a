"""What a harness does with one server over all its lives: makes queues, publishes, reads, and knows what it knows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from wireproof.conformance.run.durability.conversation import Conversation, TestedQueue
from wireproof.conformance.run.durability.harness_connection import HarnessConnection
from wireproof.conformance.run.durability.lives import HOOK_OPENS, Lives
from wireproof.conformance.run.durability.promises import BrokenPromise, KnownMessages, Replayed
from wireproof.conformance.run.processes import StartError

__all__ = ["DurabilityRun", "UnderLoad"]

QUIET = 0.6
"""Seconds without a message after which a replay is over."""
AT_ONCE = 0.05
"""Seconds that are waited for what nobody expects."""
FOLLOWED = 20
"""How many messages are published before a subscriber reads them."""
ENDLESS = 100
"""How many messages more than were ever published are read: such a replay may have no end."""
UnderLoad = Callable[["DurabilityRun", int], tuple[str, list[BrokenPromise]]]
"""(run, number of the round) -> the moment of the death, and what came wrongly before it."""


@dataclass
class DurabilityRun:
    """One server over all its lives."""

    talk: Conversation
    lives: Lives
    seed: int
    under_load: UnderLoad
    """Applies load until a moment that the number of the round and the seed choose, and kills it then."""
    known: dict[bytes, KnownMessages] = field(default_factory=dict)
    topics: dict[bytes, int] = field(default_factory=dict)
    kills: int = 0
    _last: HarnessConnection | None = None
    """What read last."""

    @property
    def data(self) -> Path:
        """What the server keeps."""
        return self.lives.data

    def connect(self, link: str = "", name: str = "", patience: float = HOOK_OPENS) -> HarnessConnection:
        """Return a new connection; `name` is what evidence calls it. Raises `OSError`."""
        return HarnessConnection(self.talk, link, self.lives.connect(link, patience), name)

    def open_hook(self) -> HarnessConnection:
        """Connect to the hook; a server may open it a moment after its address. Raises `OSError`."""
        return self.connect(self.talk.document["link"])

    def chance(self, *what: object) -> random.Random:
        """Return a generator of its own for one purpose."""
        return random.Random(f"{self.seed} {what}")

    def start(self) -> list[BrokenPromise]:
        """Start the server, again, and make the queues; they may be there."""
        try:
            self.lives.start("for durability")
            return [*self._kept_queues(), *self.begin()]
        except StartError as error:
            return [BrokenPromise("starts", str(error))]
        except OSError as error:
            return [BrokenPromise("queues", f"queues cannot be made: {error}")]

    def begin(self) -> list[BrokenPromise]:
        """Make the queues, and note their topic ids in the first life. Raises `OSError`."""
        made = self.make_queues()
        return [*made, *(self._kept_queues() if not self.topics else ())]

    def _kept_queues(self) -> list[BrokenPromise]:
        """Subscribe what an earlier life made, before it is made again: a queue is kept, used or not."""
        breaches = []
        for one in self.talk.queues if self.known else ():
            if not one.is_shared:
                breaches += self.read(one.name, "follow", AT_ONCE)[1]
        return breaches

    def make_queues(self) -> list[BrokenPromise]:
        """Make the queues; those that are there with the same settings are kept."""
        breaches = []
        with self.open_hook() as connection:
            for one in self.talk.queues:
                self.known.setdefault(one.name, KnownMessages())
                connection.send(self.talk.message("beside", queue=_beside(one)))
                connection.receive()
                connection.send(self.talk.message("create", queue=one.name, **one.settings))
                message = connection.receive()
                if message is None or not self.talk.is_ok(message):
                    detail = f"{one.name.decode()} cannot be made: {message}"
                    breaches.append(BrokenPromise("queues", detail, evidence=connection.evidence()))
        return breaches

    def confused(self) -> list[BrokenPromise]:
        """Subscribe the queues that no restart keeps, and were made again: none has the topic id of another one."""
        breaches = []
        for one in [_beside(one) for one in self.talk.queues]:
            self.known.setdefault(one, KnownMessages())
            others = dict(self.topics)
            breaches += self.read(one, "follow", AT_ONCE)[1]
            same = [name.decode() for name, topic in others.items() if topic == self.topics.get(one)]
            detail = f"{one.decode()} has the topic id {self.topics.get(one)}, and so has {', '.join(same)}"
            breaches += self.witnessed([BrokenPromise("distinct", detail)]) if same else []
        return breaches

    def kill(self) -> None:
        """End the server as power of the process ends: without a word."""
        self.lives.kill()
        self.kills += 1

    def publish(self, queue: bytes, bodies: list[bytes], follow: Callable[[], None] | None = None) -> list[bytes]:
        """Publish bodies one by one, and `follow` behind every twentieth; return those that were acknowledged."""
        done = []
        with self.open_hook() as connection:
            for at, body in enumerate(bodies, 1):
                self.known[queue].published[body] = 0
                connection.send(self.talk.message("publish", queue=queue, body=body))
                message = connection.receive()
                if message is not None and self.talk.is_ok(message):
                    self.known[queue].acknowledged[body] = None
                    done.append(body)
                if follow is not None and at % FOLLOWED == 0:
                    follow()
        return done

    def read(
        self, queue: bytes, how: str, quiet: float = QUIET, most: int | None = None
    ) -> tuple[Replayed, list[BrokenPromise]]:
        """Subscribe and read until nothing comes, or `most` messages; compare the topic id with that of earlier lives.

        Raises `OSError`.
        """
        with self.connect(name=f"{how} {queue.decode()}") as connection:
            return self._read(connection, queue, how, quiet, most)

    def _read(
        self, connection: HarnessConnection, queue: bytes, how: str, quiet: float, most: int | None
    ) -> tuple[Replayed, list[BrokenPromise]]:
        found, wrong = [], []
        subscribed, is_subscribed = self.talk.document["subscribed"], False
        connection.send(self.talk.message(how, queue=queue))
        while (message := connection.receive(quiet if is_subscribed else None)) is not None:
            if subscribed["name"] == message.NAME:
                is_subscribed = True
                topic = getattr(message, subscribed["id"])
                if self.topics.setdefault(queue, topic) != topic:
                    wrong.append(("topics", f"{queue.decode()} was {self.topics[queue]}, now {topic}"))
            elif (one := self.talk.delivered(message)) is not None:
                found.append(one)
            if len(found) == most or len(found) > len(self.known[queue].published) + ENDLESS:
                break
        if not is_subscribed:
            wrong.append(("queues", f"nobody can subscribe {queue.decode()} any more"))
        self._last = connection
        return found, [BrokenPromise(*one, evidence=connection.evidence()) for one in wrong]

    def witnessed(self, breaches: Iterable[BrokenPromise]) -> list[BrokenPromise]:
        """Return breaches that the last `read` showed, with what was sent and received then."""
        if self._last is None:
            return list(breaches)
        return [replace(one, evidence=self._last.evidence(one.about)) for one in breaches]

    def compared(
        self, judge: Callable[[TestedQueue, KnownMessages, Replayed], list[BrokenPromise]]
    ) -> list[BrokenPromise]:
        """Replay every queue that can be, judge it, and take what was replayed as known."""
        breaches = []
        for one in self.talk.queues:
            if one.is_shared:
                continue
            try:
                found, more = self.read(one.name, "replay")
            except OSError as error:
                breaches.append(BrokenPromise("starts", f"{one.name.decode()} cannot be replayed: {error}"))
                continue
            breaches += [*more, *self.witnessed(judge(one, self.known[one.name], found))]
            self.known[one.name].replayed(found)
        return breaches

    def forget(self) -> None:
        """Expect nothing any more of what was published so far, but that it comes whole."""
        for one in self.known.values():
            one.seen.clear()
            one.acknowledged.clear()


def _beside(queue: TestedQueue) -> bytes:
    """Return the name of the queue that is made before another one, and that no restart keeps."""
    return b"beside-" + queue.name
