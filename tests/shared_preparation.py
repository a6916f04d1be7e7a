"""What every process of pytest-xdist needs is made once: each of them collects all tests, at the same time.

In a fresh checkout most of that time goes into reading the cases of all protocols, which are kept in the user's cache
once they are read, and into rewriting the assertions of test files, which are kept beside them. So the cases are read
before the processes start; and each process rewrites a share of the files first and finds those of the others.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.places import ROOT

TESTS = ROOT / "tests"


def prepare(config: pytest.Config) -> None:
    """Do what this process does for the others, where all tests are asked for and several processes share them."""
    worker = getattr(config, "workerinput", None)
    if [Path(config.invocation_params.dir, one) for one in config.args] != [TESTS]:
        return
    if worker is not None:
        rewrite_share(int(worker["workerid"].removeprefix("gw")), worker["workercount"])
    elif config.getoption("numprocesses", None):
        read_cases()


def read_cases() -> None:
    """Read the cases of all protocols, two protocols at a time; what is wrong with them is told by tests."""
    from wireproof.protocols import protocol_names

    with ProcessPoolExecutor(2, get_context("fork")) as pool:
        for one in [pool.submit(_read_cases, name) for name in protocol_names()]:
            one.exception()


def _read_cases(protocol: str) -> None:
    from wireproof.conformance.suite.cases import load_suite

    load_suite(protocol)


def rewrite_share(number: int, count: int) -> None:
    """Import every `count`th test file, from that of `number` on; what cannot be imported is told when collected.

    A module that warns is no success either: nothing keeps it, and it warns once more when it is collected.
    """
    for path in sorted(TESTS.rglob("test_*.py"))[number::count]:
        with suppress(Exception, pytest.skip.Exception), warnings.catch_warnings():
            warnings.simplefilter("error")
            import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
