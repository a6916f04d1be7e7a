"""The generated scapy layer reads what the vectors have as our own codec does, and writes it again."""

from __future__ import annotations

import types
from typing import Any

import pytest

from tests.conformance.report.dissectors.talks import PLACES, datagrams, expected_fields, is_text, plan, talks
from wireproof.conformance.report.dissectors.scapy_layer import scapy_layer

pytest.importorskip("scapy")
Place = tuple[str, str, str]


@pytest.fixture(scope="module", params=PLACES, ids=" ".join)
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.param
    return found


@pytest.fixture(scope="module")
def layer(place: Place) -> Any:
    module = types.ModuleType("layer")
    exec(compile(scapy_layer(plan(place)), "layer.py", "exec"), module.__dict__)
    return module


def read(packet: Any, layout: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a packet as plain values."""
    fields = [field for field in layout["messages"][packet.NAME]["fields"] if field[1] != "const"]
    return {name: value(packet.getfieldval(named(name)), layout) for name, *_ in fields}


def named(name: str) -> str:
    """Return the name of a field in scapy: those that every packet has already get a "_"."""
    from scapy.packet import Packet

    return f"{name}_" if hasattr(Packet, name) else name


def value(found: Any, layout: dict[str, Any]) -> Any:
    if isinstance(found, list):
        return [value(one, layout) for one in found]
    return (found.NAME, read(found, layout)) if hasattr(found, "NAME") else found


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.nightly)])
def test_streams_of_the_vectors_are_read_as_our_codec_reads_them(place: Place, layer: Any, stride: int) -> None:
    layout, number = plan(place), 0
    for talk in talks(place, stride):
        conversation = layer.Conversation()
        packets = [one for sender, data in talk.chunks for one in conversation.feed(sender, data)]
        ours = [(sender, one) for sender, one in talk.messages if not is_text(layout, sender, one.NAME)]
        theirs = [one for one in packets if hasattr(one, "NAME") and not layout["messages"][one.NAME].get("text")]
        assert [one.NAME for one in theirs] == [one.NAME for _, one in ours], talk.name
        for packet, (sender, message) in zip(theirs, ours, strict=True):
            fields = read(packet, layout)
            assert (packet.sender, fields) == (sender, expected_fields(message, layout)), talk.name
            number += 1
    assert number > 100


def test_a_stream_is_read_the_same_however_it_is_cut(place: Place, layer: Any) -> None:
    layout, number = plan(place), 0
    for talk in [one for one in talks(place, 15) if sum(len(data) for _, data in one.chunks) < 400]:
        conversation = layer.Conversation()
        cut = [(sender, data[at : at + 1]) for sender, data in talk.chunks for at in range(len(data))]
        packets = [one for sender, data in cut for one in conversation.feed(sender, data)]
        found = [one.NAME for one in packets if hasattr(one, "NAME") and not layout["messages"][one.NAME].get("text")]
        assert found == [one.NAME for sender, one in talk.messages if not is_text(layout, sender, one.NAME)], talk.name
        number += len(found)
    assert number > 30


def test_datagrams_of_the_vectors_are_read(place: Place, layer: Any) -> None:
    found = list(datagrams(place))
    assert bool(found) == any(link["transport"] == "datagram" for link in plan(place)["links"].values())
    layout = plan(place)
    for sender, data, message in found:
        fields = read(packet := layer.datagram(sender, data), layout)
        assert (packet.NAME, fields) == (message.NAME, expected_fields(message, layout))


def test_what_is_read_can_be_built_from_its_fields(place: Place, layer: Any) -> None:
    """Sizes, leads and flags are filled in."""
    number = 0
    for talk in talks(place, 9):
        conversation = layer.Conversation()
        for packet in [one for sender, data in talk.chunks for one in conversation.feed(sender, data)]:
            layout = plan(place)["messages"].get(getattr(packet, "NAME", ""), {"fields": [[0, "nested"]]})
            if any(field[1] == "nested" for field in layout["fields"]) or ("lead" in packet.fields and not packet.lead):
                continue
            names = [named(field[0]) for field in layout["fields"]]
            again = type(packet)(**{name: packet.getfieldval(name) for name in names})
            assert read(type(packet)(bytes(again)), plan(place)) == read(packet, plan(place)), talk.name
            # a size in a longer form than it needs is written in the shortest
            number += bytes(again) == packet.original
    assert number > 30


def test_it_says_what_it_does_not_read(place: Place) -> None:
    for sentence in plan(place)["left_out"]:
        assert f"Not read: {sentence}." in scapy_layer(plan(place))
