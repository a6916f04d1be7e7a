"""Every request is visited in its role, with names that nobody else has."""

from __future__ import annotations

import pytest

from wireproof.conformance.interop.scenario import Roles, ids_in, marked, request_of, scenes
from wireproof.conformance.sdk.samples import Samples
from wireproof.protocols.plain import Plain
from wireproof.protocols.registry import protocol

COMBINATIONS = [
    (name, profile.name, variant)
    for name in ("throttr",)
    for profile in protocol(name).profiles.values()
    for variant in profile.variants
]


@pytest.mark.parametrize(("name", "profile", "variant"), COMBINATIONS)
def test_every_request_is_visited_and_fits_on_the_wire(name: str, profile: str, variant: str) -> None:
    plain = Plain(protocol(name), profile, variant)
    codec, samples = plain.protocol.codec(plain.profile, variant), Samples(plain)
    width = max(plain.variant.sizes.values())

    found = scenes(plain, "mark", (1 << (8 * width)) - 2)

    for scene in found:
        for step in scene.steps:
            data = codec.encode(request_of(samples, plain, step))
            names = [value for value in step.change.values() if isinstance(value, bytes)]
            assert all(marked("mark", scene.name) in data for one in names if one.startswith(b"wp-"))
    assert {step.operation for scene in found for step in scene.steps} == set(plain.operations)


def test_a_request_has_the_role_that_its_fields_give_it() -> None:
    roles = Roles(Plain(protocol("throttr"), "7.3.2", "uint16"))

    assert roles.makers == ["insert", "set"]
    assert [(one, maker) for one in roles.readers for maker in roles.makers if roles.reads(one, maker)] == [
        ("query", "insert"),
        ("get", "set"),
    ]
    assert (roles.describers, roles.changers, roles.removers) == (["stat"], ["update"], ["purge"])
    assert (roles.publishers, roles.leavers, roles.onlookers) == (["publish"], ["unsubscribe"], ["channel"])
    assert (roles.carriers, roles.by_id) == (["event"], ["connection"])


def test_a_counter_is_changed_in_everything_and_a_buffer_in_its_time_only() -> None:
    roles = Roles(Plain(protocol("throttr"), "7.1.0", "uint16"))

    of = {maker: [fields["attribute"].name for fields in roles.changes("update", maker)] for maker in roles.makers}
    assert of == {"insert": ["QUOTA"] * 3 + ["TTL"] * 3, "set": ["TTL"] * 3}


def test_two_connections_take_part_where_something_is_published() -> None:
    found = scenes(Plain(protocol("throttr"), "7.1.0", "uint16"), "mark", 100)

    assert {scene.name: scene.connections for scene in found}["channel"] == ["a", "b"]
    assert all(scene.connections == ["a"] for scene in found if scene.name != "channel")


def test_ids_are_found_by_their_layout() -> None:
    plain = Plain(protocol("throttr"), "7.1.0", "uint16")

    reply = Samples(plain).of(plain.profile.messages["WHOAMI_REPLY"])

    assert ids_in(plain, reply) == {"id": bytes(16)}
