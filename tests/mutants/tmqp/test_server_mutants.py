"""Mutants of TMQP's server: described, tied to clauses that exist, each one a server that can be talked to."""

from __future__ import annotations

import yaml

from tests.mutants.each import check_each
from tests.places import ROOT
from tests.reference_server.tmqp.simulated import Server, hello, produce, pull, rows
from wireproof.mutants.tmqp.server import MUTANTS
from wireproof.mutants.tmqp.server.mutant import ServerMutant
from wireproof.protocols.tmqp import PROFILES
from wireproof.protocols.tmqp.requests import CreateQueue, Join, Leave, Protocol, SendDirect, Subscribe, Terminate

FILE = ROOT / "vectors" / "tmqp" / "clauses.yaml"
CLAUSES = {one["id"]: one for one in yaml.load(FILE.read_text(), yaml.CSafeLoader)["clauses"]}


def test_each_names_clauses_and_profiles_that_exist() -> None:
    check_each(MUTANTS.values(), _is_described)


def _is_described(mutant: ServerMutant) -> None:
    profiles = mutant.profiles or (tuple(CLAUSES[mutant.clauses[0]]["profiles"]) if mutant.clauses else tuple(PROFILES))

    assert set(mutant.clauses) <= set(CLAUSES)
    assert len(set(mutant.clauses)) == len(mutant.clauses)
    assert mutant.description.endswith(".")
    assert mutant.is_legal == mutant.name.startswith("legal-")
    assert set(profiles) <= set(PROFILES)


def test_whatever_one_does_it_does_not_fall_over() -> None:
    check_each(MUTANTS.values(), _is_talked_to)


def _is_talked_to(mutant: ServerMutant) -> None:
    """What a mutant raises would say nothing of a suite: no server of anybody else's does it."""
    profile = next(iter(mutant.profiles), "doc")
    server = Server(profile, mutant=mutant.name)
    encode = server.codec.encode
    line, other = server.line(), server.line()
    queue = {"id": b"q", "target": b"ch", "headers": rows(Queue_Id="1"), "pending_response": 1}
    line.session.data_received(encode(Protocol()) + encode(hello("me", "bob", "worker")))
    other.session.data_received(encode(Protocol()) + encode(hello("", "bob")))
    for message in (
        CreateQueue(payload=b'{"Status":3,"RequestAcknowledge":true}', **queue),
        Subscribe(target=b"MessageProduced", content_type=1, headers=rows(Channel_Name="ch", Queue_Id="1")),
        Join(id=b"j", target=b"ch", pending_ack=1),
        produce(b"x", pending_ack=1),
        produce(b"y", headers=rows(cc="ch;1;z")),
        pull("5"),
        pull("0", number=9),
        SendDirect(id=b"d", target=b"@name:bob", pending_response=1),
        Leave(target=b"ch"),
        Terminate(),
    ):
        line.session.data_received(encode(message))
        server.clock.advance(0)
    server.service.close()
