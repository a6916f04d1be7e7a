"""The mutators: the same seed makes the same script, whatever they make is playable, and each changes something."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.live.simulated_plays import played
from wireproof.conformance.model.actions import Open, Shut, Sleep, Write
from wireproof.fuzz.live.canaries import canaries_in
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.mutators import (
    MOST_BYTES,
    MOST_FIELDS,
    MOST_REQUESTS,
    MUTATORS,
    announce_much,
    mutated,
    pipeline,
)
from wireproof.fuzz.script import from_json, size, to_json
from wireproof.protocols.throttr.requests import Connections, Insert, List, Query, Set

CONTEXT = FuzzContext("throttr", "7.1.0", "uint16")
INSERT = CONTEXT.encode(Insert(7, 4, 30, b"~00000001~k"))


@pytest.fixture(scope="module", autouse=True)
def _scripts_to_mutate() -> None:
    CONTEXT.others.extend(list(CONTEXT.seeds())[:40])


@pytest.mark.parametrize("name", MUTATORS)
def test_each_changes_something_and_repeats_itself(name: str) -> None:
    changed = 0
    for number, script in enumerate(CONTEXT.others):
        made = MUTATORS[name](Random(number), script, CONTEXT)
        assert made == MUTATORS[name](Random(number), script, CONTEXT)
        assert from_json(to_json(made)) == made
        changed += made != script

    assert changed > len(CONTEXT.others) // 3


def test_what_is_made_is_playable_and_bounded() -> None:
    random = Random(3)
    for _ in range(60):
        script = mutated(random, random.choice(CONTEXT.others), CONTEXT)
        assert size(script) <= MOST_BYTES
        assert played(CONTEXT, script).probe is not None


def test_empty_scripts_stay_as_they_are() -> None:
    for mutator in (one for name, one in MUTATORS.items() if name != "leave_out"):
        made = mutator(Random(1), (Sleep(0.0),), CONTEXT)
        assert not any(isinstance(step, Write | Shut) and not CONTEXT.others for step in made)


@pytest.mark.parametrize("name", ["burst", "pipeline"])
def test_requests_of_one_byte_are_not_repeated_by_the_thousand(name: str) -> None:
    asked = CONTEXT.encode(Connections()) * 60  # each is answered by a row for every connection
    script = (Open("a"), Write("a", asked))
    sent = [size(MUTATORS[name](Random(seed), script, CONTEXT)) for seed in range(40)]

    assert max(sent) > size(script)
    assert max(sent) <= MOST_FIELDS + len(asked)


def test_many_of_one_have_names_of_their_own() -> None:
    data = CONTEXT.many(INSERT, 50)

    assert len(data) == 50 * len(INSERT)
    assert len(canaries_in(data)) == 50


def test_seeds_are_valid_requests_with_marks() -> None:
    marked = 0
    for script in CONTEXT.seeds():
        data = b"".join(step.data for step in script if isinstance(step, Write))
        assert all(one.of_client.is_whole for one in CONTEXT.read(script).values())
        marked += bool(canaries_in(data))
    assert marked > 900


def test_large_bodies_are_announced_in_sizes_and_not_sent() -> None:
    context = FuzzContext("throttr", "7.3.2", "uint32")
    data = context.encode(Set(4, 30, b"~00000001~k", b"value"))
    script = (Open("a"), Write("a", data))
    ((first, last),) = (span for span in context.sizes(script, 1) if span[1] - span[0] == 4)
    announced = []
    for seed in range(100):
        made = next(step for step in announce_much(Random(seed), script, context) if isinstance(step, Write))
        if len(made.data) >= last and made.data[:first] == data[:first] and made.data[:last] != data[:last]:
            announced.append(int.from_bytes(made.data[first:last], "little"))
            assert len(made.data) < len(data) + 16

    assert len(announced) > 40
    assert {1 << 16, 1 << 24, 1 << 26} <= set(announced)


def test_a_script_without_a_size_borrows_one_of_the_pool() -> None:
    context = FuzzContext("throttr", "7.3.2", "uint32")
    context.others.append((Open("a"), Write("a", context.encode(Set(4, 30, b"~00000001~k", b"value")))))
    script = (Open("a"), Write("a", context.encode(Connections())))

    made = [announce_much(Random(seed), script, context) for seed in range(40)]
    assert sum(step.data[0] == context.others[0][1].data[0] for one in made for step in one[1:2]) > 10  # type: ignore[union-attr]


def test_a_request_of_several_fields_is_sent_more_than_a_thousand_times_in_one_write() -> None:
    """Where fields alone were counted only requests of one byte were, whose answers cannot be told from one another."""
    asked, tables = CONTEXT.encode(Query(b"~00000001~")), CONTEXT.encode(List()) * 100

    assert largest_pipelined(asked) > 1023 * len(asked)
    assert largest_pipelined(tables) <= MOST_REQUESTS


def largest_pipelined(data: bytes) -> int:
    """Return the bytes of the largest of some writes that `pipeline` makes of one."""
    made = [pipeline(Random(seed), (Open("a"), Write("a", data)), CONTEXT) for seed in range(40)]
    return max(len(step.data) for script in made for step in script if isinstance(step, Write))
