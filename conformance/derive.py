"""Derives the byte-exact vectors of a suite: frames through the codec, conversations by playing them in simulation.

Canonical: the same cases give the same files, byte for byte (fixed keys, seeded ids, virtual clock), one frame or step
a line. What is read back is checked against `vectors/schema/vectors.schema.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from conformance import ours
from conformance.cases import Case, Frame, Suite
from conformance.delivery import DELIVERIES
from conformance.outcome import Note
from conformance.player import Player
from conformance.records import level_of
from conformance.resolve import plain, resolved
from conformance.simulation import SimulationDriver
from conformance.symbols import SymbolError, Symbols
from conformance.traits import is_concurrent
from conformance.verdicts import Verdict
from protocols import NEED_DATA, Message, Protocol, ProtocolError, Push, Request, protocol

SCHEMA = "wireproof.vectors/1"
NAMESPACE = "v"
SHOWN_MESSAGES = 16
"""Steps with more messages than this give their bytes only."""
LONGEST = 4096
"""Conversations with more bytes than this are left out, by id: they are for a live server, not for a file."""
NOTES = {"boundary": "holds a boundary value of a field", "binary": "holds bytes that are no text"}


class DeriveError(ValueError):
    """Raised when a case cannot be derived; it names the case, profile and variant, and why."""


def named(message: Message) -> dict[str, Any]:
    """Return a message as `{name, fields}`; a message inside a message likewise."""
    fields = {
        name: named(inner) if isinstance(inner := getattr(message, name), Message) else plain(inner)
        for name in message.__struct_fields__
    }
    return {"name": message.NAME, "fields": fields}


class Deriver:
    """Makes the vectors of one profile and variant."""

    def __init__(self, suite: Suite, profile: str, variant: str) -> None:
        self.suite = suite
        self.profile = profile
        self.variant = variant
        self.protocol: Protocol = protocol(suite.protocol)

    def documents(self) -> dict[str, dict[str, Any]]:
        """Return topic -> document."""
        found: dict[str, dict[str, Any]] = {}
        mine = ours.features(self.suite.protocol)
        for frame in self.suite.frames:
            if self._applies(frame):
                self._document(found, frame.topic)["frames"].append(self.frame(frame))
        for case in self.suite.cases:
            if (
                self._applies(case)
                and mine.issuperset(case.needs)
                and not (case.slow or case.heavy or case.budget or is_concurrent(case))
            ):
                document, conversation = self._document(found, case.topic), self.conversation(case)
                if sum(len(step.get("hex", "")) // 2 for step in conversation["steps"]) <= LONGEST:
                    document["conversations"].append(conversation)
                else:
                    document["left_out"].append(case.id)
        return found

    def _applies(self, one: Case | Frame) -> bool:
        return self.profile in one.profiles and (not one.variants or self.variant in one.variants)

    def _document(self, found: dict[str, dict[str, Any]], topic: str) -> dict[str, Any]:
        return found.setdefault(
            topic,
            {
                "schema": SCHEMA,
                "protocol": self.suite.protocol,
                "profile": self.profile,
                "variant": self.variant,
                "sizes": dict(self.protocol.profiles[self.profile].variants[self.variant].sizes),
                "topic": topic,
                "notes": NOTES,
                "left_out": [],
                "frames": [],
                "conversations": [],
            },
        )

    def _symbols(self, one: Case | Frame) -> Symbols:
        return Symbols(
            self.protocol, self.profile, self.variant, case=one.id, namespace=NAMESPACE, variables=one.variables
        )

    def _error(self, one: Case | Frame, why: object) -> DeriveError:
        return DeriveError(f"{one.id} under {self.profile} {self.variant}: {why}")

    def frame(self, frame: Frame) -> dict[str, Any]:
        """Return one frame vector; `DeriveError` unless our own codec reads it as it says."""
        symbols = self._symbols(frame)
        body = symbols.here(frame.body)
        try:
            vector = self._frame(frame, body, symbols)
        except (SymbolError, ProtocolError) as error:
            raise self._error(frame, error) from None
        return vector

    def _frame(self, frame: Frame, body: Mapping[str, Any], symbols: Symbols) -> dict[str, Any]:
        request = symbols.message(body["reply_to"]) if "reply_to" in body else None
        level = self.suite.clauses[frame.clauses[0]].levels[self.profile]
        vector: dict[str, Any] = {
            "id": frame.id, "title": frame.title, "clauses": list(frame.clauses), "level": level.value,
            "direction": body.get("direction", ""), "result": "invalid" if "hex" in body else "valid",
            "flags": list(body.get("flags", ())),
        }  # fmt: skip
        if request is not None:
            vector["reply_to"] = {"hex": symbols.codec.encode(request).hex(), "message": named(request)}
        if "hex" in body:
            data = symbols.data(body["hex"] if isinstance(body["hex"], Mapping) else {"hex": body["hex"]})
            vector.update(hex=data.hex(), error=body["error"], direction=body.get("direction", "reply"))
        else:
            message = symbols.message(body["message"])
            data = symbols.codec.encode(message)
            vector.update(hex=data.hex(), message=named(message), direction=direction_of(message))
        got = read_back(self.protocol, symbols.codec, vector["direction"], data, request)
        wanted = vector.get("error") or vector["message"]
        if got != wanted:
            raise self._error(frame, f"our codec reads {got}, the vector says {wanted}")
        return vector

    def conversation(self, case: Case) -> dict[str, Any]:
        """Return one conversation vector; `DeriveError` unless the reference server passes the case."""
        notes: list[tuple[Note, Any]] = []
        symbols = self._symbols(case)
        player = Player(
            case,
            symbols,
            delivery=DELIVERIES["whole"],
            scribe=lambda note: notes.append((note, resolved(note.expect, symbols))),
        )
        outcome = SimulationDriver(self._service).play(player)
        if outcome.verdict is not Verdict.PASS:
            raise self._error(case, f"the reference does not pass: expected {outcome.expected}, got {outcome.got}")
        return {
            "id": case.id,
            "title": case.title,
            "clauses": list(case.clauses),
            "level": level_of(case, self.suite, self.profile).value,
            "exclusive": case.exclusive,
            "steps": list(self._steps(notes)),
        }

    def _service(self, clock: Any) -> Any:
        return ours.service(self.suite.protocol, profile=self.profile, variant=self.variant, clock=clock)

    def _steps(self, notes: list[tuple[Note, Any]]) -> Iterator[dict[str, Any]]:
        for note, expect in notes:
            step: dict[str, Any] = {"do": {"half": "half_close"}.get(note.do, note.do), "connection": note.connection}
            if note.link:
                step["link"] = note.link
            if note.do == "wait":
                step["seconds"] = round(note.seconds, 6)
            if note.data:
                step["hex"] = note.data.hex()
            if 0 < len(note.messages) <= SHOWN_MESSAGES:
                step["messages"] = [named(message) for message in note.messages]
            if expect is not None:
                step["expect"] = expect
            yield step


def direction_of(message: Message) -> str:
    """Return request, push or reply."""
    return "request" if isinstance(message, Request) else "push" if isinstance(message, Push) else "reply"


def read_back(protocol: Protocol, codec: Any, direction: str, data: bytes, request: Message | None) -> Any:
    """Return what our own codec makes of the bytes: `{name, fields}`, or the code of the error."""
    reader = protocol.link.server(codec) if direction == "request" else protocol.link.client(codec)
    try:
        if request is not None:
            reader.send(request)
        reader.receive_data(data)
        event = reader.next_event()
        if event is NEED_DATA:
            reader.receive_data(b"")
            event = reader.next_event()
    except ProtocolError as error:
        return error.code.value
    return named(event) if isinstance(event, Message) else str(event)


def canonical(document: Mapping[str, Any]) -> str:
    """Return the text of a vectors file: one key a line, one frame or step a line, nothing else free."""
    lines = []
    for key, value in document.items():
        if key == "frames":
            lines.append(f'"frames": {_rows(value)}')
        elif key == "conversations":
            lines.append(f'"conversations": {_block([_conversation(one) for one in value])}')
        else:
            lines.append(f"{json.dumps(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def _block(rows: list[str]) -> str:
    return "[\n" + ",\n".join(rows) + "\n]" if rows else "[]"


def _rows(values: list[Any]) -> str:
    return _block([_compact(value) for value in values])


def _conversation(value: Mapping[str, Any]) -> str:
    head = {key: one for key, one in value.items() if key != "steps"}
    return _compact(head)[:-1] + ', "steps": ' + _rows(value["steps"]) + "}"
