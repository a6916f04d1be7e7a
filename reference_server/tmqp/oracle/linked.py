"""Three servers in a row, each the slave of the next one, beside servers that are alone.

What clients of a slave send to others goes to its master, too, as it came, and no further (tmqp.md 2.11). So clients of
a master must get what those of a server alone get to whose clients the same is sent; answers, and what clients of a
master send, stay on their side; and clients of a slave must notice nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.tmqp import PROFILES, Codec, TmqpClient
from wireproof.protocols.tmqp.bodies import NodeList, QueueOptions
from wireproof.protocols.tmqp.frames import Header
from wireproof.protocols.tmqp.replies import ServerPing
from wireproof.protocols.tmqp.requests import (
    AnswerPing,
    CreateChannel,
    CreateQueue,
    Hello,
    Join,
    ListNodes,
    Produce,
    Protocol,
    Respond,
    SendDirect,
)
from wireproof.reference_server.model import Disagreement
from wireproof.reference_server.service import DIALLED, Peer, Service, Session

__all__ = ["LinkedServers"]

CHANNEL, QUEUE = b"ch", Header(b"Queue-Id", b"1")
CLIENTS = ((b"a", b"b"), (b"m", b"n"), (b"t",))
"""The clients of each server, the first slave first."""
SILENT, STEP = 40, 5 * 10**9
"""How often time passes until both sides of a link have pinged, and how much of it, in ns."""
MOST_TURNS = 24


class _Line:
    """One client of one server; it answers pings."""

    def __init__(self, service: Service, codec: Codec, name: bytes) -> None:
        self._client = TmqpClient(codec)
        peer = Peer("tcp", "127.0.0.1", 40_000)
        self._session = service.connect(peer, self._client.receive_data, lambda: None)
        lines = b"CONNECT /\r\nClient-Id:%s\r\nClient-Type:t\r\n" % name
        self.send(Protocol(), Hello(payload=lines))
        self.take()

    def send(self, *requests: Request) -> None:
        """Send requests in one segment."""
        self._session.data_received(b"".join(map(self._client.send, requests)))

    def take(self) -> list[Message]:
        """Return what came since it was asked last."""
        found = list[Message]()
        while isinstance(event := self._client.next_event(), Message):
            if isinstance(event, ServerPing):
                self.send(AnswerPing())
            else:
                found.append(event)
        return found


class _Link:
    """The connection of a slave to its master."""

    def __init__(self, slave: Service, master: Service) -> None:
        self._up, self._down = list[bytes](), list[bytes]()
        self.is_held = self.is_closed = False
        self._dialled = slave.connect(Peer("tcp", "master", 2633, None, DIALLED), self._up.append, self._close)
        self._accepted = master.connect(Peer("tcp", "127.0.0.1", 1, None, "nodes"), self._down.append, self._close)

    def _close(self) -> None:
        self.is_closed = True

    def cross(self) -> str:
        """Let what each side wrote come to the other one; return what is wrong."""
        if self.is_held and self._up:
            return f"{b''.join(self._up)[:80].hex()} is written while the master reads nothing"
        for waiting, session in ((self._up, self._accepted), (self._down, self._dialled)):
            data = b"".join(waiting)
            waiting.clear()
            if data:
                session.data_received(data)
        return "a server closes its link" if self.is_closed else ""

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is on the way."""
        return not (self._up or self._down)

    def hold(self, *, is_held: bool) -> None:
        """Let the master read nothing, or read again."""
        self.is_held = is_held
        (self._dialled.pause_writing if is_held else self._dialled.resume_writing)()

    def end(self) -> None:
        """Lose the connection on both sides."""
        ends: tuple[Session, ...] = (self._dialled, self._accepted)
        for one in ends:
            one.connection_lost()


