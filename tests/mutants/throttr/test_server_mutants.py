"""Deviations: unique, told, tied to clauses that exist, and each one a server that can be made."""

from __future__ import annotations

import pytest

from tests.mutants.each import check_each
from wireproof.conformance.suite.cases import load_suite
from wireproof.mutants.mutant import Mutant
from wireproof.mutants.registry import demonstration_mutants, server_mutants, server_patch
from wireproof.mutants.throttr.server import MUTANTS, patches
from wireproof.protocols import protocol
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import Codec
from wireproof.protocols.throttr.replies import ListFragment, ListReply, ListRow, QueryReply
from wireproof.protocols.throttr.requests import ConnectionById, Event, Insert, List, Publish, Query, Subscribe
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Limits, Peer
from wireproof.reference_server.throttr.rules import RULES
from wireproof.reference_server.throttr.state import State

CLAUSES = load_suite("throttr").clauses
PROFILES = protocol("throttr").profiles
V710: Profile = PROFILES["7.1.0"]


def test_each_names_clauses_profiles_and_variants_that_exist_and_can_be_served() -> None:
    check_each(MUTANTS.values(), _is_described)


def _is_described(mutant: Mutant) -> None:
    profiles = mutant.profiles or (tuple(CLAUSES[mutant.clauses[0]].levels) if mutant.clauses else tuple(PROFILES))

    assert set(mutant.clauses) <= set(CLAUSES)
    assert mutant.description.endswith(".")
    assert set(mutant.variants) <= set(V710.variants)
    for profile in profiles:
        assert all(profile in CLAUSES[one].levels for one in mutant.clauses[:1])
        variant = (mutant.variants or tuple(V710.variants))[0]
        create_service("throttr", profile=profile, variant=variant, clock=VirtualClock(), patch=mutant).close()


def test_the_demonstration_shows_faults_and_no_variety() -> None:
    assert [server_mutants("throttr")[name].is_legal for name in demonstration_mutants("throttr")] == [False, False]


def test_an_unknown_fault_is_refused_with_those_like_it() -> None:
    with pytest.raises(ValueError, match="unknown throttr mutant 'quota-low-bite': did you mean quota-low-byte"):
        create_service(
            "throttr",
            profile="7.1.0",
            variant="uint8",
            clock=VirtualClock(),
            patch=server_patch("throttr", "quota-low-bite"),
        )


@pytest.mark.parametrize(
    ("patch", "wire"),
    [
        (patches.lead(QueryReply, 0x21), "21 3412 02 0500"),
        (patches.order(QueryReply, "ttl", "ttl_type", "quota"), "01 0500 02 3412"),
        (patches.byte_order(">"), "01 1234 02 0005"),
    ],
)
def test_a_wire_patch_changes_the_layout(patch: patches.ProfilePatch, wire: str) -> None:
    codec = protocol("throttr").codec(patch(V710), "uint16")

    assert codec.encode(QueryReply(0x1234, 2, 5)) == bytes.fromhex(wire)


def test_a_request_in_another_order_is_read_by_its_names() -> None:
    codec = protocol("throttr").codec(patches.order(Insert, "ttl", "ttl_type", "quota", "key")(V710), "uint16")
    request = Insert(0x1234, 2, 5, b"k")

    assert codec.encode(request) == bytes.fromhex("01 0500 02 3412 01 6b")
    assert codec.decode_request(codec.encode(request), 0, 8, FrameContext(99)) == (request, 8)


def test_bytes_are_swapped_within_their_size() -> None:
    assert patches.swapped(0x0102, 2) == 0x0201


def test_a_lead_may_be_none_or_several_bytes() -> None:
    assert protocol("throttr").codec(patches.lead(QueryReply)(V710), "uint8").encode(QueryReply(1, 2, 3)) == b"\1\2\3"
    assert protocol("throttr").codec(patches.lead(List, 7, 9)(V710), "uint8").encode(List()) == b"\7\x09"


@pytest.mark.parametrize(
    ("patch", "fragments"),
    [
        (patches.with_rows(List, lambda rows, ask: rows[::-1]), [[b"d", b"c", b"b"], [b"a"]]),
        (patches.with_rows(List, lambda rows, ask: rows[:1]), [[b"a"]]),
        (patches.with_rows(List, lambda rows, ask: ()), []),
        (patches.with_rows(List, size=2), [[b"a", b"b"], [b"c", b"d"]]),
    ],
)
def test_rows_are_changed_and_cut_again(patch: patches.HandlerPatch, fragments: list[list[bytes]]) -> None:
    state = State(V710, "uint8", VirtualClock(), lambda: bytes(16), Limits(), {}, RULES["7.1.0"])
    rows = [ListRow(name, 0, 4, 1, 1) for name in (b"a", b"b", b"c", b"d")]
    right = ListReply((ListFragment(1, tuple(rows[:3])), ListFragment(2, tuple(rows[3:]))))
    answer = patch({List: lambda request, session, now: state.codec.encode(right)}, state)[List]

    reply, _ = state.codec.replies[List](answer(List(), None, 0), 0, 1 << 20, FrameContext(1 << 20))  # type: ignore[arg-type]

    assert [[row.key for row in one.rows] for one in reply.fragments] == fragments
    assert [one.fragment for one in reply.fragments] == list(range(1, len(fragments) + 1))


def test_late_pushes_hold_up_no_answer() -> None:
    clock = VirtualClock()
    service = create_service(
        "throttr", profile="7.1.0", variant="uint16", clock=clock, patch=server_patch("throttr", "legal-pushes-late")
    )
    codec, printed = Codec.of(PROFILES["7.1.0"], "uint16"), list[bytes]()
    subscriber = service.connect(Peer(), printed.append, lambda: None)
    subscriber.data_received(codec.encode(Subscribe(b"c")))
    publisher = service.connect(Peer(), lambda data: None, lambda: None)
    publisher.data_received(codec.encode(Publish(b"c", b"x")))

    subscriber.data_received(codec.encode(Query(b"k")))
    assert printed == [b"\1", b"\0"]

    clock.advance(20_000_000)
    assert printed[2:] == [b"\3\1\0x"]


def test_an_edited_answer_is_the_same_inside_an_event() -> None:
    clock, sent = VirtualClock(), list[bytes]()
    mutant = server_patch("throttr", "legal-instants-in-seconds")
    service = create_service("throttr", profile="7.3.2", variant="uint16", clock=clock, patch=mutant)
    codec = Codec.of(PROFILES["7.3.2"], "uint16")
    asker, other = (service.connect(Peer(), write, lambda: None) for write in (sent.append, lambda data: None))
    asks = codec.encode(ConnectionById(other.id))

    asker.data_received(asks)
    asker.data_received(codec.encode(Event(b"c", asks)))

    assert sent[1] == b"\1" + sent[0]
