"""The targets that feed bytes to our own code: how each is checked, seeded, and run by atheris."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from wireproof.fuzz import parser_input, scheduler_input, store_input, store_seeds, transport_input
from wireproof.fuzz.input_description import InputDescription
from wireproof.fuzz.invariants.ending import ending
from wireproof.fuzz.invariants.invariant_error import unexpected_as_findings
from wireproof.fuzz.recorded_frames import check_recorded_frames
from wireproof.fuzz.recorded_numbers import check_recorded_numbers
from wireproof.fuzz.unmodelled_profiles import check_unmodelled_profiles
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols.fields import Word
from wireproof.protocols.registry import Protocol
from wireproof.reference_server.registry import has_server_model

__all__ = ["TARGETS", "CodeTarget", "default_protocol", "dictionary", "has_model"]

MARKS = (
    b"(",
    b")",
    b'"',
    b";",
    b"#|",
    b"|#",
    b"#;",
    b"\\",
    b"\\x41",
    b"\\065",
    b"\\\n ",
    b"\n",
    b"2013-01-01 12:00:00.5Z",
)
"""What an s-expression is made of, besides its words."""


@dataclass(frozen=True, slots=True)
class CodeTarget:
    """One target."""

    name: str
    module: str
    """The module that runs it under atheris."""
    invariants: Callable[[str, bytes], None]
    """(protocol, input) -> None; raises `InvariantError`, or what the code under test raises."""
    seeds: Callable[[str], Iterable[bytes]]
    needs_model: bool = False
    """Whether it compares a server with the model of its document."""
    description: Callable[[str, bytes], InputDescription] | None = None
    """(protocol, input) -> what the input says; None where nothing is known of it."""

    setting_of: Callable[[str, bytes], int] | None = None
    """(protocol, input) -> the number of its profile and variant, where seeds of each are listed alike."""
    recorded: Callable[[str], None] | None = None
    """protocol -> None: reads what was recorded before; raises `InvariantError`."""

    def check_recorded(self, name: str) -> None:
        """Check what was recorded before. Raises `InvariantError`, also for any other exception of the code."""
        if self.recorded is not None:
            with unexpected_as_findings("while what was recorded was checked"):
                self.recorded(name)

    def check(self, name: str, data: bytes) -> None:
        """Check one input. Raises `InvariantError`, also for any other exception of the code under test."""
        with unexpected_as_findings(), ending():
            self.invariants(name, data)

    def described(self, name: str, data: bytes) -> InputDescription:
        """Return profile, variant and steps of an input; the defaults where they are not known."""
        spoken = protocol(name)
        found = None
        if self.description is not None:
            with suppress(Exception):
                found = self.description(name, data)
        return found or InputDescription(spoken.default_profile, spoken.default_variant)


def _check_recorded(name: str) -> None:
    """Compare numbers, then frames, with what is recorded of them. Raises `InvariantError`."""
    check_recorded_numbers(name)
    check_recorded_frames(name)


TARGETS: Mapping[str, CodeTarget] = {
    one.name: one
    for one in (
        CodeTarget(
            "parser",
            "wireproof.fuzz.targets.parser",
            parser_input.check,
            parser_input.seeds,
            description=parser_input.described,
            recorded=_check_recorded,
        ),
        CodeTarget(
            "scheduler",
            "wireproof.fuzz.targets.scheduler",
            lambda name, data: scheduler_input.check(data),
            lambda name: scheduler_input.seeds(),
            description=scheduler_input.described,
        ),
        CodeTarget(
            "store",
            "wireproof.fuzz.targets.store",
            store_input.check,
            store_seeds.seeds,
            needs_model=True,
            description=store_input.described,
            setting_of=store_input.setting_of,
            recorded=check_unmodelled_profiles,
        ),
        CodeTarget(
            "transport",
            "wireproof.fuzz.targets.transport",
            transport_input.check,
            transport_input.seeds,
            description=transport_input.described,
            setting_of=transport_input.setting_of,
        ),
    )
}


def has_model(name: str) -> bool:
    """Return whether a protocol has a model of a whole server, which `store` and `machine` compare servers with."""
    spoken = protocol(name)
    return has_server_model(name, profile=spoken.default_profile, variant=spoken.default_variant)


def default_protocol() -> str:
    """Return the protocol used where none is named: the first that every engine can fuzz and that has one link."""
    known = protocol_names()
    return next((name for name in known if has_model(name) and len(protocol(name).links) == 1), known[0])


def dictionary(name: str) -> str:
    """Return a libFuzzer dictionary: enum values, leading bytes and boundary sizes of a protocol."""
    spoken = protocol(name)
    words = {f"{enum}_{one.name}": bytes([one]) for enum, kind in spoken.names.items() for one in kind if one < 256}
    leads = {lead for profile in spoken.profiles.values() for lead in profile.leads.values()}
    words |= {f"lead_{lead.hex()}": lead for lead in leads}
    words |= {f"text_{text.hex()}": text for text in _texts(spoken)}
    for size in (1, 2, 4, 8):
        for label, value in (("max", (1 << 8 * size) - 1), ("half", 1 << 8 * size - 1), ("one", 1)):
            words[f"{label}_{size}"] = value.to_bytes(size, "little")
    return "".join(f'{label}="{_escaped(word)}"\n' for label, word in words.items())


def _texts(spoken: Protocol) -> Iterator[bytes]:
    """Yield what s-expressions are made of, where a protocol has them: marks, escapes, words, names of fields."""
    for profile in spoken.profiles.values():
        for variant in profile.variants.values():
            for message in profile.messages.values():
                layout = profile.layout(message, variant)
                if layout.is_sexp:
                    yield from MARKS
                    for name, kind in layout.fields:
                        yield from (word.encode() for word in (kind.words if isinstance(kind, Word) else (name,)))


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)
