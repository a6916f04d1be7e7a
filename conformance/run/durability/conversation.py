"""How a queue server is made to keep something: what is said to it, as vectors/PROTOCOL/durability.yaml has it."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.durability.promises import Keeps
from wireproof.conformance.suite.documents import CaseError, read_document, vectors_root
from wireproof.protocols import NEED_DATA, Message, ProtocolError, protocol
from wireproof.protocols.connection import EndOfStream
from wireproof.protocols.registry import Protocol

__all__ = ["Conversation", "GoneError", "Speaker", "TestedQueue", "conversation"]


class GoneError(OSError):
    """Raised when the server is gone, or says what is not due."""


@dataclass(frozen=True, slots=True)
class TestedQueue:
    """One queue that is made for the run."""

    name: bytes
    settings: Mapping[str, str]
    keeps: Keeps
    is_shared: bool
    """Each message goes to one subscriber; nothing can be replayed."""


@dataclass(frozen=True)
class Conversation:
    """What is said, under one profile and variant."""

    spoken: Protocol
    profile: str
    variant: str
    document: Mapping[str, Any]

    @property
    def queues(self) -> list[TestedQueue]:
        """The queues to be made."""
        return [
            TestedQueue(name.encode(), one["settings"], Keeps(one["keeps"]), bool(one.get("shared")))
            for name, one in self.document["queues"].items()
        ]

    @property
    def promises(self) -> Mapping[str, str]:
        """Name of a promise -> the clause that states it."""
        found: Mapping[str, str] = self.document["promises"]
        return found

    def message(self, what: str, **given: Any) -> Message:
        """Return the message that the document has for `what`; `$name` in it stands for a given value."""
        ((name, fields),) = self.document[what].items()
        kind = self.spoken.message(self.profile, name)
        return kind(**{field: self._value(field, value, given) for field, value in fields.items()})

    def _value(self, field: str, value: Any, given: Mapping[str, Any]) -> Any:
        if isinstance(value, str) and value.startswith("$"):
            value = given[value[1:]]
        if isinstance(value, str):
            return self.spoken.names[field][value] if field in self.spoken.names else value.encode()
        return value

    def is_ok(self, message: Message) -> bool:
        """Say whether a message acknowledges."""
        return message == self.message("acknowledged")

    def delivered(self, message: Message) -> tuple[int, bytes] | None:
        """Return id and body of a delivered message, None for any other one."""
        one = self.document["delivered"]
        return (getattr(message, one["id"]), getattr(message, one["body"])) if one["name"] == message.NAME else None


def conversation(name: str, profile: str, variant: str) -> Conversation:
    """Return what is said to servers of a protocol; `CaseError` where nothing is written of that."""
    path = vectors_root() / name / "durability.yaml"
    if not path.is_file():
        raise CaseError(f"{name}: nothing says what its servers keep over a restart (no durability.yaml)")
    return Conversation(protocol(name), profile, variant, read_document(path))


class Speaker:
    """One connection, blocking, every wait with a deadline."""

    def __init__(self, talk: Conversation, link: str, address: Address, timeout: float = 5.0) -> None:
        """Connect and shake hands; raises `OSError`."""
        self._link = talk.spoken.link_of(link)
        codec = talk.spoken.codec(talk.spoken.profiles[talk.profile], talk.variant)
        self.side = self._link.client(codec, max_frame=1 << 26)
        self._timeout = timeout
        self._socket = _connected(address, timeout)
        try:
            for request in self._link.handshake():
                self.say(request)
        except BaseException:
            self.close()
            raise

    def say(self, *messages: Message) -> None:
        """Send messages; raises `OSError`."""
        self._socket.settimeout(self._timeout)
        self._socket.sendall(b"".join(self.side.send(one) for one in messages))

    def receive(self, timeout: float | None = None) -> Message | None:
        """Return the next message, None where none comes in `timeout` seconds.

        Raises `OSError` at the end, and `GoneError` where the server says what is not due.
        """
        deadline = time.monotonic() + (self._timeout if timeout is None else timeout)
        while True:
            try:
                event = self.side.next_event()
            except ProtocolError as error:
                raise GoneError(f"it says what is not due: {error}") from None
            if isinstance(event, EndOfStream):
                raise GoneError("the server closed the connection")
            if event is not NEED_DATA:
                assert isinstance(event, Message)
                return event
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                return None
            if not data:
                raise GoneError("the server closed the connection")
            self.side.receive_data(data)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def __enter__(self) -> Speaker:
        return self

    def __exit__(self, *given: object) -> None:
        self.close()


def _connected(address: Address, timeout: float) -> socket.socket:
    if address.scheme != "unix":
        return socket.create_connection((address.host, address.port), timeout)
    found = socket.socket(socket.AF_UNIX)
    found.settimeout(timeout)
    try:
        found.connect(str(Path(address.path)))
    except OSError:
        found.close()
        raise
    return found
