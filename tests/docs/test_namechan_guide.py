"""The commands of the guide play what their step says: none selects only cases that are unsupported there."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.places import ROOT
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import load_suite

GUIDE = (ROOT / "docs" / "namechan-guide.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^wireproof test namechan .* -k .*$", GUIDE, re.MULTILINE)


def declared(words: list[str]) -> frozenset[str]:
    listeners = [words[at + 1].partition("=")[0] for at, word in enumerate(words) if word == "--listener"]
    return frozenset(listeners + [words[at + 1] for at, word in enumerate(words) if word == "--feature"])


def test_the_guide_has_commands() -> None:
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("command", COMMANDS)
def test_most_of_what_a_command_selects_can_be_played_there(command: str) -> None:
    words = shlex.split(command)
    cases = select(load_suite("namechan"), "1", "standard", expression=words[words.index("-k") + 1], slow=False)
    unsupported = [case.id for case in cases if set(case.needs) - declared(words) - {"replay"}]

    assert len(cases) - len(unsupported) > len(cases) / 2, unsupported
