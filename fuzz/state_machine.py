"""A stateful machine of Hypothesis over `StoreCheck`: it draws steps and shrinks those that break an invariant.

The same machine drives a server in this process, on a virtual clock, and a server behind an address. There, names and
values begin with a canary of the example and no wait is long. Needs the extra `wireproof[fuzz]`.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import msgspec

from wireproof.fuzz.decisions import CONNECTIONS, WAITS, until_due, with_known_id
from wireproof.fuzz.invariants.invariant_error import InvariantError, unexpected_as_findings
from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.canaries import canary
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.restarting import after_restart, connecting
from wireproof.fuzz.step_failure import LONGEST_RUN_NS, Setting, StepFailure
from wireproof.fuzz.store_input import StepReader, opening
from wireproof.fuzz.store_steps import AdvanceStep, ConnectStep, DisconnectStep, RequestStep, RestartStep, Step
from wireproof.fuzz.strategies import dialogues, holding, requests, room
from wireproof.protocols import Request

try:
    from hypothesis import HealthCheck, Phase, Verbosity, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st
    from hypothesis.configuration import set_hypothesis_home_dir
    from hypothesis.database import DirectoryBasedExampleDatabase
    from hypothesis.errors import Flaky
    from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
except ImportError as error:
    raise ImportError("Hypothesis is not installed: python -m pip install 'wireproof[fuzz]'") from error

__all__ = ["PRESETS", "Preset", "machine", "run"]

SHORT_NAMES = (b"a", b"b", b"A", b"a\0", b"*")
WHICH = st.integers(0, 7)
SEVERAL_STEPS = 48
"""Bytes that draw some steps on connections of several links."""
RESTARTED = 5
"""The server is started again in one of so many times that it might be: this takes as long as many requests."""
BATCH = 200
"""Examples of one run of Hypothesis, which keeps about a megabyte of each until the run ends."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How much is tried: examples, steps of one example, and whether each run is the same."""

    examples: int
    steps: int
    derandomized: bool


PRESETS = {"ci": Preset(40, 30, derandomized=True), "deep": Preset(2000, 80, derandomized=False)}


class TimeIsUp(BaseException):
    """Raised to leave Hypothesis when the time is over."""


@dataclass(frozen=True, slots=True)
class _Strategies:
    """The strategies that requests are drawn from."""

    requests: st.SearchStrategy[list[Request]]
    dialogues: st.SearchStrategy[list[Request]]


class Machine(RuleBasedStateMachine):
    """Draws steps; `machine` makes the subclass for a setting."""

    setting: ClassVar[Setting]
    chosen: ClassVar[_Strategies]

    def __init__(self) -> None:
        super().__init__()
        if self.setting.is_over():
            raise TimeIsUp
        self.over = False
        self.setting.examples += 1
        self.canary = canary(secrets.randbits(32)) if self.setting.shared else b""
        self.transport = self.setting.transport()

    @initialize()
    def begin(self) -> None:
        """Open two connections."""
        setting = self.setting
        self.check = StoreCheck(
            setting.context, self.transport, tolerance_ns=setting.tolerance_ns, shared=setting.shared
        )
        for name in CONNECTIONS[:2]:
            self.connect(name)

    @rule(data=st.data(), which=WHICH)
    def ask_about_one_name(self, data: st.DataObject, which: int) -> None:
        """Send requests about one name, on one connection or on two in turn."""
        for number, one in enumerate(data.draw(self.chosen.dialogues)):
            self.send(which + number * (which > 3), [one])

    @rule(data=st.data(), which=WHICH)
    def ask(self, data: st.DataObject, which: int) -> None:
        """Send requests in one write."""
        self.send(which, data.draw(self.chosen.requests))

    @rule(data=st.data(), which=WHICH, which_id=WHICH)
    def ask_with_a_known_id(self, data: st.DataObject, which: int, which_id: int) -> None:
        """Send a request with an id that a reply contained."""
        (request, *_) = data.draw(self.chosen.requests)
        if not self.over:
            self.do(
                RequestStep(
                    self.name(which), (with_known_id(request, self.setting.context, self.check.known_ids, which_id),)
                )
            )

    @rule(ns=st.sampled_from(WAITS))
    def wait(self, ns: int) -> None:
        """Let time pass."""
        if ns <= self.setting.longest_wait_ns:
            self.do(AdvanceStep(ns))

    @rule(which=WHICH, beside=st.sampled_from([-1, 0, 1]))
    def wait_until_something_is_due(self, which: int, beside: int) -> None:
        """Let time pass until one of the next due instants, or a nanosecond before or after it."""
        if not self.over and (ns := until_due(self.check, which, beside)) <= self.setting.longest_wait_ns:
            self.do(AdvanceStep(ns))

    @rule(name=st.sampled_from(CONNECTIONS), how=st.sampled_from(["close", "half", "reset"]))
    def come_or_go(self, name: str, how: str) -> None:
        """Open a connection, or end one that is not the last."""
        if self.over:
            return
        if name not in self.check.connections:
            self.connect(name)
        elif len(self.check.connections) > 1:
            self.do(DisconnectStep(name, how))

    def name(self, which: int) -> str:
        """Return the name of one of the open connections."""
        return self.check.connections[which % len(self.check.connections)]

    def connect(self, name: str) -> None:
        """Open a connection and send the greeting."""
        self.do(ConnectStep(name))
        if not self.over:
            self.do(RequestStep(name, self.check.model.greeting()))

    def send(self, which: int, asked: Sequence[Request]) -> None:
        """Send requests in one write."""
        if not self.over:
            self.setting.asked += len(asked)
            self.do(
                RequestStep(
                    self.name(which), tuple(with_canary(one, self.setting.context, self.canary) for one in asked)
                )
            )

    def do(self, step: Step) -> None:
        """Do a step; a failure other than the first one of the run ends the example silently.

        Raises `InvariantError` for the first failure and its repetitions, `TimeIsUp` when the run is over.
        """
        if self.setting.is_over():
            raise TimeIsUp
        self.over = self.over or self.is_too_late(step)
        if self.over:
            return
        try:
            with unexpected_as_findings():
                self.check.do(step)
        except InvariantError as violation:
            self.over = True
            if self.setting.failed(StepFailure(violation, self.check)):
                raise

    def is_too_late(self, step: Step) -> bool:
        """Return whether a step would make the run longer than LONGEST_RUN_NS."""
        return isinstance(step, AdvanceStep) and self.check.elapsed_ns + step.ns > LONGEST_RUN_NS

    def teardown(self) -> None:
        """Close the connections."""
        self.transport.close()


