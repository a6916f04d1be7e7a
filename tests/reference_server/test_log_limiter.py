"""The same warning is logged once in a while, with how often it was due."""

from __future__ import annotations

import logging

import pytest

from wireproof.reference_server.log_limiter import LogLimiter


def test_the_first_is_logged_at_once_and_the_others_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    limiter = LogLimiter(logging.getLogger("test"), seconds=5.0, now=lambda: now[0])
    for _ in range(1000):
        limiter.warn("full")
    now[0] += 5.0
    limiter.warn("full")
    now[0] += 5.0
    limiter.warn("full")

    assert [one.getMessage() for one in caplog.records] == ["full", "full (999 times more before)", "full"]
