"""Numbers that a server keeps beside what they count are compared with it after each input of `fuzz store`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

import pytest

from wireproof.fuzz import store_input, store_seeds
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.seeded_bugs.function_edits import Edit, applied
from wireproof.reference_server.psrt import subscriptions
from wireproof.reference_server.throttr import channels, state, store
from wireproof.reference_server.tmqp import channels as tmqp_channels
from wireproof.reference_server.tmqp import queue

WRONG = {
    "throttr bytes": ("throttr", Edit(store, "Store.overwrite", "len(value) - len(record.value)", "len(value)")),
    "throttr subscriptions": (
        "throttr",
        Edit(channels, "Channels.add", "session.subscribed += 1", "session.subscribed += 2"),
    ),
    "throttr bytes of closed connections": (
        "throttr",
        Edit(state, "State.forget", "closed_written += session.written_bytes", "closed_written += session.read_bytes"),
    ),
    "psrt masks": ("psrt", Edit(subscriptions, "Subscriptions.add", "self.masks(who) + is_new", "self.masks(who) + 2")),
    "tmqp queues": (
        "tmqp",
        Edit(tmqp_channels, "Channels.remove_queue", "self._state.queues -= 1", "self._state.queues -= 2"),
    ),
    "tmqp bytes": ("tmqp", Edit(queue, "Queue.store", "self._state.hold(message)", "pass")),
}


def drawn(name: str, number: int) -> Iterator[bytes]:
    known = list(store_seeds.seeds(name))
    random.Random(7).shuffle(known)
    return islice(known, number)


@pytest.mark.parametrize("name", ["namechan", "psrt", "throttr", "tmqp"])
def test_our_servers_count_rightly(name: str) -> None:
    for data in drawn(name, 60):
        store_input.check(name, data)


def breaks_a_count(name: str, data: bytes) -> bool:
    try:
        store_input.check(name, data)
    except InvariantError as error:
        return error.invariant == "what is counted is there"
    return False


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_count_is_found_though_no_answer_shows_it(case: str) -> None:
    name, edit = WRONG[case]
    some = list(drawn(name, 4000))

    with applied((edit,)):
        assert any(breaks_a_count(name, data) for data in some)
