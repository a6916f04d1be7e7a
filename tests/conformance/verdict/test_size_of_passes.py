"""The line of a pass has at most 600 bytes, for every case of every protocol, profile and role."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.play.sdk_suite import sdk_cases
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.records import LARGEST_PASS, LEAST_TITLE, Run, compact, line_of, record
from wireproof.protocols import protocol, protocol_names

LONG = "half-closed"
PASS = Outcome(Verdict.PASS, Trace())
PLACES = [
    (name, profile, role)
    for name in protocol_names()
    for profile in protocol(name).profiles
    for role in ("server", "client")
]


def run_of(name: str, profile: str, role: str, implementation: str = "wireproof reference") -> Run:
    variant = max(protocol(name).profiles[profile].variants, key=len)
    return Run(name, profile, variant, "tcp://127.0.0.1:65000", implementation, "10.10.10", role=role, cases=9999)


@pytest.mark.parametrize(("name", "profile", "role"), PLACES)
def test_every_pass_fits(name: str, profile: str, role: str) -> None:
    suite, run = load_suite(name), run_of(name, profile, role)
    run.partial = ["-k (query/ or insert/)"]
    cases = suite.cases if role == "server" else sdk_cases(name)
    for case in (one for one in cases if profile in one.profiles):
        for way in (WHOLE.name, LONG):
            asked_by = "" if way == WHOLE.name else suite.segmentations.get(way, "")
            played = replace(case, segmentation=way, asked_by=asked_by)
            line = line_of(compact(record(run, suite, played, PASS, duration_us=9_999_999)))
            assert len(line) <= LARGEST_PASS, line


def test_of_a_title_some_is_always_there() -> None:
    suite, run = load_suite("throttr"), run_of("throttr", "7.1.0", "server", implementation="x" * 500)
    kept = compact(record(run, suite, suite.cases[0], PASS, duration_us=1))

    assert LEAST_TITLE <= len(kept["title"]) <= LEAST_TITLE + 1
    assert kept["title"].endswith("…")
