"""`wireproof mutant --list` in an installation without extras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from click.testing import CliRunner

from wireproof.cli import command
from wireproof.conformance.commands import mutant
from wireproof.mutants.registry import server_mutants
from wireproof.protocols.registry import MissingExtraError


@pytest.fixture
def _without_psrt(monkeypatch: pytest.MonkeyPatch) -> None:
    def known(name: str) -> Mapping[str, Any]:
        if name == "psrt":
            raise MissingExtraError("psrt", "a_package_that_nobody_has", "psrt")
        return server_mutants(name)

    monkeypatch.setattr(mutant, "server_mutants", known)


@pytest.mark.usefixtures("_without_psrt")
def test_protocols_whose_extra_is_missing_are_left_out_of_the_list_and_named() -> None:
    listed = CliRunner().invoke(command, ["mutant", "--list"])

    assert listed.exit_code == 0, listed.output
    assert "left out: psrt needs the package 'a_package_that_nobody_has'" in listed.output
    assert "quota-low-byte" in listed.output
