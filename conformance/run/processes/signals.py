"""What this process does at a signal, for as long as something is under way."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["signals_handled"]


@contextmanager
def signals_handled(
    signals: Collection[signal.Signals], handler: Callable[..., Any] | signal.Handlers
) -> Iterator[None]:
    """Handle signals by `handler` meanwhile; only the main thread can, and elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, handler) for one in signals}
    try:
        yield
    finally:
        for one, earlier in before.items():
            signal.signal(one, earlier)
