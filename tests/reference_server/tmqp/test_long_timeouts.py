"""Cases wait for a HELLO or an answer to PING as long as the target declares, however short other waits are."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.test import command


@pytest.mark.parametrize(
    ("limits", "cases"),
    [
        (["REQUEST_TIMEOUT=30"], ["handshake/too-late", "again/hello-in-pieces"]),
        (["PING_INTERVAL=60", "PING_TIMEOUT=20"], ["ping/"]),
    ],
)
def test_a_server_that_waits_long_passes(limits: list[str], cases: list[str]) -> None:
    words = ["tmqp", "simulation", "--profile", "doc", "--slow", "--segmentation", "whole"]
    options = [*(("--limit", one) for one in limits), *(("-k", one) for one in cases)]

    done = CliRunner().invoke(command, [*words, *(word for option in options for word in option)])

    assert done.exit_code == 0, done.output
