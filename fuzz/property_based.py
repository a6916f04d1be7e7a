"""Runs the same targets under Hypothesis where atheris is missing: inputs are seeds, mutated and concatenated."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

try:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st
except ImportError:
    IS_AVAILABLE = False
else:
    IS_AVAILABLE = True

from wireproof.fuzz.coverage_guided import FuzzerProgress, FuzzerResult
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import CodeTarget

__all__ = ["IS_AVAILABLE", "run"]

BATCH = 500
MOST_SEEDS = 4096


def run(
    target: CodeTarget,
    name: str,
    *,
    seconds: int = 0,
    executions: int = 0,
    seed: int = 1,
    report: Callable[[FuzzerProgress], None] = lambda progress: None,
) -> FuzzerResult:
    """Run until an invariant breaks or a limit is reached; Hypothesis shrinks the input.

    `name` is the protocol. `seconds` and `executions` are limits, 0 for none. Raises `ImportError` if Hypothesis is
    not installed.
    """
    if not IS_AVAILABLE:
        raise ImportError("Hypothesis is not installed: python -m pip install 'wireproof[fuzz]'")
    known = list(dict.fromkeys(target.seeds(name)))
    known = Random(f"seeds {seed}").sample(known, min(MOST_SEEDS, len(known)))
    inputs = _inputs(known)
    began, done = time.monotonic(), 0
    while (not executions or done < executions) and (not seconds or time.monotonic() - began < seconds):
        crash = _batch(target, name, inputs, seed + done)
        done += BATCH
        progress = FuzzerProgress(done, 0, len(known), int(done / (time.monotonic() - began + 1e-9)))
        report(progress)
        if crash is not None:
            return FuzzerResult(progress, crash[0], crash[1])
    return FuzzerResult(FuzzerProgress(done, 0, len(known), int(done / (time.monotonic() - began + 1e-9))), None, "")


def _inputs(known: list[bytes]) -> st.SearchStrategy[bytes]:
    some = st.sampled_from(known) if known else st.just(b"")

    def mutated(data: bytes, at: int, by: bytes, drop: int) -> bytes:
        offset = at % (len(data) + 1)
        return data[:offset] + by + data[offset + drop :]

    kin = st.builds(mutated, some, st.integers(0, 1 << 16), st.binary(max_size=8), st.integers(0, 8))
    return st.one_of(st.binary(max_size=200), some, kin, st.builds(lambda a, b: a + b[3:], some, kin))


def _batch(target: CodeTarget, name: str, inputs: st.SearchStrategy[bytes], seed: int) -> tuple[bytes, str] | None:
    last: list[bytes] = []

    @seeded(seed)
    @settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs)
    def hold(data: bytes) -> None:
        try:
            target.check(name, data)
        except InvariantError:
            last.append(data)
            raise

    try:
        hold()
    except InvariantError as violation:
        return last[-1], str(violation)
    return None
