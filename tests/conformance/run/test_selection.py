"""Selection: words with and, or, not and brackets; levels; and an error when nothing is left."""

from typing import Any

import pytest

from tests.conformance.scripted import make_case
from wireproof.conformance.model.verdict import Level
from wireproof.conformance.run.selection import SelectionError, parse, select
from wireproof.conformance.suite.cases import Clause, Suite, load_suite

SUITE = Suite(
    "throttr",
    {
        name: Clause(name, "G", {"7.1.0": Level(level), "7.3.2": Level.MAY}, "", "", ())
        for name, level in (("C-MUST-1", "MUST"), ("C-SHOULD-1", "SHOULD"), ("C-MAY-1", "MAY"))
    },
    (
        make_case(id="insert/new", title="A new key", clauses=("C-MUST-1",)),
        make_case(id="insert/ttl", title="Lives its TTL", clauses=("C-SHOULD-1",), variants=("uint8",)),
        make_case(id="query/ttl", title="Tells the TTL", clauses=("C-MAY-1",), slow=True),
        make_case(id="event/one", title="Newer only", clauses=("C-MUST-1",), profiles=("7.3.2",)),
        make_case(id="get/one", title="Its own level", clauses=("C-MUST-1",), level=Level.MAY),
    ),
    (),
    {},
)


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ("insert", True), ("INSERT", True), ("query", False), ("not query", True), ("insert and ttl", True),
        ("insert and query", False), ("query or ttl", True), ("query or insert and nothing", False),
        ("(query or insert) and ttl", True), ("not (query or insert)", False), ("not not insert", True),
        ("insert/ttl", True), ("C-1", True), ("lives", True), ("not insert or ttl", True), ("(insert)and(ttl)", True),
    ],
)  # fmt: skip
def test_expressions(expression: str, fits: bool) -> None:
    assert parse(expression)("insert/ttl lives its ttl c-1") is fits


@pytest.mark.parametrize("text", ["list/names.k[0](x) a list", "query/b another", "get/max*(n+1) a get"])
def test_ids_with_brackets_are_alternatives_to_words(text: str) -> None:
    ids = {"list/names.k[0](x)", "get/max*(n+1)", "query/c"}

    assert parse("(list/names.k[0](x)) or (query/b or nothing) or (get/MAX*(n+1))", ids)(text)
    assert not parse("(query/c) or (nowhere)", ids)(text)
    assert parse("not query/c and not list/names.k[0](x)", ids)(text) is not text.startswith("list")


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ("insert/ttl", True), ("insert/tt", True), ("C-1", True), ("C-1 and insert/ttl", True), ("not c-1", False),
        ("insert/ttl.(1+2)", False),
    ],
)  # fmt: skip
def test_an_id_matches_itself_and_nothing_longer(expression: str, fits: bool) -> None:
    known = frozenset({"insert/ttl", "insert/ttl.(1+2)", "c-1"})
    found = parse(expression, known)

    assert found("insert/ttl lives its ttl c-1") is fits
    assert found("insert/ttl.2 lives its ttl c-10") is (expression in ("insert/tt", "not c-1"))


def test_names_that_are_near_are_reported() -> None:
    with pytest.raises(SelectionError, match="names like it: insert/new"):
        ids(expression="insrt/new")
    with pytest.raises(SelectionError, match="event/one is of another profile"):
        ids(expression="event/one")


@pytest.mark.parametrize(
    ("expression", "detail"),
    [
        ("insert and", "got the end"), ("and insert", "got 'and'"), ("(insert", r"expected '\)'"),
        ("insert)", r"got '\)'"),
        ("insert query", "expected 'and', 'or' or the end, got 'query'"), ("not", "got the end"), ("()", r"got '\)'"),
        ("or", "got 'or'"), ("(" * 100_000, "too deep"),
    ],
)  # fmt: skip
def test_a_bad_expression_is_reported(expression: str, detail: str) -> None:
    with pytest.raises(SelectionError, match=detail):
        parse(expression)


def ids(**options: object) -> list[str]:
    return [case.id for case in select(SUITE, **{"profile": "7.1.0", "variant": "uint8", **options})]  # type: ignore[arg-type]


def test_only_cases_of_the_profile_and_variant() -> None:
    assert ids() == ["insert/new", "insert/ttl", "query/ttl", "get/one"]
    assert ids(variant="uint64") == ["insert/new", "query/ttl", "get/one"]
    assert "event/one" in ids(profile="7.3.2")


def test_levels_are_lowest_levels() -> None:
    assert ids(level=Level.MUST) == ["insert/new"]
    assert ids(level=Level.SHOULD) == ["insert/new", "insert/ttl"]


def test_slow_cases_can_be_left_out() -> None:
    assert ids(slow=False) == ["insert/new", "insert/ttl", "get/one"]


def pings(**options: Any) -> list[str]:
    suite = load_suite("namechan")
    return [one.id for one in select(suite, "1", "standard", expression="ping/in-time or ping/silent", **options)]


def test_a_slow_case_that_waits_for_a_short_limit_by_the_target_s_own_word_is_none() -> None:
    assert pings(slow=False, declared={"PING_INTERVAL": 4}) == pings() == ["ping/in-time", "ping/silent"]


@pytest.mark.parametrize("declared", [{}, {"PING_INTERVAL": 50}, {"HANDSHAKE_TIMEOUT": 1}])
def test_it_is_slow_where_the_limit_is_long_or_assumed(declared: dict[str, float]) -> None:
    with pytest.raises(SelectionError):
        pings(slow=False, declared=declared)


def test_an_expression_selects_among_them() -> None:
    assert ids(expression="ttl and not slow") == ["insert/ttl", "query/ttl"]
    assert ids(expression="  ") == ids()


def test_nothing_left_is_an_error_that_reports_the_selection() -> None:
    with pytest.raises(SelectionError, match=r"no case left: profile 7\.1\.0, variant uint8, level MUST, -k 'query'"):
        ids(level=Level.MUST, expression="query")


def test_cases_that_wait_for_an_option_name_it() -> None:
    suite = load_suite("namechan")
    with pytest.raises(SelectionError, match=r"no case left: what matches needs --resource-limits$"):
        select(suite, "1", "standard", expression="budget/idle-behind-nonsense", features=())
    with pytest.raises(SelectionError, match=r"needs --resource-limits, --feature hook$"):
        select(suite, "1", "standard", expression="budget/clients-come-and-go", features=())
