"""Mutants derived from layouts: each field of each message of a protocol, read or written in another way.

A wire mutant is a patch of the protocol's reference server: requests are read through another layout or changed before
they are handled, replies are changed after the handler, pushes are written through another layout. No message and no
field is named here, so a protocol has wire mutants as soon as it has a reference server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import make_dataclass
from functools import cache
from importlib import import_module
from typing import Any
from zlib import crc32

import msgspec

from wireproof.mutants.clauses_of_fields import ClausesOfFields
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.wire_edits import (
    bytes_changed,
    replies_changed,
    requests_changed,
    sizes_changed,
    status_inverted,
    written_otherwise,
)
from wireproof.mutants.wire_operators import OPERATORS, Operator
from wireproof.protocols.fields import Bits, Flag, Nested, Repeated, Rows
from wireproof.protocols.messages import Message, Push, Reply, Request, declared_layout
from wireproof.protocols.profile import Profile
from wireproof.protocols.registry import Protocol, protocol
from wireproof.reference_server.registry import SERVICES

__all__ = ["wire_mutants", "wire_sample"]

Where = Mapping[str, tuple[str, ...]]
"""Profile -> the variants of it."""


@cache
def wire_mutants(name: str) -> Mapping[str, Mutant]:
    """Return name -> wire mutants of the reference server of a protocol, as `wire:QUERY_REPLY.quota:low-byte`."""
    made = _Maker(protocol(name), ClausesOfFields(name), import_module(SERVICES[name]).Patch)
    found: dict[str, Mutant] = {}
    for message, profiles in _messages(protocol(name)).items():
        for one in (*made.of_fields(message, profiles), *made.of_bytes(message, profiles)):
            found.setdefault(one.name, one)
    return found


@cache
def wire_sample(name: str) -> Mapping[str, Mutant]:
    """Return those that a run tries: of the operators that are sampled, one for each field, in turns.

    Of the others, one for each field that several messages inherit, each in another message.
    """
    every, coarse = wire_mutants(name), [one.name for one in OPERATORS if one.is_sampled]
    places = dict.fromkeys(one.rpartition(":")[0] for one in every)
    picked = {_picked(place, coarse, every) for place in places}
    fine = [one for one in every if one.rpartition(":")[2] not in coarse]
    shared, kinds = _inherited(protocol(name)), dict[tuple[str, str], list[str]]()
    for one in fine:
        place, _, operator = one.removeprefix("wire:").rpartition(":")
        kinds.setdefault((shared.get(place, place), operator), []).append(one)
    picked |= {some[crc32(":".join(kind).encode()) % len(some)] for kind, some in kinds.items()}
    return {one: mutant for one, mutant in every.items() if one in picked}


def _inherited(spoken: Protocol) -> dict[str, str]:
    """Return `MESSAGE.field` -> the class that declares the field, where that is another one."""
    found: dict[str, str] = {}
    for message in _messages(spoken):
        for one in message.__mro__[1:]:
            for field in vars(one).get("__annotations__", ()):
                if field not in vars(message).get("__annotations__", ()):
                    found[f"{message.NAME}.{field}"] = f"{one.__name__}.{field}"
    return found


def _picked(place: str, operators: list[str], every: Mapping[str, Mutant]) -> str | None:
    """Return one of the operators that a field has, another one for each field; None where it has none."""
    first = crc32(place.encode()) % len(operators)
    turned = (f"{place}:{operator}" for operator in operators[first:] + operators[:first])
    return next((one for one in turned if one in every), None)


class _Maker:
    """Makes the wire mutants of one protocol."""

    def __init__(self, spoken: Protocol, clauses: ClausesOfFields, patch: type[Any]) -> None:
        self._variants = {one for profile in spoken.profiles.values() for one in profile.variants}
        self._clauses = clauses
        self._groups = _groups(spoken)
        self._used: Mapping[type[Message], frozenset[str]] = patch.used
        """Message -> the fields that handlers read, or fill; all where it is missing."""
        self._class = make_dataclass("WireMutant", (), bases=(patch, Mutant), frozen=True, eq=False, kw_only=True)

    def of_fields(self, message: type[Message], profiles: list[Profile]) -> Iterator[Mutant]:
        """Yield the mutants of each operator on each field that it can be applied to."""
        how = "read" if issubclass(message, Request) else "written"
        for operator in OPERATORS:
            if (issubclass(message, Push) and not operator.of_layout) or (operator.announces and how == "read"):
                continue
            for field, where in _fitting(message, profiles, operator).items():
                if not self._matters(message, field, operator):
                    continue
                description = f"{message.NAME}.{field} is {how} {operator.description}."
                yield from self._mutant(
                    message, field, operator.name, description, where, _patch(message, field, operator)
                )

    def _matters(self, message: type[Message], field: str, operator: Operator) -> bool:
        """Say whether another value of a field is one for handlers, or for who reads what they wrote."""
        kind = declared_layout(message)[field]
        if message not in self._used or field in self._used[message]:
            return True
        if operator.of_layout:
            return not isinstance(kind, Bits)
        if issubclass(message, Request) or operator.announces or operator.value is None:
            return False
        usual = next(one.default for one in msgspec.structs.fields(message) if one.name == field)
        return bool(operator.value(usual, kind) != usual)

    def of_bytes(self, message: type[Message], profiles: list[Profile]) -> Iterator[Mutant]:
        """Yield the mutants of what a message begins with, and of the status that a request gets."""
        for name, description, change in LEADS:
            led = {
                one.name: tuple(one.variants)
                for one in profiles
                if change(one.leads.get(message, b""), message) is not None
            }
            if led:
                patch: dict[str, Any] = {"profile": _another_lead(message, change)}
                yield from self._mutant(message, "lead", name, f"{message.NAME} begins {description}.", led, patch)
        everywhere = {one.name: tuple(one.variants) for one in profiles}
        if issubclass(message, Reply):
            for name, description, edit in ENDS:
                patch = {"handlers": bytes_changed(message, edit)}
                yield from self._mutant(message, "end", name, f"{message.NAME} ends {description}.", everywhere, patch)
        asked = {one.name: tuple(one.variants) for one in profiles if _has_status(one, message)}
        if asked and issubclass(message, Request):
            description = f"The status of {message.NAME} is inverted."
            yield from self._mutant(
                message, "status", "inverted", description, asked, {"handlers": status_inverted(message)}
            )

    def _mutant(
        self,
        message: type[Message],
        field: str,
        operator: str,
        description: str,
        where: Where,
        patch: Mapping[str, Any],
    ) -> Iterator[Mutant]:
        name = f"{message.NAME}.{field}:{operator}"
        where = {profile: found for profile, found in where.items() if not self._clauses.is_unseen(name, profile)}
        if not where:
            return
        variants = tuple(dict.fromkeys(one for some in where.values() for one in some))
        yield self._class(
            name=f"wire:{name}",
            description=description,
            clauses=self._clauses.of(tuple(dict.fromkeys(self._groups[message])), message.NAME, field, tuple(where)),
            profiles=tuple(where),
            variants=() if set(variants) == self._variants else variants,
            **patch,
        )


def _patch(message: type[Message], field: str, operator: Operator) -> dict[str, Any]:
    """Return the patch that applies `operator` to a field."""
    if not operator.of_layout:
        if issubclass(message, Request):
            return {"handlers": requests_changed(message, field, operator)}
        changed = sizes_changed if operator.announces else replies_changed
        return {"handlers": changed(message, field, operator)}
    if issubclass(message, Request | Push):
        return {"profile": lambda profile: operator.derived(profile, message, field)}
    return {"handlers": written_otherwise(message, field, operator)}


Lead = Callable[[bytes, type[Message]], bytes | None]
"""(what a message begins with, its class) -> what it begins with instead; None where there is no such mutant."""
LEADS: tuple[tuple[str, str, Lead], ...] = (
    ("another", "with another byte", lambda lead, message: bytes([lead[0] ^ 0x60]) + lead[1:] if lead else None),
    ("extended", "with a byte more", lambda lead, message: lead + b"\1" if lead or issubclass(message, Reply) else None),
    ("left-out", "without its first byte", lambda lead, message: lead[1:] if lead and issubclass(message, Reply) else None),
)  # fmt: skip
ENDS: tuple[tuple[str, str, Callable[[bytes], bytes]], ...] = (
    ("longer", "with a zero byte more", lambda data: data + b"\0"),
    ("shorter", "a byte too early", lambda data: data[:-1]),
)


def _another_lead(message: type[Message], change: Lead) -> Callable[[Profile], Profile]:
    def patched(profile: Profile) -> Profile:
        lead = change(profile.leads.get(message, b""), message)
        return profile if lead is None else profile.derive(profile.name, leads={message: lead})

    return patched


def _fitting(message: type[Message], profiles: list[Profile], operator: Operator) -> dict[str, Where]:
    """Return field -> where the operator can be applied to it."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for profile in profiles:
        for name, variant in profile.variants.items():
            fields = profile.layout(message, variant).fields
            for field, _ in fields:
                if operator.applies(message, fields, field):
                    some = found.setdefault(field, {})
                    some[profile.name] = (*some.get(profile.name, ()), name)
    return dict(found)


