"""An exception that the code under test may not raise is a finding like any other, whoever raises it and when."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from wireproof.fuzz import corpus, coverage_guided, parser_input
from wireproof.fuzz.commands.group import LazyGroup
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.commands.machine import command as machine
from wireproof.fuzz.commands.replay_finding import command as replay
from wireproof.fuzz.coverage_guided import FuzzerProgress, FuzzerResult
from wireproof.fuzz.findings.findings_folder import load_all
from wireproof.fuzz.findings.of_own_code import finding_of
from wireproof.fuzz.invariants.ending import ending
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import TARGETS, CodeTarget
from wireproof.fuzz.seed_replay import replayed_seeds
from wireproof.protocols import Connection
from wireproof.reference_server.scheduler import Scheduler


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(fuzz, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def fails(*arguments: Any, **options: Any) -> Any:
    raise KeyError("planted")


@pytest.mark.parametrize("engine", ["atheris", "hypothesis"])
def test_the_scheduler_that_raises_is_a_finding(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "atheris" and not coverage_guided.is_available():
        pytest.skip("no atheris here")
    monkeypatch.setattr(Scheduler, "overdue", fails)

    result = run("scheduler", "--engine", engine, "--runs", "100", "--findings", str(tmp_path))
    (found,) = load_all(tmp_path)
    again = CliRunner().invoke(replay, [str(tmp_path / found.id)])

    assert result.exit_code == 1
    assert "KeyError" in found.detail
    assert found.reproduced == (3, 3)
    assert any("ns pass" in step for step in found.steps), found.steps
    assert (again.exit_code, "REPRODUCED" in again.output, found.steps[0] in again.output) == (1, True, True)


@pytest.mark.parametrize("engine", ["auto", "hypothesis"])
def test_what_is_raised_while_seeds_are_made_is_a_finding(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TARGETS, "scheduler", replace(TARGETS["scheduler"], seeds=fails))  # type: ignore[arg-type]

    result = run("scheduler", "--engine", engine, "--runs", "100", "--findings", str(tmp_path))
    (found,) = load_all(tmp_path)
    again = CliRunner().invoke(replay, [str(tmp_path / found.id)])

    assert result.exit_code == 1
    assert "while seed 1 was made" in found.detail
    assert (again.exit_code, "REPRODUCED" in again.output) == (1, True)


def test_a_codec_that_raises_is_a_finding_of_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    target, data = TARGETS["parser"], next(iter(TARGETS["parser"].seeds("throttr")))
    monkeypatch.setattr(Connection, "receive_data", fails)

    with pytest.raises(InvariantError, match="KeyError"):
        target.check("throttr", data)


def test_the_harness_of_the_store_that_meets_a_bug_of_the_codec_keeps_the_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target, data = TARGETS["store"], next(iter(TARGETS["store"].seeds("throttr")))
    monkeypatch.setattr("wireproof.protocols.throttr.connection.ClientConnection.await_reply", fails)

    found = finding_of(target, "throttr", FuzzerResult(FuzzerProgress(1, 0, 0, 0), data, ""), 1)

    assert "KeyError" in found.detail
    assert found.steps


@pytest.mark.nightly
def test_findings_name_the_profile_and_the_variant_of_their_input(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoints = parser_input.combinations("throttr")
    number = next(at for at, one in enumerate(endpoints) if one.variant != endpoints[0].variant)

    def wrong(name: str, data: bytes) -> None:
        if data[:1] == bytes([number]):
            raise ValueError("planted")

    target = replace(TARGETS["parser"], invariants=wrong)
    data = bytes([number]) + b"\0\0\x02\x01a"
    found = finding_of(target, "throttr", FuzzerResult(FuzzerProgress(1, 0, 0, 0), data, ""), 7)

    assert (found.profile, found.variant) == (endpoints[number].profile, endpoints[number].variant)
    assert found.seed == 7


def test_the_machine_keeps_the_steps_when_the_harness_meets_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wireproof.protocols.throttr.connection.ClientConnection.await_reply", fails)

    result = CliRunner().invoke(
        machine,
        ["throttr", "--examples", "3", "--steps", "5", "--findings", str(tmp_path), "--time", "20"],
    )
    (found,) = load_all(tmp_path)

    assert result.exit_code == 1, result.output
    assert "KeyError" in found.detail
    assert found.script
    assert "not shrunk again" in result.output


def test_all_seeds_are_replayed_first_in_an_order_of_the_seed() -> None:
    seen: list[bytes] = []
    target = CodeTarget("parser", "-", lambda name, data: seen.append(data), lambda name: map(bytes, [[1], [2], [3]]))

    replayed_seeds(target, "throttr", 1)
    first, seen[:] = [*seen], []
    orders = set()
    for seed in range(10):
        replayed_seeds(target, "throttr", seed)
        orders.add(tuple(seen))
        seen.clear()

    assert sorted(first) == [b"\1", b"\2", b"\3"]
    assert len(orders) > 1


def test_the_replay_of_seeds_has_an_end() -> None:
    target = CodeTarget("parser", "-", lambda name, data: None, lambda name: (b"%d" % n for n in range(20_000)))

    assert replayed_seeds(target, "throttr", 1, seconds=0).checked < 20_000


def test_the_sample_of_seeds_depends_on_the_seed(tmp_path: Path) -> None:
    seeds = [bytes([n]) for n in range(100)]
    for number in (1, 2):
        corpus.seed(tmp_path / str(number), seeds, 10, number)
    one, two = (set(corpus.inputs(tmp_path / str(number)).values()) for number in (1, 2))

    assert (len(one), len(two)) == (10, 10)
    assert one != two


def test_code_that_does_not_end_is_a_finding() -> None:
    def endless(name: str, data: bytes) -> None:
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue

    with pytest.raises(InvariantError, match="comes to an end"), ending(0.2):
        endless("", b"")


def test_a_target_that_cannot_be_loaded_is_no_quiet_run(tmp_path: Path) -> None:
    if not coverage_guided.is_available():
        pytest.skip("no atheris here")
    target = CodeTarget("parser", "wireproof.fuzz.nowhere", lambda name, data: None, lambda name: [b"abcd"])
    (tmp_path / "corpus").mkdir()

    result = coverage_guided.run(target, "throttr", tmp_path / "corpus", executions=10)

    assert result.crash is None
    assert result.found or "No module named" in result.output


TARGET = """
import signal, sys, time
from wireproof.fuzz.targets.instrumented import fuzz

