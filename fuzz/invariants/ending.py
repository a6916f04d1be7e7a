"""A limit of processor time for one input: code that does not end is a finding, not the end of the engine."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from wireproof.fuzz.invariants.invariant_error import InvariantError

__all__ = ["ENDLESS", "LONGEST_S", "ending"]

ENDLESS = "endless"
"""The shape of what does not end."""

LONGEST_S = 5.0
"""Seconds of processor time that one input may take; the slowest seed takes some hundredths."""


class _EndlessError(BaseException):
    """Raised in code that does not end; no handler of `Exception` keeps it."""


def _expire(number: int, frame: FrameType | None) -> None:
    raise _EndlessError


@contextmanager
def ending(seconds: float = LONGEST_S) -> Iterator[None]:
    """Raise `InvariantError` if what is done inside takes more than `seconds` of processor time.

    Does nothing outside the main thread, and where a limit is set already.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getitimer(signal.ITIMER_VIRTUAL)[0]:
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _expire)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 1.0)
    try:
        yield
    except _EndlessError as error:
        frame = traceback.extract_tb(error.__traceback__)[-2]
        detail = f"{seconds:g} s of processor time are not enough, in {frame.name}"
        raise InvariantError("every input comes to an end", detail, ENDLESS) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