class LinkedMachine(Machine):
    """Draws steps on connections of several links, where what may be sent depends on what was sent before."""

    names: list[bytes]

    @initialize()
    def begin(self) -> None:
        """Open connections of every link that is a stream."""
        setting = self.setting
        self.check = StoreCheck(
            setting.context, self.transport, tolerance_ns=setting.tolerance_ns, shared=setting.shared
        )
        self.names = []
        self.open_all()

    def open_all(self) -> None:
        """Open the usual connections."""
        for step in connecting(self.check.model, opening(self.setting.context)):
            self.do(step)

    @rule(seed=st.integers(0, (1 << 32) - 1))
    def go_on(self, seed: int) -> None:
        """Do the steps that some bytes draw; Hypothesis would draw too many small ones."""
        if not self.check.connections:
            self.open_all()
        steps = StepReader(self.check, b"\0" + Random(seed).randbytes(SEVERAL_STEPS), self.names, holds=False)
        while not self.over and self.check.connections and (step := steps.next()) is not None:
            self.setting.asked += len(step.requests) if isinstance(step, RequestStep) else 0
            self.do(step)
            if isinstance(step, ConnectStep) and steps.greets():
                self.do(RequestStep(step.connection, self.check.model.greeting(step.link)))
        self.names = steps.drawing.names

    @rule(is_killed=st.booleans(), chance=st.integers(0, RESTARTED - 1))
    def restart(self, is_killed: bool, chance: int) -> None:
        """Now and then end the server and start it again, where it keeps anything; then ask for what it kept."""
        if self.over or chance:
            return
        self.do(RestartStep(is_killed))
        for step in after_restart(self.check, opening(self.setting.context)):
            self.do(step)

    ask_about_one_name = ask = ask_with_a_known_id = None  # type: ignore[assignment]
    wait = wait_until_something_is_due = come_or_go = None  # type: ignore[assignment]


def machine(setting: Setting) -> type[Machine]:
    """Return the machine class of a setting."""
    if setting.context.by_state:
        never = {} if setting.restarts else {"restart": None}
        return type("Machine", (LinkedMachine,), {"setting": setting, **never})
    codec, names = setting.context.symbols.codec, setting.context.symbols.protocol.names
    pool = [*SHORT_NAMES, *((b"k" * 200,) if setting.shared else (b"", b"k" * 255))]
    some = st.lists(requests(codec, names, pool), min_size=1, max_size=5)
    return type("Machine", (Machine,), {"setting": setting, "chosen": _Strategies(some, dialogues(codec, names, pool))})


def with_canary(request: Request, context: FuzzContext, prefix: bytes) -> Request:
    """Return a request whose names and values begin with `prefix`, also inside a request that it carries."""
    if not prefix:
        return request
    codec = context.symbols.codec
    changed: dict[str, object] = {name: prefix + getattr(request, name) for name in context.blobs(request)}
    if holding(codec, type(request)) is not None:
        carrying, _ = room(codec, type(request))
        inner, whole = context.requests(getattr(request, carrying))
        if inner and whole:
            changed[carrying] = b"".join(context.encode(with_canary(one, context, prefix)) for one in inner)
    return msgspec.structs.replace(request, **changed)


def run(setting: Setting, preset: Preset, *, seed: int = 1, database: Path | None = None) -> StepFailure | None:
    """Run until something breaks, `preset` is done or `setting.ends` is reached; return the smallest failure found.

    `database` is the folder of Hypothesis' example database, used by presets that are not derandomised.
    """
    batch = preset.examples if preset.derandomized else BATCH
    set_hypothesis_home_dir(database)
    try:
        for done in range(0, preset.examples, batch):
            _run(setting, replace(preset, examples=min(batch, preset.examples - done)), seed + done, database)
            if setting.failure is not None or setting.is_over():
                break
    finally:
        set_hypothesis_home_dir(None)
    return setting.failure


def _run(setting: Setting, preset: Preset, seed: int, database: Path | None) -> None:
    cls = machine(setting)
    kept = None if preset.derandomized or database is None else DirectoryBasedExampleDatabase(database)
    how: dict[str, Any] = {"derandomize": True} if preset.derandomized else {"database": kept}
    chosen = settings(
        max_examples=preset.examples,
        stateful_step_count=preset.steps,
        deadline=None,
        phases=[Phase.reuse, Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
        **how,
    )
    try:
        run_state_machine_as_test(cls if preset.derandomized else seeded(seed)(cls), settings=chosen)
    except TimeIsUp:
        pass
    except (InvariantError, Flaky):
        if setting.failure is None and not setting.is_over():
            raise
