"""Resident memory of a campaign against a reference server: `python -m tests.bench.bench_campaign_memory throttr`.

`wireproof fuzz server`, or with `--campaign` `wireproof fuzz campaign`, runs as it does for anybody, for 15 minutes
unless told otherwise. Every 5 s its memory is read, and that of what it started: the server, and engines in processes
of their own. Printed are a line a minute and, of the first third once the seeds are made, the middle and the last
third, the median and the most. Exit code 1 when the median of the last third is more than `GROWTH` above that of the
middle one.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from wireproof.conformance.run import reference_target
from wireproof.conformance.run.processes import module_environment
from wireproof.protocols import protocol, protocol_names

EVERY = 5.0
"""Seconds between two samples."""
WARM_UP = 30.0
"""Seconds that do not count: the vectors are read and the seeds are made."""
GROWTH = 0.1
"""Share by which the last third may be above the middle one."""
PAGE = os.sysconf("SC_PAGE_SIZE")
Sample = tuple[float, float, float]
"""Seconds since the start, MB of the fuzzer, MB of what it started."""
SHOWN = 8
"""Lines of the end of the output that are printed."""


def resident(process: int) -> float:
    """Return the resident MB of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]) * PAGE / 1e6
    except (OSError, IndexError):
        return 0.0


def children(process: int) -> list[int]:
    """Return the processes that a process has started and that run, and what these have started."""
    try:
        found = [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()]
    except OSError:
        return []
    return [*found, *(one for child in found for one in children(child))]


def samples(command: list[str], folder: str) -> Iterator[Sample]:
    """Run the command to its end; yield a sample every `EVERY` seconds. What it prints last is printed."""
    log, began = Path(folder, "log"), time.monotonic()
    with log.open("wb") as output:
        running = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **module_environment()}
        )
        while running.poll() is None:
            time.sleep(EVERY)
            own = resident(running.pid)
            if own:
                yield time.monotonic() - began, own, sum(map(resident, children(running.pid)))
    print(*log.read_text(encoding="utf-8").splitlines()[-SHOWN:], sep="\n")


def parts(found: list[Sample]) -> list[list[float]]:
    """Return the fuzzer's memory in the three thirds of what counts."""
    own = [one[1] for one in found if one[0] >= WARM_UP]
    third = max(1, len(own) // 3)
    return [own[:third], own[third : 2 * third], own[2 * third :]]


def fuzzing(name: str, folder: str, *, is_whole: bool) -> list[str]:
    """Return the command that fuzzes the reference server of a protocol, set up as for the cases."""
    spoken = protocol(name)
    profile, variant = spoken.default_profile, spoken.default_variant
    served = [sys.executable, "-P", "-m", "wireproof", "serve"]
    served += reference_target.serving_arguments(name, profile=profile, variant=variant, scratch=Path(folder))
    command = [sys.executable, "-P", "-m", "wireproof", "fuzz", "campaign" if is_whole else "server", name]
    command += ["--target-command", f"{shlex.join(served)} --port {{port}}", "--findings", f"{folder}/findings"]
    command += ["--corpus", f"{folder}/corpus"] if is_whole else []
    command += ["--profile", profile, "--variant", variant]
    return [*command, *(f"--feature={one}" for one in sorted(reference_target.features(name)))]


def main() -> int:
    """Measure, print, tell whether the memory has stopped to grow."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("protocol", nargs="?", default="throttr", choices=protocol_names())
    parser.add_argument("--time", type=int, default=900, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--campaign", action="store_true", help="run all engines, of which the server's gets half")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="wireproof-bench-") as folder:
        command = fuzzing(given.protocol, folder, is_whole=given.campaign)
        command += ["--time", str(given.time), "--seed", str(given.seed)]
        found = list[Sample]()
        for one in samples(command, folder):
            if not found or int(one[0] // 60) != int(found[-1][0] // 60):
                print(f"{one[0]:5.0f} s: fuzzer {one[1]:4.0f} MB, what it started {one[2]:4.0f} MB", flush=True)
            found.append(one)
    thirds = parts(found)
    for name, some in zip(("first", "middle", "last"), thirds, strict=True):
        print(f"{name} third: median {statistics.median(some):.0f} MB, at most {max(some):.0f} MB")
    growth = statistics.median(thirds[2]) / statistics.median(thirds[1]) - 1
    print(f"last third beside the middle one: {growth:+.1%}")
    return int(growth > GROWTH)


if __name__ == "__main__":
    sys.exit(main())
