"""Workers that share mutants out end by SIGTERM, whatever the process that forks them does at it."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable

import pytest

from wireproof.conformance.mutation.bounds import begin_worker, end_on_sigterm


@pytest.mark.parametrize("begin", [begin_worker, end_on_sigterm])
def test_sigterm_ends_a_worker_of_a_process_that_catches_it(begin: Callable[[], None]) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        with multiprocessing.get_context("fork").Pool(1, begin) as pool:
            assert pool.apply(signal.getsignal, (signal.SIGTERM,)) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
