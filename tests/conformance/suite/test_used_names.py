"""Names that steps use and nothing gives are found when cases are loaded, with their line and the names near them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wireproof.conformance.suite.case_documents import read_cases
from wireproof.conformance.suite.cases import CaseError, cases_in, load_suite, sdk_cases_in

CLAUSES = {"throttr": "THR-QUERY-3", "psrt": "PSRT-CLIENT-12", "tmqp": "TMQP-CHANNEL_INFO-1"}
FOUND = {"QUERY_REPLY": {"quota": {"save": "before"}}}


def load(*steps: Any, protocol: str = "throttr", sdk: bool = False, **more: Any) -> None:
    topic = "sdk-test" if sdk else "test"
    entry = {"id": f"{topic}/case", "title": "a case of a test", "clauses": [CLAUSES[protocol]], **more}
    read = sdk_cases_in if sdk else cases_in
    read({"cases": [{**entry, "steps": list(steps)}]}, load_suite(protocol).context, "t.yaml")


def insert(**fields: Any) -> dict[str, Any]:
    return {"INSERT": {"quota": 7, "ttl_type": "seconds", "ttl": 60, "key": "$k", **fields}}


@pytest.mark.parametrize(
    "steps",
    [
        [{"expect": FOUND}, {"send": insert(quota="before - 1")}],
        [{"expect": FOUND}, {"send": insert(quota="@before", key="@before")}],
        [{"send": insert(quota="MAX - N", ttl_type="Minutes")}],
        [{"send": {"each": {"i": [1, "N"]}, "of": insert(key="k{i}", quota="i")}}],
        [{"repeat": {"each": {"i": [1, 3]}, "steps": [{"send": insert(key="k{i}", quota="i * 2")}]}}],
        [{"mark": "start"}, {"wait_until": {"mark": "start", "plus": "1 + TOLERANCE"}}],
        [{"repeat": {"each": {"i": [1, 2]}, "steps": [{"expect": {"WHOAMI_REPLY": {"id": {"save": "id{i}"}}}}]}},
         {"expect": {"WHOAMI_REPLY": {"id": {"not": "@id2"}}}}],
        [{"expect": {"LIST_REPLY": {"rows": {"count": {"save": "rows"}}}}}, {"wait": "rows"}],
    ],
)  # fmt: skip
def test_names_that_something_gives_are_right(steps: list[Any]) -> None:
    load(*steps)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([{"send": insert(quota="befor")}], "steps.0.send.0.INSERT.quota: unknown name 'befor'"),
        ([{"expect": FOUND}, {"send": insert(quota="@befor")}], r"unknown name 'befor' \(did you mean before\?\)"),
        ([{"send": insert(key="@token")}], "unknown saved value 'token'; expected a_port"),
        ([{"send": insert(key="@before")}, {"expect": FOUND}], "steps.0.*unknown saved value 'before'"),
        ([{"send": insert(ttl_type="secnds")}], r"unknown name 'secnds' \(did you mean .*seconds.*\?\)"),
        ([{"send": insert(key="k{i}")}], "unknown variable 'i'"),
        ([{"send": insert(quota="7 +")}], "steps.0.*expected a number or an expression, got '7 \\+'"),
        ([{"send": insert(key={"call": "seel", "key": "k"})}], "unknown function 'seel'; expected xor"),
        ([{"send": insert(key={"fill": 1, "size": "MXA"})}], r"unknown name 'MXA' \(did you mean MAX\?\)"),
        ([{"expect": {"QUERY_REPLY": {"ttl": {"at_most": "limt"}}}}], "QUERY_REPLY.ttl.at_most: unknown name 'limt'"),
        ([{"expect": {"LIST_REPLY": {"rows": {"contains": [{"key": "$k", "bytes_used": "sise"}]}}}}], "'sise'"),
        ([{"wait_until": {"mark": "start", "plus": 1}}], "unknown mark 'start'; expected none"),
        ([{"measure": {"steps": [{"send": "INFO"}], "at_most": {"memory": "MEMORY_SLAK"}}}], "MEMORY_SLACK"),
        ([{"expect": FOUND, "blame": {"quoat": "THR-QUERY-2"}}],
         r"blame.quoat: unknown field of what is expected 'quoat' \(did you mean quota\?\)"),
        ([{"expect": {"LIST_REPLY": {"rows": {"count": 1}}}, "blame": {"bytes_used": "THR-QUERY-2"}}], "'bytes_used'"),
        ([{"wait": {"by_profile": {"7.3.2": "soon", "else": 1}}}], "unknown name 'soon'"),
    ],
)  # fmt: skip
def test_a_name_that_nothing_gives_is_wrong(steps: list[Any], expected: str) -> None:
    with pytest.raises(CaseError, match=expected):
        load(*steps)


def test_each_value_of_a_variable_is_looked_at() -> None:
    load({"send": insert(ttl_type="t", quota="q")}, foreach={"t": ["seconds", "hours"], "q": [1, "MAX - 1"]})

    with pytest.raises(CaseError, match=r"unknown name 'sceonds' \(did you mean seconds"):
        load({"send": insert(ttl_type="t")}, foreach={"t": ["sceonds", "hours"]})


def test_a_choice_is_looked_at_with_the_message_of_its_profile() -> None:
    with pytest.raises(CaseError, match=r"by_profile.7.1.0.CONNECTION.index: unknown name 'first'"):
        load({"send": {"by_profile": {"7.1.0": {"CONNECTION": {"index": "first"}}, "7.3.2": "WHOAMI"}}})


@pytest.mark.parametrize(
    ("step", "protocol", "expected"),
    [
        ({"ask": {"QUERY": {"key": "@k"}}}, "throttr", "unknown saved value 'k'"),
        ({"ask": insert(ttl_type="secnds")}, "throttr", "unknown name 'secnds'"),
        ({"ask": {"QUERY": {"key": "$k"}}, "answer": {"QUERY_REPLY": {"quota": "i", "ttl_type": 4, "ttl": 1}}},
         "throttr", "answer.0.QUERY_REPLY.quota: unknown name 'i'"),
        ({"ask": {"QUERY": {"key": "k{i}"}}}, "throttr", "unknown variable 'i'"),
        ({"ask": {"QUERY": {"key": "$k"}}, "cut": "hlaves"}, "throttr", r"cut: unknown cut 'hlaves' .*halves"),
        ({"say": {"raw": "{b}"}}, "throttr", "unknown variable 'b'"),
        ({"say": {"slowly": "ok", "at": "half", "pause": 1}}, "throttr", "unknown name 'half'"),
        ({"connect": {"name": "a", "timeout": "logn"}}, "psrt", "timeout: unknown name 'logn'"),
        ({"ask": {"PUBLISH": {"priority": 1, "topic": "t", "message": "m"}}, "answer": {"RESPONSE": {"code": "OKK"}}},
         "psrt", r"unknown name 'OKK'.*expected .*ok"),
    ],
)  # fmt: skip
def test_so_are_those_of_cases_for_sdks(step: dict[str, Any], protocol: str, expected: str) -> None:
    with pytest.raises(CaseError, match=expected):
        load(step, protocol=protocol, sdk=True)


def test_every_wrong_name_of_a_file_is_found_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "names.yaml"
    path.write_text(
        "protocol: throttr\ncases:\n"
        "  - id: names/one\n    title: two wrong names\n    clauses: [THR-QUERY-3]\n    steps:\n"
        "      - {send: INFO}\n"
        "      - send: {QUERY: {key: '@k'}}\n"
        "      - wait: soon\n"
    )

    with pytest.raises(CaseError) as raised:
        read_cases(path, load_suite("throttr").context)

    first, second = str(raised.value).splitlines()
    assert first.startswith("names.yaml:8: names/one: steps.1.send.0.QUERY.key: unknown saved value 'k'")
    assert second.startswith("names.yaml:9: names/one: steps.2.wait: unknown name 'soon'")


def test_a_member_of_json_is_no_field_that_can_be_blamed() -> None:
    found = {"RESPONSE": {"id": "i", "payload": {"reads_as": {"CHANNEL_INFORMATION": {"ActiveClients": 1}}}}}
    asked = {"send": {"CHANNEL_INFO": {"id": "i", "pending_response": 1, "target": "$c"}}, "expect": found}
    load({**asked, "blame": {"payload": "TMQP-CHANNEL_INFO-3"}}, protocol="tmqp")

    with pytest.raises(CaseError, match=r"unknown field of what is expected 'ActiveClients'; expected .*payload"):
        load({**asked, "blame": {"ActiveClients": "TMQP-CHANNEL_INFO-3"}}, protocol="tmqp")
