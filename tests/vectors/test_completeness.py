"""The derived vectors have every message and every reply that a request may get, at every width; and they are small."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from wireproof.conformance.report.vector_store import vectors_of
from wireproof.conformance.suite.documents import vectors_root
from wireproof.protocols import protocol, protocol_names

COMBINATIONS = [
    (name, profile.name, variant)
    for name in protocol_names()
    for profile in protocol(name).profiles.values()
    for variant in profile.variants
]


@cache
def frames(name: str, profile: str, variant: str) -> list[dict[str, Any]]:
    return [frame for document in vectors_of(name, profile, variant) for frame in document["frames"]]


@pytest.mark.parametrize(("name", "profile", "variant"), COMBINATIONS)
def test_every_message_has_a_valid_frame(name: str, profile: str, variant: str) -> None:
    there = {frame["message"]["name"] for frame in frames(name, profile, variant) if frame["result"] == "valid"}

    assert protocol(name).profiles[profile].messages.keys() <= there


@pytest.mark.parametrize(("name", "profile", "variant"), COMBINATIONS)
def test_every_reply_of_every_request_has_a_valid_frame(name: str, profile: str, variant: str) -> None:
    replies = protocol(name).profiles[profile].replies
    wanted = {(request.NAME, reply.NAME) for request, answers in replies.items() for reply in answers}
    there = {
        (frame["reply_to"]["message"]["name"], frame["message"]["name"])
        for frame in frames(name, profile, variant)
        if frame["result"] == "valid" and "reply_to" in frame
    }

    assert wanted <= there


@pytest.mark.parametrize(("name", "profile", "variant"), COMBINATIONS)
def test_both_directions_have_invalid_frames_with_their_error(name: str, profile: str, variant: str) -> None:
    wrong = [frame for frame in frames(name, profile, variant) if frame["result"] == "invalid"]

    assert {frame["direction"] for frame in wrong} >= {"request", "reply"}
    assert all(frame["error"] for frame in wrong)


def test_derived_vectors_stay_small_enough_for_a_checkout() -> None:
    assert sum(file.stat().st_size for file in vectors_root().glob("*/derived/*.json")) < 20_000_000
