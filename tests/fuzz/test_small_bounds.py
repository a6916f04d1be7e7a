"""What goes wrong only beyond a limit, or where work is done in several turns, is found by short conversations."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest

from tests.fuzz.planting import plant
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.small_bounds import small_portions
from wireproof.fuzz.store_input import IS_SMALL, RECORDED, SMALL, check, described
from wireproof.fuzz.store_seeds import seeds
from wireproof.reference_server.namechan import store
from wireproof.reference_server.namechan.queue import Queue as NamechanQueue
from wireproof.reference_server.psrt.control_requests import ControlRequests
from wireproof.reference_server.psrt.subscriptions import Subscriptions
from wireproof.reference_server.registry import served_protocols
from wireproof.reference_server.tmqp.queue import Queue as TmqpQueue


@pytest.mark.parametrize(
    ("spoken", "where", "name", "old", "new"),
    [
        ("namechan", NamechanQueue, "feed", "number + 1", "number + 2"),
        ("namechan", NamechanQueue, "drain", "self._state.later(self.drain)", "pass"),
        ("psrt", ControlRequests, "subscribe", "is_full and not subscriptions.has(client, mask)", "is_full"),
        ("psrt", Subscriptions, "_forget", "if not (left := self.masks(who) - 1)", "if not (left := self.masks(who))"),
        ("tmqp", TmqpQueue, "_drain_on", "self._is_draining = False", "pass"),
    ],
)
def test_a_fault_beyond_a_limit_or_a_turn_is_found(
    spoken: str, where: Any, name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [one for one in seeds(spoken) if one[0] & SMALL and not (one[0] & RECORDED and len(one) > 3)]
    plant(monkeypatch, where, name, old, new)

    with pytest.raises(InvariantError):
        check_all(spoken, some)


def check_all(spoken: str, some: Iterable[bytes]) -> None:
    for one in some:
        check(spoken, one)


@pytest.mark.parametrize("spoken", served_protocols())
def test_a_server_with_low_limits_is_right(spoken: str) -> None:
    check_all(spoken, [one for one in seeds(spoken) if one[0] & SMALL][::80])


def test_the_usual_sizes_are_back_after_the_context_also_after_an_exception() -> None:
    with suppress(KeyError), small_portions("namechan"):
        small = store.CHUNK
        raise KeyError

    assert (small, store.CHUNK) == (2, 512)


def test_an_input_says_that_limits_are_low() -> None:
    usual = next(one for one in seeds("psrt") if not one[0] & SMALL)

    assert described("psrt", bytes([usual[0] | SMALL]) + usual[1:]).steps[0] == IS_SMALL
    assert described("psrt", usual).steps[0] != IS_SMALL
