"""Mutants of namechan's server: described, tied to clauses that exist, each one a server that can be talked to."""

from __future__ import annotations

import yaml

from tests.mutants.each import check_each
from tests.places import ROOT
from tests.reference_server.namechan.simulated import SECOND, Server
from wireproof.mutants.namechan.server import DEMONSTRATION, MUTANTS
from wireproof.mutants.namechan.server.mutant import ServerMutant
from wireproof.protocols.namechan import PROFILES

FILE = ROOT / "vectors" / "namechan" / "clauses.yaml"
CLAUSES = {one["id"]: one for one in yaml.load(FILE.read_text(), yaml.CSafeLoader)["clauses"]}


def test_each_names_clauses_and_profiles_that_exist() -> None:
    check_each(MUTANTS.values(), _is_described)


def _is_described(mutant: ServerMutant) -> None:
    assert set(mutant.clauses) <= set(CLAUSES)
    assert len(set(mutant.clauses)) == len(mutant.clauses)
    assert mutant.description.endswith(".")
    assert mutant.is_legal == mutant.name.startswith("legal-")
    assert set(mutant.profiles) <= set(PROFILES)


def test_whatever_one_does_it_does_not_fall_over() -> None:
    check_each(MUTANTS.values(), _is_talked_to)


def _is_talked_to(mutant: ServerMutant) -> None:
    """What a mutant raises would say nothing of a suite: no server of anybody else's does it."""
    server = Server(next(iter(mutant.profiles), "1"), mutant=mutant.name)
    client, harness = server.line().session, server.hook.session
    for session, data in (
        (client, bytes(7) + b'\1(Connect 1 a)\n(Unsubscribe "\\065")\n'),
        (harness, b"(Create t Broadcast(Persistent Strong))\n(Create r Round_robin Transient)\n"),
        (harness, b"(Publish t a)\n(Publish r b)\n"),
        (client, b"(Subscribe t From_beginning)\n(Subscribe r From_current)\n(Ack 1)\n"),
        (harness, b"(Publish t a)\n(Publish r b)\n"),
        (client, b"(Unsubscribe t)\n"),
    ):
        session.data_received(data)
        server.clock.advance(0)
    server.clock.advance(SECOND)
    server.service.close()


def test_the_demonstration_shows_mutants_that_are_there() -> None:
    assert all(MUTANTS[name].clauses for name in DEMONSTRATION)
