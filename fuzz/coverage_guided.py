"""Runs a target under atheris (libFuzzer) in a process of its own and parses its progress lines."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from wireproof.conformance.run.processes import module_environment
from wireproof.conformance.verdict.last_words import last_words
from wireproof.fuzz.invariants.invariant_error import UNEXPECTED, InvariantError
from wireproof.fuzz.known_targets import CodeTarget, dictionary

__all__ = ["FuzzerProgress", "FuzzerResult", "is_available", "run"]

LINE = re.compile(rb"^#(\d+)\s+(\w+)\s+(?:cov: (\d+) ft: (\d+) )?corp: (\d+)/\S+.*exec/s: (\d+)")
EXECUTED = re.compile(rb"^stat::number_of_executed_units: (\d+)")
MEMORY_MB = 2048
"""MB that the process may take beyond what the one that starts it ever had."""
END_S = 0.5
"""Seconds that the process has to end by itself once it prints no more."""
PATIENCE = 30.0
"""Seconds after the end of its time at which the process is killed."""


@dataclass(frozen=True, slots=True)
class FuzzerProgress:
    """Counters of a running fuzzer."""

    executions: int
    coverage: int
    corpus: int
    per_second: int


@dataclass(frozen=True)
class FuzzerResult:
    """The outcome of one run of a fuzzer."""

    progress: FuzzerProgress
    crash: bytes | None
    """The input that broke an invariant; None when there is none."""
    output: str
    """The last lines that the process printed, with the traceback."""
    without_input: InvariantError | None = None
    """What the code under test broke before it was given an input: while seeds were made or while it was loaded."""

    @property
    def found(self) -> bool:
        """Whether anything was found."""
        return self.crash is not None or self.without_input is not None


def is_available() -> bool:
    """Return whether atheris is installed."""
    return find_spec("atheris") is not None


def run(
    target: CodeTarget,
    name: str,
    corpus: Path,
    *,
    seconds: int = 0,
    executions: int = 0,
    seed: int = 1,
    environment: Mapping[str, str] = MappingProxyType({}),
    report: Callable[[FuzzerProgress], None] = lambda progress: None,
) -> FuzzerResult:
    """Fuzz `target` and add new inputs to `corpus`; stop at the first broken invariant.

    `name` is the protocol. `seconds` and `executions` are limits, 0 for none; `environment` is added to that of the
    process. Raises `OSError` if the process cannot be started, and `ChildProcessError` if a signal of somebody else
    ends it, so that nothing is known.
    """
    with TemporaryDirectory(prefix="wireproof-fuzz-") as scratch:
        dictionary_file = Path(scratch, "words.dict")
        dictionary_file.write_text(dictionary(name), encoding="ascii")
        options = [f"-artifact_prefix={scratch}/", f"-dict={dictionary_file}", *_options(seconds, executions, seed)]
        command = [sys.executable, "-P", "-m", target.module, *options, str(corpus)]
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**module_environment(), "WIREPROOF_PROTOCOL": name, **environment},
        )
        try:
            last, output = _followed(process, seconds, report)
        finally:
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            ended = process.poll()
            process.kill()
            process.wait()
            assert process.stderr is not None
            process.stderr.close()
        artifacts = sorted(Path(scratch).glob("[cot]*-*"))
        crash = artifacts[0].read_bytes() if artifacts else None
        if crash is None and ended is not None and ended < 0:
            by = f"ended by {signal.Signals(-ended).name} after {last.executions:,} executions"
            raise ChildProcessError(f"the fuzzer of {target.name} was {by}, and left no input")
        return FuzzerResult(last, crash, output, _broken_before(process, output) if crash is None else None)


def _followed(
    process: subprocess.Popen[bytes], seconds: int, report: Callable[[FuzzerProgress], None]
) -> tuple[FuzzerProgress, str]:
    """Report progress while the process prints; return the last progress and the last lines."""
    lines, last = list[bytes](), FuzzerProgress(0, 0, 0, 0)
    for line in _lines(process, seconds + PATIENCE if seconds else None):
        lines = [*lines[-80:], line]
        if found := LINE.match(line):
            last = FuzzerProgress(int(found[1]), int(found[3] or 0), int(found[5]), int(found[6]))
            report(last)
        elif done := EXECUTED.match(line):
            last = replace(last, executions=int(done[1]))
    return last, b"".join(lines).decode(errors="replace")


def _broken_before(process: subprocess.Popen[bytes], output: str) -> InvariantError | None:
    """Return the exception that ended the process before it had an input; None if it ended as it should."""
    if not process.returncode or process.returncode < 0 or "Traceback (most recent call last)" not in output:
        return None
    words = last_words(output)
    shape = f"{words.line.partition(':')[0]} in {words.frame.partition(' at ')[0]}"
    return InvariantError(UNEXPECTED, f"{words.line} in {words.frame}, before the first input", shape)


def _options(seconds: int, executions: int, seed: int) -> list[str]:
    """Return the limits of a run and its seed as options of libFuzzer.

    libFuzzer compares its peak of memory with the limit, and a process inherits the peak of the one that started it.
    """
    from resource import RUSAGE_SELF, getrusage  # on POSIX systems only, as atheris is

    limit = MEMORY_MB + getrusage(RUSAGE_SELF).ru_maxrss // 1024
    options = [f"-seed={seed}", "-print_final_stats=1", "-timeout=20", f"-rss_limit_mb={limit}"]
    options += [f"-max_total_time={seconds}"] if seconds else []
    return options + ([f"-runs={executions}"] if executions else [])


def _lines(process: subprocess.Popen[bytes], seconds: float | None) -> Iterator[bytes]:
    """Yield the lines that the process prints until it ends or `seconds` have passed."""
    assert process.stderr is not None
    os.set_blocking(process.stderr.fileno(), False)
    deadline = None if seconds is None else time.monotonic() + seconds
    rest = b""
    while deadline is None or time.monotonic() < deadline:
        chunk = process.stderr.read(65536)
        if chunk is None:
            time.sleep(0.05)
        elif not chunk:
            break
        else:
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (line + b"\n" for line in whole)
    if rest:
        yield rest
