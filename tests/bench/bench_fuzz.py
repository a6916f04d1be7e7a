"""Executions of the parser's fuzz target beside those of nothing at all: `python -m tests.bench.bench_fuzz`.

CPU time an execution, without the start of the process: the difference between a short and a long run, medians of
interleaved rounds. All have the same options, dictionary and seeds. Exit code 1 when the target ratio is missed.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from wireproof.conformance.run.processes import module_environment
from wireproof.fuzz import corpus
from wireproof.fuzz.commands.own_code import MOST_SEEDS
from wireproof.fuzz.coverage_guided import is_available
from wireproof.fuzz.known_targets import TARGETS, dictionary

PROTOCOL = "throttr"
TARGET = 0.05
ROUNDS = 3
SHORT = 50_000
RUNS = {"empty": 2_000_000, "hand-written": 300_000, "parser": 300_000}
MODULES = {"parser": ("wireproof.fuzz.targets.parser",)}
"""Name -> module and its arguments; the peers otherwise."""


def cpu(name: str, runs: int, seeds: list[bytes], words: Path) -> float:
    """Return the seconds of CPU that so many executions take, the start of the process included."""
    with TemporaryDirectory(prefix="wireproof-bench-") as folder:
        corpus.merge(Path(folder), seeds)
        module = MODULES.get(name, ("tests.bench.fuzz_peers", name))
        command = [sys.executable, "-m", *module, f"-dict={words}", f"-runs={runs}", "-seed=1", folder]
        environment = {**os.environ, **module_environment(), "WIREPROOF_PROTOCOL": PROTOCOL}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Measure, print, tell whether the target is reached."""
    if not is_available():
        print("skipped: atheris is not installed here")
        return 0
    everything = list(TARGETS["parser"].seeds(PROTOCOL))
    seeds = everything[:: len(everything) // MOST_SEEDS + 1]
    each: dict[str, list[float]] = {name: [] for name in RUNS}
    with TemporaryDirectory(prefix="wireproof-bench-") as folder:
        words = Path(folder, "words.dict")
        words.write_text(dictionary(PROTOCOL), encoding="ascii")
        for _ in range(ROUNDS):
            for name, runs in RUNS.items():
                took = cpu(name, runs, seeds, words) - cpu(name, SHORT, seeds, words)
                each[name].append(took / (runs - SHORT))
    seconds = {name: statistics.median(found) for name, found in each.items()}
    print(f"{len(seeds)} seeds, {ROUNDS} interleaved rounds, medians")
    print(f"{'':<16}{'us/execution':>14}{'executions/s':>14}{'x empty':>10}")
    for name, one in seconds.items():
        print(f"{name:<16}{one * 1e6:>14.2f}{1 / one:>14,.0f}{seconds['empty'] / one:>10.4f}")
    reached = seconds["empty"] / seconds["parser"] >= TARGET
    print(f"target {TARGET:g} of an empty target: {'reached' if reached else 'MISSED'}")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
