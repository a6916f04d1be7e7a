"""Causes of an SDK that goes wrong in the stream: pieces that it does not put together, pushes that are lost."""

from __future__ import annotations

from tests.conformance.verdict.made_records import behind, grouped, of_sdk
from wireproof.conformance.verdict.causes import causes_of


def test_an_sdk_that_reads_no_stream_has_one_cause() -> None:
    own = [behind(f"own/{name}", name, name, "hang") for name in ("PURGE", "QUERY")]

    assert len(causes_of([*own, behind("c", "INFO", "LIST"), behind("d", "STAT", "GET", blamed="C-2")])) == 1


def test_pushes_that_are_not_reported_are_one_cause() -> None:
    silent = {"expected": "the event message with {'payload': '1'}", "got": "none in 5 s"}

    assert len(causes_of([of_sdk("a", **silent), of_sdk("b", blamed="C-2", place=("QUERY", ""), **silent)])) == 1


def test_an_sdk_whose_streams_go_wrong_after_many_kinds_of_answers_has_one_cause() -> None:
    pairs = [("GET", "LIST"), ("SET", "STATS"), ("STAT", "CHANNELS")]
    found = [behind(f"after/{name}", name, answer) for name, answer in pairs]
    batch = of_sdk(
        "batch", "hang", place=("QUERY", ""), asked="QUERY SET", extra={"hang": {"busy": False}, "at_once": True}
    )
    swap = of_sdk("swap", place=("GET", "quota"), asked="GET SET", extra={"swapped": True, "at_once": True})
    other = of_sdk("other", place=("INFO", ""), asked="INFO LIST", blamed="C-2")

    groups = grouped(*found, batch, swap, other)
    assert [sorted(one) for one in groups] == [
        ["after/GET", "after/SET", "after/STAT", "batch", "swap"],
        ["other"],
    ] or [sorted(one) for one in reversed(groups)] == [
        ["after/GET", "after/SET", "after/STAT", "batch", "swap"],
        ["other"],
    ]


def test_pushes_that_are_lost_only_where_they_are_cut_are_apart_from_others() -> None:
    silent = {"expected": "the event message with {'payload': '1'}", "got": "none in 5 s", "place": ("SUBSCRIBE", "")}
    cut = {"pushes": True, "cut": True, "works": True}
    busy = {"pushes": True, "hang": {"busy": True}}
    found = [
        of_sdk("push/bytes", blamed="C-24", extra=cut, **silent),
        of_sdk("push/gap", "hang", blamed="C-24", place=("PURGE", ""), asked="SUBSCRIBE PURGE", extra=busy),
        of_sdk("push/rest", blamed="C-24", place=("PUSHED_EVENT", "payload"), extra={"pushes": True}),
        of_sdk("unsubscribe", blamed="C-12", extra={"pushes": True, "works": True}, **silent),
    ]

    assert sorted(map(sorted, grouped(*found))) == [["push/bytes", "push/gap", "push/rest"], ["unsubscribe"]]


def test_pushes_that_are_lost_beside_answers_are_one_cause() -> None:
    silent = {"expected": "the event message with {'payload': '1'}", "got": "none in 5 s", "place": ("PURGE", "")}
    extra = {"pushes": True, "works": True, "answering": True}

    assert len(causes_of([of_sdk(one, blamed=one, extra=extra, **silent) for one in ("C-24", "C-25")])) == 1


def test_an_sdk_that_puts_no_pieces_together_has_one_cause_and_one_that_fails_at_one_kind_of_answer_another() -> None:
    found = [
        of_sdk(f"{name}/bytes", place=(name, "quota"), asked=name, got=name, blamed="C-24", extra={"cut": True})
        for name in ("QUERY", "GET", "STAT")
    ]

    assert len(causes_of(found)) == 1
    assert len(causes_of(found[:2])) == 2
