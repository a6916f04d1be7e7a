"""What a simulated server logs is shown to nobody who did not ask for it."""

from __future__ import annotations

import subprocess
import sys

from wireproof.conformance.run.processes.modules import module_environment

PROGRAM = """
import logging
{imported}
logging.getLogger("wireproof.reference_server.any.session").warning("too much waits")
"""


def standard_error(imported: str) -> str:
    words = [sys.executable, "-P", "-c", PROGRAM.format(imported=imported)]
    return subprocess.run(words, env=module_environment(), capture_output=True, text=True, check=True).stderr


def test_a_warning_of_a_simulated_server_does_not_reach_standard_error() -> None:
    assert standard_error("import wireproof.conformance.drivers.simulation") == ""


def test_without_the_simulation_it_would() -> None:
    assert "too much waits" in standard_error("import wireproof.reference_server")


def test_whoever_configures_logging_still_gets_it() -> None:
    imported = "import wireproof.conformance.drivers.simulation; logging.basicConfig()"
    assert "too much waits" in standard_error(imported)
