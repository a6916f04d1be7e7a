"""What an id means: of a clause its sentence, cases, mutants and an example; of a case what it asks and sends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wireproof.conformance.report.vector_files import configurations
from wireproof.conformance.report.vector_store import vectors_of
from wireproof.conformance.sdk.play.sdk_suite import sdk_cases
from wireproof.conformance.suite.cases import Case, CaseError, Clause, Suite, load_suite
from wireproof.conformance.suite.documents import read_text, vectors_root
from wireproof.conformance.suite.names import names_like
from wireproof.mutants.registry import client_mutants, server_mutants
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols.json_values import JsonObject
from wireproof.protocols.registry import left_out, usable_protocols
from wireproof.reference_client.registry import driven_protocols

__all__ = ["UnknownIdError", "explained"]

FEW = 8
"""Cases or mutants named."""
MOST_HEX = 128
"""Hex digits of one write or answer."""


class UnknownIdError(ValueError):
    """Raised when nothing has an id; it names those that are like it."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What one protocol has ids for."""

    suite: Suite
    sdk: tuple[Case, ...]

    @property
    def cases(self) -> tuple[Case, ...]:
        return (*self.suite.cases, *self.sdk)


def _known(identifier: str) -> Iterator[_Known]:
    """Yield the protocols that may have an id, all of them where none of their files says anything like it.

    To read a file as text takes no time; to load every suite takes seconds.
    """
    group = re.escape(identifier.partition("/")[0])
    form = rf"\b{group}\b" if "/" in identifier else rf"\bid: *[\"']?{group}[\"']?\s*$"
    pattern = re.compile(form, re.IGNORECASE | re.MULTILINE)
    names = [name for name in protocol_names() if any(pattern.search(read_text(path)) for path in _files(name))]
    usable = usable_protocols()
    if names and not set(names) & set(usable):
        protocol(names[0])  # which raises
    for name in [one for one in names if one in usable] or usable:
        yield _Known(load_suite(name), sdk_cases(name))


def _files(name: str) -> Iterator[Path]:
    """Yield the files of a protocol that ids stand in."""
    folder = vectors_root() / name
    yield folder / "clauses.yaml"
    yield from (path for place in ("cases", "sdk") for path in sorted((folder / place).glob("*.yaml")))
    yield from (path for name in ("combinations.yaml", "walks.yaml") for path in folder.glob(name))


def explained(identifier: str, profile: str | None = None, variant: str | None = None) -> list[str]:
    """Return the lines that explain a clause, case or vector. Raises `UnknownIdError`; `CaseError`, `DeriveError`.

    `profile` and `variant` choose the example; the usual ones where they are not given.
    """
    names = list[str]()
    found = list[str]()
    for one in _known(identifier):
        clause = next((each for name, each in one.suite.clauses.items() if name.lower() == identifier.lower()), None)
        cases = [each for each in one.cases if each.id == identifier]
        frames = [each for each in one.suite.frames if each.id == identifier]
        if clause or cases or frames:
            _check_spoken(one.suite.protocol, profile, variant)
        found += _clause(one, clause, profile, variant) if clause else ()
        for case in cases:
            found += _case(one, case, profile, variant)
        for frame in frames:
            found += [f"frame {frame.id} of {one.suite.protocol}: {frame.title}", *_sentences(one.suite, frame.clauses)]
            found += _bytes(one.suite.protocol, frame.id, (), profile, variant)
        names += [*one.suite.clauses, *(each.id for each in one.cases), *(each.id for each in one.suite.frames)]
    if not found:
        near = names_like(identifier, names)
        hint = (
            f"; like it: {', '.join(near)}"
            if near
            else "; wireproof test PROTOCOL --list and wireproof clauses PROTOCOL list those there are"
        )
        raise UnknownIdError(f"no clause, case or vector has the id {identifier!r}{hint}{left_out()}")
    return found


def _check_spoken(name: str, profile: str | None, variant: str | None) -> None:
    """Raise `CaseError` for a profile or variant that a protocol does not have."""
    profiles = protocol(name).profiles
    if profile is not None and profile not in profiles:
        raise CaseError(f"--profile: expected {', '.join(profiles)}; got {profile!r}")
    possible = profiles.values() if profile is None else [profiles[profile]]
    variants = dict.fromkeys(each for one in possible for each in one.variants)
    if variant is not None and variant not in variants:
        raise CaseError(f"--variant: expected {', '.join(variants)}; got {variant!r}")


