"""The generated Lua in Wireshark itself, where tshark is installed: the vectors are read as our codec reads them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.conformance.report.dissectors.talks import PLACES, Talk, expected_fields, is_text, plan, talks
from wireproof.conformance.report.dissectors.lua_dissector import lua_dissector

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
Place = tuple[str, str, str]
FIRST_PORT = 10_000
MAX_SEGMENT = 60_000


@pytest.mark.parametrize("streams", [20, pytest.param(400, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_tshark_reads_the_vectors_as_our_codec_does(place: Place, streams: int, tmp_path: Path) -> None:
    scapy = pytest.importorskip("scapy.all")
    layout, by_port = plan(place), {}
    packets = []
    for number, talk in zip(range(streams), talks(place, 4), strict=False):
        by_port[FIRST_PORT + number] = talk
        packets += stream(scapy, FIRST_PORT + number, layout["port"], talk)
    script, capture = tmp_path / "dissector.lua", tmp_path / "capture.pcap"
    script.write_text(lua_dissector(layout))
    scapy.wrpcap(str(capture), packets)

    found = shown(script, capture, layout)

    for port, talk in by_port.items():
        for side in ("client", "server"):
            ours = [one for sender, one in talk.messages if sender == side and not is_text(layout, side, one.NAME)]
            given = [
                one for sender, *one in found.get(port, []) if sender == side and not is_text(layout, side, one[0])
            ]
            assert [name for name, _ in given] == [one.NAME for one in ours], talk.name
            for message, (_, fields) in zip(ours, given, strict=True):
                wanted = {
                    name: value for name, value in expected_fields(message, layout).items() if isinstance(value, int)
                }
                assert wanted.items() <= fields.items(), talk.name
    assert len(by_port) >= 20


def stream(scapy: Any, port: int, server: int, talk: Talk) -> list[Any]:
    """Return the packets of a TCP connection: its handshake, and a segment a chunk."""
    ports, addresses = {"client": port, "server": server}, {"client": "10.0.0.1", "server": "10.0.0.2"}
    place = {"client": 1, "server": 1}
    other = {"client": "server", "server": "client"}

    def packet(sender: str, flags: str, data: bytes = b"", sequence: int | None = None) -> Any:
        to = other[sender]
        head = scapy.Ether() / scapy.IP(src=addresses[sender], dst=addresses[to])
        number = place[sender] if sequence is None else sequence
        return (
            head
            / scapy.TCP(sport=ports[sender], dport=ports[to], flags=flags, seq=number, ack=place[to], window=65_535)
            / scapy.Raw(data)
        )

    made = [packet("client", "S", sequence=0), packet("server", "SA", sequence=0), packet("client", "A")]
    for sender, data in talk.chunks:
        for start in range(0, len(data), MAX_SEGMENT):
            part = data[start : start + MAX_SEGMENT]
            made.append(packet(sender, "PA", part))
            place[sender] += len(part)
    return made


def shown(script: Path, capture: Path, layout: dict[str, Any]) -> dict[int, list[tuple[str, str, Any]]]:
    """Return what tshark shows: by the client's port its messages as (sender, name, numbers by field)."""
    words = ["tshark", "-X", f"lua_script:{script}", "-r", str(capture), "-T", "pdml"]
    done = subprocess.run(words, capture_output=True, timeout=100, check=True)
    assert b"Lua" not in done.stderr.replace(b"lua_script", b""), done.stderr.decode()
    found: dict[int, list[tuple[str, str, Any]]] = {}
    protocol = layout["protocol"]
    for packet in ElementTree.fromstring(done.stdout):
        values = {one.get("name"): one.get("show", "") for one in packet.iter("field")}
        assert "_ws.lua.error" not in values
        source, to = int(values["tcp.srcport"]), int(values["tcp.dstport"])
        sender, port = ("client", source) if source >= FIRST_PORT else ("server", to)
        for tree in packet.iter("proto"):
            label = tree.get("showname", "").split(" ")
            if tree.get("name") == protocol and label[0] == protocol and len(label) > 1:
                found.setdefault(port, []).append((sender, label[1], fields_of(tree, protocol)))
    return found


def fields_of(tree: ElementTree.Element, protocol: str) -> dict[str, Any]:
    """Return the whole numbers that a message shows, by field."""
    shown = {}
    for field in tree.findall("field"):
        name = field.get("name", "").removeprefix(f"{protocol}.")
        value = field.get("show", "")
        if value.lstrip("-").isdigit():
            shown[name] = int(value)
    return shown
