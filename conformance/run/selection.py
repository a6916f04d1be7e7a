"""Which cases to play: by profile and variant, by level, and by an expression like `insert and not (ttl or expiry)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping

from wireproof.conformance.model.expressions import Number
from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.case_traits import is_quick
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.names import names_like
from wireproof.conformance.verdict.records import level_of

Test = Callable[[str], bool]
_APART = re.compile(r"[\s()]")
"""What ends other words."""


class SelectionError(ValueError):
    """Raised when an expression cannot be read or selects nothing; it says what was expected."""


class _Id(str):
    """A word of an expression that is the id of a case or clause."""

    __slots__ = ()


def parse(expression: str, ids: Collection[str] = ()) -> Test:
    """Return the predicate over a case's text (id, title, clauses); words match as substrings, without case.

    A word that is one of `ids` (of cases and clauses, in small letters) matches nothing else.
    Raises `SelectionError` for an expression that cannot be parsed.
    """
    try:
        test, rest = _either(_tokens(expression, ids), expression)
    except RecursionError:
        raise SelectionError("-k: the expression is nested too deep") from None
    if rest:
        raise SelectionError(f"-k: expected 'and', 'or' or the end, got {rest[0]!r} in {expression!r}")
    return test


def _tokens(expression: str, ids: Collection[str]) -> list[str]:
    """Return the words and parentheses of an expression; an id is one word, whatever it holds."""
    apart = sorted(filter(_APART.search, ids), key=len, reverse=True)
    words = [re.escape(one) + r"(?=[\s)]|$)" for one in apart]
    found = re.findall("|".join([*words, r"[()]", r"[^\s()]+"]), expression, re.IGNORECASE)
    return [_Id(one) if one.lower() in ids else one for one in found]


def _either(tokens: list[str], whole: str) -> tuple[Test, list[str]]:
    left, tokens = _both(tokens, whole)
    while tokens[:1] == ["or"]:
        first = left
        second, tokens = _both(tokens[1:], whole)
        left = _any(first, second)
    return left, tokens


def _both(tokens: list[str], whole: str) -> tuple[Test, list[str]]:
    left, tokens = _one(tokens, whole)
    while tokens[:1] == ["and"]:
        first = left
        second, tokens = _one(tokens[1:], whole)
        left = _all(first, second)
    return left, tokens


def _any(first: Test, second: Test) -> Test:
    return lambda text: first(text) or second(text)


def _all(first: Test, second: Test) -> Test:
    return lambda text: first(text) and second(text)


def _one(tokens: list[str], whole: str) -> tuple[Test, list[str]]:
    match tokens:
        case ["not", *rest]:
            test, rest = _one(rest, whole)
            return (lambda text: not test(text)), rest
        case ["(", *rest]:
            test, rest = _either(rest, whole)
            if rest[:1] != [")"]:
                raise SelectionError(f"-k: expected ')' in {whole!r}")
            return test, rest[1:]
        case [_Id() as name, *rest]:
            return (lambda text: f" {name.lower()} " in f" {text} "), rest
        case [word, *rest] if word not in ("and", "or", ")"):
            return (lambda text: word.lower() in text), rest
    got = repr(tokens[0]) if tokens else "the end"
    raise SelectionError(f"-k: expected a word, 'not' or '(', got {got} in {whole!r}")


def ids_of(suite: Suite) -> frozenset[str]:
    """Return the ids of a suite's cases and clauses, in small letters."""
    return frozenset({one.id.lower() for one in suite.cases} | {name.lower() for name in suite.clauses})


def text_of(case: Case) -> str:
    """Return what an expression is matched against."""
    return f"{case.id} {case.title} {' '.join(case.clauses)}".lower()


def select(
    suite: Suite,
    profile: str,
    variant: str,
    *,
    expression: str = "",
    level: Level = Level.MAY,
    slow: bool = True,
    heavy: bool = True,
    budget: bool = False,
    features: Container[str] | None = None,
    declared: Mapping[str, Number] | None = None,
) -> list[Case]:
    """Return the cases that apply, of at least `level` (MUST > SHOULD > MAY); `SelectionError` when none is left.

    With `features`, those that need others are left out. `declared` are limits of the target by its own word: a slow
    case that waits for these alone is none where they are short.
    """
    test = parse(expression, ids_of(suite)) if expression.strip() else None
    wanted = list(Level)[: list(Level).index(level) + 1]
    meant = [
        case
        for case in applicable(suite, profile, variant)
        if level_of(case, suite, profile) in wanted and (test is None or test(text_of(case)))
    ]
    chosen = [
        case
        for case in meant
        if (slow or not case.slow or is_quick(case, suite.parameters, declared or {}))
        and (heavy or not case.heavy)
        and (budget or not case.budget)
        and (features is None or all(name in features for name in case.needs))
    ]
    if meant and not chosen:
        needs = dict.fromkeys(name for case in meant for name in case.needs)
        asked = [
            *(["--resource-limits"] if not budget and any(one.budget for one in meant) else []),
            *(["--slow"] if any((one.heavy and not heavy) or (one.slow and not slow) for one in meant) else []),
            *(f"--feature {name}" for name in needs if features is not None and name not in features),
        ]
        raise SelectionError(f"no case left: what matches needs {', '.join(asked)}")
    if not chosen:
        hint = _near(suite, expression) if test is not None else ""
        raise SelectionError(
            f"no case left: profile {profile}, variant {variant}, level {level}, -k {expression!r}{hint}"
        )
    return chosen


def _near(suite: Suite, expression: str) -> str:
    """Return in words which cases a selection that left none may have intended; "" for none."""
    if (whole := expression.strip().lower()) in {one.id.lower() for one in suite.cases}:
        return f"; {whole} is of another profile, variant, level or kind"
    known = [*(one.id for one in suite.cases), *suite.clauses]
    words = [one for one in _tokens(expression, ids_of(suite)) if one not in ("and", "or", "not", "(", ")")]
    found = [name for word in words for name in names_like(word, known)]
    return f"; names like it: {', '.join(dict.fromkeys(found))}" if found else ""


def left_out_by(expression: str, level: Level) -> list[str]:
    """Return the options of a selection that leave cases out, as they were given."""
    words = [f"-k {expression.strip()}"] if expression.strip() else []
    return [*words, *([f"--level {level.value.lower()}"] if level is not Level.MAY else [])]


def applicable(suite: Suite, profile: str, variant: str) -> Iterable[Case]:
    """Yield the cases that apply to a profile and variant."""
    for case in suite.cases:
        if profile in case.profiles and (not case.variants or variant in case.variants):
            yield case
