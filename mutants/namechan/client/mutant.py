"""A mutant of the namechan SDK: edits of its source."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, Edited, first
from wireproof.mutants.mutant import ClientMutant

__all__ = ["answered", "handed_on", "mutant", "reading_from", "sent"]

CLIENT = "wireproof.reference_client"
PROTOCOLS = "wireproof.protocols"
SHARED = ("server_connection", "link", "matched_link", "silence", "checks")
TEXTS = ("sexp", "sexp_writing", "sexp_messages")
MODULES = (
    f"{PROTOCOLS}.namechan",
    f"{CLIENT}.namechan",
    *(f"{CLIENT}.{one}" for one in SHARED),
    *(f"{PROTOCOLS}.{one}" for one in TEXTS),
)
REPLACE = "from msgspec.structs import replace"


def mutant(name: str, description: str, clauses: str, *edits: Edit, profiles: tuple[str, ...] = ()) -> ClientMutant:
    """Return a mutant that breaks `clauses`: words without their `NCH-CLIENT-`; none for a conforming variant."""
    edited = Edited(MODULES, edits)
    return ClientMutant(
        name=name,
        description=description,
        clauses=tuple(f"NCH-CLIENT-{one}" for one in clauses.split()),
        profiles=profiles,
        make=lambda: edited.get(f"{CLIENT}.namechan.client").Client,
    )


def sent(kind: str, field: str, value: str) -> Edit:
    """Return the edit that sends a request with another value of a field: an expression of `message`."""
    changed = f'if message.NAME == "{kind}": message = replace(message, {field}={value})'
    return first("Codec.encode", REPLACE, changed)


def answered(kind: str, field: str, value: str) -> Edit:
    """Return the edit that takes an answer with another value of a field: an expression of `reply`."""
    changed = f'if reply.NAME == "{kind}": reply = replace(reply, {field}={value})'
    return first("MatchedLink._answer", REPLACE, changed)


def handed_on(field: str, value: str) -> Edit:
    """Return the edit that hands messages on with another value of a field: an expression of `push`."""
    return first("Client._pushed", REPLACE, f"push = replace(push, {field}={value})")


def reading_from(place: str) -> tuple[str, ...]:
    """Return the lines of `Codec.decode_frame` that go on at another offset, an expression."""
    return (
        f"start = {place}",
        "message, stop = self.decode_frame(data, start, end, context) if start <= end else (None, HEAD)",
        "return (message, stop) if message is not None else (None, start - at + stop)",
    )
