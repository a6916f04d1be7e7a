"""Faults of the data socket: pushes cut and joined, messages changed, beacons, silence, a second socket."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from wireproof.mutants.psrt.client.mutant import data_link, mutant, session
from wireproof.protocols.errors import ProtocolError
from wireproof.protocols.messages import Push
from wireproof.protocols.psrt.replies import Beacon, PushedMessage
from wireproof.reference_client.errors import ClientError
from wireproof.reference_client.link import Link, OnEnd
from wireproof.reference_client.psrt.client import Client
from wireproof.reference_client.psrt.session import Session
from wireproof.reference_client.silence import WatchedLink

__all__ = ["MUTANTS"]


class _Cut(WatchedLink):
    """Forgets the part of a push whose rest comes in another segment."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._patience:
            self._codec._buffer.drop()  # type: ignore[attr-defined]


class _OneEach(WatchedLink):
    """Takes one push from a segment."""

    def _read(self) -> None:
        if self._patience and self.ended is None and self._codec.buffered:
            match self._codec.next_event():
                case Push() as push:
                    self._on_push(push)
                    self._codec._buffer.drop()  # type: ignore[attr-defined]
        else:
            super()._read()


def _message(change: Callable[[bytes], bytes]) -> type[Client]:
    """Return the client that hands on something else than the message."""

    class Changed(Session):
        def _pushed(self, push: Push) -> None:
            if isinstance(push, PushedMessage):
                push = PushedMessage(push.priority, push.topic, change(push.message))
            super()._pushed(push)

    return session(Changed)


class _BeaconsToo(Session):
    """Hands on beacons as messages."""

    def _pushed(self, push: Push) -> None:
        super()._pushed(PushedMessage(0x7F, b"", b"") if isinstance(push, Beacon) else push)


class _Polite(WatchedLink):
    """Answers beacons."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._patience and data == b"\0" and self.ended is None:
            self._transport.write(b"\x01")


class _Patient(WatchedLink):
    """Waits for ever."""

    def _look(self) -> None:
        pass


class _Deaf(WatchedLink):
    """Goes on without a word when the data socket cannot be read."""

    def _broken(self, error: ProtocolError) -> ClientError:
        self._on_end = _nothing
        return super()._broken(error)


class _Twice(Session):
    """Attaches a second data socket."""

    async def _listen(self, token: bytes, on_end: OnEnd) -> Link:
        first = await super()._listen(token, on_end)
        with suppress(ClientError):
            await super()._listen(token, _nothing)
        return first


class _Loose(Session):
    """Does not mind the loss of the data socket."""

    async def _listen(self, token: bytes, on_end: OnEnd) -> Link:
        return await super()._listen(token, _nothing)


def _nothing(*_: Any) -> None:
    pass


MUTANTS = (
    mutant("cut-pushes-lost", "A push that comes in several segments is lost.", "CLIENT-7", client=data_link(_Cut)),
    mutant("joined-pushes-lost", "Of several pushes in one segment the first is read.", "CLIENT-7",
          client=data_link(_OneEach)),
    mutant("messages-end-at-zero", "A message ends at its first 00.", "CLIENT-8",
          client=_message(lambda message: message.split(b"\0")[0])),
    mutant("messages-as-text", "A message is decoded as text.", "CLIENT-8",
          client=_message(lambda message: message.decode("utf-8", "replace").encode())),
    mutant("messages-trimmed", "White space around a message is taken off.", "CLIENT-8", client=_message(bytes.strip)),
    mutant("beacons-handed-on", "A beacon is handed on as an empty message.", "CLIENT-9", client=session(_BeaconsToo)),
    mutant("beacons-answered", "A beacon is answered.", "CLIENT-9", client=data_link(_Polite)),
    mutant("endless-patience", "A data socket may say nothing for ever.", "CLIENT-10", client=data_link(_Patient)),
    mutant("unreadable-data-ignored", "A byte on the data socket that begins no push ends nothing.", "CLIENT-10",
          client=data_link(_Deaf)),
    mutant("lost-data-socket-ignored", "The end of the data socket ends nothing.", "CLIENT-19", "CLIENT-10",
          client=session(_Loose)),
    mutant("second-data-socket", "Two data sockets are attached.", "CLIENT-11", client=session(_Twice)),
)  # fmt: skip
