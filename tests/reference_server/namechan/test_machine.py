"""A stateful machine with restarts in it: random requests in random spellings against a model of the document.

The model is dicts and lists and shares no code with the handlers. `wireproof fuzz machine namechan` has a model of the
whole document and restarts, too; this machine is smaller, and knows more of the server: its folder, its options.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from tests.reference_server.namechan.simulated import Line, Server
from wireproof.protocols.messages import Message
from wireproof.protocols.namechan.requests import HookCreate, HookPublish, Subscribe, Unsubscribe

KNOWN = (b"a", b"two words", b"\xff\n")
NAMES = (*KNOWN, *KNOWN, b"unknown")
MAX_KEPT, MOST_CLIENTS = 4, 4
Settings = tuple[int, int, int]
"""Delivery, persistence, sync."""


@dataclass
class Queue:
    """What the document says of one queue."""

    settings: Settings
    last: int = 0
    stored: dict[int, bytes] = field(default_factory=dict)
    """What can be replayed."""
    waiting: dict[int, bytes] = field(default_factory=dict)
    """What nobody got yet, of a round-robin queue."""
    topic: int = 0
    """The topic id, once somebody saw it."""

    @property
    def is_broadcast(self) -> bool:
        return self.settings[0] == 0

    @property
    def is_persistent(self) -> bool:
        return self.settings[1] == 1


@dataclass(eq=False)
class Subscriber:
    """One client: what it subscribed, from which id on, and what must come."""

    line: Line
    topics: dict[bytes, int] = field(default_factory=dict)
    due: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)
    """Topic id -> (message id, body)."""
    last: dict[int, int] = field(default_factory=dict)
    """Topic id -> the last message id that came."""


class NamechanMachine:
    """Draws steps and follows them."""

    def __init__(self, folder: Path, draw: Random, mutant: str | None = None) -> None:
        self.folder, self.draw, self.mutant = folder, draw, mutant
        self.queues: dict[bytes, Queue] = {}
        self.bodies = 0
        self.start()
        for which, name in enumerate(KNOWN):
            self.create(name, draw.randint(0, 1), draw.randint(0, 1), draw.randint(0, 2))
            self.subscribe(which, name, 2, 0)

    def step(self) -> None:
        """Do one step; publishing and subscribing are the most frequent ones."""
        draw = self.draw
        kind = draw.choices(
            ["publish", "subscribe", "unsubscribe", "connect", "leave", "restart", "create"], [8, 6, 2, 2, 1, 1, 1]
        )[0]
        name, which = draw.choice(NAMES), draw.randint(0, 3)
        if kind == "publish":
            self.publish(name, draw.randint(1, 5))
        elif kind == "create":
            self.create(name, draw.randint(0, 1), draw.randint(0, 1), draw.randint(0, 2))
        elif kind == "restart":
            self.restart(is_killed=draw.random() < 0.5)
        elif kind == "connect":
            self.clients += [Subscriber(self.server.client())] * (len(self.clients) < MOST_CLIENTS)
        elif self.clients and kind == "subscribe":
            self.subscribe(which, name, draw.randint(0, 2), draw.randint(0, 9))
        elif self.clients and kind == "unsubscribe":
            self.unsubscribe(which, name)
        elif self.clients:
            self.leave(which)

    def start(self) -> None:
        options = {"max_kept": MAX_KEPT, "ping_interval": 1e6}
        self.server = Server(data=self.folder, mutant=self.mutant, **options)
        self.clients = [Subscriber(self.server.client()) for _ in range(2)]

    def ask(self, line: Line, request: Message) -> list[Message]:
        """Send a request in one of its spellings; return what its connection got until nothing more came."""
        known = [line.codec.send(request), *self.server.codec.spellings(request).values()]
        found = line.write(self.draw.choice(known))
        while more := line.take():
            found += more
        return found

    def create(self, name: bytes, delivery: int, persistence: int, sync: int) -> None:
        wanted = (delivery, persistence, sync if persistence else 0)
        (answer,) = self.ask(self.server.hook, HookCreate(name, *wanted))
        is_like = self.queues.setdefault(name, Queue(wanted)).settings == wanted
        assert (answer.text == b"ok") == is_like, answer  # type: ignore[attr-defined]

    def publish(self, name: bytes, count: int) -> None:
        for _ in range(count):
            self.bodies += 1
            body = b"%d \xff\0" % self.bodies
            (answer,) = self.ask(self.server.hook, HookPublish(name, body))
            assert (answer.text == b"ok") == self.published(name, body), (answer, self.queues.get(name))  # type: ignore[attr-defined]
        self.settle()

    def published(self, name: bytes, body: bytes) -> bool:
        """Follow a message in the model; say whether it is accepted."""
        queue = self.queues.get(name)
        there = [one for one in self.clients if name in one.topics]
        if queue is None:
            return False
        if not (queue.is_broadcast or queue.is_persistent or there) and len(queue.waiting) >= MAX_KEPT:
            return False
        queue.last += 1
        if not queue.is_broadcast:
            queue.waiting[queue.last] = body
            self.settle()
            return True
        if queue.is_persistent:
            queue.stored[queue.last] = body
        for one in there:
            if queue.last >= one.topics[name]:
                one.due.setdefault(queue.topic, []).append((queue.last, body))
        return True

    def connect(self) -> None:
        self.clients.append(Subscriber(self.server.client()))

    def subscribe(self, which: int, name: bytes, replay: int, number: int) -> None:
        one, queue = self.clients[which % len(self.clients)], self.queues.get(name)
        asked = Subscribe(name, replay, number if replay == 1 else 0)
        answer, *more = self.ask(one.line, asked)
        if queue is None or (
            name not in one.topics and replay != 2 and not (queue.is_broadcast and queue.is_persistent)
        ):
            assert (answer.NAME, more) == ("ERROR", [])
            return
        assert (answer.NAME, answer.topic) == ("SUBSCRIBED", name)  # type: ignore[attr-defined]
        assert queue.topic in (0, answer.id), "topic ids stay (N11)"  # type: ignore[attr-defined]
        queue.topic = answer.id  # type: ignore[attr-defined]
        assert sum(other.topic == queue.topic for other in self.queues.values()) == 1
        if name not in one.topics:
            one.topics[name] = {0: 1, 1: number, 2: queue.last + 1}[replay]
            due = [(at, body) for at, body in queue.stored.items() if at >= one.topics[name]]
            one.due.setdefault(queue.topic, []).extend(due)
        self.settle((one, more))

    def unsubscribe(self, which: int, name: bytes) -> None:
        one = self.clients[which % len(self.clients)]
        (answer,) = self.ask(one.line, Unsubscribe(name))
        wanted = "UNSUBSCRIBED" if one.topics.pop(name, None) is not None else "ERROR"
        assert wanted == answer.NAME

    def leave(self, which: int) -> None:
        one = self.clients.pop(which % len(self.clients))
        one.line.session.connection_lost()

    def restart(self, *, is_killed: bool) -> None:
        """End the server, by a signal or in good order, and start it on the same folder."""
        if is_killed:
            self.server.wait(1)  # by then what is Async is written, and how far round robin has come (N24)
            self.server.killed()
        else:
            self.server.service.close()
        gone = {name: one.settings for name, one in self.queues.items() if not one.is_persistent}
        self.queues = {name: one for name, one in self.queues.items() if one.is_persistent}
        self.start()
        for name, settings in gone.items():
            self.create(name, *settings)

    def settle(self, *came: tuple[Subscriber, list[Message]]) -> None:
        """Compare what came with what must come, in order for each topic (N17); round robin to one subscriber."""
        there = dict(came)
        by_topic = {queue.topic: (name, queue) for name, queue in self.queues.items() if queue.topic}
        for one in self.clients:
            for message in (*there.get(one, ()), *one.line.take()):
                assert message.NAME == "MESSAGE", message
                name, queue = by_topic[message.topic]  # type: ignore[attr-defined]
                assert name in one.topics
                assert queue.is_broadcast or message.id > one.last.get(queue.topic, 0)
                one.last[queue.topic] = message.id
                due = one.due.get(queue.topic, []) if queue.is_broadcast else [*queue.waiting.items()]
                assert (message.id, message.body) in due[: None if not queue.is_broadcast else 1], (message, due)  # type: ignore[attr-defined]
                if queue.is_broadcast:
                    due.pop(0)
                else:
                    del queue.waiting[message.id]  # type: ignore[attr-defined]
            assert not any(one.due.values()), one.due
        for name, queue in self.queues.items():
            if any(name in one.topics for one in self.clients):
                assert not queue.waiting, (name, queue.waiting)


def run(folder: Path, seeds: int, mutant: str | None = None) -> None:
    """Run some conversations. Raises `AssertionError`, or what the server raises."""
    for seed in range(seeds):
        place = folder / f"{mutant}-{seed}"
        machine = NamechanMachine(place, Random(f"namechan {seed}"), mutant)
        try:
            for _ in range(60):
                machine.step()
        finally:
            machine.server.service.close()


def test_the_reference_server_agrees_with_the_model(tmp_path: Path) -> None:
    run(tmp_path, 40)


@pytest.mark.parametrize(
    "mutant", ["ids-by-two", "restart-last-twice", "from-message-is-exclusive", "round-robin-to-all"]
)
def test_a_mutant_does_not(tmp_path: Path, mutant: str) -> None:
    with pytest.raises((AssertionError, ValueError, KeyError, IndexError)):
        run(tmp_path, 40, mutant)
