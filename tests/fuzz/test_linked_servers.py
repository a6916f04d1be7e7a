"""Servers that are linked in a row, in the store's target: silent on the right ones, and faults are found."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.store_input import LINKED_SERVERS, RECORDED, check, described
from wireproof.fuzz.store_seeds import seeds
from wireproof.reference_server.tmqp.nodes import MasterSession, SlaveSession
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.state import State

SEEDS = [one for one in seeds("tmqp") if one[0] & (LINKED_SERVERS | RECORDED) == LINKED_SERVERS]


def first_broken() -> str:
    for one in SEEDS:
        try:
            check("tmqp", one)
        except InvariantError as error:
            return f"{error.clause}: {error.shape}"
    return ""


def test_right_servers_are_not_reported() -> None:
    assert len(SEEDS) > 20
    assert first_broken() == ""


def test_an_input_is_shown_by_its_turns() -> None:
    shown = described("tmqp", SEEDS[0])

    assert shown.profile == "doc"
    assert "server 0 connects to its master" in shown.steps
    assert any("sends SEND_DIRECT" in one for one in shown.steps)


def nothing(*_: object, **__: object) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("kind", "name", "instead", "expected"),
    [
        (TmqpSession, "relay", nothing, "TMQP-NODE-2: a client of a master"),
        (SlaveSession, "relay", TmqpSession.relay, "TMQP-NODE-2: a client of a master"),
        (SlaveSession, "connection_lost", nothing, "TMQP-NODE-1: nodes"),
        (MasterSession, "connection_lost", nothing, "TMQP-NODE-1: nodes"),
        (MasterSession, "pause_writing", nothing, "TMQP-NODE-1: written while the master reads nothing"),
        (State, "relay", nothing, "TMQP-NODE-2: a client of a master"),
    ],
)
def test_what_a_link_does_wrong_is_found(
    monkeypatch: pytest.MonkeyPatch, kind: type[Any], name: str, instead: object, expected: str
) -> None:
    monkeypatch.setattr(kind, name, instead)

    assert first_broken() == expected


def test_servers_that_cannot_be_made_are_a_finding_and_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("no client")

    monkeypatch.setattr(State, "__init__", fails)

    with pytest.raises(InvariantError, match="the server stays: RuntimeError: no client"):
        check("tmqp", SEEDS[0])
    assert described("tmqp", SEEDS[0]).steps == ("broken: the server stays: RuntimeError: no client",)
