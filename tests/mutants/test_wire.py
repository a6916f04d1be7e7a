"""Wire mutants: derived for each protocol, tied to clauses that exist, and servers whose bytes differ as told."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Annotated, Any, ClassVar

import pytest

from wireproof.conformance.suite.cases import load_suite
from wireproof.mutants.registry import server_mutants, server_patch
from wireproof.mutants.wire import wire_mutants
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols import registry as protocols
from wireproof.protocols.fields import U8, U16, Blob
from wireproof.protocols.messages import Message, Reply, Request
from wireproof.protocols.profile import Profile, Variant
from wireproof.protocols.throttr.requests import Insert, List, Query, Set
from wireproof.protocols.tmqp.replies import Confirmation, Response
from wireproof.protocols.tmqp.requests import Join
from wireproof.reference_server import registry as servers
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.patch import Patch
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Peer


@pytest.mark.parametrize("name", protocol_names())
def test_each_names_clauses_profiles_and_variants_that_exist(name: str) -> None:
    clauses, profiles = load_suite(name).clauses, protocol(name).profiles

    found = wire_mutants(name)

    assert found
    for mutant_name, mutant in found.items():
        assert mutant_name == mutant.name
        assert mutant.description.endswith(".")
        assert mutant.clauses
        assert set(mutant.clauses) <= set(clauses)
        assert set(mutant.profiles) <= set(profiles)
        assert set(mutant.variants) <= {one for profile in profiles.values() for one in profile.variants}
        assert server_patch(name, mutant_name) is mutant


@pytest.mark.parametrize("name", protocol_names())
def test_a_run_tries_every_field_and_every_operator(name: str) -> None:
    every, tried = wire_mutants(name), [one for one in server_mutants(name) if one.startswith("wire:")]

    assert {one.rpartition(":")[0] for one in tried} == {one.rpartition(":")[0] for one in every}
    assert len(tried) < len(every)


def test_a_field_that_no_handler_reads_has_no_mutants_of_its_value() -> None:
    found = {one.rpartition(":")[2] for one in wire_mutants("tmqp") if one.startswith("wire:JOIN.payload:")}

    assert found == {"wider"}
    assert not [one for one in wire_mutants("tmqp") if one.startswith("wire:JOIN.ttl:") and not one.endswith(":moved")]
    assert "wire:RESPONSE.source:padded" in wire_mutants("tmqp")
    assert "wire:RESPONSE.source:cut" not in wire_mutants("tmqp")


def test_rare_values_of_a_field_that_messages_inherit_are_tried_in_one_of_them() -> None:
    tried = [one for one in server_mutants("tmqp") if one.startswith("wire:")]

    for operator in ("first-62", "size-of-7-bits", "one-is-none"):
        assert len([one for one in wire_mutants("tmqp") if one.endswith(f".id:{operator}")]) > 10
        assert len([one for one in tried if one.endswith(f".id:{operator}")]) == 2
    assert len([one for one in tried if one.endswith(":first-62") and ".payload" in one]) == 2


def test_each_of_several_answers_is_changed() -> None:
    mutant = wire_mutants("tmqp")["wire:RESPONSE.id:reversed"]
    codec = protocol("tmqp").codec(protocol("tmqp").profiles["doc"], "standard")
    answers = (Response(id=b"ab"), Confirmation(id=b"ab"))
    state = SimpleNamespace(codec=codec)

    handler = mutant.handlers({Join: lambda asked, asker, now: answers}, state)[Join]  # type: ignore[attr-defined]

    assert handler(Join(), None, 0) == (codec.encode(Response(id=b"ba")), answers[1])


@pytest.mark.parametrize("name", protocol_names())
def test_each_can_be_served_where_it_differs(name: str) -> None:
    for mutant in wire_mutants(name).values():
        profile = protocol(name).profiles[mutant.profiles[0]]
        variant = (mutant.variants or tuple(profile.variants))[0]
        create_service(name, profile=profile.name, variant=variant, clock=VirtualClock(), patch=mutant).close()


@pytest.mark.parametrize(
    ("mutant", "answers"),
    [
        ("", "01 01 01 3412020500 01 0205000200 7879"),
        ("QUERY_REPLY.quota:byte-order", "01 01 01 1234020500 01 0205000200 7879"),
        ("QUERY_REPLY.quota:low-byte", "01 01 01 3400020500 01 0205000200 7879"),
        ("QUERY_REPLY.quota:low-bits", "01 01 01 3412020500 01 0205000200 7879"),
        ("QUERY_REPLY.quota:off-by-one", "01 01 01 3512020500 01 0205000200 7879"),
        ("QUERY_REPLY.quota:zero", "01 01 01 0000020500 01 0205000200 7879"),
        ("QUERY_REPLY.quota:swapped", "01 01 01 0500023412 01 0205000200 7879"),
        ("QUERY_REPLY.quota:wider", "01 01 01 34120000020500 01 0205000200 7879"),
        ("QUERY_REPLY.quota:narrower", "01 01 01 34020500 01 0205000200 7879"),
        ("QUERY_REPLY.quota:left-out", "01 01 01 020500 01 0205000200 7879"),
        ("QUERY_REPLY.lead:another", "01 01 61 3412020500 01 0205000200 7879"),
        ("QUERY.status:inverted", "01 01 00 3412020500 01 0205000200 7879"),
        ("GET_REPLY.value:cut", "01 01 01 3412020500 01 0205000100 78"),
        ("GET_REPLY.value:padded", "01 01 01 3412020500 01 0205000300 787900"),
        ("GET_REPLY.value:reversed", "01 01 01 3412020500 01 0205000200 7978"),
        ("GET_REPLY.value:zeros", "01 01 01 3412020500 01 0205000200 0000"),
        ("GET_REPLY.value:narrower", "01 01 01 3412020500 01 02050002 7879"),
        ("QUERY_REPLY.quota:moved", "01 01 01 0234120500 01 0205000200 7879"),
        ("QUERY_REPLY.end:longer", "01 01 01 341202050000 01 0205000200 7879"),
        ("QUERY_REPLY.lead:left-out", "01 01 3412020500 01 0205000200 7879"),
        ("GET_REPLY.value:size-one-more", "01 01 01 3412020500 01 0205000300 7879"),
        ("GET_REPLY.value:size-one-less", "01 01 01 3412020500 01 0205000100 7879"),
        ("SET.value:first-62", "01 01 01 3412020500 01 0205000200 7879"),
        ("INSERT.quota:off-by-one", "01 01 01 3512020500 01 0205000200 7879"),
        ("SET.value:cut", "01 01 01 3412020500 01 0205000100 78"),
    ],
)
def test_the_bytes_differ_as_it_says(mutant: str, answers: str) -> None:
    asked = [Insert(0x1234, 2, 5, b"k"), Set(2, 5, b"b", b"xy"), Query(b"k")]

    assert _answers(mutant, asked, get=True) == bytes.fromhex(answers)


def test_a_message_breaks_the_clauses_that_are_named_for_it() -> None:
    found = wire_mutants("tmqp")["wire:DIRECT.target:wider"].clauses

    assert {"TMQP-SEND_DIRECT-2", "TMQP-TTL-2", "TMQP-FRAME-1"} <= set(found)
    assert "TMQP-PULL-2" not in found


@pytest.mark.parametrize(
    ("mutant", "listed"),
    [
        ("", "01 0100000000000000 0100000000000000 0100000000000000 01 00 02"),
        ("LIST_ROW.ttl_type:off-by-one", "01 0100000000000000 0100000000000000 0100000000000000 01 00 03"),
        ("LIST_ROW.key_type:swapped", "01 0100000000000000 0100000000000000 0100000000000000 01 02 00"),
        ("LIST_FRAGMENT.rows:row-lost", "01 0100000000000000 0100000000000000 0000000000000000"),
        ("LIST_FRAGMENT.rows:narrower", "01 0100000000000000 0100000000000000 01000000 01 00 02"),
        ("LIST_REPLY.fragments:row-lost", "01 0000000000000000"),
        ("LIST_REPLY.fragments:count-one-more", "01 0200000000000000 0100000000000000 0100000000000000 01 00 02"),
        ("LIST_FRAGMENT.rows:count-one-less", "01 0100000000000000 0100000000000000 0000000000000000 01 00 02"),
        ("LIST_ROW.key:size-one-more", "01 0100000000000000 0100000000000000 0100000000000000 02 00 02"),
    ],
)
def test_rows_of_tables_differ_too(mutant: str, listed: str) -> None:
    wanted = bytes.fromhex(listed)

    assert _answers(mutant, [Insert(1, 2, 5, b"k"), List()])[1:][: len(wanted)] == wanted


def test_a_wrong_size_or_count_is_announced_once_and_what_follows_stays() -> None:
    asked = [Insert(1, 2, 5, b"a"), Insert(1, 2, 5, b"bc"), List()]
    right, wrong = _answers("", asked), _answers("LIST_ROW.key:size-one-less", asked)

    assert [(at, *pair) for at, pair in enumerate(zip(right, wrong, strict=True)) if pair[0] != pair[1]] == [(27, 1, 0)]


def test_no_size_is_announced_that_its_field_cannot_hold() -> None:
    asked = [Insert(1, 2, 5, b"a" * 255), List()]

    assert _answers("LIST_ROW.key:size-one-more", asked) == _answers("", asked)


def test_nothing_is_announced_less_than_none() -> None:
    assert _answers("LIST_REPLY.fragments:count-one-less", [List()]) == bytes([1, *bytes(8)])


class Ask(Request, frozen=True, gc=False):
    """A request of a protocol that has no table of mutants."""

    NAME: ClassVar[str] = "ASK"
    word: Annotated[bytes, Blob(U8)]


class DriverReport(Reply, frozen=True, gc=False):
    """The reply to it."""

    NAME: ClassVar[str] = "TOLD"
    number: Annotated[int, U16]


class ToyCodec:
    """Writes the one reply of the toy."""

    def __init__(self, profile: Profile, variant: Variant) -> None:
        self.profile, self.variant = profile, variant

    def layout(self, message: type[Message]) -> Any:
        """Return how `message` lies on the wire."""
        return self.profile.layout(message, self.variant)

    def encode(self, message: DriverReport) -> bytes:
        """Return the bytes of a reply."""
        return b"\7" + message.number.to_bytes(2, "little")


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> ToyCodec:
    """A protocol with one request, one reply and a reference server, that `mutants` knows nothing of."""
    alone = Variant("alone", {})
    profile = Profile("1", "<", {"alone": alone}, {Ask: b"\5", DriverReport: b"\7"}, {Ask: (DriverReport,)})
    package, server = ModuleType("toy_protocol"), ModuleType("toy_server")
    package.PROTOCOL = SimpleNamespace(name="toy", profiles={"1": profile}, push_name="PUSH")  # type: ignore[attr-defined]
    server.Patch = Patch  # type: ignore[attr-defined]
    for module in (package, server):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(protocols.PACKAGES, "toy", "toy_protocol")
    monkeypatch.setitem(servers.SERVICES, "toy", "toy_server")
    return ToyCodec(profile, alone)


def test_a_protocol_without_a_table_has_wire_mutants(toy: ToyCodec) -> None:
    found = wire_mutants("toy")

    assert any(one.startswith("wire:TOLD.number:") for one in server_mutants("toy"))
    assert {"wire:ASK.word:cut", "wire:ASK.lead:another", "wire:TOLD.number:byte-order"} <= set(found)
    handlers: Any = found["wire:TOLD.number:byte-order"].handlers  # type: ignore[attr-defined]
    handle = handlers({Ask: lambda asked, asker, now: DriverReport(0x1234)}, SimpleNamespace(codec=toy))[Ask]
    assert handle(Ask(b"w"), None, 0) == bytes.fromhex("07 1234")


def test_a_protocol_that_nobody_serves_has_none() -> None:
    assert server_mutants("nobody's") == {}


def _answers(mutant: str, asked: list[Any], *, get: bool = False) -> bytes:
    patch: Any = server_patch("throttr", f"wire:{mutant}" if mutant else None)
    service = create_service("throttr", profile="7.3.2", variant="uint16", clock=VirtualClock(), patch=patch)
    printed: list[bytes] = []
    codec = protocol("throttr").codec(protocol("throttr").profiles["7.3.2"], "uint16")
    session = service.connect(Peer(), printed.append, lambda: None)
    for one in asked:
        session.data_received(codec.encode(one))
    if get:
        session.data_received(bytes.fromhex("06 01 62"))
    return b"".join(printed)
