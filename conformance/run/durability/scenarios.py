"""Deaths and damages, each followed by a start and a comparison with what was promised."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wireproof.conformance.run.durability.conversation import TestedQueue
from wireproof.conformance.run.durability.durability_run import DurabilityRun
from wireproof.conformance.run.durability.load import Publisher, QueueReader, body_of
from wireproof.conformance.run.durability.promises import (
    BrokenPromise,
    Keeps,
    KnownMessages,
    Replayed,
    broken_by,
    damaged_in,
)
from wireproof.conformance.run.processes import StartError

__all__ = ["ASKED", "SCENARIOS", "ScenarioResult", "carried_out"]

SETTLED = 1.2
"""Seconds after which a delivery must be known to the disk."""
WAITING = 12
"""Messages that wait in a round-robin queue."""
DAMAGES = (("killed", (-1,)), ("killed", (4, -1)), ("ended", (4, -1)))
"""How it ended, and which of ten messages have a bit flipped then: the last one, or one between others, too."""
MANY, AT_ONCE = (1 << 16) + 100, 200
"""Messages of one queue, more than 16 bits count; so many are on the way."""
MANY_KILLS = 50
"""A run with fewer kills is a short one, and counts less far."""
ROOM = 1 << 16
"""Bytes that the files of a server may still grow on a full disk."""
TOO_MUCH = 400  # messages published to a full disk
AFTER = 0.05  # a subscriber reads them until nothing comes for so many seconds
LARGEST, SMALLEST = 30_000, 1000
"""Bytes of each: in all twice what the largest file may have, for a server may have room there."""


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """What one scenario found."""

    scenario: str
    breaches: tuple[BrokenPromise, ...]
    note: str = ""
    is_done: bool = True  # whether what was to be done to the server could be done


def _promised(queue: TestedQueue, known: KnownMessages, found: Replayed) -> list[BrokenPromise]:
    return broken_by(known, found, queue.keeps)


def _undamaged(queue: TestedQueue, known: KnownMessages, found: Replayed) -> list[BrokenPromise]:
    return damaged_in(known, found)


@dataclass(frozen=True)
class _InPlace:
    """Judges what is left of `bodies`, which were published one after the other: what is lost moves no id."""

    bodies: list[bytes]

    def __call__(self, queue: TestedQueue, known: KnownMessages, found: Replayed) -> list[BrokenPromise]:
        places = {body: at for at, body in enumerate(self.bodies)}
        moved = {number - places[body] for number, body in found if body in places}
        breaches = damaged_in(known, found)
        if len(moved) > 1:
            breaches.append(BrokenPromise("ids", f"a damaged message moves the ids of others: by {sorted(moved)}"))
        return breaches


def killed_under_load(run: DurabilityRun, kills: int) -> Iterator[ScenarioResult]:
    """Kill it `kills` times, at moments that are chosen or drawn, and compare each time."""
    for number in range(kills):
        moment, breaches = run.under_load(run, number)
        if number % 5 == 4:
            _killed_while_starting(run, run.chance("start", number))
        breaches += run.start()
        if not any(one.promise == "starts" for one in breaches):
            breaches += run.compared(_promised)
        yield ScenarioResult(f"kill-{number + 1}-{moment}", tuple(breaches))
        if any(one.promise == "starts" for one in breaches):
            return


def _killed_while_starting(run: DurabilityRun, chance: random.Random) -> None:
    """Start it and kill it as soon as it listens: what it recovers must not be lost on the way."""
    try:
        run.lives.start("to be killed at once")
    except StartError:
        return
    run.lives.rest(chance.uniform(0.0, 0.05))
    run.kill()


def unused(run: DurabilityRun, kills: int) -> Iterator[ScenarioResult]:
    """Kill it before anything was published: each first message has the id 1, each queue a topic id of its own."""
    run.kill()
    breaches = run.start()
    for one in run.talk.queues:
        run.publish(one.name, [b"first-" + one.name])
        found, more = run.read(one.name, "follow" if one.is_shared else "replay")
        breaches += more
        if [number for number, _ in found] != [1]:
            detail = f"{one.name.decode()}: expected id 1 as the first one, got {[number for number, _ in found]}"
            breaches += run.witnessed([BrokenPromise("ids", detail)])
    yield ScenarioResult("unused", (*breaches, *run.confused()))


def waiting_in_turns(run: DurabilityRun, kills: int) -> Iterator[ScenarioResult]:
    """Kill it, or end it in good order, while messages wait in a round-robin queue, and end it once they came."""
    for one in (one for one in run.talk.queues if one.is_shared):
        for number in range(max(1, kills // 10)):
            for how in ("killed", "ended"):
                breaches = _waiting_until(run, one, f"{how}-{number}", is_killed=how == "killed")
                yield ScenarioResult(f"turns-{number + 1}-{how}", tuple(breaches))


def _waiting_until(run: DurabilityRun, queue: TestedQueue, name: str, *, is_killed: bool) -> list[BrokenPromise]:
    """Let messages wait over a death or an end, read them, and end it: at once where it was ended before, too."""
    bodies = [body_of(run.chance("turns", name), f"turn-{name}-{at}") for at in range(WAITING)]
    wanted = run.publish(queue.name, bodies)
    if is_killed:
        run.kill()
    else:
        run.lives.end()
    breaches = run.start()
    found, more = run.read(queue.name, "follow", most=None if is_killed else len(wanted))
    breaches += [*more, *run.witnessed(_in_turn([body for _, body in found], wanted))]
    run.lives.end()
    breaches += run.start()
    again, more = run.read(queue.name, "follow")
    if again:
        detail = f"after a clean end {len(again)} messages came again, first id {again[0][0]}"
        more += run.witnessed([BrokenPromise("turns", detail)])
    run.lives.rest(SETTLED)  # a server under load learns late that this subscriber has gone, and would send it the next
    run.publish(queue.name, [f"next-{name}".encode()])
    following, _ = run.read(queue.name, "follow")
    last = found[-1][0] if found else 0
    if [number for number, _ in following] != [last + 1]:
        detail = f"expected id {last + 1} after {last}, got {following[:1]}"
        more += run.witnessed([BrokenPromise("ids", detail)])
    run.lives.rest(SETTLED)
    return breaches + more


def _in_turn(found: list[bytes], wanted: list[bytes]) -> list[BrokenPromise]:
    if found == wanted:
        return []
    lost = len([one for one in wanted if one not in found])
    return [BrokenPromise("turns", f"{len(wanted)} messages waited, {len(found)} came, {lost} of them are lost")]


def ended(run: DurabilityRun, kills: int) -> Iterator[ScenarioResult]:
    """End it in good order as soon as it acknowledged: what is persistent is written by then, whatever its sync."""
    broadcast = [one for one in run.talk.queues if not one.is_shared]
    done = {
        one.name: run.publish(one.name, [b"end-%d-%s" % (at, one.name) for at in range(WAITING)]) for one in broadcast
    }
    run.lives.end()

    def kept(queue: TestedQueue, known: KnownMessages, found: Replayed) -> list[BrokenPromise]:
        there = {body for _, body in found}
        lost = [body for body in done[queue.name] if body not in there]
        detail = f"{queue.name.decode()}: of {len(done[queue.name])} messages {len(lost)} are lost"
        return broken_by(known, found, queue.keeps) + ([BrokenPromise("ended", detail)] if lost else [])

    breaches = run.start()
    yield ScenarioResult("ended", tuple(breaches + run.compared(kept)))


def many(run: DurabilityRun, kills: int) -> Iterator[ScenarioResult]:
    """Publish more than 16 bits count, and kill it: no id comes again."""
    if kills < MANY_KILLS:
        yield ScenarioResult("many", (), f"only with --kills {MANY_KILLS} or more", is_done=False)
        return
    queue = [one for one in run.talk.queues if not one.is_shared and one.keeps is Keeps.SEEN][-1]
    with run.open_hook() as connection:
        publisher = Publisher(run, connection)
        for first in range(0, MANY, AT_ONCE):
            publisher.publish(*((queue.name, b"many-%d" % at) for at in range(first, first + AT_ONCE)))
            while publisher.on_the_way and (message := connection.receive()) is not None:
                publisher.takes(message)
    run.kill()
    breaches = run.start()
    yield ScenarioResult("many", tuple(breaches + run.compared(_promised)))


def torn_tail(run: DurabilityRun, kills: int) -> Iterator[ScenarioResult]:
    """Kill it and cut the file that holds the last message within that message."""
    for one in (one for one in run.talk.queues if not one.is_shared):
        run.forget()
        bodies = [b"torn-%d-%s-" % (number, one.name) + b"x" * 300 for number in range(20)]
        done = run.publish(one.name, bodies)
        run.lives.rest(SETTLED)
        run.kill()
        place = _last_place(run.data, bodies[-1])
        if place is None:
            yield ScenarioResult(
                f"torn-{one.name.decode()}",
                tuple(run.start()),
                "no file holds the last message as it is",
                is_done=False,
            )
            continue
        file, at = place
        with file.open("r+b") as stream:
            stream.truncate(at + len(bodies[-1]) // 2)
        run.known[one.name].acknowledged = {}
        breaches = run.start()
        if not breaches:
            breaches = run.compared(_undamaged)
            breaches += _before_the_last(run, one, done[:-1])
        yield ScenarioResult(f"torn-{one.name.decode()}", tuple(breaches), f"cut {file.name} at {at}")


def bit_flipped(run: DurabilityRun, kills: int) -> Iterator[ScenarioResult]:
    """Flip a bit of messages wherever files hold them: they are dropped, or the server says why it does not start."""
    for how, which in DAMAGES:
        run.forget()
        for one in (one for one in run.talk.queues if not one.is_shared):
            name = f"flip-{how}-{len(which)}-{one.name.decode()}"
            bodies = [f"{name}-{number}-".encode() + b"y" * 300 for number in range(10)]
            run.publish(one.name, bodies)
            run.lives.rest(SETTLED)
            if how == "killed":
                run.kill()
            else:
                run.lives.end()
            flipped = _flipped(run, [bodies[at] for at in which])
            run.forget()
            note = f"flipped in {', '.join(flipped) or 'no file'}"
            try:
                run.lives.start("after a flipped bit")
            except StartError as error:
                yield ScenarioResult(name, (), f"{note}; it does not start: {error}", bool(flipped))
                _flipped(run, [bodies[at] for at in which])
                run.lives.start("with the bits as they were")
                continue
            breaches = run.make_queues() + run.compared(_InPlace(bodies))
            if which == (-1,) and how == "killed":
                breaches += _before_the_last(run, one, bodies[:-1])
            yield ScenarioResult(name, tuple(breaches), note, bool(flipped))


def _flipped(run: DurabilityRun, bodies: list[bytes]) -> list[str]:
    """Flip a bit of each body wherever a file holds it, or flip it back; return the names of these files."""
    return [file.name for file in _files(run.data) if any([_flip(file, body) for body in bodies])]


def _before_the_last(run: DurabilityRun, queue: TestedQueue, bodies: list[bytes]) -> list[BrokenPromise]:
    """Judge what is left of `bodies`, behind which the last record was torn or damaged."""
    kept = set(run.known[queue.name].seen.values())
    lost = [body for body in bodies if body not in kept]
    if not lost or queue.keeps is not Keeps.SEEN:
        return []
    detail = f"of {len(bodies)} messages before the damaged one {len(lost)} are lost"
    return run.witnessed([BrokenPromise("torn", detail)])


def full_disk(run: DurabilityRun, kills: int) -> Iterator[ScenarioResult]:
    """Let no file grow any more while messages are published; then let it, kill the server, and compare."""
    run.forget()
    for one in (one for one in run.talk.queues if not one.is_shared):
        largest = max((file.stat().st_size for file in _files(run.data)), default=0)
        run.lives.limit_files(largest + ROOM)
        filling = b"z" * min(max(2 * (largest + ROOM) // TOO_MUCH, SMALLEST), LARGEST)
        bodies = [b"full-%d-%s-" % (number, one.name) + filling for number in range(TOO_MUCH)]
        breaches: list[BrokenPromise] = []
        note = ""
        try:
            done, breaches = _followed(run, one, bodies)
            note = f"{len(done)} of {len(bodies)} were acknowledged"
            if len(done) < len(bodies):
                breaches += _serves(run)
            run.lives.limit_files(None)
            if not run.publish(one.name, [b"room-" + one.name]):
                breaches.append(BrokenPromise("full", "nothing can be published once there is room again"))
        except OSError as error:
            note = f"the connection ended: {error}"
        try:
            found, more = run.read(one.name, "replay")
        except OSError as error:
            why = run.lives.death() or f"serves nobody: {error}"
            found, more = [], [BrokenPromise("full", f"when its disk was full the server {why}")]
        more += run.witnessed(_without_gap(one, found))
        for number, body in found:
            run.known[one.name].saw(number, body)
        run.kill()
        breaches += [*more, *run.start()]
        judged = run.compared(
            lambda queue, known, found: [
                breach for breach in broken_by(known, found, queue.keeps) if breach.promise != "ids"
            ]
        )
        yield ScenarioResult(f"full-{one.name.decode()}", tuple(breaches + judged), note)


def _followed(run: DurabilityRun, queue: TestedQueue, bodies: list[bytes]) -> tuple[list[bytes], list[BrokenPromise]]:
    """Publish bodies while a subscriber reads: what it gets is written, or it would not be sent.

    Return those that were acknowledged, and what is wrong with the ids that came. Raises `OSError`.
    """
    breaches: list[BrokenPromise] = []
    with run.connect(name=f"follow {queue.name.decode()}") as connection:
        follower = QueueReader(run, connection, queue, "follow")
        connection.receive()

        def follow() -> None:
            with suppress(OSError):  # it answers no Ping, so a server that is slow to refuse drops it
                while (message := connection.receive(AFTER)) is not None:
                    breaches.extend(follower.takes(message))

        done = run.publish(queue.name, bodies, follow)
    return done, breaches if queue.keeps is Keeps.SEEN else []


def _without_gap(queue: TestedQueue, found: Replayed) -> list[BrokenPromise]:
    """Judge the ids of what a full disk left: what was refused takes none where messages are written first."""
    numbers = [number for number, _ in found]
    if queue.keeps is not Keeps.SEEN or not numbers or numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return []
    at = next(at for at, number in enumerate(numbers) if number != numbers[0] + at)
    return [BrokenPromise("ids", f"after {numbers[at - 1]} comes {numbers[at]}", numbers[at])]


def _serves(run: DurabilityRun) -> list[BrokenPromise]:
    try:
        for one in run.talk.queues:
            run.read(one.name, "follow", 0.1)
    except OSError as error:
        return [BrokenPromise("full", f"others are not served while the disk is full: {error}")]
    return []


def carried_out(name: str, run: DurabilityRun, kills: int) -> Iterator[ScenarioResult]:
    """Yield what a scenario finds; a server that is gone, or answers otherwise than it must, ends it with a breach."""
    try:
        yield from SCENARIOS[name](run, kills)
    except (OSError, StartError) as error:
        yield ScenarioResult(f"{name}-ended", (BrokenPromise("starts", run.lives.death() or str(error)),))


SCENARIOS: dict[str, Callable[[DurabilityRun, int], Iterator[ScenarioResult]]] = {
    "unused": unused,
    "kill": killed_under_load,
    "turns": waiting_in_turns,
    "ended": ended,
    "many": many,
    "full": full_disk,
    "torn": torn_tail,
    "flip": bit_flipped,
}
"""Name -> what is done; in this order on one server, the damages last."""


OF_ALL = ("starts", "ids", "whole", "topics", "queues")
ASKED: dict[str, tuple[str, ...]] = {
    "unused": (*OF_ALL, "distinct"),
    "kill": (*OF_ALL, "seen", "acknowledged", "once"),
    "turns": ("starts", "ids", "topics", "queues", "turns"),
    "ended": (*OF_ALL, "ended"),
    "many": (*OF_ALL, "seen", "acknowledged"),
    "full": ("starts", "ids", "whole", "topics", "queues", "seen", "acknowledged", "full"),
    "torn": ("starts", "whole", "topics", "queues", "torn"),
    "flip": ("starts", "ids", "whole", "topics", "queues", "torn"),
}
"""Name of a scenario -> the promises that it asks for."""


def _files(folder: Path) -> list[Path]:
    return [one for one in folder.rglob("*") if one.is_file()]


def _last_place(folder: Path, body: bytes) -> tuple[Path, int] | None:
    """Return file and offset of the last place that holds `body`, in the file written last."""
    for file in sorted(_files(folder), key=lambda one: one.stat().st_mtime, reverse=True):
        at = file.read_bytes().rfind(body)
        if at >= 0:
            return file, at
    return None


def _flip(file: Path, body: bytes) -> bool:
    """Flip a bit in the middle of `body`, wherever the file holds it; say whether it does."""
    data, at, found = bytearray(file.read_bytes()), 0, False
    while (at := data.find(body, at)) >= 0:
        data[at + len(body) // 2] ^= 1
        found = True
    if found:
        file.write_bytes(data)
    return found