def _clause(known: _Known, clause: Clause, profile: str | None, variant: str | None) -> Iterator[str]:
    suite = known.suite
    levels = ", ".join(f"{level} in {name}" for name, level in clause.levels.items())
    yield f"clause {clause.id} of {suite.protocol}: {levels}"
    yield f"  {' '.join(clause.text.split())}"
    yield f"  source: {clause.section}" + (
        f"; errata: {', '.join(clause.errata)} (docs/errata.md)" if clause.errata else ""
    )
    cases = [one.id for one in known.cases if clause.id in one.clauses]
    first = [one.id for one in known.cases if one.clauses[0] == clause.id]
    frames = [one.id for one in suite.frames if clause.id in one.clauses]
    yield _listed("cases", list(dict.fromkeys([*first, *cases])))
    if frames:
        yield _listed("frames", frames)
    mutants = [name for name, clauses in _mutants(suite.protocol) if clause.id in clauses]
    yield (
        _listed("mutants that break it", mutants)
        if mutants or not clause.no_fault
        else f"  no mutant: {clause.no_fault}"
    )
    if wanted := (*first, *frames) or tuple(cases):
        yield from _bytes(suite.protocol, "", wanted, profile, variant)
    if cases:
        yield f"  play them: wireproof test {suite.protocol} TARGET -k {clause.id}"


def _case(known: _Known, case: Case, profile: str | None, variant: str | None) -> Iterator[str]:
    name = known.suite.protocol
    is_sdk = bool(case.script)
    yield f"case {case.id} of {name}{', for SDKs' if is_sdk else ''}: {case.title}"
    yield from _sentences(known.suite, case.clauses)
    spoken = ", ".join(case.profiles) + (f" ({', '.join(case.variants)})" if case.variants else "")
    traits = [
        word.replace("_", " ")
        for word in ("exclusive", "fresh_server", "slow", "heavy", "budget")
        if getattr(case, word)
    ]
    needs = f"; needs {', '.join(case.needs)}" if case.needs else ""
    yield f"  profiles: {spoken}{needs}{'; ' + ', '.join(traits) if traits else ''}"
    breaking = [each for each, clauses in _mutants(name) if case.clauses[0] in clauses]
    if breaking:
        yield _listed("mutants that break its clause", breaking)
    if not is_sdk:
        yield from _bytes(name, case.id, (), profile, variant)
    how = f"test-sdk {name} --driver DRIVER" if is_sdk else f"test {name} TARGET"
    yield f"  play it: wireproof {how} -k {case.id}"


def _sentences(suite: Suite, clauses: Sequence[str]) -> Iterator[str]:
    for one in clauses:
        yield f"  {one}: {' '.join(suite.clauses[one].text.split())}"


def _mutants(name: str) -> Iterator[tuple[str, Sequence[str]]]:
    for one in server_mutants(name).values():
        yield one.name, one.clauses
    for other in (client_mutants(name) if name in driven_protocols() else {}).values():
        yield f"{other.name} (SDK)", other.clauses


def _listed(what: str, names: Sequence[str]) -> str:
    more = f", … and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"  {what} ({len(names)}): {', '.join(names[:FEW])}{more}" if names else f"  {what}: none"


def _bytes(
    name: str, identifier: str, others: Sequence[str], profile: str | None, variant: str | None
) -> Iterator[str]:
    """Yield an example in bytes: the vector of this id, or the shortest of one of the others."""
    spoken = protocol(name)
    for its_profile, its_variant in _wanted(name, profile or spoken.default_profile, variant or spoken.default_variant):
        if (profile or its_profile, variant or its_variant) != (its_profile, its_variant):
            continue
        vectors = {
            one["id"]: one
            for document in vectors_of(name, its_profile, its_variant, [one for one in (identifier, *others) if one])
            for one in (*document["conversations"], *document["frames"])
            if one["id"] == identifier or one["id"] in others
        }
        if vectors:
            example = vectors.get(identifier) or min(vectors.values(), key=lambda one: len(str(one)))
            yield f"  example {example['id']}, {its_profile} {its_variant}:"
            yield from (f"    {line}" for line in _written(example))
            return


def _wanted(name: str, profile: str, variant: str) -> list[tuple[str, str]]:
    """Return the profiles and variants, the one that is asked for first."""
    every = list(configurations(protocol(name)).values())
    return sorted(every, key=lambda one: one != (profile, variant))


def _written(vector: JsonObject) -> Iterator[str]:
    if "steps" not in vector:
        shown = (
            _message(vector["message"]) if vector.get("message") else f"error: {vector.get('error', vector['result'])}"
        )
        yield f"{_cut(vector['hex'])}  {shown}"
        return
    for step in vector["steps"]:
        arrow = {"send": ">", "receive": "<"}.get(step["do"])
        if arrow is None:
            yield f"{step.get('connection', '')} | {step['do']}"
            continue
        messages = ", ".join(_message(one) for one in step.get("messages", ()))
        yield f"{step['connection']} {arrow} {_cut(step.get('hex', ''))}  {messages}".rstrip()


def _message(message: JsonObject) -> str:
    fields = ", ".join(f"{name}={value}" for name, value in message["fields"].items())
    return f"{message['name']}({fields})" if len(fields) < MOST_HEX else f"{message['name']}(…)"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_HEX else f"{text[:MOST_HEX]}… ({len(text) // 2} bytes)"
