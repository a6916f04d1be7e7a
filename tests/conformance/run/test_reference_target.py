"""Servers of our own are set up as the cases of their protocol say."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from wireproof.conformance.run import reference_target
from wireproof.conformance.suite import declared
from wireproof.conformance.suite.cases import CaseError
from wireproof.conformance.suite.documents import vectors_root
from wireproof.reference_server import registry
from wireproof.reference_server.certificates import self_signed
from wireproof.reference_server.clock import VirtualClock


@pytest.fixture(autouse=True)
def _served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.SERVICES, "psrt", "wireproof.reference_server.psrt")
    monkeypatch.setitem(registry.PACKAGES, "psrt", "wireproof.protocols.psrt")
    reference_target.options.cache_clear()
    declared.server_document.cache_clear()
    declared.server_options.cache_clear()


def test_a_protocol_without_parameters_has_no_options() -> None:
    assert reference_target.options("throttr") == {}
    assert reference_target.features("throttr") == {"direct"}


def test_limits_come_from_the_parameters_and_files_lie_beside() -> None:
    found = reference_target.options("psrt")

    assert found["max_topic_depth"] == 3
    assert Path(found["acl"]) == vectors_root() / "psrt" / "accounts" / "acl"
    assert {"udp", "tls"} <= reference_target.features("psrt")


def test_such_a_server_is_made() -> None:
    service = reference_target.service("psrt", profile="1", variant="standard", clock=VirtualClock())
    service.close()


def test_the_command_line_says_the_same(tmp_path: Path) -> None:
    words = reference_target.serving_arguments("psrt", profile="1", variant="standard", scratch=tmp_path)

    assert words[:5] == ["psrt", "--profile", "1", "--variant", "standard"]
    assert "--udp" in words
    assert words[words.index("--max-pub-size") + 1] == "200"
    assert Path(words[words.index("--tls-key") + 1]).stat().st_mode & 0o777 == 0o600
    assert reference_target.serving_arguments("throttr", profile="7.1.0", variant="uint8", scratch=tmp_path) == [
        *("throttr", "--profile", "7.1.0", "--variant", "uint8")
    ]


def test_an_option_that_the_server_does_not_have_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_target, "server_options", lambda name: {"colour": "red"})
    with pytest.raises(CaseError, match="throttr: its server has no option 'colour'; it has none"):
        reference_target.options("throttr")


def test_a_certificate_is_trusted_as_its_own_authority(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path / "new")
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)

    assert ssl.create_default_context(cafile=str(certificate)).get_ca_certs()


def test_a_switch_is_a_flag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reference_target, "options", lambda name: {"anonymous": False, "replication": True})
    words = reference_target.serving_arguments("psrt", profile="1", variant="standard", scratch=tmp_path)

    assert words[5:7] == ["--no-anonymous", "--replication"]
