"""How a queue server is made to keep something: what is sent to it, as vectors/PROTOCOL/durability.yaml has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wireproof.conformance.run.durability.promises import Keeps
from wireproof.conformance.suite.documents import CaseError, read_document, vectors_root
from wireproof.protocols import Message, protocol
from wireproof.protocols.json_values import JsonObject
from wireproof.protocols.registry import Protocol

__all__ = ["Conversation", "TestedQueue", "conversation"]


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
    """What is sent, under one profile and variant."""

    spoken: Protocol
    profile: str
    variant: str
    document: JsonObject

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

    def _value(self, field: str, value: Any, given: JsonObject) -> Any:
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
    """Return what is sent to servers of a protocol; `CaseError` where nothing is written of that."""
    path = vectors_root() / name / "durability.yaml"
    if not path.is_file():
        raise CaseError(f"{name}: nothing says what its servers keep over a restart (no durability.yaml)")
    return Conversation(protocol(name), profile, variant, read_document(path))
