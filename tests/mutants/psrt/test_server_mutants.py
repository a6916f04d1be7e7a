"""Deviations of PSRT's server: unique, told, tied to clauses that exist, each one a server that can be talked to."""

from __future__ import annotations

import yaml

from tests.mutants.each import check_each
from tests.places import ROOT
from tests.reference_server.psrt.simulated import (
    ANONYMOUS,
    DATA_HELLO,
    HELLO,
    OK,
    Server,
    login,
    publish,
    pushed,
    repl_data,
    replicate,
    subscribe,
    unsubscribe,
)
from wireproof.mutants.psrt.server import DEMONSTRATION, MUTANTS
from wireproof.mutants.psrt.server.mutant import ServerMutant
from wireproof.mutants.psrt.server.patches import lead, order
from wireproof.protocols.psrt import PROFILES
from wireproof.protocols.psrt.requests import Publish, Subscribe

FOLDER = ROOT / "vectors" / "psrt"
CLAUSES = {one["id"]: one for one in yaml.load((FOLDER / "clauses.yaml").read_text(), yaml.CSafeLoader)["clauses"]}
ACCOUNTS = {name: FOLDER / "accounts" / name for name in ("users", "acl", "keys")}
DATAGRAM = bytes.fromhex("eeaa01000000 00 017f 74 00 6d")
SEALED = bytes.fromhex("eeaa0100037573657231006465666768696a6b6c6d6e6f4964aa6614c92f4f81696feb6c45c1d6efdef20d71")


def test_each_is_reported_and_names_clauses_and_profiles_that_exist() -> None:
    check_each(MUTANTS.values(), _is_described)


def _is_described(mutant: ServerMutant) -> None:
    profiles = mutant.profiles or (tuple(CLAUSES[mutant.clauses[0]]["profiles"]) if mutant.clauses else tuple(PROFILES))

    assert set(mutant.clauses) <= set(CLAUSES)
    assert len(set(mutant.clauses)) == len(mutant.clauses)
    assert mutant.description.endswith(".")
    assert mutant.is_legal == mutant.name.startswith("legal-")
    assert set(profiles) <= set(PROFILES)


def test_whatever_one_does_it_does_not_fall_over() -> None:
    check_each([one for one in MUTANTS.values() if not one.live], _is_talked_to)


def _is_talked_to(mutant: ServerMutant) -> None:
    """What a mutant raises would say nothing of a suite: no server of anybody else's does it."""
    server = Server(mutant=mutant.name, **ACCOUNTS)
    control, data, other = server.line(), server.line(), server.line()

    token = control.send(HELLO, ANONYMOUS)[-32:]
    data.send(DATA_HELLO, token.ljust(32, b"\0"), b"\x02")
    control.send(subscribe("a/+", "b/#", "", "a/#/z"), publish("//a//x", b"m\0n"), unsubscribe("a/+", "x"), b"\0")
    control.send(publish("a/b/c/d/e"), subscribe("a/b/c/d/e", "c"), publish("b/"), b"\0")
    other.send(HELLO, login(b"repl", b"secret"))
    other.send(replicate("b/x"))
    other.send(repl_data(b"m"))
    server.datagram(DATAGRAM)
    server.datagram(SEALED)
    server.datagram(b"\xee")
    server.wait(2.5)
    server.line().send(HELLO, login(b"lim", b"secret"), subscribe("a/#"), publish("zz"), b"\x99")
    server.line().send(HELLO, login(b"nobody", b"x"), b"\0")
    server.line().send(HELLO, ANONYMOUS, publish("+"), b"\0")
    control.send(b"\xff", b"\0")
    control.session.eof_received()
    server.wait(10)
    server.service.close()


def test_the_demonstration_shows_faults_and_no_variety() -> None:
    assert [MUTANTS[name].is_legal for name in DEMONSTRATION] == [False, False]


def test_there_are_as_many_as_promised() -> None:
    legal = sum(one.is_legal for one in MUTANTS.values())

    assert len(MUTANTS) - legal >= 80
    assert legal >= 8


def test_what_is_not_patched_stays_correct() -> None:
    server = Server(mutant="hash-matches-its-parent")
    control, data = server.both("a/#")

    assert control.send(publish("a", b"1"), publish("b", b"2"), publish("a/b", b"3")) == OK * 3
    assert data.take() == pushed("a", b"1") + pushed("a/b", b"3")


def test_a_list_may_be_worked_through_otherwise() -> None:
    answers = {}
    for name in ("goes-on-behind-a-bad-one", "takes-the-bad-one", "rolls-back"):
        server = Server(mutant=f"subscribe-{name}")
        control = server.control()
        answers[name] = control.send(subscribe("one", "a/b/c/d/e", "two"))
        client = server.service.state.clients[control.token]  # type: ignore[attr-defined]
        answers[name] += b" ".join(sorted(text.encode() for text in server.service.state.subscriptions.of(client)))

    assert answers == {
        "goes-on-behind-a-bad-one": b"\xffone two",
        "takes-the-bad-one": b"\xffa/b/c/d/e one",
        "rolls-back": b"\xff",
    }


def test_wire_patches_change_the_layout() -> None:
    profile = PROFILES["1"]

    assert lead(Subscribe, 9)(profile).leads[Subscribe] == b"\x09"
    assert order(Publish, "topic", "priority", "message")(profile).orders[Publish][0] == "topic"
