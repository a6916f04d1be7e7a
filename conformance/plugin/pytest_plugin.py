"""The pytest plugin: every case is an item, in `pytest --pyargs conformance` or inside somebody's own suite.

A suite of one's own overrides `wireproof_target` (start the server there, return its address) and has one test::

    def test_wireproof(wireproof_case, wireproof):
        wireproof.check(wireproof_case)

Works with `-n 2`, `-k`, `-x`, `--junitxml`: cases that need a quiet server take a lock that all workers share.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from wireproof.conformance.plugin.plugin_options import (
    OPTIONS,
    SIMULATION,
    address_of,
    choice_of_segmentation,
    features_of,
    level_of,
    named,
    option,
    protocol_of,
    reason,
    required,
    spoken_by,
    timeout_of,
    wanted_set,
)
from wireproof.protocols.json_values import JsonDict

if TYPE_CHECKING:
    from wireproof.conformance.model.targets import Address
    from wireproof.conformance.run.route import Route
    from wireproof.conformance.suite.cases import Case, Suite

WHOLE = "whole"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options above."""
    group = parser.getgroup("wireproof", "conformance cases of wireproof")
    for name, (default, help_text) in OPTIONS.items():
        group.addoption(name, default=default, help=help_text)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse wrong options before anything is collected; nothing is looked at unless one of them is given."""
    if any(
        option(config, name.removeprefix("--wireproof-")) != (default or "") for name, (default, _) in OPTIONS.items()
    ):
        named(config)
        timeout_of(config)
        level_of(config)
        choice_of_segmentation(config)
        features_of(config)
        wanted_set(config, protocol_of(config))
        if target := option(config, "target"):
            address_of(target)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Ask a target that is named what it speaks, before anything is collected: one that does not answer ends it all."""
    if option(session.config, "target"):
        spoken_by(session.config)


class Session:
    """What the cases of one pytest session share; `check` plays one case and fails with its evidence."""

    def __init__(self, config: pytest.Config, target: str) -> None:
        """Raises `ProbeError` when the target speaks something else than the cases, `OSError` when nobody is there."""
        from wireproof.conformance.plugin.worker_lock import WorkerLock
        from wireproof.conformance.run import reference_target
        from wireproof.conformance.run.asked_features import features_found
        from wireproof.conformance.run.bounds import MANY, Bounds
        from wireproof.conformance.run.momentary_features import momentary_features
        from wireproof.conformance.run.plan import Plan, Settings
        from wireproof.conformance.run.probe import Spoken, ask_spoken
        from wireproof.conformance.run.route import DIRECT, SPARE, UNMEASURED, measured
        from wireproof.conformance.suite.cases import load_suite
        from wireproof.conformance.suite.declared import reached
        from wireproof.conformance.verdict.records import Run

        name, profile, variant = spoken_by(config)
        self._address = address_of(target)
        suite = load_suite(name)
        self._run = Run(name, profile, variant, target, implementation=target, asked=required(config, suite, profile))
        if self._address is not None:
            asyncio.run(ask_spoken(suite, self._address, timeout_of(config), profile, variant))
        self._bounds = Bounds(MANY)
        self._over = ""
        """Why no case is played any more."""
        features = features_of(config) or (frozenset() if self._address else reference_target.features(name))
        features |= reached(self._address.scheme, suite.features) if self._address else frozenset()
        route = UNMEASURED
        if self._address is not None:
            spoken, ask = Spoken(profile, variant), DIRECT not in features
            route = asyncio.run(measured(suite, self._address, spoken, timeout_of(config), SPARE, ask=ask))
            features |= frozenset() if route.proxy else {DIRECT} & set(suite.features)
        limits = self._limits(suite, route, timeout_of(config))
        self._settings = Settings(timeout=timeout_of(config), features=features, route=route, parameters=limits)
        self._lock = WorkerLock(target)
        if self._address is not None and not features_of(config):
            with self._lock.taken(exclusive=True):
                found = asyncio.run(features_found(suite, self._run, self._address, self._settings))
            features |= found
        if self._address is not None:
            asking = momentary_features(suite, self._address, spoken, features, timeout_of(config))
            features |= asyncio.run(asking)
        self._settings = replace(self._settings, features=features)
        self._plan = Plan(self._run, suite, (), self._settings)
        self._compared = 0

    def _limits(self, suite: Suite, route: Route, timeout: float) -> dict[str, int] | None:
        """Return the limits of the target that are not the assumed ones, found by asking; None where there are none."""
        from wireproof.conformance.run.limits import measured_limits
        from wireproof.conformance.run.probe import Spoken

        if self._address is None:
            return None
        assumed = {name: one.value for name, one in suite.parameters.items()}
        spoken = Spoken(self._run.profile, self._run.variant)
        asking = measured_limits(
            suite, self._address, spoken, timeout, assumed, route.round_trip, at_once=route.at_once
        )
        return asyncio.run(asking).found or None

    def play(self, case: Case, attempt: int = 0) -> JsonDict:
        """Play one case against the target and return its record; exclusive cases run while no other worker plays.

        Each attempt has keys of its own.
        """
        import time

        with self._lock.taken(exclusive=case.exclusive) if self._address is not None else nullcontext():
            began = time.monotonic()
            return self._plan.record(case, self._outcome(case, attempt), began)

    def check(self, case: Case) -> JsonDict:
        """Play one case; `pytest.fail` unless it passes, `pytest.skip` when it cannot be judged. Returns the record.

        A target that is gone, or passes next to nothing for long, fails every case that is left, at once.
        """
        self._over = self._over or self._bounds.over()
        if self._over:
            pytest.fail(f"not played: {self._over}", pytrace=False)
        record = self.play(case)
        if self._over:
            pytest.fail(f"{self._over}\n{explain(record)}", pytrace=False)
        if case.segmentation != WHOLE and (why := self._not_judged(case, record)):
            pytest.skip(why)
        if record["verdict"] != "pass" and (reason := record.get("not_required")):
            pytest.skip(f"not required ({reason}): {record['verdict']}: expected {record['expected']}")
        if record["verdict"] in ("unsupported", "untestable"):
            pytest.skip(f"{record['verdict']}: expected {record['expected']}, got {record['got']}")
        if record["verdict"] != "pass":
            pytest.fail(explain(record), pytrace=False)
        return record

    def _not_judged(self, case: Case, record: JsonDict) -> str:
        """Return why a play under another segmentation than whole says nothing; empty if it does."""
        from wireproof.conformance.verdict.confirmation import whole

        if record["verdict"] == "pass":
            return (
                "" if record["extra"].get("cuts") else f"{case.segmentation}: nothing in it to cut, so it is as whole"
            )
        self._compared += 1
        passes = self.play(whole(case), self._compared)["verdict"] == "pass"
        return "" if passes else f"{case.segmentation}: it does not pass whole either"

    def _outcome(self, case: Case, attempt: int) -> Any:
        from wireproof.conformance.drivers.simulation import SimulationDriver
        from wireproof.conformance.drivers.sockets import SocketDriver
        from wireproof.conformance.run import reference_target
        from wireproof.conformance.verdict.pipeline import one_at_a_time

        run, player = self._run, self._plan.player(case, attempt)
        if case == self._plan.stays_up and self._settings.route.at_once == 1:
            return one_at_a_time()
        if (undeclared := self._plan.undeclared(case)) is not None:
            return undeclared
        if self._address is not None:
            outcome = asyncio.run(SocketDriver(self._address, timeout=self._settings.timeout).play(player))
            self._bounds.count(case.id, outcome)
            outcome = self._plan.as_far_away(case, outcome)
            if outcome.verdict in ("hang", "crash", "untestable") and not self._serves(self._address):
                self._over = f"the target answers nobody since {case.id}"
            return outcome

        def service(clock: Any) -> Any:
            return reference_target.service(run.protocol, profile=run.profile, variant=run.variant, clock=clock)

        return SimulationDriver(service).play(player)

    def _serves(self, address: Address) -> bool:
        """Say whether a new client gets an answer."""
        from wireproof.conformance.run.probe import Spoken
        from wireproof.conformance.run.serving import ServingCheck

        run, timeout = self._run, self._settings.timeout
        return asyncio.run(ServingCheck(self._plan.suite, Spoken(run.profile, run.variant))(address, timeout))

    def close(self) -> None:
        """Leave nothing behind."""
        self._lock.give_up()


