"""How processes that a test starts find SIGINT: as by default, or ignored, as those that a script starts with `&`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def sigint_inherited(handler: signal.Handlers) -> Iterator[None]:
    """Let processes that are started inside inherit SIGINT as `handler`, whoever started the tests."""
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
