"""What `wireproof test` finds out about a target before the first case, and says: the way to it, limits, features."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from wireproof.conformance.commands.target_options import Target, assumed_limits
from wireproof.conformance.model.targets import Address
from wireproof.conformance.run.asked_features import can_be_asked, features_found, limits_not_shown
from wireproof.conformance.run.limits import measured_limits
from wireproof.conformance.run.momentary_features import momentary_features
from wireproof.conformance.run.plan import Settings
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.route import DIRECT, SPARE, measured
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.declared import server_document
from wireproof.conformance.verdict.records import Run

__all__ = ["Measuring"]


class Measuring:
    """One target and what is known of it; `announce` takes a line for the user."""

    def __init__(
        self, suite: Suite, target: Target, options: Mapping[str, Any], announce: Callable[[str], None]
    ) -> None:
        self._suite = suite
        self._server = target.server
        self._options = options
        self._announce = announce

    def settings(self, run: Run, address: Address, settings: Settings) -> Settings:
        """Return `settings` with all that was found out about the target at `address`."""
        spoken = Spoken(run.profile, run.variant)
        settings = self._with_listeners(settings)
        settings = self._with_route(spoken, address, settings)
        settings = self._with_limits(spoken, address, settings)
        settings = self._with_features(run, self._address or address, settings)
        settings = self._with_assumptions(run, self._address or address, settings)
        there = settings.features or frozenset()
        asking = momentary_features(self._suite, self._address or address, spoken, there, settings.timeout)
        return replace(settings, features=there | asyncio.run(asking))

    @property
    def _address(self) -> Address | None:
        """Where a started server is now: one that was started again has another address."""
        return self._server.address if self._server else None

    def _alive(self) -> bool:
        return self._server is None or self._server.death() is None

    def _died(self, what: str) -> bool:
        """Start a server again that died while it was asked for `what`; say whether it did."""
        return self._server is not None and asyncio.run(self._server.restart_if_ended(what))

    def _with_listeners(self, settings: Settings) -> Settings:
        """Take a listener that a started server printed for the feature of its name."""
        if self._server is None or not server_document(self._suite.protocol).get("listeners"):
            return settings
        printed = frozenset(self._server.announced_listeners()) & set(self._suite.features)
        return replace(settings, features=(settings.features or frozenset()) | printed)

    def _with_route(self, spoken: Spoken, address: Address, settings: Settings) -> Settings:
        """Find out what lies between here and the target, and say what of it the run takes into account."""
        declared = settings.features or frozenset()
        most, ask = settings.jobs + SPARE, DIRECT not in declared
        route = asyncio.run(measured(self._suite, address, spoken, settings.timeout, most, ask=ask))
        if not route.proxy and DIRECT in self._suite.features:
            declared |= {DIRECT}
        for note in route.notes:
            self._announce(note)
        return replace(settings, route=route, features=declared)

    def _with_limits(self, spoken: Spoken, address: Address, settings: Settings) -> Settings:
        """Find out the limits that nobody declared, and say which are other than assumed."""
        assumed, route = assumed_limits(self._suite, self._options["limits"]), settings.route
        found, unknown = asyncio.run(
            measured_limits(
                self._suite,
                address,
                spoken,
                settings.timeout,
                assumed,
                route.round_trip,
                at_once=route.at_once,
                alive=self._alive,
            )
        )
        if not self._died("limits") and unknown:
            names = ", ".join(f"{name}={assumed[name]}" for name in unknown)
            self._announce(
                f"limits of the target that took too long to find: {names} assumed; --limit NAME=N says others"
            )
        if not found:
            return settings
        shown = ", ".join(f"{name}={number} ({assumed[name]} is assumed)" for name, number in found.items())
        self._announce(f"limits of the target, found by asking: {shown}; --limit NAME=N declares another")
        return replace(settings, parameters={**(settings.parameters or {}), **found})

    def _with_features(self, run: Run, address: Address, settings: Settings) -> Settings:
        """Find out the features of the target, unless the user declared any, and say which it has."""
        if self._options["features"] or not can_be_asked(self._suite):
            return settings
        found = asyncio.run(features_found(self._suite, run, address, settings, self._server))
        self._died("features")
        if more := sorted(found - (settings.features or frozenset())):
            self._announce(
                f"features of the target, found by asking: {', '.join(more)}; --feature NAME declares others"
            )
        return replace(settings, features=(settings.features or frozenset()) | found)

    def _with_assumptions(self, run: Run, address: Address, settings: Settings) -> Settings:
        """Find out which limits, that nobody declared and no document bounds, are other than assumed."""
        assumed = assumed_limits(self._suite, self._options["limits"])
        unlike = asyncio.run(limits_not_shown(self._suite, run, address, settings, assumed, self._server))
        self._died("limits")
        return replace(settings, unlike=unlike)
