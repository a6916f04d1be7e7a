"""Hypothesis is derandomised here: a red test is red again, and more examples of the same kind show nothing new.

`tox -e nightly` searches further and elsewhere, by `--hypothesis-profile=deep`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.places import GATES, SPARK
from tests.shared_preparation import prepare
from tests.virtual_time import Clock, virtual_time

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "ci", max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=QUIET
)
settings.register_profile("deep", deadline=None, max_examples=2000, suppress_health_check=QUIET)
settings.load_profile("ci")

FIRST = (SPARK, "tests/docs/test_tutorial.py", GATES)
"""What runs longest is begun first: the other files fill the time of the other processes meanwhile."""


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Let no event loop of a test wait: time jumps. For servers and clients in one loop only."""
    with virtual_time(monkeypatch) as clock:
        yield clock


def pytest_sessionstart(session: pytest.Session) -> None:
    """Make what all processes of xdist need, once."""
    prepare(session.config)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Put what runs longest in front, after all that shuffles."""
    yield
    items.sort(key=lambda item: [not item.nodeid.startswith(one) for one in FIRST])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Look for garbage seldom, and not among what was collected: thousands of tests that stay until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share out whole files; a process that dies ends one test and not the run."""
    from tests.file_scheduling import FileScheduling

    config.option.loadscopereorder = False
    return FileScheduling(config, log) if config.getvalue("dist") == "load" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the gates say, also when all is well: what was sampled is seen."""
    reports = [one for one in terminalreporter.getreports("passed") if one.when == "call"]
    printed = {one.nodeid: dict(one.user_properties).get("printed", []) for one in reports}
    for name, lines in sorted(printed.items()):
        for line in lines:
            terminalreporter.write_line(f"{name.removeprefix(GATES)}: {line}")
