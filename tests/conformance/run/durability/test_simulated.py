"""Deaths in simulation: the reference server keeps what it promises, and its mutants are found without a process."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from wireproof.conformance.model.trace import Kind
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.durability import scenarios
from wireproof.conformance.run.durability import simulated as module
from wireproof.conformance.run.durability.conversation import conversation
from wireproof.conformance.run.durability.harness_connection import GoneError, HarnessConnection
from wireproof.conformance.run.durability.lives import SimulatedLives
from wireproof.conformance.run.durability.promises import BrokenPromise
from wireproof.conformance.run.durability.simulated import simulated
from wireproof.conformance.run.processes import StartError
from wireproof.conformance.suite.documents import CaseError
from wireproof.mutants.namechan.server.durability import PROMISES
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.registry import protocol
from wireproof.protocols.states import Role
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.namechan.queue import Queue
from wireproof.reference_server.service import Service

TALK = conversation("namechan", "1", "standard")
ONLY_OF_A_PROCESS = {
    "restart-full-disk-ends-it": "it ends its process",
    "restart-topic-ids-move": "its ids are those of its process",
    "restart-replay-skips-the-seam": "a replay takes no time there; replay/seam kills it",
}


def server(mutant: str | None, clock: VirtualClock, data: Path) -> Service:
    return reference_target.service("namechan", profile="1", variant="standard", clock=clock, mutant=mutant, data=data)


def breaches(mutant: str | None, kills: int, seed: int = 1) -> Iterator[tuple[str, BrokenPromise]]:
    found = simulated(TALK, lambda clock, data: server(mutant, clock, data), kills=kills, seed=seed)
    return ((scenario, breach) for scenario, one in found for breach in one.breaches)


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Leave only these scenarios."""
    monkeypatch.setattr(module, "SCENARIOS", {name: scenarios.SCENARIOS[name] for name in names})


def test_the_reference_server_keeps_what_it_promises() -> None:
    assert list(breaches(None, 4)) == []


@pytest.mark.parametrize("name", sorted(set(PROMISES) - set(ONLY_OF_A_PROCESS)))
def test_each_mutant_that_needs_no_process_is_found(name: str) -> None:
    assert next(breaches(name, 6), None) is not None


def test_the_same_seed_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "kill", "torn")
    first, again, other = (
        [(scenario, one.promise, one.detail) for scenario, one in breaches("restart-last-twice", 2, seed)]
        for seed in (1, 1, 2)
    )

    assert first == again != other


def test_a_breach_has_what_was_sent_and_read() -> None:
    _, breach = next(breaches("restart-half-of-the-last", 1))

    spoken = protocol("namechan")
    read = Dissection(spoken.link_of(""), spoken.codec(spoken.profiles["1"], "standard"))
    for one in breach.evidence:
        if one.kind in (Kind.SENT, Kind.RECEIVED):
            read.feed(Role.CLIENT if one.kind is Kind.SENT else Role.SERVER, one.data)
    assert breach.promise == "whole"
    assert read.of_client.error is read.of_server.error is None
    names = [one.NAME for one in read.of_server.messages]
    assert names[:2] == ["VERSION_REPLY", "SUBSCRIBED"]
    assert breach.about in [one.id for one in read.of_server.messages if one.NAME == "MESSAGE"]


def test_a_death_keeps_the_files_and_an_end_is_one() -> None:
    lives = SimulatedLives(TALK, lambda clock, data: server(None, clock, data))
    try:
        lives.start("first")
        first = lives.data
        with HarnessConnection(TALK, "hook", lives.connect("hook")) as hook:
            hook.send(TALK.message("create", queue=b"q", delivery="BROADCAST", sync="STRONG"))
            assert TALK.is_ok(hook.receive())  # type: ignore[arg-type]
        lives.kill()
        with pytest.raises(GoneError, match="it does not run"):
            lives.connect("")

        assert lives.data != first
        assert not first.exists()
        assert lives.death() is None
        lives.start("second")
        with HarnessConnection(TALK, "", lives.connect("")) as client:
            client.send(TALK.message("follow", queue=b"q"))
            assert [one.NAME for one in (client.receive(), client.receive()) if one] == ["VERSION_REPLY", "SUBSCRIBED"]
    finally:
        lives.close()


def test_files_are_limited_for_one_life_only() -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    lives = SimulatedLives(TALK, lambda clock, data: server(None, clock, data))
    lives.limit_files(1 << 30)

    assert resource.getrlimit(resource.RLIMIT_FSIZE) == (1 << 30, before[1])
    lives.close()
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == (before[1], before[1])


def test_a_server_that_does_not_start_is_reported() -> None:
    def never(clock: VirtualClock, data: Path) -> Service:
        raise ValueError("data: locked")

    lives = SimulatedLives(TALK, never)
    with pytest.raises(StartError, match="data: locked"):
        lives.start("first")
    lives.close()
    ((scenario, one),) = simulated(TALK, never, kills=1)
    assert (scenario, [breach.promise for breach in one.breaches]) == ("unused", ["starts"])


def test_what_keeps_nothing_cannot_be_given_a_folder(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="throttr: its server keeps nothing over a restart"):
        reference_target.kept_in("throttr", tmp_path)


def test_ids_are_counted_beyond_what_a_field_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "many")
    monkeypatch.setattr(scenarios, "MANY", 300)
    monkeypatch.setattr(scenarios, "MANY_KILLS", 1)

    def of_eight_bits(clock: VirtualClock, data: Path) -> Service:
        made = server(None, clock, data)
        monkeypatch.setattr(Queue, "_frame", short)
        return made

    plain = Queue._frame

    def short(queue: Queue, number: int, body: bytes) -> bytes:
        return plain(queue, number & 0xFF, body)

    for factory, expected in ((lambda clock, data: server(None, clock, data), []), (of_eight_bits, ["many"])):
        found = simulated(TALK, factory, kills=1)
        assert [name for name, one in found if name == "many" and one.breaches] == expected
