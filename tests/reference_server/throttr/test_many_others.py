"""A right server that has many other clients sends long tables, and passes."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from contextlib import ExitStack

from click.testing import CliRunner

from wireproof.conformance.commands.test import command

OTHERS = 600
SPOKEN = ["--profile", "7.3.2", "--variant", "uint16"]


def test_tables_of_many_connections_are_no_answer_without_end() -> None:
    server = [sys.executable, "-m", "wireproof", "serve", "throttr", "--port", "0", *SPOKEN]
    with ExitStack() as open_ones:
        process = open_ones.enter_context(subprocess.Popen(server, stdout=subprocess.PIPE, text=True))
        open_ones.callback(process.terminate)
        assert process.stdout is not None
        found = re.search(r"(\d+)\s*$", process.stdout.readline())
        assert found is not None
        for _ in range(OTHERS):
            open_ones.enter_context(socket.create_connection(("127.0.0.1", int(found[1]))))
        words = ["throttr", f"tcp://127.0.0.1:{found[1]}", *SPOKEN, "--segmentation", "whole"]

        done = CliRunner().invoke(command, [*words, "--timeout", "30", "-k", "pressure/shown-while-they-go"])

    assert done.exit_code == 0, done.output
