"""What failures of an SDK have in common: one defect shows in many answers, and is one cause."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.verdict.made_records import behind, grouped, of_sdk
from wireproof.conformance.verdict.causes import CauseKind, causes_of
from wireproof.conformance.verdict.records import Record

REFUSAL = {"expected": "a refusal, and nothing sent", "blamed": "C-2"}
ERROR = {"expected": "an error (refused or closed)", "blamed": "C-6"}


def test_answers_misread_after_one_kind_of_answer_have_one_cause() -> None:
    found = [behind(f"after/{name}", name, "LIST") for name in ("INSERT", "QUERY")]

    assert grouped(*found, behind("after/GET", "GET", "STAT")) == [["after/INSERT", "after/QUERY"], ["after/GET"]]


def test_an_answer_that_is_misread_after_any_other_is_the_cause_of_all_that_stop_at_it() -> None:
    at_get = [behind(f"a/{name}", "GET", name, "hang") for name in ("STAT", "LIST", "INFO")]

    assert grouped(*at_get, behind("b", "PURGE", "STATS")) == [["a/INFO", "a/LIST", "a/STAT"], ["b"]]


@pytest.mark.parametrize("same", [REFUSAL, ERROR])
def test_what_is_expected_of_every_request_alike_has_one_cause_for_each_clause(same: dict[str, str]) -> None:
    found = [of_sdk(f"a/{name}", place=(name, ""), got=f"{name} sent", **same) for name in ("GET", "SET")]
    other = of_sdk("b", place=("GET", ""), **{**same, "blamed": "C-1"})

    assert grouped(*found, other) == [["a/GET", "a/SET"], ["b"]]


def test_bytes_and_values_that_were_expected_distinguish_failures() -> None:
    sent = [of_sdk(name, place=(name, "key"), expected="04016b", blamed="C-2") for name in ("GET", "SET")]

    assert len(causes_of(sent)) == 2


def test_an_sdk_that_does_not_notice_a_lost_connection_has_one_cause_shown_by_the_smallest_play() -> None:
    lost = {"lost": True, "hang": {"busy": False}}
    partial = of_sdk("partial", "hang", blamed="C-2", extra=lost)
    empty = of_sdk("empty", "hang", exchange=[], place=("PURGE", ""), extra=lost)

    assert grouped(partial, empty) == [["empty", "partial"]]


def test_endless_loops_have_one_cause_while_they_have_a_request_in_common() -> None:
    def busy(case: str, asked: str) -> Record:
        place = (asked.split()[-1], "")
        return of_sdk(case, "hang", asked=asked, place=place, extra={"hang": {"busy": True}})

    found = grouped(busy("a", "SUBSCRIBE QUERY"), busy("b", "SUBSCRIBE PURGE"), busy("c", "LIST"))

    assert found == [["a", "b"], ["c"]]


def test_numbers_that_a_type_has_no_room_for_break_the_clause_about_them_once() -> None:
    extra = {"misread": True, "extreme": "C-3"}
    found = [of_sdk(name, blamed=f"C-{name}", place=(name, "total"), extra=extra) for name in ("INFO", "STAT")]
    (cause,) = causes_of(found)

    assert (cause.clause, cause.following) == ("C-3", ["STAT"])


def test_another_value_of_one_field_is_one_cause_whatever_clause_the_case_is_about() -> None:
    wrong = {"place": ("LIST", "key"), "expected": "result.rows.0.key {'hex': '6b'} (the server sent 01)"}

    assert len(causes_of([of_sdk("a", **wrong), of_sdk("b", blamed="C-2", **wrong)])) == 1


def test_what_goes_wrong_after_a_request_that_spoils_the_next_answer_follows_the_play_that_shows_it() -> None:
    shows = of_sdk("pair", place=("PURGE", "status"), asked="SUBSCRIBE PURGE", extra={"spoils": "SUBSCRIBE"})
    later = of_sdk("later", "hang", place=("QUERY", ""), asked="SUBSCRIBE QUERY", blamed="C-2")
    push = {"expected": "the event message with {'payload': '1'}", "got": "none in 5 s"}
    silent = of_sdk("push", place=("SUBSCRIBE", ""), asked="SUBSCRIBE", blamed="C-3", **push)
    itself = of_sdk("itself", place=("SUBSCRIBE", "status"), asked="SUBSCRIBE", blamed="C-4")

    assert grouped(later, silent, itself, shows) == [["pair", "later", "push"], ["itself"]]


def test_a_cause_is_what_its_smallest_play_is() -> None:
    spoils = {"spoils": "SUBSCRIBE"}
    hang = of_sdk("a", "hang", sent=99, place=("QUERY", ""), asked="SUBSCRIBE QUERY", extra=spoils)
    (cause,) = causes_of([hang, of_sdk("b", place=("PURGE", ""), asked="SUBSCRIBE PURGE", extra=spoils)])

    assert (cause.kind, cause.first["case"]) == (CauseKind.FAILURE, "b")


def test_where_every_request_seems_to_spoil_the_next_answer_it_is_that_answer() -> None:
    found = [
        of_sdk(f"next/{name}", place=("PURGE", "status"), asked=f"{name} PURGE", extra={"spoils": name})
        for name in ("GET", "SET", "STAT", "LIST")
    ]
    other = of_sdk("other", place=("QUERY", "quota"), asked="GET QUERY", blamed="C-2")

    assert ["other"] in grouped(*found, other)


def test_one_error_instead_of_the_result_of_one_request_is_one_cause() -> None:
    error = {"place": ("STAT", ""), "expected": "the result {'total': '1'}", "got": "the error protocol: 24 of 25"}

    assert len(causes_of([of_sdk("a", **error), of_sdk("b", blamed="C-2", **error)])) == 1


def test_a_cause_of_an_sdk_is_shown_by_a_must_before_a_smaller_play_of_a_should() -> None:
    same = {"expected": "result.status False (the server sent 00)", "got": "True", "place": ("PURGE", "status")}
    after = of_sdk("next/purge", "lenient", level="SHOULD", sent=1, **same)
    plain = of_sdk("status/purge", level="MUST", blamed="C-2", **same)

    assert grouped(after, plain) == [["status/purge", "next/purge"]]


def test_a_field_that_is_sent_wrongly_is_one_cause_shown_by_the_case_that_was_played_first() -> None:
    same = {"place": ("SET", "value_size"), "byte": 6, "expected": "05056b", "got": "05046b: they differ at byte 6"}
    plain = of_sdk("set/values", sent=99, asked="SET", blamed="C-2", **same)
    binary = of_sdk("set/binary", sent=1, asked="SET", blamed="C-4", **same)
    stream = of_sdk("after/set", "lenient", level="SHOULD", asked="QUERY SET", blamed="C-5", **same)

    assert grouped(plain, binary, stream) == [["set/values", "set/binary", "after/set"]]


def test_a_request_that_ends_with_an_error_unsent_is_one_cause_also_where_others_come_first() -> None:
    error = {"place": ("GET", ""), "byte": 0, "expected": "06016b", "got": "nothing, then it reports refused: at 21"}
    alone = [of_sdk("get/keys", asked="GET", **error), of_sdk("get/reply", asked="GET", blamed="C-2", **error)]
    in_turn = of_sdk("kinds", asked="SET GET", blamed="C-3", **error)
    gone = {**error, "got": "nothing, then it reports closed: bad descriptor"}

    assert grouped(*alone, in_turn, of_sdk("gone", asked="SET GET", blamed="C-4", **gone)) == [
        ["get/keys", "get/reply", "kinds"],
        ["gone"],
    ]


def test_an_sdk_that_never_connects_has_one_cause_shown_by_a_case_that_opens_the_connection() -> None:
    refused = {"place": None, "expected": "a connection"}
    plain = [of_sdk(name, blamed=name, got=f"refused: 127.0.0.1:{at}", **refused) for at, name in enumerate("AB")]
    by_hand = of_sdk("open/token", step=5, got="refused: 127.0.0.1:9", **refused)

    assert grouped(*plain, by_hand) == [["open/token", "A", "B"]]


def test_an_sdk_that_does_not_connect_for_what_it_sends_then_has_one_cause() -> None:
    connecting = of_sdk("publish", got="refused: denied", place=None, expected="a connection", blamed="C-3")
    wrong = {"place": ("LOGIN", "size"), "asked": "", "byte": 0, "expected": "0100"}
    login = of_sdk("open/login", step=2, got="0001, then it reports refused: denied", **wrong)

    assert grouped(connecting, login) == [["open/login", "publish"]]


def test_an_answer_that_is_wrong_where_nothing_else_was_asked_for_is_spoilt_by_no_other() -> None:
    wrong = {"place": ("STATS", "reads"), "expected": "result.rows.0.reads '1' (the server sent 01)", "got": "'NaN'"}
    spoilt = of_sdk("list/names", asked="LIST STATS", sent=99, extra={"spoils": "LIST"}, blamed="C-4", **wrong)
    stream = of_sdk("after", asked="QUERY STATS", sent=99, extra={"behind": "QUERY"}, blamed="C-5", **wrong)

    assert grouped(spoilt, of_sdk("stats", asked="STATS", **wrong), stream) == [["stats", "after", "list/names"]]


def test_one_error_instead_of_one_result_is_one_cause_whatever_was_asked_for() -> None:
    error = {"expected": "the result {'status': True} (the server sent 01)", "got": "the error other: length 1"}
    about_bytes = of_sdk("insert", place=("INSERT", ""), sent=1, extra={"beside": True}, **error)
    about_status = of_sdk("status/purge", place=("PURGE", ""), blamed="C-5", **error)

    assert grouped(about_bytes, about_status) == [["status/purge", "insert"]]


def test_a_result_instead_of_an_error_once_the_connection_ended_is_one_cause() -> None:
    closed = {"at_us": 2, "connection": "a", "direction": "event", "hex": "", "text": "closed"}
    sent = {"at_us": 1, "connection": "a", "direction": "sent", "hex": "01", "text": ""}
    same = {"expected": "an error (closed or timeout)", "got": "the result {'status': False}", "place": ("QUERY", "")}
    partial = of_sdk("closed/in-mid-answer", blamed="C-26", exchange=[sent, closed], **same)
    empty = of_sdk("closed/later", blamed="C-8", exchange=[closed], **same)
    odd = of_sdk("wrong/status", blamed="C-6", exchange=[sent], **same)

    assert grouped(partial, empty, odd) == [["closed/later", "closed/in-mid-answer"], ["wrong/status"]]


def swapped(case: str, reply_to: str, **changes: Any) -> Record:
    return of_sdk(case, place=(reply_to, "quota"), extra={"swapped": True}, **changes)


def test_answers_given_to_other_requests_are_one_cause() -> None:
    late = of_sdk("late", asked="GET QUERY", place=("QUERY", ""), got="the error timeout: no reply to QUERY in 3 s")
    found = [swapped("a", "GET"), swapped("b", "QUERY", asked="GET QUERY"), swapped("c", "STAT"), late]

    assert grouped(*found) == [["a", "b", "c", "late"]]


def test_an_answer_that_is_wrong_where_nothing_else_was_asked_for_was_not_given_to_another() -> None:
    alone = of_sdk("alone", place=("QUERY", "quota"), asked="QUERY", blamed="C-3")

    assert grouped(swapped("a", "QUERY", asked="GET QUERY"), swapped("b", "GET"), alone)[-1] == ["b"]


def test_requests_whose_bytes_are_mixed_are_one_cause_whatever_they_ask_for() -> None:
    mixed = {"interleaved": True}

    assert len(causes_of([of_sdk(one, place=(one, "key"), byte=1, extra=mixed) for one in ("GET", "SET")])) == 1


def test_a_connection_that_is_begun_again_is_one_cause_whatever_was_asked_for() -> None:
    asked = [("ERROR", "SUBSCRIBE", "fail"), ("", "", "untestable")]

    assert (
        len(causes_of([of_sdk(one, verdict, asked=name, extra={"began again": True}) for one, name, verdict in asked]))
        == 1
    )


def test_a_field_that_is_left_out_of_every_result_is_one_cause() -> None:
    records = [
        of_sdk("join/answered", blamed="A-1", expected="{'code': '1'}",
               got="{}: result.code: expected '1', got nothing", extra={"reply_to": "JOIN", "field": "code"}),
        of_sdk("leave/answered", blamed="A-2", expected="{'code': '2'}",
               got="{}: result.code: expected '2', got nothing", extra={"reply_to": "LEAVE", "field": "code"}),
        of_sdk("leave/other", blamed="A-2", expected="{'name': '2'}",
               got="{}: result.name: expected '2', got nothing", extra={"reply_to": "LEAVE", "field": "name"}),
    ]  # fmt: skip

    found = [[one.first["case"], *one.following] for one in causes_of(records)]
    assert found == [["join/answered", "leave/answered"], ["leave/other"]]


SPOILT = {"place": ("PURGE", "status"), "expected": "result.status False (the server sent 00)", "got": "True"}


def test_answers_that_are_wrong_on_purpose_do_not_show_that_right_ones_are_read_wrongly() -> None:
    works = {"works": True}
    pair = of_sdk("next/subscribe", asked="SUBSCRIBE PURGE", extra={"spoils": "SUBSCRIBE", **works}, **SPOILT)
    odd = of_sdk("wrong/status", asked="PURGE", place=("PURGE", ""), extra=works, **ERROR)
    later = of_sdk("kinds", asked="SUBSCRIBE WHOAMI", place=("WHOAMI", "id"), blamed="C-5")

    assert grouped(odd, later, pair) == [["next/subscribe", "kinds"], ["wrong/status"]]


def test_an_answer_that_goes_wrong_by_itself_in_the_same_way_was_spoilt_by_no_other() -> None:
    works = {"works": True}
    pair = of_sdk("next/get", asked="GET PURGE", sent=20, extra={"spoils": "GET", **works}, **SPOILT)
    alone = of_sdk("status/purge", asked="PURGE", blamed="C-5", extra=works, **SPOILT)

    assert grouped(pair, alone) == [["status/purge", "next/get"]]


def test_answers_by_name_alone_that_are_left_in_the_way_are_one_cause() -> None:
    found = [
        of_sdk(f"next/{name}", asked=f"{name} PURGE", extra={"spoils": name, "by_name": True, "works": True}, **SPOILT)
        for name in ("SUBSCRIBE", "UNSUBSCRIBE")
    ]
    table = of_sdk("next/LIST", asked="LIST PURGE", extra={"spoils": "LIST", "works": True}, **SPOILT)

    assert len(causes_of(found)) == 1
    assert len(causes_of([*found, table])) == 2


def hung(case: str, reply_to: str, **extra: Any) -> Record:
    return of_sdk(case, "hang", place=(reply_to, ""), blamed="C-14", extra={"hang": {"busy": False}, **extra})


def test_requests_that_are_answered_elsewhere_and_hang_for_one_clause_have_one_cause() -> None:
    found = [hung(f"{name}/unknown", name, works=True) for name in ("GET", "QUERY")]

    assert len(causes_of(found)) == 1
    assert len(causes_of([hung(f"{name}/unknown", name) for name in ("GET", "QUERY")])) == 2


def test_what_differs_in_a_value_alone_and_breaks_one_clause_is_one_cause() -> None:
    same = {"place": ("QUERY", "quota"), "blamed": "C-7", "extra": {"works": True}}
    result = of_sdk("wrong/unasked.00", **same)
    hang = of_sdk("wrong/unasked.01", "hang", **{**same, "place": ("QUERY", "")})

    assert grouped(result, hang) == [["wrong/unasked.00", "wrong/unasked.01"]]


def at_once(case: str, reply_to: str, **changes: Any) -> Record:
    extra = {"at_once": True, "works": True, **changes.pop("extra", {})}
    return of_sdk(case, "lenient", level="SHOULD", place=(reply_to, ""), extra=extra, blamed="C-25", **changes)


def test_answers_that_go_wrong_only_while_several_are_under_way_are_one_cause() -> None:
    found = [at_once(f"flight/{name}", name, asked=f"{name} PURGE") for name in ("GET", "QUERY", "STAT")]
    about_sending = at_once("batch/many", "INSERT", asked="INSERT", extra={"beside": True})
    closed = at_once("closed/waiting", "GET", asked="GET PURGE", extra={"beside": True, "odd": True})

    assert [len(one) for one in grouped(*found, {**about_sending, "level": "MUST", "blamed": "C-18"}, closed)] == [5]
    assert causes_of([*found, {**about_sending, "level": "MUST", "blamed": "C-18"}])[0].clause == "C-25"


def test_a_batch_with_an_answer_that_is_always_read_wrongly_follows_from_that() -> None:
    alone = of_sdk("info/reply", place=("INFO", "timestamp"), asked="INFO")
    batch = at_once("batch/every-kind", "QUERY", asked="INFO QUERY SET")

    assert grouped(batch, alone) == [["info/reply", "batch/every-kind"]]


def test_a_clause_of_the_request_stands_before_what_more_cases_are_about() -> None:
    same = {
        "place": ("QUERY", ""),
        "expected": "the result {'status': False} (the server sent 00)",
        "got": "the error x",
    }
    found = [of_sdk(f"table/{at}", blamed="THR-FRAGMENT-8", asked="LIST QUERY", **same) for at in "abc"]

    assert grouped(*found, of_sdk("absent", blamed="THR-QUERY-9", asked="QUERY", **same))[0][0] == "absent"


def test_a_name_of_a_number_that_is_always_another_name_is_one_cause() -> None:
    same = {"expected": "result.code 'err_access' (the server sent fe)", "got": "'error'"}
    found = [of_sdk(name, blamed=f"C-{name}", place=(name, "code"), **same) for name in ("PUBLISH", "SUBSCRIBE")]
    other = of_sdk("other", blamed="C-9", place=("LOGIN", "code"), **{**same, "got": "'ok'"})

    assert grouped(*found, other) == [["PUBLISH", "SUBSCRIBE"], ["other"]]


def test_a_name_of_a_number_that_is_always_the_same_other_number_is_one_cause_shown_by_the_case_about_it() -> None:
    read = {"expected": "result.content_type 'not_found' (the server sent 1410)", "got": "'148' (digits)"}
    others = [
        of_sdk(f"{case}.{value}", place=(request, "content_type"), blamed="C-1", **read)
        for case, value, request in (("flags", "0", "JOIN"), ("flags", "1", "LEAVE"), ("cut", "9", "JOIN"))
    ]
    about = of_sdk("codes.JOIN.NOT_FOUND", place=("JOIN", "content_type"), blamed="C-2", **read)

    (cause,) = causes_of([*others, about])
    assert (cause.clause, cause.first["case"]) == ("C-2", "codes.JOIN.NOT_FOUND")


def test_a_request_that_is_sent_wrongly_is_shown_by_a_clause_of_its_own() -> None:
    wrong = {"byte": 2, "place": ("PUBLISH", "size"), "expected": "017f03", "got": "017f02: they differ at byte 2"}
    greeting = of_sdk("open/sessions", asked="PUBLISH", blamed="PSRT-GREETING-1", **wrong)

    assert grouped(greeting, of_sdk("publish", asked="PUBLISH", blamed="PSRT-PUBLISH-3", **wrong))[0][0] == "publish"


def test_what_prepares_with_a_ping_that_does_not_come_follows_whatever_clause_it_is_about() -> None:
    silent = {"expected": "a ping within 2 s of the last", "got": "none, after 0 that came", "place": None}
    prepares = of_sdk("answers", "untestable", blamed="C-4", **silent)

    assert grouped(of_sdk("interval", blamed="C-3", **silent), prepares) == [["interval", "answers"]]


def test_a_field_of_every_frame_that_is_sent_wrongly_in_many_requests_is_one_cause() -> None:
    found = [
        of_sdk(name, place=(name, "headers"), byte=9, asked=name, blamed=f"C-{name}", expected="04016b", got="04016c")
        for name in ("JOIN", "LEAVE", "PULL", "ROUTE", "PRODUCE")
    ]

    assert len(causes_of(found)) == 1