class SlowToFree:
    def __del__(self):
        time.sleep({slow})

def one_input(data):
    {does}

sys.modules["slow to free"] = SlowToFree()
fuzz(one_input, "-timeout=1")
"""


def fuzzed(folder: Path, monkeypatch: pytest.MonkeyPatch, *, does: str, slow: float = 0) -> FuzzerResult:
    """Run a target of its own under atheris; what Python holds at its end takes `slow` seconds to be freed."""
    if not coverage_guided.is_available():
        pytest.skip("no atheris here")
    (folder / "slow_target.py").write_text(TARGET.format(does=does, slow=slow), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    monkeypatch.setattr(coverage_guided, "_options", lambda *given: ["-runs=10"])
    monkeypatch.setattr(coverage_guided, "END_S", 10)
    (folder / "corpus").mkdir()
    target = CodeTarget("parser", "slow_target", lambda name, data: None, lambda name: [b"abcd"])
    return coverage_guided.run(target, "throttr", folder / "corpus", executions=10)


def test_an_input_is_kept_where_python_is_slow_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fuzzed(tmp_path, monkeypatch, does='raise ValueError("wrong")', slow=1.5).crash is not None


def test_a_fuzzer_that_a_signal_ends_is_no_quiet_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ChildProcessError, match="the fuzzer of parser was ended by SIGKILL after 0 executions"):
        fuzzed(tmp_path, monkeypatch, does="signal.raise_signal(signal.SIGKILL)")


@pytest.mark.parametrize("sigint", [signal.default_int_handler, signal.SIG_DFL, signal.SIG_IGN])
def test_a_signal_that_ends_a_command_ends_its_engines_too(sigint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def waiting() -> None:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        click.echo("engines are ended")

    monkeypatch.setattr(LazyGroup, "get_command", lambda *given: waiting)

    before = {one: signal.signal(one, to) for one, to in ((signal.SIGINT, sigint), (signal.SIGTERM, signal.SIG_DFL))}
    try:
        shown = CliRunner().invoke(fuzz, ["parser"]).output
    finally:
        for one, handler in before.items():
            signal.signal(one, signal.SIG_DFL if handler is None else handler)

    assert shown == "engines are ended\n"


def test_an_input_that_does_not_end_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(Scheduler, "overdue", endless)
    monkeypatch.setattr("wireproof.fuzz.scheduler_input.ending", partial(ending, 0.2))

    assert TARGETS["scheduler"].described("throttr", bytes(8)).steps


def test_what_asyncio_logs_does_not_reach_the_console(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @click.command()
    def noisy() -> None:
        logging.getLogger("asyncio").warning("socket.send() raised exception.")
        click.echo("done")

    monkeypatch.setattr(LazyGroup, "get_command", lambda self, context, name: noisy)
    assert run("noisy").output == "done\n"
    assert not caplog.records
    logging.getLogger("asyncio").warning("heard again")
    assert len(caplog.records) == 1
