"""Whatever is said in whatever pieces: nobody is accused without guilt, and nobody for what the other side did."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.conformance.conversations import conversations
from tests.conformance.traced_conversation import TracedConversation
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty
from wireproof.protocols import protocol
from wireproof.protocols.throttr import Codec

THROTTR = protocol("throttr")
EVERY = [(name, variant) for name, profile in THROTTR.profiles.items() for variant in profile.variants]
every_codec = pytest.mark.parametrize(
    "codec",
    [Codec.of(THROTTR.profiles[name], variant) for name, variant in EVERY],
    ids=["-".join(one) for one in EVERY],
)


@every_codec
@pytest.mark.parametrize("accounted", [True, False])
@given(data=st.data())
@settings(max_examples=10)
def test_nobody_is_accused_of_a_good_conversation(codec: Codec, accounted: bool, data: st.DataObject) -> None:
    report = data.draw(conversations(codec, accounted=accounted)).report()

    assert report.first is None
    assert not any(one.unframed for one in report.connections)


def spoiled(data: st.DataObject, conversation: TracedConversation, kind: Kind) -> tuple[int, bytes]:
    """Change the bytes of one event; return its number and what it held."""
    numbers = [number for number, event in enumerate(conversation.trace) if event.kind is kind]
    assume(numbers)
    number = data.draw(st.sampled_from(numbers))
    held = conversation.trace[number].data
    at = data.draw(st.integers(0, len(held) - 1))
    put = data.draw(st.binary(max_size=3))
    kept = data.draw(st.integers(at, min(len(held), at + 3)))
    sent = held[:at] + put + held[kept:]
    assume(sent != held)
    conversation.trace[number] = msgspec.structs.replace(conversation.trace[number], data=sent)
    return number, held


@every_codec
@given(data=st.data())
@settings(max_examples=10)
def test_whatever_a_target_says_the_harness_is_not_accused(codec: Codec, data: st.DataObject) -> None:
    conversation = data.draw(conversations(codec))
    spoiled(data, conversation, Kind.RECEIVED)

    assert conversation.report().guilty is not Guilty.HARNESS


@every_codec
@given(data=st.data())
@settings(max_examples=10)
def test_bytes_that_changed_on_their_way_out_are_the_harnesss(codec: Codec, data: st.DataObject) -> None:
    conversation = data.draw(conversations(codec))
    spoiled(data, conversation, Kind.SENT)

    assert conversation.report().guilty is Guilty.HARNESS


@every_codec
@given(data=st.data())
@settings(max_examples=10)
def test_a_wrong_encoder_is_the_harnesss(codec: Codec, data: st.DataObject) -> None:
    conversation = data.draw(conversations(codec))
    accounts = [intended for intended in conversation.intended.values() if intended.frames]
    assume(accounts)
    intended = data.draw(st.sampled_from(accounts))
    at = data.draw(st.integers(0, len(intended.frames) - 1))
    frame = intended.frames[at]
    wrong = data.draw(st.binary(max_size=len(frame.data) + 2))
    assume(wrong != frame.data)
    before = sum(len(one.data) for one in intended.frames[:at])
    intended.frames[at] = msgspec.structs.replace(frame, data=wrong)
    resend(conversation, intended.frames[at].event, before, len(frame.data), wrong)

    assert conversation.report().guilty is Guilty.HARNESS


def resend(conversation: TracedConversation, first: int, before: int, length: int, wrong: bytes) -> None:
    """Put other bytes in place of the frame that begins `before` bytes into its connection's stream."""
    name, passed = conversation.trace[first].connection, 0
    for number, event in enumerate(conversation.trace):
        if event.kind is not Kind.SENT or event.connection != name:
            continue
        start, stop = before - passed, before + length - passed
        passed += len(event.data)
        if 0 <= start < len(event.data):
            data = event.data[:start] + wrong + event.data[max(start, stop) :]
        elif start < 0 < stop:
            data = event.data[stop:]
        else:
            continue
        conversation.trace[number] = msgspec.structs.replace(event, data=data)
