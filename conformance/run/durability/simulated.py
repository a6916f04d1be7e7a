"""Durability in simulation: the scenarios without a process, a thread or a pause, the same in each run.

Load is a sequence of steps drawn by the seed: publish some, hear what came, let time pass, replay. It ends after any
step, and what the server had sent by then counts as seen.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing

from wireproof.conformance.run.durability.conversation import Conversation, TestedQueue
from wireproof.conformance.run.durability.durability_run import DurabilityRun
from wireproof.conformance.run.durability.lives import LastingFactory, SimulatedLives
from wireproof.conformance.run.durability.load import DEPTH, Publisher, QueueReader, body_of
from wireproof.conformance.run.durability.promises import BrokenPromise
from wireproof.conformance.run.durability.scenarios import SCENARIOS, ScenarioResult, carried_out

__all__ = ["simulated"]

LONGEST_LOAD = 30
"""Steps of the longest load."""
PAUSES = (0.001, 0.05, 0.5, 3.0)
"""Seconds that pass at a step: before anything is written later, and after all of it is."""

LONGEST_LIFE = 5.0
"""Seconds that pass under load in all: followers say nothing, and are not to be dropped for that."""


def simulated(
    talk: Conversation, factory: LastingFactory, *, kills: int, seed: int = 1
) -> Iterator[tuple[str, ScenarioResult]]:
    """Yield each scenario with what it found on servers of `factory`. Raises what the servers raise."""
    with closing(SimulatedLives(talk, factory)) as lives:
        run = DurabilityRun(talk, lives, seed, _under_steps)
        if breaches := run.start():
            yield next(iter(SCENARIOS)), ScenarioResult("start", tuple(breaches))
            return
        for name in SCENARIOS:
            for one in carried_out(name, run, kills):
                yield name, one
                if any(breach.promise == "starts" for breach in one.breaches):
                    return


class _SteppedLoad:
    """What is connected in one life."""

    def __init__(self, run: DurabilityRun, chance: random.Random) -> None:
        self._run, self._chance = run, chance
        self._queues = [one for one in run.talk.queues if not one.is_shared]
        self._publishers = [Publisher(run, run.open_hook()) for _ in range(2)]
        self._followers = [self._follower(one, "follow") for one in self._queues]
        self.breaches: list[BrokenPromise] = []
        self._count = 0
        self._patience = LONGEST_LIFE

    def _follower(self, queue: TestedQueue, how: str) -> QueueReader:
        return QueueReader(self._run, self._run.connect(name=f"{how} {queue.name.decode()}"), queue, how)

    def step(self, prefix: str) -> None:
        """Do one thing. Raises `OSError`."""
        match self._chance.choice(("publish", "publish", "publish", "hear", "wait", "replay")):
            case "publish":
                bodies = []
                for _ in range(self._chance.randint(1, DEPTH)):
                    self._count += 1
                    queue = self._chance.choice(self._queues)
                    bodies.append((queue.name, body_of(self._chance, f"{prefix}-{self._count}")))
                self._chance.choice(self._publishers).publish(*bodies)
            case "hear":
                self.hear()
            case "wait":
                pause = min(self._chance.choice(PAUSES), self._patience)
                self._patience -= pause
                self._run.lives.rest(pause)
            case "replay":
                self._followers.append(self._follower(self._chance.choice(self._queues), "replay"))

    def hear(self) -> None:
        """Take what has come; no time passes. Raises `OSError`."""
        for publisher in self._publishers:
            while publisher.on_the_way and (message := publisher.connection.receive(0.0)) is not None:
                publisher.takes(message)
        for follower in self._followers:
            while (message := follower.connection.receive(0.0)) is not None:
                self.breaches += follower.takes(message)


def _under_steps(run: DurabilityRun, number: int) -> tuple[str, list[BrokenPromise]]:
    """Put a service in simulation under load, and kill it; see `UnderLoad`."""
    chance = run.chance("steps", number)
    load = _SteppedLoad(run, chance)
    steps = chance.randint(1, LONGEST_LOAD)
    for _ in range(steps):
        load.step(f"{number}")
    load.hear()
    run.kill()
    return f"step-{steps}", load.breaches
