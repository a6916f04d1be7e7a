"""Topics and masks against the facts, and against all topics there are."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof.reference_server.psrt.rights import Rights, masks
from wireproof.reference_server.psrt.topics import covers, depth, is_mask, levels, matches, normalised

LEVELS = st.sampled_from(["", "a", "b", "a+", "+", "#"])
MASKS = st.lists(LEVELS, min_size=1, max_size=4).map("/".join).map(levels)
TOPICS = st.lists(st.sampled_from(["", "a", "b", "a+", "new"]), min_size=1, max_size=5).map(tuple)
EVERY_TOPIC = [topic for size in range(1, 6) for topic in product(["", "a", "b", "a+", "new"], repeat=size)]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("a/b", "a/b"),
        ("/a", "a"),
        ("//unit//a", "unit/a"),
        ("///", ""),
        ("/", ""),
        ("a/", "a/"),
        ("a//", "a/"),
        ("", ""),
        ("//t", "t"),
        ("a /b", "a /b"),
    ],
)
def test_topics_are_made_alike(given: str, made: str) -> None:
    assert normalised(given) == made
    assert normalised(made) == made


def test_depth_is_the_number_of_slashes() -> None:
    assert [depth(topic) for topic in ("", "a", "a/", "a/b/c/d")] == [0, 0, 1, 3]


def test_a_plus_or_a_hash_anywhere_makes_a_mask() -> None:
    assert [is_mask(topic) for topic in ("a+b", "+", "a/#", "a/b#", "a/*", "$x")] == [
        True,
        True,
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("mask", "topic", "fits"),
    [
        ("a/+", "a/b", True),
        ("a/+", "a/", True),
        ("a/+", "a", False),
        ("a/+", "a/b/c", False),
        ("a/#", "a", False),
        ("a/#", "a/", True),
        ("a/#", "a/b/c", True),
        ("#", "", True),
        ("#", "$x/y", True),
        ("+", "", True),
        ("+/+", "a", False),
        ("a/#/z", "a/q/r", True),
        ("a+", "a+", True),
        ("a+", "ab", False),
        ("**", "a", False),
        ("!a", "b", False),
        ("A", "a", False),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_masks_match_as_the_facts_say(mask: str, topic: str, fits: bool) -> None:
    assert matches(levels(mask), tuple(topic.split("/"))) is fits


@given(MASKS, MASKS)
def test_a_mask_covers_another_exactly_when_it_matches_all_the_other_matches(
    granted: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    every = all(matches(granted, topic) for topic in EVERY_TOPIC if matches(asked, topic))

    assert covers(granted, asked) is every


@given(MASKS, TOPICS)
def test_a_mask_covers_the_topics_it_matches(mask: tuple[str, ...], topic: tuple[str, ...]) -> None:
    assert covers(mask, topic) is matches(mask, topic)


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("a/x", True),
        ("a/x/y", False),
        ("a", False),
        ("a/", True),
        ("a/+", True),
        ("a/#", False),
        ("a/+/#", False),
        ("+/x", False),
        ("+", False),
        ("#", False),
        ("b", False),
        ("b/#", True),
        ("b/+", True),
        ("b/+/c", True),
        ("b/#/z", True),
        ("m/q/r", True),
        ("m/#", True),
    ],
)
def test_a_mask_is_granted_when_all_it_can_match_is(asked: str, allowed: bool) -> None:
    assert Rights(sub=masks(["a/+", "/b//#", "m/#/z"])).may_subscribe(asked) is allowed


def test_publishing_is_granted_by_masks_of_its_own() -> None:
    rights = Rights(sub=masks(["#"]), pub=masks(["a/+", "b/#"]))

    assert [rights.may_publish(one) for one in ("a/x", "a/x/y", "b", "b/", "c")] == [True, False, False, True, False]
