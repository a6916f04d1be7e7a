"""Signals that end a run: those that come together are one, in a loop and beside it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator

import pytest

from wireproof.conformance.run.processes import ended_by_signals, run_until_ended, signals_handled, signals_ignored


@pytest.fixture(autouse=True)
def by_default() -> Iterator[None]:
    with (
        signals_handled([signal.SIGINT], signal.default_int_handler),
        signals_handled([signal.SIGTERM, signal.SIGHUP], signal.SIG_DFL),
    ):
        yield


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_what_runs_in_a_loop_and_a_second_lets_it_end(how: signal.Signals) -> None:
    ended = []

    async def main() -> None:
        try:
            signal.raise_signal(how)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            signal.raise_signal(how)
            await asyncio.sleep(0)
            ended.append("in the loop")
            raise

    with ended_by_signals():
        with pytest.raises(KeyboardInterrupt):
            run_until_ended(main())
        signal.raise_signal(how)
        ended.append("beside it")

    assert ended == ["in the loop", "beside it"]


def test_beside_a_loop_the_first_is_a_keyboard_interrupt() -> None:
    with ended_by_signals():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)


def test_a_later_one_ends_a_loop_that_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wireproof.conformance.run.processes.signals.TOGETHER", 0.0)
    given = []

    async def main() -> None:
        while True:
            try:
                given.append(signal.raise_signal(signal.SIGINT))
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    with ended_by_signals(), pytest.raises(KeyboardInterrupt):
        run_until_ended(main())

    assert given == [None]


def test_a_coroutine_that_is_cancelled_otherwise_was_not_interrupted() -> None:
    async def main() -> None:
        raise asyncio.CancelledError

    with ended_by_signals(), pytest.raises(asyncio.CancelledError):
        run_until_ended(main())


def test_without_them_a_coroutine_runs_as_by_asyncio() -> None:
    async def main() -> str:
        await asyncio.sleep(0)
        return "done"

    assert run_until_ended(main()) == "done"


def test_what_is_ignored_stays_ignored() -> None:
    with signals_handled([signal.SIGHUP], signal.SIG_IGN), ended_by_signals():
        signal.raise_signal(signal.SIGHUP)
    with signals_ignored():
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.raise_signal(one)
