"""The generated Lua reads what the vectors have as our own codec does, in a stub of Wireshark's API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.report.dissectors.talks import PLACES, datagrams, expected_fields, is_text, plan, talks
from wireproof.conformance.report.dissectors.lua_dissector import lua_dissector

Place = tuple[str, str, str]
STUB = (Path(__file__).parent / "wireshark.lua").read_text(encoding="utf-8")


class Wireshark:
    """Lua with the stub and one dissector."""

    def __init__(self, text: str, version: str = "lua54") -> None:
        runtime = pytest.importorskip(f"lupa.{version}").LuaRuntime(encoding=None)
        runtime.execute(STUB.encode())
        runtime.execute(text.encode())
        self._dissect = runtime.globals()[b"dissect"]
        self.reset = runtime.globals()[b"reset"]
        self.number = 0

    def packet(self, where: str, sender: str, data: bytes) -> tuple[list[Any], int, str]:
        """Dissect a packet; return the messages that are shown, how many bytes were read, the info column."""
        self.number += 1
        tree, left, info = self._dissect(where.encode(), self.number, sender == "client", data, False)
        again, _, _ = self._dissect(where.encode(), self.number, sender == "client", data, True)
        found = [item(tree[number], data) for number in range(1, len(tree) + 1)]
        assert [item(again[number], data) for number in range(1, len(again) + 1)] == found
        return found, int(left), (info or b"").decode()


def item(tree: Any, data: bytes) -> tuple[str, Any, list[Any]]:
    """Return (label, value, children) of an item."""
    children = [item(tree[number], data) for number in range(1, len(tree) + 1)]
    shown = data[tree.start : tree.stop] if tree.start is not None else b""
    value: Any = shown
    if tree.field in (b"uint64", b"int64"):
        order, signed = "little" if tree.little else "big", tree.field == b"int64"
        value = int(tree.value) if tree.value is not None else int.from_bytes(shown, order, signed=signed)
    elif tree.field in (b"string", b"framenum"):
        value = tree.value
    return tree.label.decode(), value, children


def fields(items: list[Any], names: list[str], protocol: str) -> dict[str, Any]:
    """Return the values of those fields that a message shows."""
    found: dict[str, Any] = {}
    for label, value, children in items:
        name = plain_name(label, protocol)
        if name in names:
            found[name] = [inner(one, protocol) for one in children] if ":" in label else value
    return found


def plain_name(label: str, protocol: str) -> str:
    """Return the name of a field; one that is a number elsewhere has `_raw` after it."""
    return label.removeprefix(f"{protocol}.").split(":")[0].removesuffix("_raw")


def inner(one: Any, protocol: str) -> Any:
    label, _, children = one
    return label, {
        plain_name(name, protocol): [inner(each, protocol) for each in inside] if ":" in name else value
        for name, value, inside in children
        if not name.endswith(("_size", "_count"))
    }


@pytest.fixture(scope="module", params=PLACES, ids=" ".join)
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.param
    return found


def packets(shark: Wireshark, where: str, chunks: list[tuple[str, bytes]]) -> Iterator[tuple[str, Any]]:
    """Yield (sender, message) of a stream; what a packet leaves comes again before the next one of its side."""
    left = {"client": b"", "server": b""}
    for sender, data in chunks:
        whole = left[sender] + data
        found, stop, _ = shark.packet(where, sender, whole)
        left[sender] = whole[stop:]
        yield from ((sender, one) for one in found)


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.nightly)])
def test_streams_of_the_vectors_are_read_as_our_codec_reads_them(place: Place, stride: int) -> None:
    layout, number = plan(place), 0
    shark, where = Wireshark(lua_dissector(layout)), f"tcp.port {layout['port']}"
    for talk in talks(place, stride):
        shark.reset()
        found = [
            (sender, one)
            for sender, one in packets(shark, where, talk.chunks)
            if one[0].startswith(f"{layout['protocol']} ") and not is_text(layout, sender, one[0].split(" ")[1])
        ]
        ours = [(sender, one) for sender, one in talk.messages if not is_text(layout, sender, one.NAME)]
        assert sorted(one[0].split(" ")[1] for _, one in found) == sorted(one.NAME for _, one in ours), talk.name
        for side in ("client", "server"):
            mine = [one for sender, one in ours if sender == side]
            shown = [one for sender, one in found if sender == side]
            for message, (_, _, children) in zip(mine, shown, strict=True):
                wanted = {name: listed(value) for name, value in expected_fields(message, layout).items()}
                given = {**{key: [] for key in wanted}, **fields(children, list(wanted), layout["protocol"])}
                assert given == wanted, talk.name
                number += 1
    assert number > 100


def test_a_stream_is_read_the_same_however_it_is_cut(place: Place) -> None:
    layout, number = plan(place), 0
    shark, where = Wireshark(lua_dissector(layout)), f"tcp.port {layout['port']}"
    for talk in [one for one in talks(place, 15) if sum(len(data) for _, data in one.chunks) < 400]:
        shark.reset()
        cut = [(sender, data[at : at + 1]) for sender, data in talk.chunks for at in range(len(data))]
        names = [(sender, one[0].split(" ")[-1]) for sender, one in packets(shark, where, cut)]
        found = [pair for pair in names if pair[1] in layout["messages"] and not is_text(layout, *pair)]
        ours = [(sender, one.NAME) for sender, one in talk.messages]
        assert found == [pair for pair in ours if not is_text(layout, *pair)], talk.name
        number += len(found)
    assert number > 30


def listed(value: Any) -> Any:
    """Return a message inside a message as a list of one, as trees have it."""
    if isinstance(value, tuple):
        return [(value[0], {name: listed(one) for name, one in value[1].items()})]
    return [listed(one)[0] if isinstance(one, tuple) else one for one in value] if isinstance(value, list) else value


def test_datagrams_of_the_vectors_are_read(place: Place) -> None:
    layout = plan(place)
    shark = Wireshark(lua_dissector(layout))
    for sender, data, message in datagrams(place):
        ((label, _, children),), _, info = shark.packet(f"udp.port {layout['port']}", sender, data)
        wanted = expected_fields(message, layout)
        assert (label, info) == (f"{layout['protocol']} {message.NAME}", message.NAME)
        assert fields(children, list(wanted), layout["protocol"]) == wanted


@pytest.mark.parametrize("version", ["lua51", "lua52", "lua53", "lua54"])
def test_it_runs_in_every_lua_that_wireshark_had(version: str) -> None:
    shark = Wireshark(lua_dissector(plan(("throttr", "7.3.2", "uint16"))), version)
    asked = b"\x01\x07\x00\x04\x3c\x00\x01k"

    found, left, info = shark.packet("tcp.port 9000", "client", asked + b"\x02\x05k")
    answered, _, shown = shark.packet("tcp.port 9000", "server", b"\x01")

    assert (len(found), left, info) == (1, len(asked), "INSERT")
    assert dict((name, value) for name, value, _ in found[0][2])["throttr.quota"] == 7
    assert shown == "STATUS"
    assert dict((name, value) for name, value, _ in answered[0][2])["throttr.request_in"] == 1


def test_bytes_that_are_no_message_are_reported() -> None:
    layout = plan(("throttr", "7.3.2", "uint16"))
    found, _, info = Wireshark(lua_dissector(layout)).packet("tcp.port 9000", "client", b"\xff\xff")

    assert found == [("throttr.unread", b"no request begins so", [])]
    assert info == " [no request begins so]"