def _has_status(profile: Profile, request: type[Message]) -> bool:
    """Say whether a flag alone is a reply to `request`, and none of them is another one's."""
    kinds = [_kinds(profile, one) for one in (profile.replies.get(request, ()) if issubclass(request, Request) else ())]
    return [Flag] in kinds and not any(Nested in some for some in kinds)


def _kinds(profile: Profile, message: type[Message]) -> list[type[Any]]:
    return [type(kind) for _, kind in profile.layout(message, next(iter(profile.variants.values()))).fields]


def _messages(spoken: Protocol) -> dict[type[Message], list[Profile]]:
    """Return every message, and every part of a table, with the profiles that have it; no flag that stands alone."""
    found: dict[type[Message], list[Profile]] = {}
    for profile in spoken.profiles.values():
        whole = [*profile.replies, *(one for some in profile.replies.values() for one in some), *profile.pushes]
        for message in dict.fromkeys(part for one in whole for part in _parts(profile, one)):
            if _kinds(profile, message) != [Flag]:
                found.setdefault(message, []).append(profile)
    return found


def _groups(spoken: Protocol) -> dict[type[Message], list[str]]:
    """Return message or part of one -> the names of the requests that it is, or answers; of pushes, what cases say."""
    found: dict[type[Message], list[str]] = {}
    for profile in spoken.profiles.values():
        named: list[tuple[type[Message], str]] = [(one, spoken.push_name) for one in profile.pushes]
        named += [(one, request.NAME) for request, some in profile.replies.items() for one in (request, *some)]
        for message, name in named:
            for part in _parts(profile, message):
                found.setdefault(part, []).append(name)
    return found


def _parts(profile: Profile, message: type[Message]) -> Iterator[type[Message]]:
    """Yield a message and the parts of its tables, theirs too."""
    yield message
    for _, kind in profile.layout(message, next(iter(profile.variants.values()))).fields:
        if isinstance(kind, Rows | Repeated):
            yield from _parts(profile, kind.row if isinstance(kind, Rows) else kind.part)
