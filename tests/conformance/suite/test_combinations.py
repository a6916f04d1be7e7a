"""Cases of combinations: every pair is in one, ids depend on values alone, what a profile lacks is replaced."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import yaml

from wireproof.conformance.suite.cases import CaseError, load_suite, vectors_root
from wireproof.conformance.suite.combinations import combined_cases, coverage_of, read_combinations
from wireproof.conformance.suite.steps import Send, Step

SUITE = load_suite("throttr")
WRITTEN = """
protocol: throttr
factors:
  record: {none: {}, counter: {steps: [{send: {INSERT: {key: $k, quota: 1, ttl_type: hours, ttl: 1}}, expect: any}]}}
  carrier:
    plain: {}
    event: {wrap: {EVENT: {channel: e, payload: {message: <request>}}}, clause: THR-EVENT-2, profiles: [7.3.2]}
  position: {alone: {}, between: {before: [LIST], after: [STATS, INFO]}}
requests:
  update:
    clauses: [THR-UPDATE-1]
    message: {UPDATE: {key: $k, attribute: quota, change: <change>, value: <value>}}
    fields: {change: [patch, increase], value: [1, MAX - 1, "9"]}
    factors: [record, carrier, position]
    then: [{QUERY: {key: $k}}]
"""


def file_of(tmp_path: Path, text: str = WRITTEN) -> Path:
    path = tmp_path / "combinations.yaml"
    path.write_text(text)
    return path


def test_every_pair_is_in_a_case(tmp_path: Path) -> None:
    file = read_combinations(file_of(tmp_path))
    assert file is not None
    (found,) = coverage_of(file)

    assert (found.request, found.pairs, found.missing) == ("update", 2 * 3 + 3 * 2 * 2 + 3 * 3 * 2 + 3 * 2 * 2, ())
    assert 6 <= found.cases < 2 * 3 * 2 * 2 * 2


def test_a_case_plays_its_state_then_its_request_then_asks_what_became_of_it(tmp_path: Path) -> None:
    cases = combined_cases(file_of(tmp_path), SUITE.context)
    one = next(case for case in cases if "record counter" in case.title and "position between" in case.title)
    sent = [verb for step in one.steps if isinstance(step, Step) for verb in step.verbs if isinstance(verb, Send)]

    assert one.modelled
    assert one.clauses == ("THR-UPDATE-1",)
    assert [len(verb.send) for verb in sent] == [1, 4, 1]
    assert [getattr(step, "on", "") for step in one.steps] == ["a", "a", "z"]


def test_what_carries_a_request_is_blamed_for_its_answer_in_place_of_the_request(tmp_path: Path) -> None:
    """A QUERY that only inside an EVENT is answered wrongly was blamed on the type byte of QUERY."""
    cases = combined_cases(file_of(tmp_path), SUITE.context)
    blamed = {
        ("carrier event" in case.title, step.clause)
        for case in cases
        for step in case.steps
        if isinstance(step, Step)
        if any(isinstance(verb, Send) and "UPDATE" in str(verb.send) for verb in step.verbs)
    }

    assert blamed == {(True, "THR-EVENT-2"), (False, None)}


def test_ids_depend_on_values_and_not_on_their_number(tmp_path: Path) -> None:
    before = {case.title: case.id for case in combined_cases(file_of(tmp_path), SUITE.context)}
    more = WRITTEN.replace('"9"]', '"9", "10"]')
    after = {case.title: case.id for case in combined_cases(file_of(tmp_path, more), SUITE.context)}
    both = before.keys() & after.keys()

    assert both
    assert all(before[title] == after[title] for title in both)
    assert len(set(after.values())) == len(after)


def test_what_a_profile_lacks_is_replaced_by_the_first_value(tmp_path: Path) -> None:
    cases = combined_cases(file_of(tmp_path), SUITE.context)

    assert not [case for case in cases if "carrier event" in case.title and "7.1.0" in case.profiles]
    assert [case for case in cases if "carrier event" in case.title and case.profiles == ("7.3.2",)]
    assert {profile for case in cases for profile in case.profiles} == {"7.1.0", "7.3.2"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[record, carrier, position]", "[record, carier]", "update: no such factor: carier; there is record, carrier"),
        ("message: {UPDATE", "mesage: {UPDATE", "mesage"),
        ("THR-UPDATE-1", "THR-UPDATE-999", "THR-UPDATE-999"),
        ("value: <value>", "value: <valve>", "update: <valve> is not among its fields: change, value"),
        ("THR-EVENT-2", "THR-EVENT-99", "carrier: event: no such clause: THR-EVENT-99"),
        ("<request>", "<requst>", "carrier: event: expected <request> in wrap"),
        ("change: <change>", "chance: <change>", "chance"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        combined_cases(file_of(tmp_path, WRITTEN.replace(old, new)), SUITE.context)


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    assert combined_cases(tmp_path / "combinations.yaml", SUITE.context) == ()


def test_the_suite_holds_every_pair_of_its_protocol() -> None:
    path = vectors_root() / "throttr" / "combinations.yaml"
    file = read_combinations(path)
    assert file is not None

    assert [pair for one in coverage_of(file) for pair in one.missing] == []
    assert set(yaml.safe_load(path.read_text())["requests"]) >= {"insert", "set", "update", "publish", "subscribe"}


def test_values_of_a_later_edition_leave_the_cases_before_them_as_they_are(tmp_path: Path) -> None:
    before = {case.id: case for case in combined_cases(file_of(tmp_path), SUITE.context)}
    more = WRITTEN.replace("position: {alone: {},", "position: {alone: {}, behind: {since: 2, after: [LIST]},")
    after = {case.id: case for case in combined_cases(file_of(tmp_path, more), SUITE.context)}
    (found,) = coverage_of(read_combinations(file_of(tmp_path, more)))  # type: ignore[arg-type]

    assert before.keys() < after.keys()
    assert all(after[name] == case for name, case in before.items())
    assert found.missing == ()


def test_triples_are_heavy_and_beside_the_pairs(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    pairs = combined_cases(path, SUITE.context)
    others = combined_cases(path, SUITE.context, triples=True)
    titles = [case.title.removeprefix("update: ").split(", ") for case in (*pairs, *others) if "7.3.2" in case.profiles]
    held = {triple for row in titles for triple in combinations(row, 3)}

    assert {case.id for case in pairs}.isdisjoint(case.id for case in others)
    assert not any(case.heavy for case in pairs)
    assert all(case.heavy and case.modelled for case in others)
    # change 2, value 3, record 2, carrier 2, position 2: the triples of five factors
    assert len(held) == sum(a * b * c for a, b, c in combinations((2, 3, 2, 2, 2), 3))
