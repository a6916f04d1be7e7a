"""Cases made of combinations: each request, with each pair of the values of its fields and of the state around it.

People write one case for one rule. What lies between the rules is a grid: a unit, at a width, on a record of one kind,
inside a carrier, on a connection that does something else at the time. `combinations.yaml` of a protocol names the
values of each factor; a covering array takes as few combinations as hold every pair of values; each becomes a case of
at most four exchanges. Nobody writes down what the replies must be: the case is `modelled`, so that the model of the
whole document judges each reply.

A case is named after what it combines and not after its place in the array, so that its id stays when a factor gets
another value. Values that a file gets later say `since: 2`: the rows without them are made first and stay as they are,
and so do the ids of their cases. Where a profile lacks a value (a carrier of a later release), the first value of that
factor stands in.

Every three values together take several times as many cases. Those that no pair needed are `heavy`: only with --slow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations, product
from pathlib import Path
from typing import Any

import msgspec

from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.case_documents import CaseDocument, Context, cases_in, remembered
from wireproof.conformance.suite.documents import CaseError, read_document
from wireproof.conformance.suite.names import near
from wireproof.conformance.suite.sequences import filled, names_in
from wireproof.conformance.suite.values import Node
from wireproof.reference_server.registry import model_expects_answers

__all__ = ["RequestCoverage", "combined_cases", "coverage_of", "is_combination", "read_combinations"]

# The problem. Defects hide where two things meet that nobody put into one case: a unit at one width of four, a request
# inside a carrier, a counter where a buffer is usual. All products of all factors would be millions of cases.
#
# Why pairs. Most defects need one or two values at once, so an array that holds each pair once finds nearly what the
# product finds, in a number of rows near the product of the two largest factors. Threes cost several times as many, so
# they are played only where there is time for them.
#
# Why a library makes the array. The smallest array is a hard problem; covertable's greedy one is near it, and takes
# rows that must be there as `presets`. Only that makes the next point possible.
#
# Why editions. Ids of cases are contractual: baselines, requirement sets and notes of others name them. A new value
# would reorder a greedy array and so rename most cases. So the array of each edition is made first, and passed on as
# presets: rows are only ever added. A digest of the row, not its place, is in the id.
#
# Why the model judges. Expectations written by hand for thousands of rows would be copied from what the reference
# server does. The model is written apart from its handlers, so a row is an experiment and not a snapshot.

COMBINED = "/pairs-"
"""What the id of each combination has between its request and its digest."""
Row = Mapping[str, str]
"""Factor -> name of its value."""


class FactorValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one value of a factor adds to a case."""

    steps: list[Any] = []
    """Played before the request."""
    before: list[Any] = []
    """Written in one go with the request, before it."""
    after: list[Any] = []
    """The same, after it."""
    wrap: Any = None
    """A message that carries the request, which it names `<request>`."""
    clause: str | None = None
    """Blamed for the answer of the carried request, where the model names none."""
    profiles: list[str] | None = None
    """Where it exists; none: everywhere."""
    since: int = 1
    """With which edition of the file it came: rows of an earlier edition are made without it, and stay."""


class CombinedRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request and what it is combined with."""

    clauses: list[str]
    message: Any
    """Names a factor of its own as `<name>`."""
    fields: dict[str, list[str | int]] = {}
    """Factor of its own -> values."""
    factors: list[str] = []
    """Shared factors."""
    then: list[Any] = []
    """Asked afterwards, on another connection."""
    needs: list[str] = []
    """Features without which a target is not asked."""
    profiles: list[str] | None = None
    variants: list[str] | None = None


class CombinationFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`combinations.yaml` of a protocol."""

    protocol: str
    factors: dict[str, dict[str, FactorValue]]
    requests: dict[str, CombinedRequest]


@dataclass(frozen=True, slots=True)
class RequestCoverage:
    """How many pairs of values the cases of one request hold."""

    request: str
    cases: int
    pairs: int
    missing: tuple[str, ...]
    """The pairs that no case holds."""


