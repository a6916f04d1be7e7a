"""Servers of our own are set up as the cases of their protocol say."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from conformance import ours
from conformance.cases import CaseError
from conformance.documents import vectors_root
from reference_server import registry
from reference_server.certificates import self_signed
from reference_server.clock import VirtualClock


@pytest.fixture(autouse=True)
def _served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.SERVICES, "psrt", "reference_server.psrt")
    monkeypatch.setitem(registry.PACKAGES, "psrt", "protocols.psrt")
    ours.options.cache_clear()
    ours._document.cache_clear()


def test_a_protocol_without_parameters_has_no_options() -> None:
    assert ours.options("throttr") == {}
    assert ours.features("throttr") == frozenset()


def test_limits_come_from_the_parameters_and_files_lie_beside() -> None:
    found = ours.options("psrt")

    assert found["max_topic_depth"] == 3
    assert Path(found["acl"]) == vectors_root() / "psrt" / "accounts" / "acl"
    assert {"udp", "tls"} <= ours.features("psrt")


def test_such_a_server_is_made() -> None:
    service = ours.service("psrt", profile="1", variant="standard", clock=VirtualClock())
    service.close()


def test_the_command_line_says_the_same(tmp_path: Path) -> None:
    words = ours.serving_arguments("psrt", profile="1", variant="standard", scratch=tmp_path)

    assert words[:5] == ["psrt", "--profile", "1", "--variant", "standard"]
    assert "--udp" in words
    assert words[words.index("--max-pub-size") + 1] == "200"
    assert Path(words[words.index("--tls-key") + 1]).stat().st_mode & 0o777 == 0o600
    assert ours.serving_arguments("throttr", profile="7.1.0", variant="uint8", scratch=tmp_path) == [
        *("throttr", "--profile", "7.1.0", "--variant", "uint8")
    ]


def test_an_option_that_the_server_does_not_have_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "_document", lambda name: {"options": {"colour": "red"}})
    with pytest.raises(CaseError, match="throttr: its server has no option 'colour'; it has none"):
        ours.options("throttr")


def test_a_certificate_is_trusted_as_its_own_authority(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path / "new")
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)

    assert ssl.create_default_context(cafile=str(certificate)).get_ca_certs()


def test_a_switch_is_a_flag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ours, "options", lambda name: {"anonymous": False, "replication": True})
    words = ours.serving_arguments("psrt", profile="1", variant="standard", scratch=tmp_path)

    assert words[5:7] == ["--no-anonymous", "--replication"]
