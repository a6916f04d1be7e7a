"""The registry names every protocol and their messages, and says what it knows when asked for something else."""

from __future__ import annotations

import pytest

from wireproof.protocols import Profile, protocol, protocol_names, registry
from wireproof.protocols.throttr.replies import PushedEvent, PushedMessage, Status
from wireproof.protocols.throttr.requests import ConnectionById, ConnectionByIndex, Insert


def test_every_protocol_that_is_named_can_be_had() -> None:
    assert [protocol(name).name for name in protocol_names()] == protocol_names()


def test_an_unknown_protocol_is_answered_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match=r"unknown protocol 'nope'; known: .*throttr"):
        protocol("nope")


def test_a_protocol_whose_packages_are_missing_is_reported_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(registry.PACKAGES, "sealed", "wireproof.protocols.sealed")
    monkeypatch.setitem(registry.NEEDS, "sealed", ("json", "no_such_package"))

    with pytest.raises(
        registry.MissingExtraError, match=r"sealed needs the package 'no_such_package'.*wireproof\[sealed"
    ):
        protocol("sealed")


@pytest.mark.parametrize(
    ("profile", "name", "message"),
    [
        ("7.1.0", "INSERT", Insert),
        ("7.1.0", "CONNECTION", ConnectionByIndex),
        ("7.3.2", "CONNECTION", ConnectionById),
        ("7.1.0", "STATUS", Status),
        ("7.1.0", PushedMessage.NAME, PushedMessage),
        ("7.3.2", PushedEvent.NAME, PushedEvent),
    ],
)
def test_a_message_is_found_by_its_name_in_a_profile(profile: str, name: str, message: type) -> None:
    assert protocol("throttr").message(profile, name) is message


def test_an_unknown_message_is_answered_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match=r"throttr 7.1.0 has no message 'EVENT'; it has .*INSERT"):
        protocol("throttr").message("7.1.0", "EVENT")


def test_a_codec_is_made_once_for_a_profile_and_a_variant() -> None:
    throttr = protocol("throttr")
    profile: Profile = throttr.profiles[throttr.default_profile]

    assert throttr.codec(profile, "uint16") is throttr.codec(profile, "uint16")
    with pytest.raises(KeyError, match="uint24"):
        throttr.codec(profile, "uint24")


def test_protocols_without_their_packages_are_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (registry.usable_protocols(), registry.left_out()) == (protocol_names(), "")

    monkeypatch.setattr(registry, "_missing", lambda name: ["bcrypt"] if name == "psrt" else [])
    assert registry.usable_protocols() == [one for one in protocol_names() if one != "psrt"]
    assert registry.left_out().startswith(" (not looked at: ")
    assert "bcrypt" in registry.left_out()
