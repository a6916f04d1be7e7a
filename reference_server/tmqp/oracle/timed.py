"""What time alone does in the model: messages expire, acknowledgements are missed, clients are pinged and ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wireproof.protocols.tmqp.replies import ServerPing
from wireproof.reference_server.tmqp.oracle.deliveries import Deliveries
from wireproof.reference_server.tmqp.oracle.expected import Expected, Shape
from wireproof.reference_server.tmqp.oracle.world import Line, ModelQueue, World

__all__ = ["Times"]

Due = tuple[int, int, ModelQueue | None, Callable[[], object]]
"""Not before, at the latest (ns), the queue that it is about, what happens."""


class Times:
    """Everything that is due at an instant; what it is about is uncertain around it."""

    def __init__(
        self,
        world: World,
        deliveries: Deliveries,
        lines: Mapping[str, Line],
        gone: Callable[[Line], None],
        options: Mapping[str, Any],
    ) -> None:
        """`gone` follows that a client is gone; `options` are those of the server."""
        self._world, self._deliveries, self._lines, self._gone = world, deliveries, lines, gone
        self._silence: int = round(options["ping_interval"] * 1e9)
        self._patience: int = round(options["ping_timeout"] * 1e9)
        self._hello: int = round(options["request_timeout"] * 1e9)

    def passed(self, now: int) -> None:
        """Let everything happen that is due for certain, the earliest first; the rest makes its queue uncertain."""
        if not (due := [*self._due()]):
            self._world.now = max(self._world.now, now)
            return
        while (found := min((one for one in due if one[1] <= now), key=_instant, default=None)) is not None:
            self._world.now = max(self._world.now, found[0])
            found[3]()
            due = [*self._due()]
        for early, _, queue, _ in due:
            if early <= now and queue is not None:
                queue.is_vague = True
                self._world.settle(queue.channel)
                for line in self._lines.values():
                    for one in line.due:
                        one.is_certain = one.is_certain and one.queue is not queue
        self._world.now = max(self._world.now, now)

    def instants(self) -> list[int]:
        """Return the instants around which something is due, ascending."""
        found = [instant for early, late, _, _ in self._due() for instant in {early - 1, late + 1}]
        return sorted(found)

    def may_end(self, line: Line) -> bool:
        """Say whether the server may end a connection by now: its client sent nothing for too long."""
        world = self._world
        if line.client is None:
            return world.now >= line.last_input + self._hello - world.tolerance
        return not world.is_strict and world.now >= line.last_input + self._silence

    def _due(self) -> Iterator[Due]:
        for channel in self._world.channels.values():
            for queue in channel.queues.values():
                if queue.awaited or queue.high or queue.normal:
                    yield from self._of_queue(queue)
        if self._world.is_strict and not self._world.tolerance:
            for line in list(self._lines.values()):
                if not line.ending and line.stage != "spoiled":
                    yield self._of_line(line)

    def _of_queue(self, queue: ModelQueue) -> Iterator[Due]:
        for one in queue.awaited:
            yield one.early, one.late, queue, lambda one=one: self._deliveries.missed(queue, one)  # type: ignore[misc]
        for item in (*queue.high, *queue.normal):
            if item.expires is not None:
                yield *item.expires, queue, lambda item=item: self._deliveries.expired(queue, item)  # type: ignore[misc]

    def _of_line(self, line: Line) -> Due:
        if line.client is None:
            due, happens = line.last_input + self._hello, self._ends(line, "it did not say hello in time")
        elif line.is_pinged:
            due = line.last_input + self._silence + self._patience
            happens = self._ends(line, "it was pinged in vain")
        else:
            due, happens = line.last_input + self._silence, lambda: self._ping(line)
        return due, due, None, happens

    def _ends(self, line: Line, why: str) -> Callable[[], None]:
        def end() -> None:
            line.ending = why
            self._gone(line)

        return end

    def _ping(self, line: Line) -> None:
        line.is_pinged = True
        line.expect(Expected((Shape(ServerPing, {}),), "TMQP-PING-4"))


def _instant(one: Due) -> int:
    return one[0]
