"""Hypothesis is derandomised here: a red test is red again, and more examples of the same kind show nothing new.

`tox -e nightly` searches further and elsewhere, by `--hypothesis-profile=deep`.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "ci", max_examples=40, derandomize=True, database=None, deadline=None, suppress_health_check=QUIET
)
settings.register_profile("deep", deadline=None, max_examples=2000, suppress_health_check=QUIET)
settings.load_profile("ci")
