"""Cases of a HELLO that does not come wait as long as the target declares, however short the wait for one answer is."""

from __future__ import annotations

from click.testing import CliRunner

from wireproof.conformance.commands.test import command


def test_a_server_that_waits_long_for_the_hello_passes() -> None:
    words = ["tmqp", "simulation", "--profile", "doc", "--limit", "REQUEST_TIMEOUT=30", "--segmentation", "whole"]
    cases = ["-k", "handshake/too-late", "-k", "again/hello-in-pieces"]

    done = CliRunner().invoke(command, [*words, *cases])

    assert done.exit_code == 0, done.output