def read_combinations(path: Path) -> CombinationFile | None:
    """Return the file, None where there is none. Raises `CaseError` that names what is wrong with it."""
    if not path.is_file():
        return None
    try:
        found = msgspec.convert(read_document(path), CombinationFile)
    except msgspec.ValidationError as error:
        raise CaseError(f"{path.name}: {error}") from None
    for name, request in found.requests.items():
        if unknown := [one for one in request.factors if one not in found.factors]:
            raise CaseError(f"{path.name}: {name}: no such factor: {', '.join(unknown)}; there is {_names(found)}")
    return found


def combined_cases(path: Path, context: Context, *, triples: bool = False) -> tuple[Case, ...]:
    """Return the cases of a protocol's combinations, none without a file; with `triples`, those that pairs lack.

    Raises `CaseError`.
    """
    if not path.is_file():
        return ()
    kind = "triples" if triples else ""
    return remembered(path, context, lambda _: CaseDocument(_cases(path, context, triples), ()), kind).cases


def _cases(path: Path, context: Context, triples: bool) -> tuple[Case, ...]:
    file = read_combinations(path)
    assert file is not None
    _check_names(file, context, path.name)
    entries: list[Node] = [
        one for name, request in file.requests.items() for one in _entries(file, name, request, context, triples)
    ]
    return cases_in({"cases": entries}, context, path.stem)


def _check_names(file: CombinationFile, context: Context, where: str) -> None:
    """Raise `CaseError` for clauses that do not exist and `<names>` that nothing fills in."""
    for name, request in file.requests.items():
        for one in request.clauses:
            if one not in context.clauses:
                raise CaseError(f"{where}: {name}: no such clause: {one}{near(one, context.clauses)}")
        for one in _placeholders(request.message) - set(request.fields):
            raise CaseError(f"{where}: {name}: <{one}> is not among its fields: {', '.join(request.fields) or 'none'}")
    for factor, values in file.factors.items():
        for value, added in values.items():
            if added.wrap is not None and _placeholders(added.wrap) != {"request"}:
                raise CaseError(f"{where}: {factor}: {value}: expected <request> in wrap and no other name")
            if added.clause is not None and added.clause not in context.clauses:
                near_ones = near(added.clause, context.clauses)
                raise CaseError(f"{where}: {factor}: {value}: no such clause: {added.clause}{near_ones}")


def _placeholders(spec: Node) -> set[str]:
    """Return the names in `<...>` anywhere in a message."""
    if isinstance(spec, str):
        return set(names_in(spec))
    inner = [*spec, *spec.values()] if isinstance(spec, dict) else spec if isinstance(spec, list) else []
    return {name for one in inner for name in _placeholders(one)}


def coverage_of(file: CombinationFile) -> list[RequestCoverage]:
    """Return the pairs that the cases of each request hold, in the order of the file."""
    found = []
    for name, request in file.requests.items():
        factors, rows = _factors(file, request), _rows(file, request)
        wanted = set(_pairs(factors))
        held = {pair for row in rows for pair in combinations(row.items(), 2)}
        missing = sorted(" with ".join(f"{factor} {value}" for factor, value in pair) for pair in wanted - held)
        found.append(RequestCoverage(name, len(rows), len(wanted), tuple(missing)))
    return found


def _names(file: CombinationFile) -> str:
    return ", ".join(file.factors) or "none"


def _factors(file: CombinationFile, request: CombinedRequest, edition: int = 10**6) -> dict[str, list[str]]:
    own = {name: [str(one) for one in values] for name, values in request.fields.items()}
    shared = {name: file.factors[name].items() for name in request.factors}
    return own | {name: [value for value, one in of if one.since <= edition] for name, of in shared.items()}


def _pairs(factors: Mapping[str, list[str]]) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    for (one, values), (other, others) in combinations(factors.items(), 2):
        yield from (((one, value), (other, second)) for value, second in product(values, others))


