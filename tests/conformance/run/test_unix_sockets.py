"""The reference servers over UNIX sockets: the cases that only these have, and others of their protocols."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from wireproof.conformance.run.processes import module_command, module_environment, running_server
from wireproof.conformance.run.reference_target import features, serving_arguments
from wireproof.protocols import protocol

PATIENCE = 200


@pytest.mark.parametrize(("name", "cases"), [("psrt", "unix/ or sub/"), ("tmqp", "direct/"), ("namechan", "connect")])
def test_the_reference_server_passes_over_a_unix_socket(name: str, cases: str, tmp_path: Path) -> None:
    spoken = protocol(name)
    place = {"profile": spoken.default_profile, "variant": spoken.default_variant}
    command = module_command("wireproof.reference_server", *serving_arguments(name, **place, scratch=tmp_path))
    with running_server([*command, "--unix", str(tmp_path / "s"), "--port", "0"]):
        kept = sorted(features(name) - {"tcp", "udp", "tls", "hook", "replay"})
        words = ["test", name, f"unix://{tmp_path / 's'}", "--profile", place["profile"], "-k", cases, "--quiet"]
        words += [f"--feature={one}" for one in kept]
        done = subprocess.run(
            module_command("wireproof", *words, "--out", str(tmp_path / "run")),
            env=module_environment(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    records = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").read_text().splitlines()]

    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(one["verdict"] == "pass" for one in records) > 10
    only_here = {one["verdict"] for one in records if one["case"].startswith("unix/")}
    assert only_here == ({"pass"} if name == "psrt" else set())
