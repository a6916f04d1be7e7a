"""Mutants that simulation cannot show: each is served in a process, and the cases of its clauses play on sockets.

The command `test` plays them, so what is measured is what users run: readiness, resource limits, crash attribution.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.mutation.mutant_result import RED, CaseFinding, MutantResult
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.processes import module_command, module_environment
from wireproof.conformance.suite.cases import Suite
from wireproof.mutants.mutant import Mutant

__all__ = ["run_live"]

LONGEST = 240
"""Seconds after which a run is given up."""


def run_live(suite: Suite, profile: str, variant: str, mutant: Mutant) -> MutantResult:
    """Serve the mutant in a process and play the cases of its clauses against it, resource limits too."""
    with TemporaryDirectory(prefix="wireproof-live-") as folder:
        serve = reference_target.serving_arguments(
            suite.protocol, profile=profile, variant=variant, scratch=Path(folder)
        )
        beside = reference_target.listeners(suite.protocol, Path(folder))
        server = module_command("wireproof.mutants", *serve, "--mutant", mutant.name)
        play = [
            "test", suite.protocol, "--target-command", f"{shlex.join(server)} --port {{port}}", "--profile", profile,
            "--variant", variant, "-k", " or ".join(mutant.clauses) or "not (none)", "--resource-limits",
            "--segmentation", "whole", "--out", folder, "--quiet",
            *(f"--feature={feature}" for feature in sorted(reference_target.features(suite.protocol))),
            *(f"--listener={name}=unix://{at}" for name, at in beside.items()),
            *(f"--limit={name}={one.value}" for name, one in suite.parameters.items()),
            *(["--slow"] if _all_are_heavy(suite, mutant) else []),
        ]  # fmt: skip
        try:
            done = subprocess.run(
                module_command("wireproof", *play),
                env=module_environment(),
                check=False,
                capture_output=True,
                text=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            return MutantResult(mutant, [], f"the suite took more than {LONGEST} s")
        if done.returncode not in (0, 1):
            return MutantResult(mutant, [], (done.stderr or done.stdout).strip()[-300:])
        return MutantResult(mutant, _findings(Path(folder, "records.jsonl")))


def _all_are_heavy(suite: Suite, mutant: Mutant) -> bool:
    """Say whether no case of the clauses it breaks would be played otherwise."""
    return all(case.heavy for case in suite.cases if not set(mutant.clauses).isdisjoint(case.clauses))


def _findings(path: Path) -> Sequence[CaseFinding]:
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record: dict[str, Any] = json.loads(line)
        verdict = Verdict(record["verdict"])
        if verdict in RED or verdict is Verdict.UNTESTABLE:
            found.append(CaseFinding(record["case"], verdict, record["blamed"], record["got"]))
    return found
