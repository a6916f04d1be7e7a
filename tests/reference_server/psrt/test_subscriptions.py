"""The tree of subscriptions against a list of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wireproof.reference_server.psrt import subscriptions
from wireproof.reference_server.psrt.subscriptions import Subscriptions
from wireproof.reference_server.psrt.topics import levels, matches

PARTS = ["", "a", "b", "+", "#", "a+"]
TEXTS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("/".join)
TOPICS = st.lists(st.sampled_from(["", "a", "b", "+", "a+", "new"]), min_size=1, max_size=5).map("/".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 2), TEXTS),
        st.tuples(st.just("remove"), st.integers(0, 2), TEXTS),
        st.tuples(st.just("leave"), st.integers(0, 2), st.just("")),
    ),
    max_size=25,
)


def is_empty(table: Subscriptions[int]) -> bool:
    return table._root.is_empty() and not (table._texts or table._topics or table._masks)


@settings(deadline=None)
@given(STEPS, st.lists(TOPICS, min_size=1, max_size=6))
def test_the_tree_finds_what_a_list_finds(steps: list[tuple[str, int, str]], topics: list[str]) -> None:
    table: Subscriptions[int] = Subscriptions()
    plain: dict[int, set[str]] = {}
    for step, who, text in steps:
        if step == "add":
            table.add(who, text)
            plain.setdefault(who, set()).add(text)
        elif step == "remove":
            table.remove(who, text)
            plain.setdefault(who, set()).discard(text)
        else:
            table.leave(who)
            plain.pop(who, None)

    for topic in topics:
        wanted = tuple(topic.split("/"))
        found = table.match(topic)
        assert len(set(found)) == len(found)
        assert set(found) == {who for who, texts in plain.items() if any(matches(levels(one), wanted) for one in texts)}
    for who, texts in plain.items():
        assert table.of(who) == texts
        assert table.count(who) == len(texts)
    for who in range(3):
        table.leave(who)
    assert is_empty(table)


def test_overlapping_masks_are_one_subscriber() -> None:
    table: Subscriptions[str] = Subscriptions()
    for text in ("a/b", "a/+", "a/#", "#", "+/b", "+/#"):
        table.add("me", text)

    assert table.match("a/b") == ["me"]


def test_of_two_texts_that_mean_the_same_each_counts() -> None:
    table: Subscriptions[str] = Subscriptions()
    table.add("me", "a/#")
    table.add("me", "a/#/z")
    table.remove("me", "a/#/z")
    table.remove("me", "a/#/y")

    assert table.match("a/x") == ["me"]
    table.remove("me", "a/#")
    assert table.match("a/x") == []


def test_of_two_texts_that_mean_the_same_one_may_take_both_away() -> None:
    table: Subscriptions[str] = Subscriptions(keeps_equal_masks=False)
    table.add("me", "a/#")
    table.add("me", "a/#/z")
    table.remove("me", "a/#/z")

    assert table.match("a/x") == []
    table.add("me", "a/#")
    assert table.match("a/x") == ["me"]


def steps_of(action: Callable[[], Any]) -> int:
    """How many lines of Python an action runs."""
    lines = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal lines
        lines += event == "line" and frame.f_code.co_filename == subscriptions.__file__
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("topic", ["site/5/room/7/t", "site/nobody", "other/5"])
def test_matching_takes_no_more_steps_where_there_are_more_who_want_something_else(topic: str) -> None:
    few: Subscriptions[int] = Subscriptions()
    many: Subscriptions[int] = Subscriptions()
    for table, size in ((few, 100), (many, 10_000)):
        for who in range(size):
            table.add(who, f"site/{who}/room/+/t")
            table.add(who, f"site/{who}/#")

    assert few.match(topic) == many.match(topic)
    assert steps_of(lambda: many.match(topic)) == steps_of(lambda: few.match(topic))


def test_texts_with_wildcards_are_counted_as_masks() -> None:
    subscriptions = Subscriptions[str]()
    for text in ("a/b", "a/+", "a/+", "#", "c"):
        subscriptions.add("me", text)

    assert (subscriptions.count("me"), subscriptions.masks("me")) == (4, 2)
    subscriptions.remove("me", "#")
    subscriptions.remove("me", "c")
    assert (subscriptions.masks("me"), subscriptions.has("me", "a/+"), subscriptions.has("me", "#")) == (1, True, False)
    subscriptions.leave("me")
    assert (subscriptions.count("me"), subscriptions.masks("me"), subscriptions.match("a/b")) == (0, 0, [])


def test_the_most_masks_of_a_client_bound_what_a_topic_visits() -> None:
    subscriptions, visited = Subscriptions[str](), 0
    for parts in product(*(("+", f"level{place}") for place in range(10))):
        subscriptions.add("me", "/".join(parts))

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal visited
        visited += event == "line"
        return count

    sys.settrace(count)
    try:
        found = subscriptions.match("/".join(f"level{place}" for place in range(10)))
    finally:
        sys.settrace(None)
    assert found == ["me"]
    assert subscriptions.masks("me") == 1023
    assert visited < 25 * 1024


def test_topics_without_wildcards_need_no_tree() -> None:
    subscriptions = Subscriptions[int]()
    for who in range(3):
        for number in range(50):
            subscriptions.add(who, f"a/{number}/c")

    assert subscriptions.match("a/7/c") == [0, 1, 2]
    assert subscriptions._root.is_empty()
    for who in range(3):
        subscriptions.leave(who)
    assert subscriptions._topics == {}
