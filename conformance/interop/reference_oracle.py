"""What a right server answers: the reference, in this process, asked with the very bytes that the client sent."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from wireproof.conformance.interop.scenario import ids_in
from wireproof.protocols import NEED_DATA, Message, Push, Reply, Request
from wireproof.protocols.errors import LocalProtocolError
from wireproof.protocols.plain import Plain
from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Peer, Session

__all__ = ["ReferenceOracle"]

TURNS = 50
"""How often others get a turn before no answer is the answer."""


class ReferenceOracle:
    """One reference server and its connections."""

    def __init__(self, plain: Plain) -> None:
        self._plain = plain
        codec = plain.protocol.codec(plain.profile, plain.variant.name)
        self._codec = codec
        clock = LoopClock(asyncio.get_running_loop())
        self._service = create_service(
            plain.protocol.name, profile=plain.profile.name, variant=plain.variant.name, clock=clock
        )
        self._lines: dict[str, _OracleConnection] = {}
        self._ids: dict[bytes, bytes] = {}
        """Id that the server under test sent -> the one that stands for it here."""

    def open(self, name: str, link: str = "") -> None:
        """Connect under a name, on a link."""
        kind = self._plain.protocol.link_of(link)
        line = self._lines[name] = _OracleConnection(kind.client(self._codec))
        peer = Peer("tcp", "127.0.0.1", 40_000 + len(self._lines), listener=kind.listener)
        line.session = self._service.connect(peer, line.written.extend, lambda: None)

    async def answer(self, name: str, request: Request) -> Reply | None:
        """Return the reply to a request; None when there is none."""
        line = self._lines[name]
        asked = self._with_own_ids(request)
        try:
            line.reader.await_reply(asked)
        except LocalProtocolError:
            return None
        assert line.session is not None
        line.session.data_received(self._codec.encode(asked))
        for _ in range(TURNS):
            self._receive()
            if line.replies:
                return line.replies.pop(0)
            await asyncio.sleep(0)
        return None

    async def pushed(self) -> list[tuple[str, Push]]:
        """Take what was pushed meanwhile, with the connections it went to; not what a server pushes by itself."""
        for _ in range(TURNS):
            await asyncio.sleep(0)
        self._receive()
        own = self._plain.protocol.sdk.own
        found = [(name, one) for name, line in self._lines.items() for one in line.pushes if type(one) not in own]
        for line in self._lines.values():
            line.pushes.clear()
        return found

    def learn(self, mine: Message, theirs: Message) -> None:
        """Remember which id of theirs stands for which of ours."""
        if type(mine) is type(theirs):
            own = ids_in(self._plain, mine)
            self._ids.update({one: own[name] for name, one in ids_in(self._plain, theirs).items()})

    def close(self) -> None:
        """Stop serving."""
        for line in self._lines.values():
            if line.session is not None:
                line.session.connection_lost()
        self._service.close()

    def _with_own_ids(self, request: Request) -> Request:
        known = {name: self._ids[one] for name, one in ids_in(self._plain, request).items() if one in self._ids}
        return msgspec.structs.replace(request, **known) if known else request

    def _receive(self) -> None:
        for line in self._lines.values():
            if line.written:
                line.reader.receive_data(bytes(line.written))
                line.written.clear()
            while (event := line.reader.next_event()) is not NEED_DATA:
                if isinstance(event, Push):
                    line.pushes.append(event)
                elif isinstance(event, Reply):
                    line.replies.append(event)


class _OracleConnection:
    """One connection to the reference."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.session: Session | None = None
        self.written = bytearray()
        self.replies: list[Reply] = []
        self.pushes: list[Push] = []
