"""Finds out what a server speaks when not even the protocol is known: each is asked on a connection of its own.

An answer of the right length counts only where the server also answers another request of that protocol. What is asked
leaves the server as it was: a record that a question stores is removed by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.wording import describe
from wireproof.conformance.run.probe import (
    ProbeError,
    Spoken,
    detected,
    is_fresh_server,
    second_opinion,
    use_by_others,
    version_of,
    what_is_answered,
)
from wireproof.conformance.suite.cases import load_probe
from wireproof.protocols.registry import MissingExtraError, protocol

__all__ = ["PATIENCE", "Identity", "identified"]

PATIENCE = 0.8
"""Seconds to wait for any one answer of a server that is asked what it speaks, unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What one server speaks, and how that is known."""

    protocol: str
    spoken: Spoken
    version: str
    """What the server reports, or "unknown"."""
    alike: tuple[Spoken, ...] = ()
    """Other profiles with the same answers: only their rules differ."""
    evidence: tuple[str, ...] = ()
    quirks: tuple[str, ...] = ()
    """What a run of cases will see, a line each."""


async def identified(address: Address, names: Sequence[str], timeout: float) -> tuple[list[Identity], dict[str, str]]:
    """Return what a server speaks of the protocols `names`, and for each of the others why not.

    A protocol whose extra is not installed is not asked for, and says so.

    `timeout`: seconds for any one answer. Raises `OSError` when nothing listens.
    """
    found, refused = list[Identity](), dict[str, str]()
    for name in names:
        load_probe(name)  # now: what takes time to read must not make answers seem late
        try:
            protocol(name)
        except MissingExtraError as error:
            refused[name] = str(error)
    names = [name for name in names if name not in refused]
    answers = await asyncio.gather(*(_spoken(address, name, timeout) for name in names))
    for name, spoken in zip(names, answers, strict=True):
        if isinstance(spoken, str):
            refused[name] = spoken
            continue
        one = await _examined(address, name, spoken, timeout)
        if isinstance(one, Identity):
            found.append(one)
        else:
            refused[name] = one
    return found, refused


async def _spoken(address: Address, name: str, timeout: float) -> list[Spoken] | str:
    """Return what a server may speak of one protocol, or why it speaks none."""
    try:
        return await detected(load_probe(name), address, timeout)
    except ProbeError as error:
        return str(error).split("; name the profile")[0].removeprefix(f"{address} ")


async def _examined(address: Address, name: str, known: Sequence[Spoken], timeout: float) -> Identity | str:
    suite, (spoken, *others) = load_probe(name), known
    reply = await what_is_answered(suite, address, spoken, timeout)
    if reply is None:
        return f"answers as {spoken.profile} {spoken.variant}, and then nothing that can be read"
    used = await use_by_others(suite, address, spoken, timeout)
    version, warning, fresh = await asyncio.gather(
        version_of(suite, address, spoken, timeout),
        second_opinion(suite, address, spoken, timeout),
        is_fresh_server(suite, address, spoken, timeout),
    )
    lengths = [one["bytes"] for one in suite.probe["answers"] if _is(one, spoken)]
    evidence = [f"{lengths[0]} bytes answer the question for profile and variant", f"then it answers {describe(reply)}"]
    if version != "unknown":
        evidence.append(f"its own request for the version is answered {version!r}")
    quirks = [one for one in (warning, used, "it holds nothing yet" if fresh else "") if one]
    alike = tuple(dict.fromkeys(one for one in others if one != spoken))
    return Identity(name, spoken, version, alike, tuple(evidence), tuple(quirks))


def _is(entry: dict[str, object], spoken: Spoken) -> bool:
    return (str(entry["profile"]), str(entry["variant"])) == (spoken.profile, spoken.variant)
