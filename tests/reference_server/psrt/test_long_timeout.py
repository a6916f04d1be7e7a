"""A session that ends for its silence is waited for as long as the target declares."""

from __future__ import annotations

from click.testing import CliRunner

from wireproof.conformance.commands.test import command


def test_a_server_that_bears_silence_long_passes() -> None:
    words = ["psrt", "simulation", "--limit", "TIMEOUT=30", "--segmentation", "whole"]

    done = CliRunner().invoke(command, [*words, "-k", "timeout/ends-the-subscriptions"])

    assert done.exit_code == 0, done.output
