"""A server that takes a free choice of the document fails no case that was prepared by the other choice."""

from __future__ import annotations

import sys

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.test import command

EMPTY = (
    "set/empty-value-read-back",
    "set/replaces-by-nothing",
    "info/buffers",
    "info/buffers-set-again",
    "stat/both-kinds",
    "list/bytes-used-of-a-buffer-set-again.0",
)


@pytest.mark.parametrize(
    ("mutant", "cases"),
    [
        ("legal-empty-values-refused", EMPTY),
        ("legal-maximum-refused", ("width/accepted-quota-is-echoed", "width/accepted-value-is-echoed")),
        ("legal-star-kept", ("publish/star-always-exists", "push/star-to-everybody")),
    ],
)
def test_no_case_is_prepared_by_what_a_server_need_not_do(mutant: str, cases: tuple[str, ...]) -> None:
    spoken = ["--profile", "7.3.2", "--variant", "uint16"]
    server = [sys.executable, "-m", "wireproof", "mutant", "throttr", mutant, "--port", "{port}", *spoken]
    chosen = [word for case in cases for word in ("-k", case)]

    done = CliRunner().invoke(
        command,
        ["throttr", "--target-command", " ".join(server), *spoken, "--segmentation", "whole", *chosen],
    )

    assert done.exit_code == 0, done.output
