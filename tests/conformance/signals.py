"""How processes that a test starts find SIGINT: as by default, or ignored, as those that a script starts with `&`."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from wireproof.conformance.run.processes import signals_handled


@contextmanager
def sigint_inherited(handler: signal.Handlers) -> Iterator[None]:
    """Let processes that are started inside inherit SIGINT as `handler`, whoever started the tests.

    They inherit SIGHUP as by default, also where the tests run under `nohup`, which ignores it.
    """
    with signals_handled([signal.SIGINT], handler), signals_handled([signal.SIGHUP], signal.SIG_DFL):
        yield