def explain(record: JsonDict) -> str:
    """Return a record's evidence as text: verdict, clause, byte, expectation, and the exchange in hex."""
    arrows = {"sent": ">", "received": "<", "event": "|"}
    ours = " (wireproof itself is at fault, not the target)" if record["verdict"] == "harness_error" else ""
    lines = [
        f"{record['verdict']}{ours}: {record['title']}",
        f"clause {record['blamed'] or record['clauses'][0]} ({record['level']}), byte {record['byte']}",
        f"expected {record['expected']}",
        f"got      {record['got']}",
    ]
    for event in record["exchange"]:
        lines.append(f"{event['connection']} {arrows[event['direction']]} {event['hex'] or event['text']}")
    return "\n".join(lines)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that asks for `wireproof_case` one item a case."""
    if "wireproof_case" in metafunc.fixturenames:
        cases = _cases(metafunc.config)
        metafunc.parametrize("wireproof_case", cases, ids=[_id(case) for case in cases])


def _id(case: Case) -> str:
    return case.id if case.segmentation == WHOLE else f"{case.id} {case.segmentation}"


def _cases(config: pytest.Config) -> list[Case]:
    from wireproof.conformance.run.segmentation_sample import chosen
    from wireproof.conformance.run.selection import SelectionError, select
    from wireproof.conformance.suite.cases import CaseError, load_suite

    name, profile, variant = spoken_by(config)
    simulated = option(config, "target") == SIMULATION
    try:
        cases = select(load_suite(name), profile, variant, level=level_of(config), slow=simulated, heavy=False)
    except (CaseError, SelectionError) as error:
        raise pytest.UsageError(f"wireproof: {error}") from None
    cases = [case for case in cases if simulated or not case.fresh_server]
    return [*cases, *chosen(cases, choice_of_segmentation(config), load_suite(name), profile)]


@pytest.fixture(scope="session")
def wireproof_target(pytestconfig: pytest.Config) -> str:
    """Return the address to test; override it to start a server of your own."""
    target = option(pytestconfig, "target")
    if not target:
        pytest.skip("no target: name one with --wireproof-target, or override the fixture wireproof_target")
    return target


@pytest.fixture(scope="session")
def wireproof(pytestconfig: pytest.Config, wireproof_target: str) -> Iterator[Session]:
    """Yield the session that plays cases against the target; one that cannot be tested is an error of each case."""
    from wireproof.conformance.run.probe import ProbeError

    why, session = "", None
    try:
        session = Session(pytestconfig, wireproof_target)
    except (ProbeError, OSError) as error:
        why = reason(error, wireproof_target)
    if session is None:
        pytest.fail(f"wireproof: {why}", pytrace=False)
    yield session
    session.close()
