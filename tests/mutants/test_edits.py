"""Edits of source: a private copy reads otherwise, what everybody has stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.mutants.edits import Edit, Edited, after, around, before, edit, first
from wireproof.reference_server.psrt import session, state, subscriptions, topics

SERVER = "wireproof.reference_server.psrt"


def edited(*edits: Edit) -> Edited:
    return Edited((SERVER,), edits)


def topics_with(*edits: Edit) -> Any:
    return edited(*edits).get(f"{SERVER}.topics")


def test_a_copy_reads_otherwise_and_the_original_does_not() -> None:
    copy = topics_with(edit("depth", 'topic.count("/")', 'topic.count("/") + 1'))

    assert (copy.depth("a/b"), topics.depth("a/b")) == (2, 1)


def test_lines_go_first_before_after_or_in_place_with_the_indentation_of_where_they_are() -> None:
    place, line = "normalised", 'return _SLASHES.sub("/", text).removeprefix("/")'

    assert topics_with(first(place, 'if text == "x":', '    return "first"')).normalised("x") == "first"
    assert topics_with(before(place, "return", 'if text == "x":', '    return "before"')).normalised("x") == "before"
    assert topics_with(edit(place, "return", "text += text", "return")).normalised("x") == "xx"
    assert topics_with(after(place, line, "raise AssertionError")).normalised("x") == "x"
    assert topics_with(first(place, 'text += "1"'), edit(place, "text)", 'text + "2")')).normalised("x") == "x12"


def test_what_a_method_was_stays_another_method_when_lines_go_around_it() -> None:
    lines = ("found = self.correct_match(topic)", "return found * 2")
    tables = edited(around("Subscriptions.match", *lines)).get(f"{SERVER}.subscriptions").Subscriptions()
    tables.add("who", "a")

    assert tables.match("a") == ["who", "who"]
    assert tables.correct_match("a") == ["who"]


def test_modules_that_depend_on_the_edited_one_are_copied_and_no_others() -> None:
    copy = edited(first("levels", 'return ("#",)'))

    assert copy.get(f"{SERVER}.subscriptions") is not subscriptions
    assert copy.get(f"{SERVER}.state").Subscriptions is copy.get(f"{SERVER}.subscriptions").Subscriptions
    assert copy.get(f"{SERVER}.session").Feed is session.Feed
    assert f"{SERVER}.rules" not in copy.affected


def test_exceptions_stay_those_that_other_code_catches() -> None:
    assert edited(first("state.State.forget", "return")).get(f"{SERVER}.state").RefusedError is state.RefusedError


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (first("nowhere", "pass"), "nowhere: expected one definition, found 0"),
        (first("_content", "pass"), "_content: expected one definition, found 2"),
        (edit("depth", "no such text", ""), "depth: expected once, found 0 times"),
        (edit("levels", "parts", ""), "levels: expected once, found 5 times"),
    ],
)
def test_a_place_that_is_not_there_once_is_an_error(wrong: Edit, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        topics_with(wrong)
