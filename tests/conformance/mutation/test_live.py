"""Mutants that only a process shows: with what the command that plays them is told."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import pytest

from wireproof.conformance.mutation import live
from wireproof.conformance.suite.cases import load_suite
from wireproof.mutants.registry import server_mutants


def test_cases_that_need_another_listener_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[Sequence[str]] = []

    def asked(command: Sequence[str], **options: object) -> None:
        commands.append(command)
        raise subprocess.TimeoutExpired(command, live.LONGEST)

    monkeypatch.setattr(subprocess, "run", asked)
    found = live.run_live(
        load_suite("namechan"), "1", "standard", server_mutants("namechan")["subscriptions-stay-in-memory"]
    )

    assert [one for one in commands[0] if one.startswith("--listener=hook=unix://")]
    assert found.error == f"the suite took more than {live.LONGEST} s"
