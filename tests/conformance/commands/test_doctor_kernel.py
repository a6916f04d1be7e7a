"""`wireproof doctor`: the kernel's settings that decide which cases can be played here."""

from __future__ import annotations

import pytest

from wireproof.conformance.commands import doctor

LARGE = {
    "ipv4/ip_local_port_range": [32768, 60999],
    "ipv4/tcp_rmem": [4096, 131072, 33554432],
    "ipv4/tcp_wmem": [4096, 16384, 4194304],
    "core/somaxconn": [4096],
}


def found(settings: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch) -> dict[str, doctor.Finding]:
    monkeypatch.setattr(doctor, "_kernel", lambda name: settings.get(name, []))
    return {one.name: one for one in (doctor._ports(), doctor._buffers(), doctor._backlog())}


def test_usual_settings_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = found(LARGE, monkeypatch)

    assert {one.state for one in reported.values()} == {doctor.GOOD}
    assert reported["own ports"].detail.startswith("28232 (32768 to 60999)")
    assert reported["TCP buffers"].detail == "128 KiB to receive, 4096 KiB to send at most"


@pytest.mark.parametrize(
    ("name", "value", "where", "how"),
    [
        ("ipv4/ip_local_port_range", [40000, 41000], "own ports", "net.ipv4.ip_local_port_range"),
        ("ipv4/tcp_wmem", [4096, 16384, 1 << 30], "TCP buffers", "net.ipv4.tcp_wmem"),
        ("core/somaxconn", [16], "backlog", "net.core.somaxconn"),
    ],
)
def test_what_is_too_small_or_too_large_names_its_setting(
    name: str, value: list[int], where: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = found({**LARGE, name: value}, monkeypatch)[where]

    assert (one.state, how in one.detail) == (doctor.WORSE, True)


def test_another_system_has_no_such_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {one.state for one in found({}, monkeypatch).values()} == {doctor.GOOD}


def test_a_round_trip_is_measured() -> None:
    one = doctor._loopback()

    assert one.detail.startswith("TCP on 127.0.0.1, ")
    assert one.detail.endswith(" µs there and back")
