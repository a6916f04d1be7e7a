"""Runs the commands of the fuzzers, as users run them, on a copy of the project with a fault."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from wireproof.conformance.run import reference_target
from wireproof.fuzz.known_targets import has_model
from wireproof.fuzz.planted.drawn_faults import CODEC, SCHEDULER, TRANSPORT, PlantedFault
from wireproof.fuzz.planted.patience import ended
from wireproof.fuzz.planted.workbench import Workbench
from wireproof.protocols import protocol

__all__ = ["EngineRun", "EngineRuns", "PlantedEngine", "RunStatus", "engines_for"]

QUIET, FOUND = 0, 1
MOST_STRETCH = 8.0
SPELL_S = 0.1
"""Seconds of processor time that the load of the machine is measured with."""
KEPT = 400
"""Characters kept of what an engine printed at its end."""


class RunStatus(StrEnum):
    """How a run of an engine ended."""

    FOUND = "found"
    QUIET = "nothing"
    BROKEN = "broke off"
    """The engine ended with neither, which users would notice, but not understand."""
    HUNG = "hung"


@dataclass(frozen=True, slots=True)
class PlantedEngine:
    """An engine on a protocol."""

    name: str
    protocol: str

    def __str__(self) -> str:
        """Return how it is listed."""
        return f"{self.name} {self.protocol}"


@dataclass(frozen=True, slots=True)
class EngineRun:
    """What came of one run."""

    engine: PlantedEngine
    status: RunStatus
    executions: int
    """Executions until the finding; 0 where the engine does not say."""
    seconds: float
    detail: str
    """What was found, or what the engine printed last."""


def engines_for(fault: PlantedFault, protocols: Sequence[str], *, every: bool = False) -> list[PlantedEngine]:
    """Return the engines that look for a fault, the one that is made for it first.

    With `every`, also those that compare whole servers, where the fault is in what a server does.
    """
    mine = [fault.protocol] if fault.protocol else list(protocols)
    modelled = [one for one in mine if has_model(one)]
    names: dict[str, Sequence[str]] = {
        CODEC: ("parser", "store"),
        SCHEDULER: ("scheduler", "store"),
        TRANSPORT: ("transport", "store", "server"),
    }
    chosen = names.get(fault.part)
    if chosen is None:
        kind = fault.part.rpartition(" ")[2]
        chosen = {
            "codec": ("parser", "store", "server"),
            "session": ("transport", "store", "server"),
            "mutants": ("store", "machine", "parser", "server"),
        }.get(kind, ("store", "machine", "server"))
    if every:
        chosen = tuple(dict.fromkeys((*chosen, "store", "machine", "server", "diff")))
    if fault.part == SCHEDULER:
        mine = mine[:1]
        modelled = modelled[:1]
    needy = ("store", "machine")
    return [PlantedEngine(name, one) for name in chosen for one in (modelled if name in needy else mine)]


def stretched(seconds: int) -> int:
    """Return the seconds in which this process gets `seconds` of processor time, as busy as the machine is now."""
    began, spent = time.monotonic(), time.process_time()
    while time.process_time() - spent < SPELL_S:
        pass
    return round(seconds * min(max((time.monotonic() - began) / SPELL_S, 1.0), MOST_STRETCH))


class EngineRuns:
    """Runs engines on the code of a workbench, each for about `seconds` of processor time."""

    def __init__(self, bench: Workbench, seconds: int, seed: int) -> None:
        self._bench, self._seconds, self._seed = bench, seconds, seed

    def run(self, engine: PlantedEngine) -> EngineRun:
        """Run one engine until it ends."""
        began, given = time.monotonic(), stretched(self._seconds)
        with TemporaryDirectory(prefix="wireproof-planted-") as scratch:
            folder = Path(scratch)
            code, output = self._ended(self._command(engine, folder, given), folder, given)
            seconds = time.monotonic() - began
            finding = _first_finding(folder / "findings")
        if finding is not None:
            executions = int(str(finding.get("executions", 0)))
            detail = f"{finding['oracle']}: {finding['told']}"
            return EngineRun(engine, RunStatus.FOUND, executions, seconds, detail[:KEPT])
        status = {QUIET: RunStatus.QUIET, None: RunStatus.HUNG}.get(code, RunStatus.BROKEN)
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
        return EngineRun(engine, status, 0, seconds, last[:KEPT])

    def _ended(self, command: Sequence[str], folder: Path, seconds: int) -> tuple[int | None, str]:
        """Return the exit code and the output of a command; None for one that does not end in time."""
        with (folder / "output").open("w+") as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=self._bench.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code: int | None = process.returncode if ended(process, seconds) else None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            output.seek(0)
            return code, output.read()

    def _command(self, engine: PlantedEngine, folder: Path, seconds: int) -> list[str]:
        words = [sys.executable, "-P", "-m", "wireproof", "fuzz", engine.name]
        words += [engine.protocol] if engine.name != SCHEDULER else []
        words += ["--time", str(seconds), "--seed", str(self._seed), "--findings", str(folder / "findings")]
        match engine.name:
            case "machine":
                words += ["--preset", "deep", "--database", str(folder / "examples")]
            case "server":
                words += self._serving(engine.protocol, folder)
            case "diff":
                words += self._serving(engine.protocol, folder)
                (folder / "other").mkdir()
                option, other = self._serving(engine.protocol, folder / "other")[:2]
                words += [option, f"env -u PYTHONPATH {other}"]
        return words

    def _serving(self, name: str, folder: Path) -> list[str]:
        """Return the options that serve the copy's own server."""
        spoken = protocol(name)
        served = [sys.executable, "-P", "-m", "wireproof", "serve"]
        served += reference_target.serving_arguments(
            name, profile=spoken.default_profile, variant=spoken.default_variant, scratch=folder
        )
        features = [f"--feature={one}" for one in sorted(reference_target.features(name))]
        return ["--target-command", f"{shlex.join(served)} --port {{port}}", *features]


def _first_finding(folder: Path) -> Mapping[str, object] | None:
    """Return the finding that took the fewest executions; None without any."""
    found = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*/finding.json"))]
    return min(found, key=lambda one: one.get("executions", 0), default=None)
