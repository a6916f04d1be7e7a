"""Cases of a version that never comes wait as long as the target declares, however short the wait for one answer."""

from __future__ import annotations

from click.testing import CliRunner

from wireproof.conformance.commands.test import command


def test_a_server_that_waits_long_for_the_version_passes() -> None:
    words = ["namechan", "simulation", "--limit", "HANDSHAKE_TIMEOUT=30", "--segmentation", "whole"]
    cases = ["-k", "handshake/seven-bytes", "-k", "handshake/silent"]

    done = CliRunner().invoke(command, [*words, "--timeout", "1", *cases])

    assert done.exit_code == 0, done.output
