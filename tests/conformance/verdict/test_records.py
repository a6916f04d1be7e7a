"""Records: what a verdict weighs at each level, ids that stay, and lines that keep the published schemas."""

import json
from typing import Any

import jsonschema_rs
import pytest

from tests.conformance.scripted import CLAUSE, make_case
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Guilty, Level, Verdict
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.documents import vectors_root
from wireproof.conformance.suite.requirement_sets import Required, RequirementCheck, RequirementSet, digest_of
from wireproof.conformance.verdict.records import Run, level_of, record, record_id, weigh

SCHEMAS = vectors_root() / ".." / "reports" / "schema"
SUITE = load_suite("throttr")
EVENTS = Trace(
    [
        TraceEvent(0, "", Kind.WAITED),
        TraceEvent(1, "a", Kind.OPENED, b"40000"),
        TraceEvent(2, "a", Kind.SENT, b"\x02\x00"),
        TraceEvent(3, "a", Kind.RECEIVED, b"\xff" * 5000),
        TraceEvent(4, "a", Kind.RESET, "weg \u2028 \x00\x1b[31m".encode()),
    ]
)


def run(**changes: Any) -> Run:
    return Run("throttr", "7.1.0", "uint16", "tcp://127.0.0.1:9000", "somebody's", **changes)


def kept(outcome: Outcome, **changes: Any) -> dict[str, Any]:
    return record(run(), SUITE, make_case(**changes), outcome, duration_us=7)


def validate(document: Any, schema: str) -> None:
    rules = json.loads((SCHEMAS / schema).read_text(encoding="utf-8"))
    jsonschema_rs.Draft202012Validator(rules).validate(json.loads(json.dumps(document)))


@pytest.mark.parametrize(
    ("verdict", "must", "should", "may"),
    [
        (Verdict.PASS, "pass", "pass", "pass"), (Verdict.FAIL, "fail", "lenient", "pass"),
        (Verdict.HANG, "hang", "hang", "pass"), (Verdict.CRASH, "crash", "crash", "crash"),
        (Verdict.UNTESTABLE, "untestable", "untestable", "untestable"),
        (Verdict.HARNESS_ERROR, "harness_error", "harness_error", "harness_error"),
    ],
)  # fmt: skip
def test_what_an_outcome_weighs_at_each_level(verdict: Verdict, must: str, should: str, may: str) -> None:
    outcome = Outcome(verdict, Trace())

    assert [weigh(outcome, level).value for level in Level] == [must, should, may]


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("verdict", [one for one in Verdict if one not in (Verdict.LENIENT, Verdict.UNSUPPORTED)])
def test_every_record_keeps_its_schema(verdict: Verdict, level: Level) -> None:
    guilty = None if verdict is Verdict.PASS else Guilty.TARGET
    outcome = Outcome(verdict, EVENTS, guilty, CLAUSE, 0, 3, "expected \ud7ff", "got", "seen")

    validate(record(run(), SUITE, make_case(level=level), outcome, duration_us=7), "record.schema.json")


def test_a_pass_has_nobody_to_blame() -> None:
    found = kept(Outcome(Verdict.PASS, EVENTS))

    assert (found["blamed"], found["guilty"], found["step"], found["level"]) == (None, None, None, "MUST")


def test_what_a_may_shows_is_kept_as_observed() -> None:
    found = kept(Outcome(Verdict.FAIL, EVENTS, Guilty.TARGET, CLAUSE, 1, 0, "ok", "refused"), level=Level.MAY)

    assert (found["verdict"], found["observed"], found["guilty"]) == ("pass", "other: refused", None)


@pytest.mark.parametrize(("blamed", "level"), [("THR-ROBUSTNESS-1", "SHOULD"), (CLAUSE, "MAY"), (None, "MAY")])
def test_a_server_that_ends_in_a_case_of_a_may_breaks_what_asks_it_to_stay_up(blamed: str | None, level: str) -> None:
    clause = next(one.id for one in SUITE.clauses.values() if one.levels.get("7.1.0") is Level.MAY)
    blamed = clause if blamed == CLAUSE else blamed
    found = kept(Outcome(Verdict.CRASH, EVENTS, Guilty.TARGET, blamed, 1, 0), level=Level.MAY)

    assert (found["verdict"], found["level"]) == ("crash", level)


@pytest.mark.parametrize(("blamed", "level"), [("THR-ROBUSTNESS-1", "SHOULD"), (CLAUSE, "MUST")])
def test_what_the_model_judges_weighs_what_the_clause_does_that_it_names(blamed: str, level: str) -> None:
    found = kept(Outcome(Verdict.FAIL, EVENTS, Guilty.TARGET, blamed, 1, 0), modelled=True)

    assert (found["level"], found["verdict"]) == (level, "lenient" if level == "SHOULD" else "fail")


def test_long_bytes_are_cut_and_say_so() -> None:
    exchange = record(run(), SUITE, make_case(), Outcome(Verdict.PASS, EVENTS), duration_us=1)["exchange"]

    assert (len(exchange[3]["hex"]), exchange[3]["text"]) == (8192, "5000 bytes, 4096 shown")
    assert [one["direction"] for one in exchange] == ["event", "event", "sent", "received", "event"]
    assert exchange[1]["text"] == "opened: 40000"


def test_the_id_of_a_cell_never_changes() -> None:
    assert record_id("query/status", "whole", "7.1.0", "uint16") == "41d8344e05d4"
    assert record_id("query/status", "bytes", "7.1.0", "uint16") != "41d8344e05d4"


def test_a_case_has_its_own_level_or_that_of_its_first_clause() -> None:
    assert level_of(make_case(), SUITE, "7.1.0") is Level.MUST
    assert level_of(make_case(level=Level.MAY), SUITE, "7.1.0") is Level.MAY


@pytest.mark.parametrize("complete", [True, False])
def test_the_summary_of_a_run_keeps_its_schema_and_counts_by_level(complete: bool) -> None:
    outcomes = [
        Outcome(Verdict.PASS, Trace()),
        Outcome(Verdict.FAIL, Trace(), Guilty.TARGET),
        Outcome(Verdict.PASS, Trace()),
    ]
    records = [record(run(), SUITE, make_case(), one, duration_us=1) for one in outcomes]
    summary = run(options={"jobs": "32"}).summary(records, 1, complete=complete)

    validate(summary, "run.schema.json")
    assert summary["counts"] == {"MUST": {"pass": 2, "fail": 1}}
    assert (summary["finished_at"] is not None) is complete


def test_runs_have_ids_and_namespaces_of_their_own() -> None:
    assert run().run_id != run().run_id
    assert len({run().namespace for _ in range(20)}) > 15


@pytest.mark.parametrize(("under_way", "why"), [(["a/new"], "newer than throttr-7.1.0@1"), (["a/new", "a/old"], None)])
def test_an_end_of_the_target_with_only_newer_cases_under_way_decides_nothing(
    under_way: list[str], why: str | None
) -> None:
    cases = {name: make_case(id=name) for name in ("a/old", "a/new", "made/up")}
    held = {name: Required(Level.MUST, digest_of(cases[name])) for name in ("a/old", "made/up")}
    found = RequirementSet("throttr", "7.1.0", 1, "0.1.0", ("whole",), {"server": held})
    asked = RequirementCheck(found, "server", {name: (case, Level.MUST) for name, case in cases.items()})
    ends = Outcome(Verdict.CRASH, Trace(), Guilty.TARGET, extra={"ends": [{"under_way": under_way}]})

    made = record(run(asked=asked), SUITE, make_case(), ends, duration_us=7)

    assert made.get("not_required") == why
    validate(made, "record.schema.json")