class LinkedServers:
    """The servers in a row and those that are alone; see `reference_server.model.LinkedServers`."""

    configs: Mapping[str, str] = {
        "0": 'nodes: {name: slave, masters: ["master:2633"]}',
        "1": 'nodes: {name: slave, port: 2633, masters: ["master:2633"]}',
        "2": "nodes: {port: 2633}",
        "alone": "",
    }

    def __init__(
        self, make: Callable[[str], Service], advance: Callable[[int], None], *, profile: str, variant: str
    ) -> None:
        """See `reference_server.model.LinkedServers`."""
        self.done: list[str] = []
        self._advance = advance
        self._codec = Codec.of(PROFILES[profile], variant)
        self._servers = [make(str(at)) for at in range(len(CLIENTS))]
        alone = [make("alone") for _ in CLIENTS]
        self._lines: dict[bytes, tuple[_Line, _Line]] = {}
        """Client -> it at its server, and at the one that is alone instead of it."""
        self._doubles: dict[bytes, _Line] = {}
        """Client of a slave -> it at the server that is alone instead of the master."""
        for at, names in enumerate(CLIENTS):
            for name in names:
                self._lines[name] = (
                    _Line(self._servers[at], self._codec, name),
                    _Line(alone[at], self._codec, name),
                )
                if at + 1 < len(CLIENTS):
                    self._doubles[name] = _Line(alone[at + 1], self._codec, name)
        for names in CLIENTS:
            self._both(names[0], CreateChannel(id=b"c", target=CHANNEL))
            options = self._codec.encode(QueueOptions(Status=1))
            self._both(names[0], CreateQueue(id=b"q", target=CHANNEL, headers=(QUEUE,), payload=options))
            self._both(names[-1], Join(id=b"j", target=CHANNEL))
        self._links: list[_Link | None] = [None] * (len(CLIENTS) - 1)
        self._link(0)
        self._link(1)

    def play(self, source: bytes) -> Disagreement | None:
        """Make the turns that bytes draw, two each; return the first difference."""
        found = self._settled()
        for number, (what, which) in enumerate(zip(source[: 2 * MOST_TURNS : 2], source[1::2], strict=False)):
            found = found or self._turn(number, what % 8, which) or self._settled()
        for link in filter(None, self._links):
            link.hold(is_held=False)
        return found or self._settled() or self._listed()

    def _turn(self, number: int, what: int, which: int) -> Disagreement | None:
        if what < 6:
            self._ask(number, what, which)
            return None
        at = which % len(self._links)
        link = self._links[at]
        if what == 6 and link is not None:
            self.done.append(f"master {at} {'reads' if link.is_held else 'reads nothing'}")
            link.hold(is_held=not link.is_held)
        elif what == 7 and not any(one and one.is_held for one in self._links):
            return self._otherwise(at, which // 2)
        return None

    def _otherwise(self, at: int, which: int) -> Disagreement | None:
        """Let time pass, compare what is listed, or end a link, or begin it again."""
        link = self._links[at]
        if which % 4 == 0:
            self.done.append(f"{SILENT * STEP // 10**9} s pass")
            for _ in range(SILENT):
                self._advance(STEP)
                if found := self._settled():
                    return found
        elif which % 4 == 1 and link is not None:
            self.done.append(f"the link to master {at} ends")
            link.end()
            self._links[at] = None
        elif link is None:
            self._link(at)
        return self._settled() or self._listed()

    def _link(self, at: int) -> None:
        self.done.append(f"server {at} connects to its master")
        self._links[at] = _Link(self._servers[at], self._servers[at + 1])

    def _ask(self, number: int, what: int, which: int) -> None:
        """Let a client send something to others, which goes to the master of its server, too."""
        at = what % 2 + (which % 8 == 7)
        name = CLIENTS[at][which % len(CLIENTS[at])]
        # those of a slave are not reached from its master
        targets = [*(one for names in CLIENTS[at:] for one in names), b"@type:t", b"nobody"]
        request = self._drawn(b"%d" % number, what // 2, which // 8, targets)
        below = self._links[at - 1] if at else None
        if below is not None and below.is_held:
            return  # its order with what waits there is not known
        self._both(name, request)
        if at < len(self._links) and self._links[at] is not None:
            self._doubles[name].send(request)

    def _drawn(self, id_: bytes, what: int, which: int, targets: Sequence[bytes]) -> Request:
        payload, target = bytes(which % 3), targets[which % len(targets)]
        flags: dict[str, Any] = {"pending_response": which >> 2 & 1}
        if what == 0:
            return Produce(id=id_, target=CHANNEL, content_type=1, payload=payload, **flags)
        if what == 1:
            return SendDirect(id=id_, target=target, payload=payload, **flags)
        return Respond(id=id_, target=target, payload=payload)

    def _both(self, name: bytes, request: Request) -> None:
        self.done.append(f"{name.decode()} sends {_in_words([request])}")
        for one in self._lines[name]:
            one.send(request)

    def _settled(self) -> Disagreement | None:
        """Let all come over the links, then compare what clients got with what they got where nothing is linked."""
        for link in filter(None, self._links * 2):
            while True:
                if wrong := link.cross():
                    return Disagreement(wrong, wrong.rpartition(" is ")[2], "TMQP-NODE-1")
                if link.is_quiet:
                    break
        self._advance(0)
        for double in self._doubles.values():
            double.take()
        for at, names in enumerate(CLIENTS):
            below = self._links[at - 1] if at else None
            for name in names if below is None or not below.is_held else ():
                got, expected = (one.take() for one in self._lines[name])
                if got != expected:
                    side = "a master" if at else "a slave"
                    words = (
                        f"{name.decode()}, of {side}, gets {_in_words(got)}, and {_in_words(expected)} without links"
                    )
                    return Disagreement(words[:600], f"a client of {side}", "TMQP-NODE-2" if at else "TMQP-NODE-4")
        return None

    def _listed(self) -> Disagreement | None:
        """Compare what each server lists of nodes with what is linked."""
        masters = [[(b"", False, True, b"master:2633")] if link else [] for link in self._links]
        slaves = [[(b"slave", True, True, b"127.0.0.1")] if link else [] for link in self._links]
        for at, names in enumerate(CLIENTS):
            line = self._lines[names[0]][0]
            line.send(ListNodes(id=b"l", pending_response=1))
            answers: list[Any] = list(line.take())
            bodies: list[Any] = [self._codec.decode(NodeList, one.payload) for one in answers]
            rows = [(one.Name, one.Slave, one.Connected, one.Host) for body in bodies for one in body.rows]
            expected = [*(masters[at] if at < len(masters) else []), *(slaves[at - 1] if at else [])]
            if sorted(rows) != sorted(expected):
                return Disagreement(f"server {at} lists {rows}, expected {expected}", "nodes", "TMQP-NODE-1")
        return None


def _in_words(messages: Sequence[Message]) -> str:
    return ", ".join(f"{one.NAME} {msgspec.structs.asdict(one)}" for one in messages) or "nothing"
