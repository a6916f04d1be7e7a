"""Plays under other deliveries than whole: what crosses, what is judged, who is blamed, and one verdict for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.conformance import torn
from tests.conformance.scripted import ASK, CLAUSE, INSERT, ScriptedTarget, make_case, make_symbols
from wireproof.conformance.drivers.replay import ReplayDriver, ReplayError, segmentation_of, trace_of
from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.actions import Shut, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Level, Verdict
from wireproof.conformance.player.player import Player
from wireproof.conformance.run.plan import Plan, Settings
from wireproof.conformance.run.runner import simulate
from wireproof.conformance.run.segmentation_sample import ALL, SegmentationChoice, choice_of, chosen
from wireproof.conformance.run.selection import applicable, select
from wireproof.conformance.suite.cases import Case, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbolic import message_of
from wireproof.conformance.verdict.records import Record, Run, record
from wireproof.protocols import protocol
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import seeded_ids

SUITE = load_suite("throttr")
OTHERS = [name for name, one in SEGMENTATIONS.items() if name != "whole" and not one.respells]
SPOKEN = [(profile.name, variant) for profile in protocol("throttr").profiles.values() for variant in profile.variants]
SEEN = {"QUERY_REPLY": {"quota": 7}}
QUERY_REPLY = bytes.fromhex("01 0700 04 3b00")
ORDINARY = ({"send": INSERT, "expect": "ok", "given": True}, {"send": ASK, "expect": SEEN})
ASKED = "THR-ROBUSTNESS-6"


def delivered(segmentation: str, *steps: Any, **changes: Any) -> Case:
    return replace(make_case(*steps, **changes), segmentation=segmentation, asked_by=SUITE.segmentations[segmentation])


def player(case: Case, profile: str = "7.1.0", variant: str = "uint16", **changes: Any) -> Player:
    symbols = make_symbols(profile, variant, case=case.id, **case.variables)
    return Player(case, symbols, **{"segmentation": SEGMENTATIONS[case.segmentation], "timeout": 2.0, **changes})


def scripted(case: Case, target: ScriptedTarget) -> Outcome:
    return target.play(player(case))


def simulated(case: Case, kind: Any = None, profile: str = "7.1.0", variant: str = "uint16") -> Outcome:
    def right(clock: Any) -> Any:
        return create_service("throttr", profile=profile, variant=variant, clock=clock, ids=seeded_ids(1))

    return SimulationDriver(torn.torn(kind) if kind else right).play(player(case, profile, variant))


def sent(outcome: Outcome, connection: str = "a") -> list[bytes]:
    return [one.data for one in outcome.trace if one.kind is Kind.SENT and one.connection == connection]


@pytest.mark.parametrize("segmentation", OTHERS)
def test_an_ordinary_case_passes_and_what_was_done_to_it_is_counted(segmentation: str) -> None:
    outcome = simulated(delivered(segmentation, *ORDINARY))

    assert (outcome.verdict, outcome.got) == (Verdict.PASS, None)
    assert outcome.extra["cuts"] > 0


@pytest.mark.parametrize(
    ("segmentation", "pieces"), [("whole", [17, 12]), ("bytes", [1] * 29), ("fields", [1, 2, 1, 2, 1, 10, 1, 1, 10])]
)
def test_the_trace_has_one_event_a_piece(segmentation: str, pieces: list[int]) -> None:
    case = replace(make_case(*ORDINARY), segmentation=segmentation)

    assert [len(one) for one in sent(simulated(case))] == pieces


def test_pieces_are_apart_in_time() -> None:
    times = [one.at_us for one in simulated(delivered("dripped", *ORDINARY)).trace if one.kind is Kind.SENT]

    assert times[:5] == [10_000, 20_000, 30_000, 40_000, 50_000]


def test_a_given_step_that_fails_under_a_delivery_is_a_failure_of_the_clause_that_asks_for_it() -> None:
    case = delivered("bytes", {"send": INSERT, "expect": "ok", "given": True, "clause": "THR-INSERT-6"})
    outcome = scripted(case, ScriptedTarget({"a": [b"\0"]}))

    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, ASKED)


def test_where_no_clause_asks_for_it_the_step_is_blamed_as_ever() -> None:
    case = replace(delivered("bytes", {"send": INSERT, "expect": "ok"}), asked_by="")

    assert scripted(case, ScriptedTarget({"a": [b"\0"]})).blamed == CLAUSE


# joined


def written(case: Case, *reads: bytes | Kind) -> tuple[Outcome, list[bytes]]:
    target = ScriptedTarget({"a": list(reads)})
    outcome = scripted(case, target)
    return outcome, [one.data for one in target.actions if isinstance(one, Write)]


def test_a_joined_write_stands_between_two_others_in_one_piece_and_their_answers_are_dropped() -> None:
    outcome, (data,) = written(delivered("joined", {"send": ASK, "expect": SEEN}), b"\0" + QUERY_REPLY, b"\0")
    beside = make_symbols().codec.encode(make_symbols().message(message_of({"QUERY": {"key": "$wireproof-beside"}})))

    assert outcome.verdict is Verdict.PASS
    assert data == beside + make_symbols().codec.encode(make_symbols().message(message_of(ASK))) + beside
    assert outcome.extra["cuts"] == 1


def test_an_answer_to_a_neighbour_that_is_wrong_is_a_failure() -> None:
    case = delivered("joined", {"send": ASK, "expect": SEEN})
    first, _ = written(case, QUERY_REPLY + QUERY_REPLY + b"\0")
    last, _ = written(case, b"\0" + QUERY_REPLY + QUERY_REPLY)

    assert first.verdict is last.verdict is Verdict.FAIL
    assert first.blamed == last.blamed == "THR-ROBUSTNESS-7"
    assert "STATUS(ok=False) to a QUERY sent in one segment" in str(last.expected)


def test_an_answer_to_a_neighbour_that_never_comes_is_a_hang_or_a_lost_connection() -> None:
    case = delivered("joined", {"send": ASK, "expect": SEEN})

    assert written(case, b"\0" + QUERY_REPLY)[0].verdict is Verdict.HANG
    assert written(case, b"\0" + QUERY_REPLY, Kind.ENDED)[0].verdict is Verdict.FAIL


def test_an_answer_that_is_one_too_many_is_found() -> None:
    outcome, _ = written(delivered("joined", {"send": ASK, "expect": SEEN}), b"\0" + QUERY_REPLY + b"\0\0")

    assert (outcome.verdict, outcome.expected) == (Verdict.FAIL, "nothing more")


def test_pushes_between_answers_are_the_cases_own() -> None:
    push = bytes.fromhex("03 0100 70")
    case = delivered("joined", {"send": ASK, "expect": [{"push": {"payload": "p"}}, SEEN]})

    assert written(case, push + b"\0" + push)[0].verdict is Verdict.FAIL
    assert written(case, b"\0" + push + QUERY_REPLY + b"\0")[0].verdict is Verdict.PASS


@pytest.mark.parametrize("raw", ["02", "0203", "ff", "0201610a"])
def test_nothing_stands_after_bytes_that_are_no_whole_request_nor_beside_what_follows(raw: str) -> None:
    _, writes = written(delivered("joined", {"send": {"raw": raw}}, {"send": {"raw": "07"}}))

    assert writes[0].endswith(bytes.fromhex(raw))
    assert len(writes[0]) > len(raw) // 2
    assert writes[1] == b"\x07"


def test_bytes_that_are_whole_requests_are_joined_like_others() -> None:
    case = delivered("joined", {"send": {"raw": "020161", "as": {"QUERY": {"key": "a"}}}, "expect": "refused"})
    outcome, (data,) = written(case, b"\0\0\0")

    assert outcome.verdict is Verdict.PASS
    assert bytes.fromhex("020161") in data[10:-10]


def test_barriers_are_joined_too() -> None:
    outcome, (data,) = written(delivered("joined", {"silent": "a"}), b"\0\0\0")

    assert outcome.verdict is Verdict.PASS
    assert data.count(b"wireproof barrier") == 1
    assert data.count(b"wireproof-beside") == 2


# half-closed


def test_our_side_ends_right_after_the_last_request() -> None:
    target = ScriptedTarget({"a": [b"\1", QUERY_REPLY]})
    outcome = scripted(delivered("half-closed", *ORDINARY), target)
    last = max(number for number, one in enumerate(target.actions) if isinstance(one, Write))

    assert outcome.verdict is Verdict.PASS
    assert target.actions[last + 1] == Shut("a", "half")
    assert [one.how for one in target.actions if isinstance(one, Shut)] == ["half", "close"]


def test_answers_that_an_early_end_loses_are_missed() -> None:
    outcome = scripted(delivered("half-closed", *ORDINARY), ScriptedTarget({"a": [b"\1", Kind.ENDED]}))

    assert (outcome.verdict, outcome.blamed) == (Verdict.FAIL, "THR-ROBUSTNESS-9")


def test_what_comes_after_the_answers_is_still_looked_for() -> None:
    outcome = scripted(delivered("half-closed", *ORDINARY), ScriptedTarget({"a": [b"\1", QUERY_REPLY, b"\0"]}))

    assert (outcome.verdict, outcome.expected) == (Verdict.FAIL, "nothing more")


# targets that are only wrong under some deliveries

WRONG = [
    (torn.Piecemeal, {"bytes", "fields", "beside", "dripped"}),
    (torn.LoneByte, {"dripped"}),
    (torn.FirstOnly, {"joined"}),
    (torn.Hasty, {"half-closed"}),
]


@pytest.mark.parametrize(("kind", "under"), WRONG)
def test_a_target_that_is_only_wrong_under_a_delivery_is_found_out_there_and_nowhere_else(
    kind: Any, under: set[str]
) -> None:
    cases = {name: delivered(name, *ORDINARY) for name in OTHERS} | {"whole": make_case(*ORDINARY)}
    failed = {name for name, case in cases.items() if simulated(case, kind).verdict is not Verdict.PASS}

    assert failed == under


def play_all(kind: Any, choice: SegmentationChoice, *cases: Case) -> tuple[list[Record], Plan]:
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(timeout=2.0, segmentations=choice))
    records: list[Record] = []
    simulate(plan, torn.torn(kind), records.append)
    return records, plan


def test_the_records_say_where_it_fails_and_weigh_it_by_the_clause_that_asks_for_it() -> None:
    records, _ = play_all(torn.Piecemeal, choice_of(ALL), make_case(*ORDINARY))
    found = {one["delivery"]: one for one in records}

    assert (found["whole"]["verdict"], found["whole"]["level"], found["whole"]["clauses"]) == ("pass", "MUST", [CLAUSE])
    assert {name for name, one in found.items() if one["verdict"] != "pass"} == {"bytes", "fields", "beside", "dripped"}
    assert {one["level"] for name, one in found.items() if name != "whole"} == {"SHOULD"}
    assert (found["bytes"]["blamed"], found["bytes"]["clauses"]) == (ASKED, [ASKED])
    assert {one["group"] for one in records} == {"QUERY"}
    assert len({one["record_id"] for one in records}) == len(records) == 7


def test_a_may_stays_a_may() -> None:
    records, _ = play_all(torn.Piecemeal, choice_of("bytes"), make_case(*ORDINARY, level=Level.MAY))

    assert [(one["delivery"], one["level"], one["clauses"], one["verdict"]) for one in records] == [
        ("whole", "MAY", [CLAUSE], "pass"), ("bytes", "MAY", [CLAUSE], "pass"),
    ]  # fmt: skip
    assert str(records[1]["observed"]).startswith("other: ")


def test_what_fails_whole_is_not_played_otherwise() -> None:
    records, _ = play_all(torn.Torn, choice_of(ALL), make_case({"send": ASK, "expect": "ok"}))

    assert [one["delivery"] for one in records] == ["whole"]


def test_a_play_to_which_nothing_was_done_is_no_record() -> None:
    case = make_case({"send": "WHOAMI", "expect": {"WHOAMI_REPLY": {}}})
    records, plan = play_all(torn.Torn, choice_of("bytes,fields,beside"), case)
    assert [one["delivery"] for one in records] == ["whole"]
    assert (plan.tally.same, plan.tally.recorded) == (3, 0)


# replay


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
def test_a_record_is_judged_the_same_again_under_its_delivery(segmentation: str) -> None:
    case = replace(make_case(*ORDINARY), segmentation=segmentation, asked_by=SUITE.segmentations.get(segmentation, ""))
    lived = simulated(case, torn.Piecemeal)
    kept = record(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, case, lived, duration_us=1)
    again = ReplayDriver(trace_of(kept)).play(player(case, segmentation=segmentation_of(kept)))

    assert (again.verdict, again.step, again.got) == (lived.verdict, lived.step, lived.got)


def test_a_trace_of_another_delivery_is_refused() -> None:
    trace = simulated(delivered("fields", *ORDINARY)).trace

    with pytest.raises(ReplayError, match="the case sends"):
        ReplayDriver(trace).play(player(delivered("bytes", *ORDINARY)))


@pytest.mark.parametrize("name", ["halves", "frames", ""])
def test_a_record_of_a_delivery_that_is_none_any_more_is_refused(name: str) -> None:
    with pytest.raises(ReplayError, match=f"no delivery '{name}'; there is whole, bytes, fields, "):
        segmentation_of({"case": "query/one", "delivery": name})


# the suite


@pytest.mark.parametrize(
    ("profile", "variant", "segmentation"),
    [
        pytest.param(*spoken, other, marks=() if (place + turn) % 3 == 0 else pytest.mark.nightly)
        for place, spoken in enumerate(SPOKEN)
        for turn, other in enumerate(OTHERS)
    ],
)
def test_the_reference_gets_the_verdict_of_whole_under_each(profile: str, variant: str, segmentation: str) -> None:
    cases = select(SUITE, profile, variant, slow=False, heavy=False)
    plays = chosen(cases, SegmentationChoice((segmentation,)), SUITE, profile)
    step = 7 + SPOKEN.index((profile, variant))
    some = plays[SPOKEN.index((profile, variant)) :: 16 * step]

    assert len(some) > 2
    for case in some:
        outcome = simulated(case, profile=profile, variant=variant)
        whole = simulated(replace(case, segmentation="whole", asked_by=""), profile=profile, variant=variant)

        assert whole.verdict is Verdict.PASS, case.id
        assert (outcome.verdict, outcome.got, outcome.observed) == (Verdict.PASS, None, whole.observed), case.id


def test_keys_of_all_plays_of_a_run_are_apart() -> None:
    cases = list(applicable(SUITE, "7.1.0", "uint16"))
    plan = Plan(Run("throttr", "7.1.0", "uint16", "t", "x"), SUITE, cases, Settings(segmentations=choice_of(ALL)))
    plays = [*cases, *plan.others({case.id for case in cases})][::4]
    keys = {plan.player(case, attempt).talk.symbols.data("$k") for case in plays for attempt in (0, 2)}

    assert len(keys) == 2 * len(plays) > 2000
    assert len({len(key) for key in keys}) == 1
