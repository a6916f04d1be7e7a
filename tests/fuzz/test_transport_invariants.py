"""The engine of the transport: silent on the transport as it is, and loud where a line of it is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
from click.testing import CliRunner

from tests.fuzz.planting import plant
from wireproof.fuzz import property_based, transport_input
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.known_targets import TARGETS
from wireproof.fuzz.seed_replay import replayed_seeds
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.streams import StreamProtocol
from wireproof.reference_server.throttr.session import ThrottrSession

TARGET = replace(TARGETS["transport"], seeds=lambda name: islice(transport_input.seeds(name), 240))
"""The engine with the seeds of one profile and variant: those of all take seconds to make."""


@pytest.mark.parametrize("name", ["throttr", "psrt"])
def test_the_transport_as_it_is_breaks_nothing(name: str) -> None:
    replayed = replayed_seeds(TARGET, name, 1, most=120)

    assert replayed.broken is None
    assert replayed.checked == 120


def no_pause(protocol: Any) -> None:
    protocol.session.pause_writing()


def no_session_pause(protocol: Any) -> None:
    protocol.transport.pause_reading()


def no_resume(protocol: Any, session: Any) -> None:
    session.resume_writing()


def closes_at_once(protocol: Any) -> None:
    protocol.transport.abort()


def does_not_watch(protocol: Any) -> None:
    return


def stays_open_after_the_end(protocol: Any) -> bool:
    protocol._ended = True
    return True


def is_not_forgotten(protocol: Any, exc: Exception | None) -> None:
    protocol._closing = True


@pytest.mark.parametrize(
    ("method", "wrong", "invariant"),
    [
        ("pause_writing", no_pause, "reading stops exactly while writing is paused"),
        ("pause_writing", no_session_pause, "a paused session writes nothing"),
        ("_resume", no_resume, "reading stops exactly while writing is paused"),
        ("close", closes_at_once, ""),
        ("_watch", does_not_watch, "a peer that takes nothing is not waited for"),
        ("eof_received", stays_open_after_the_end, "a connection whose peer has ended is closed"),
        ("connection_lost", is_not_forgotten, "nothing is left behind a connection"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_wrong_transport_is_found(
    method: str, wrong: Callable[..., Any], invariant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StreamProtocol, method, wrong)

    broken = replayed_seeds(TARGET, "throttr", 1, most=1500, seconds=6).broken

    assert broken is not None
    assert invariant in broken.output


def test_a_close_that_gives_the_peer_no_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, StreamProtocol, "_watch", " and self._unsent >= 0", "")

    broken = replayed_seeds(TARGET, "throttr", 1, most=200).broken

    assert broken is not None
    assert "a peer has time to take the end: aborted 0 s after the close" in broken.output


def test_chunks_that_come_while_earlier_ones_wait_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    received, pause = ThrottrSession.data_received, ThrottrSession.pause_writing
    paused: set[int] = set()

    def forgets(session: ThrottrSession, data: bytes) -> None:
        if id(session) not in paused:
            received(session, data)

    def pauses(session: ThrottrSession) -> None:
        paused.add(id(session))
        pause(session)

    monkeypatch.setattr(ThrottrSession, "data_received", forgets)
    monkeypatch.setattr(ThrottrSession, "pause_writing", pauses)

    broken = replayed_seeds(TARGET, "throttr", 1, most=1500, seconds=6).broken

    assert broken is not None
    assert "whole is any pace" in broken.output or "answers do not wait for the end" in broken.output


def test_a_login_whose_password_was_checked_while_the_peer_did_not_read_waits_until_it_reads() -> None:
    """Found once slow work took its time: the answer was written into a full buffer."""
    assert replayed_seeds(TARGETS["transport"], "psrt", 11, most=400).broken is None


def test_a_password_that_is_still_checked_when_all_has_come_is_no_answer_that_waits_for_the_end() -> None:
    """Found by a campaign: the session was given the end of a login, and then only the peer had to take the token."""
    transport_input.check("psrt", bytes.fromhex("00037600e23bcbd6fe"))


def test_an_end_that_does_not_wait_for_a_password_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def follow_end(session: PsrtSession) -> None:
        if session._ended and session.feed is None and not session._waits:
            session.end()

    monkeypatch.setattr(PsrtSession, "_follow_end", follow_end)

    broken = replayed_seeds(TARGETS["transport"], "psrt", 11, most=400).broken

    assert broken is not None
    assert "whole is any pace" in broken.output


def test_messages_may_come_after_answers_where_neither_order_is_promised() -> None:
    """Found under a seed: of messages that are sent some in each turn of the loop, one came after a later answer."""
    transport_input.check("tmqp", bytes.fromhex("0112cb03282e00202e280b282e202e280b282e202e2e2e2e2e2e2e"))


def test_the_loop_of_the_check_is_gone_after_it() -> None:
    steps = transport_input.described("throttr", bytes([0, 0, 0, 0, 0x20, 6, 6, 0x38])).steps

    assert steps[-1].startswith("the rest comes")
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def test_the_command_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(TARGET, seeds=lambda name: islice(transport_input.seeds(name), 20))
    monkeypatch.setitem(TARGETS, "transport", few)  # type: ignore[arg-type]
    monkeypatch.setattr(property_based, "BATCH", 10)

    result = CliRunner().invoke(fuzz, ["transport", "throttr", "--runs", "10", "--engine", "hypothesis"])

    assert (result.exit_code, "nothing found" in result.output) == (0, True), result.output