def _rows(file: CombinationFile, request: CombinedRequest, strength: int = 2) -> list[Row]:
    """Return combinations that hold every pair, or three, of values, factors in the order of the file.

    The rows of an earlier edition, and those of pairs, are the first.
    """
    factors = _factors(file, request)
    if len(factors) < 2:
        return [{name: value} for name, values in factors.items() for value in values] or [{}]
    editions = {one.since for name in request.factors for one in file.factors[name].values()} | {1}
    rows: list[Row] = []
    for edition in sorted(editions):
        rows = _array(_factors(file, request, edition), 2, rows)
    return _array(factors, strength, rows) if strength > 2 and len(factors) > 2 else rows


def _array(factors: Mapping[str, list[str]], strength: int, first: list[Row]) -> list[Row]:
    """Return `first` and the rows that hold what it lacks."""
    from covertable import make  # type: ignore[import-untyped]

    made = make(dict(factors), strength=strength, presets=[dict(row) for row in first])
    return [*first, *({name: str(row[name]) for name in factors} for row in made[len(first) :])]


def _entries(
    file: CombinationFile, name: str, request: CombinedRequest, context: Context, triples: bool
) -> Iterator[Node]:
    """Yield each case as it would stand in a file of cases: those of pairs, or those that triples need beside them."""
    known = request.profiles or list(context.clauses[request.clauses[0]].levels)
    pairs = _rows(file, request)
    rows = _rows(file, request, 3)[len(pairs) :] if triples else pairs
    there = {_id(name, _as_in(file, request, row, profile)) for row in pairs for profile in known} if triples else set()
    found: dict[str, tuple[Row, list[str]]] = {}
    for row in rows:
        for profile in known:
            here = _as_in(file, request, row, profile)
            found.setdefault(_id(name, here), (here, []))[1].append(profile)
    for case, (row, profiles) in found.items():
        if case in there:
            continue
        entry: dict[str, Node] = {
            "id": case,
            "title": f"{name}: {', '.join(f'{factor} {value}' for factor, value in row.items())}",
            "clauses": list(request.clauses),
            "profiles": list(dict.fromkeys(profiles)),
            "modelled": True,
            "heavy": triples,
            "steps": _steps(file, request, row, awaits_each=not model_expects_answers(context.protocol)),
        }
        if request.variants:
            entry["variants"] = list(request.variants)
        if request.needs:
            entry["needs"] = list(request.needs)
        yield entry


def _as_in(file: CombinationFile, request: CombinedRequest, row: Row, profile: str) -> Row:
    """Return the row with what `profile` lacks replaced by the first value of that factor."""
    here = dict(row)
    for factor in request.factors:
        values = file.factors[factor]
        only = values[here[factor]].profiles
        if only is not None and profile not in only:
            here[factor] = next(iter(values))
    return here


def is_combination(case: str) -> bool:
    """Say whether a case with this id is a combination."""
    return COMBINED in case


def _id(name: str, row: Row) -> str:
    digest = sha256(repr(sorted(row.items())).encode()).hexdigest()[:8]
    return f"{name}{COMBINED}{digest}"


def _steps(file: CombinationFile, request: CombinedRequest, row: Row, *, awaits_each: bool) -> list[Node]:
    """Return the steps of a case.

    Where the model expects answers as it does pushes, it alone says what must come; what prepares the state is given.
    """
    values = [file.factors[factor][row[factor]] for factor in request.factors]
    own: dict[str, Any] = {
        name: next(one for one in written if str(one) == row[name]) for name, written in request.fields.items()
    }
    message = filled(request.message, own, request.clauses[0])
    for one in values:
        if one.wrap is not None:
            message = filled(one.wrap, {"request": message}, request.clauses[0])
    sent = [*(m for one in values for m in one.before), message, *(m for one in values for m in one.after)]
    steps = [step if awaits_each else {"given": True, **step} for one in values for step in one.steps]
    clauses = [one.clause for one in values if one.clause is not None]
    steps.append({"send": sent, **_answers(len(sent), awaits_each=awaits_each), "clause": next(iter(clauses), None)})
    if request.then:
        steps.append({"send": list(request.then), "on": "z", **_answers(len(request.then), awaits_each=awaits_each)})
    return steps


def _answers(number: int, *, awaits_each: bool) -> dict[str, Node]:
    return {"expect": {"times": number, "of": "any"}} if awaits_each else {}
