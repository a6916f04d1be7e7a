"""Derives the byte-exact vectors of a suite: frames through the codec, conversations by playing them in simulation.

The same cases give the same vectors, byte for byte (fixed keys, seeded ids, virtual clock). `vector_files` writes them
as files, `vector_store` finds or derives them at run time.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import StepEvent
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run import reference_target
from wireproof.conformance.suite.case_files import FrameEntry
from wireproof.conformance.suite.case_traits import is_concurrent
from wireproof.conformance.suite.cases import Case, Frame, Suite
from wireproof.conformance.suite.frame_decoding import named, readings
from wireproof.conformance.suite.resolved_patterns import resolved
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.values import Hex, SymbolicMessage
from wireproof.conformance.suite.written import as_written
from wireproof.conformance.verdict.records import level_of
from wireproof.protocols import Message, Protocol, ProtocolError, Push, Request, protocol
from wireproof.protocols.json_values import JsonDict

NAMESPACE = "v"
SHOWN_MESSAGES = 16
"""Steps with more messages than this give their bytes only."""
LONGEST = 1280
"""Conversations with more bytes than this are left out, by id: they are for a live server, not for a file."""
LONGEST_FIRST = 2048
"""The same for the first case of a clause, so that nearly every clause has a vector."""
NOTES = {"boundary": "holds a boundary value of a field", "binary": "holds bytes that are no text"}


class DeriveError(ValueError):
    """Raised when a case cannot be derived; it names the case, profile and variant, and why."""


class _TooLongError(Exception):
    """Ends a play, as a harness error of its outcome, whose conversation is too long for a file."""


class _Notes:
    """Collects the steps of a play with what was expected at the time; raises `_TooLongError` after `longest` bytes."""

    def __init__(self, symbols: Symbols, longest: int) -> None:
        self.found: list[tuple[StepEvent, Any]] = []
        self.size = 0
        """Bytes of all steps."""
        self.longest = longest
        self._symbols = symbols

    def __call__(self, note: StepEvent) -> None:
        self.size += len(note.data)
        if self.size > self.longest:
            raise _TooLongError
        self.found.append((note, resolved(as_written(note.expect), self._symbols)))


class Deriver:
    """Makes the vectors of one profile and variant."""

    def __init__(self, suite: Suite, profile: str, variant: str) -> None:
        self.suite = suite
        self.profile = profile
        self.variant = variant
        self.protocol: Protocol = protocol(suite.protocol)

    def documents(self, chosen: Container[str] | None = None) -> dict[str, JsonDict]:
        """Return topic -> document; with `chosen`, of these ids only."""
        found: dict[str, JsonDict] = {}
        for one in self.applicable():
            if chosen is not None and one.id not in chosen:
                continue
            document = self._document(found, one.topic)
            if isinstance(one, Frame):
                document["frames"].append(self.frame(one))
            elif (conversation := self.conversation(one)) is None:
                document["left_out"].append(one.id)
            else:
                document["conversations"].append(conversation)
        return found

    def applicable(self) -> Iterator[Frame | Case]:
        """Yield the frames and cases that have a vector here, or are too long for one."""
        yield from (frame for frame in self.suite.frames if self._applies(frame))
        mine = reference_target.features(self.suite.protocol)
        for case in self.suite.cases:
            is_of_servers_only = case.slow or case.heavy or case.budget or case.modelled or is_concurrent(case)
            if self._applies(case) and mine.issuperset(case.needs) and not is_of_servers_only:
                yield case

    @cached_property
    def _first_cases(self) -> frozenset[str]:
        """Ids of the first case of each clause, of those that have a vector here or are too long for one."""
        found: dict[str, str] = {}
        for one in self.applicable():
            if isinstance(one, Case):
                for clause in one.clauses:
                    found.setdefault(clause, one.id)
        return frozenset(found.values())

    def _applies(self, one: Case | Frame) -> bool:
        return self.profile in one.profiles and (not one.variants or self.variant in one.variants)

    def _document(self, found: dict[str, JsonDict], topic: str) -> JsonDict:
        return found.setdefault(
            topic,
            {
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

    def frame(self, frame: Frame) -> JsonDict:
        """Return one frame vector; `DeriveError` unless our own codec reads it as it says."""
        symbols = self._symbols(frame)
        body = symbols.here(frame.body)
        try:
            vector = self._frame(frame, body, symbols)
        except (SymbolError, ProtocolError) as error:
            raise self._error(frame, error) from None
        return vector

    def _frame(self, frame: Frame, body: FrameEntry, symbols: Symbols) -> JsonDict:
        request = _message(body.reply_to, symbols)
        level = self.suite.clauses[frame.clauses[0]].levels[self.profile]
        vector: JsonDict = {
            "id": frame.id, "title": frame.title, "clauses": list(frame.clauses), "level": level.value,
            "direction": body.direction or "", "result": "valid" if body.hex is None else "invalid",
            "flags": list(body.flags),
        }  # fmt: skip
        if request is not None:
            vector["reply_to"] = {"hex": symbols.codec.encode(request).hex(), "message": named(request)}
        message = _message(body.message, symbols)
        if message is None:
            data = symbols.data(Hex(body.hex) if isinstance(body.hex, str | int) else body.hex)
            vector.update(hex=data.hex(), error=body.error, direction=body.direction or "reply")
        else:
            data = symbols.codec.encode(message)
            vector.update(hex=data.hex(), message=named(message), direction=self._direction(message))
        if body.after is not None:
            after = [symbols.message(one) for one in body.after]
            vector["after"] = [{"hex": symbols.codec.encode(one).hex(), "message": named(one)} for one in after]
        link = self._place(frame, body, symbols, vector, data)
        if link != next(iter(self.protocol.links)):
            vector["link"] = link
        return vector

    def _place(self, frame: Frame, body: FrameEntry, symbols: Symbols, vector: Any, data: bytes) -> str:
        """Return the kind of line on which our codec reads the frame as it says; `DeriveError` where it never does."""
        if vector["direction"] == "inner":
            got: Any = named(symbols.codec.decode(symbols.message_class(vector["message"]["name"]), data))
            tried = [("", got)]
        else:
            request = _message(body.reply_to, symbols)
            after = None if body.after is None else [symbols.message(one) for one in body.after]
            known = readings(
                self.protocol, symbols.codec, vector["direction"], data, request, link=body.link, after=after
            )
            tried = list(known) if vector["result"] == "valid" else list(islice(known, 1))
        wanted = vector.get("error") or vector["message"]
        for link, got in tried:
            if got == wanted:
                return link
        detail = tried[0][1] if tried else "nothing: no line can have it there"
        raise self._error(frame, f"our codec reads {detail}, the vector says {wanted}")

    def _direction(self, message: Message) -> str:
        return "inner" if type(message) in self.protocol.profiles[self.profile].inner else direction_of(message)

    def conversation(self, case: Case) -> JsonDict | None:
        """Return one conversation vector, None for one that is too long for a file: it is not played to its end.

        Raises `DeriveError` unless the reference server passes the case.
        """
        symbols = self._symbols(case)
        notes = _Notes(symbols, LONGEST_FIRST if case.id in self._first_cases else LONGEST)
        player = Player(case, symbols, segmentation=SEGMENTATIONS["whole"], on_step=notes)
        outcome = SimulationDriver(self._service).play(player)
        if notes.size > notes.longest:
            return None
        if outcome.verdict is not Verdict.PASS:
            raise self._error(case, f"the reference does not pass: expected {outcome.expected}, got {outcome.got}")
        return {
            "id": case.id,
            "title": case.title,
            "clauses": list(case.clauses),
            "level": level_of(case, self.suite, self.profile).value,
            "exclusive": case.exclusive,
            "steps": list(self._steps(notes.found)),
        }

    def _service(self, clock: Any) -> Any:
        return reference_target.service(self.suite.protocol, profile=self.profile, variant=self.variant, clock=clock)

    def _steps(self, notes: list[tuple[StepEvent, Any]]) -> Iterator[JsonDict]:
        for note, expect in notes:
            step: JsonDict = {"do": {"half": "half_close"}.get(note.do, note.do), "connection": note.connection}
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


def _message(spec: object, symbols: Symbols) -> Message | None:
    """Return a message of a frame, once the choices by profile are made; None where it has none."""
    return symbols.message(spec) if isinstance(spec, SymbolicMessage) else None


def direction_of(message: Message) -> str:
    """Return request, push or reply."""
    return "request" if isinstance(message, Request) else "push" if isinstance(message, Push) else "reply"
