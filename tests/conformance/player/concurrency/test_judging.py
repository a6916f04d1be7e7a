"""Each of the four words, what is broken, and what is shown of it."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.conformance.player.concurrency.history import NEVER, Operation
from wireproof.conformance.player.concurrency.judging import SHOWN_OPERATIONS, Judgement, Rule, Word, judge
from wireproof.protocols import Message, Request, protocol
from wireproof.protocols.throttr import OK, REFUSED, Attribute, Change, TTLType
from wireproof.protocols.throttr.replies import QueryReply
from wireproof.protocols.throttr.requests import Insert, Publish, Purge, Query, Update
from wireproof.reference_server.registry import model_of

KEY = b"k"
STORE, ASK, END = Insert(10, TTLType.HOURS, 60, KEY), Query(KEY), Purge(KEY)
ADD = Update(Attribute.QUOTA, Change.INCREASE, 5, KEY)
Row = tuple[str, Request, Message | None, int, int]


def reads(quota: int) -> QueryReply:
    return QueryReply(quota, TTLType.HOURS, 59)


def judged(*rows: Row, **bounds: int) -> Judgement:
    operations = [
        Operation(at, name, request, sent, reply, done) for at, (name, request, reply, sent, done) in enumerate(rows)
    ]
    model = model_of("throttr", profile="7.3.2", variant="uint16")
    return judge(operations, model, protocol("throttr").names, **bounds)


STORED: Row = ("p1", STORE, OK, 0, 1)
LOST_UPDATE: list[Row] = [
    STORED, ("p1", ADD, OK, 2, 9), ("p2", ADD, OK, 3, 8), ("p1", ASK, reads(15), 10, 12), ("p2", ASK, reads(15), 11, 13)
]  # fmt: skip
STALE: list[Row] = [
    STORED, ("p1", ADD, OK, 2, 3), ("p2", ASK, reads(10), 4, 6), ("p3", ASK, reads(15), 5, 7),
    ("p1", ASK, reads(15), 8, 9),
]  # fmt: skip
OVERTAKEN: list[Row] = [
    STORED, ("p1", ADD, OK, 2, 9), ("p1", ASK, reads(10), 3, 9), ("p2", ASK, reads(15), 4, 9),
    ("p2", ASK, reads(15), 10, 11),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "rule"), [(LOST_UPDATE, Rule.AT_ONCE), (STALE, Rule.SEEN), (OVERTAKEN, Rule.IN_TURN)])
def test_what_is_broken_is_the_least_that_would_have_to_be_given_up(rows: list[Row], rule: Rule) -> None:
    judgement = judged(*rows)

    assert (judgement.word, judgement.rule) == (Word.NOT_LINEARIZABLE, rule)
    assert judgement.detail.startswith("not linearizable: no order explains ")


def test_the_story_begins_with_what_was_there_and_says_what_cannot_come() -> None:
    judgement = judged(*STALE)

    assert judgement.detail == (
        "not linearizable: no order explains 1 operation on 'k'; "
        "#2 QUERY -> QUERY_REPLY(quota=10, ttl_type=hours, ttl=59) where counter 15 (60 hours) is"
    )
    assert judgement.drawing[0] == "before: counter 15 (60 hours)"
    assert "> p2 ├───────┤" in judgement.drawing[1]
    assert judgement.drawing[-1] == "the answer of #2 was right before #1, not after it"
    assert judgement.unexplained is not None
    assert judgement.unexplained.number == 2


def test_operations_beside_are_drawn_while_they_are_few() -> None:
    def drawn(number: int) -> list[str]:
        beside: list[Row] = [(f"q{at}", ASK, reads(15), 4, 100) for at in range(number)]
        return [line for line in judged(*STALE[:2], *beside, ("p3", ASK, reads(9), 5, 50)).drawing if "├" in line]

    assert (len(drawn(4)), len(drawn(SHOWN_OPERATIONS))) == (5, 1)
    assert [line[0] for line in drawn(4)] == [">", " ", " ", " ", " "]


def test_a_history_whose_answers_all_fit_is_linearizable() -> None:
    judgement = judged(STORED, ("p1", ADD, OK, 2, 9), ("p2", ASK, reads(10), 3, 8), ("p2", ASK, reads(15), 4, 8))

    assert judgement.word is Word.LINEARIZABLE
    assert judgement.detail == (
        "linearizable: 4 operations on 1 key, 2 pairs at the same time, 2 of them with a change"
    )


VACUOUS: dict[str, list[Row]] = {
    "nothing at all": [],
    "one connection": [STORED, ("p1", ADD, OK, 2, 9), ("p1", ASK, reads(15), 3, 9)],
    "one after another": [STORED, ("p2", ADD, OK, 2, 3), ("p1", ASK, reads(15), 4, 5)],
    "nothing but refusals": [("p1", ADD, REFUSED, 0, 9), ("p2", END, REFUSED, 1, 9), ("p3", ASK, REFUSED, 2, 9)],
    "readings at the same time": [STORED, ("p1", ASK, reads(10), 2, 9), ("p2", ASK, reads(10), 3, 9)],
    "different keys": [STORED, ("p2", Insert(1, TTLType.HOURS, 60, b"other"), OK, 0, 1)],
}


@pytest.mark.parametrize("name", VACUOUS)
def test_a_history_that_could_show_nothing_is_vacuous(name: str) -> None:
    judgement = judged(*VACUOUS[name])

    assert judgement.word is Word.VACUOUS
    assert judgement.detail.startswith("vacuous: ")


def test_a_search_that_did_not_end_is_unknown() -> None:
    judgement = judged(STORED, *((f"p{at}", ADD, OK, 2, 100) for at in range(9)), limit=3)

    assert judgement.word is Word.UNKNOWN
    assert judgement.detail == "unknown: no order of those on 'k' was found in 3 configurations of 10 operations"


def test_a_fault_on_one_key_is_reported_whatever_the_others_came_to() -> None:
    other = [
        (name, Insert(1, TTLType.HOURS, 60, b"z"), reply, 0, NEVER) for name, reply in (("p8", OK), ("p9", REFUSED))
    ]

    assert judged(*other, *LOST_UPDATE).word is Word.NOT_LINEARIZABLE


def test_an_answer_that_never_came_may_explain_another() -> None:
    assert judged(STORED, ("p1", ADD, None, 2, NEVER), ("p2", ASK, reads(15), 5, 6)).word is Word.LINEARIZABLE
    assert judged(STORED, ("p1", ADD, None, 2, NEVER), ("p2", ASK, reads(20), 5, 6)).word is Word.NOT_LINEARIZABLE


def test_a_request_about_no_record_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a request about one record"):
        judged(("p1", Publish(b"c", b"p"), OK, 0, 1))


def test_a_history_of_any_keys_is_judged_by_key() -> None:
    rows: list[Any] = []
    for at in range(3):
        key = bytes([97 + at])
        rows += [("p1", Insert(1, TTLType.HOURS, 60, key), OK, at, 9), ("p2", Query(key), REFUSED, at, 9)]

    assert judged(*rows).detail.startswith("linearizable: 6 operations on 3 keys, 3 pairs")
