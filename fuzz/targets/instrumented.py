"""Shared by all targets: instrumentation of generated decoders, the seeded bug, and the main loop."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import FunctionType, ModuleType
from typing import Any

import atheris

__all__ = ["SEEDED_BUG", "fuzz", "instrument_generated", "instrument_package", "named_protocol", "seed_bug"]

SEEDED_BUG = "WIREPROOF_SEEDED_BUG"
PROTOCOL = "WIREPROOF_PROTOCOL"
WHOLE_PROCESS = ExitStack()

ENCODER = "encode"


def named_protocol() -> str:
    """Return the protocol named by WIREPROOF_PROTOCOL. Raises `SystemExit` for an unknown one."""
    from wireproof.protocols import protocol_names

    name = os.environ.get(PROTOCOL, "")
    if name not in protocol_names():
        sys.exit(f"{PROTOCOL}: expected {' or '.join(protocol_names())}, got {name!r}")
    return name


def instrument_generated() -> None:
    """Instrument the decoders generated from layouts. Call it before any codec is made.

    Branches only: comparisons of offsets help a fuzzer little and cost more than the decoding. Encoders follow from
    the message, so they are not instrumented.
    """
    from wireproof.protocols import frames, tables

    build = frames.build

    def instrumented(name: str, *arguments: Any, **scope: Any) -> Any:
        made: FunctionType = build(name, *arguments, **scope)
        if name != ENCODER:
            made.__code__ = atheris.patch_code(made.__code__, False)
        return made

    for module in (frames, tables):
        module.build = instrumented  # type: ignore[attr-defined]
    for function in (tables.Measure.__call__, tables.Measure._part_end):
        function.__code__ = atheris.patch_code(function.__code__, False)


def instrument_package(*names: str) -> None:
    """Instrument all functions of imported packages. Call it before any codec is made."""
    for module in [one for name, one in sys.modules.items() if name.startswith(names)]:
        for function in set(_functions(module)):
            function.__code__ = atheris.patch_code(function.__code__, False)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions and plain methods that a module defines."""
    for one in [*vars(module).values()]:
        for found in vars(one).values() if isinstance(one, type) else (one,):
            if isinstance(found, FunctionType) and found.__module__ == module.__name__:
                yield found


def seed_bug() -> None:
    """Seed the bug named by WIREPROOF_SEEDED_BUG in this process. Call it before any codec or scheduler is made.

    Raises `KeyError` for an unknown bug.
    """
    if name := os.environ.get(SEEDED_BUG):
        from wireproof.fuzz.seeded_bugs.catalogue import own_bugs
        from wireproof.fuzz.seeded_bugs.function_edits import applied

        for function in WHOLE_PROCESS.enter_context(applied(own_bugs()[name].edits)):
            atheris.instrument_func(function)


def fuzz(one_input: Callable[[bytes], None], *options: str) -> None:
    """Fuzz until libFuzzer's options in `sys.argv` end it; `options` are defaults that `sys.argv` may override.

    An input that breaks something is written once Python has ended, which takes seconds on a busy machine and resets
    the handlers of signals before it frees its objects: the timer of `-timeout` would end the process without a word.
    """

    def checked(data: bytes) -> None:
        try:
            one_input(data)
        except BaseException:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise

    atheris.Setup([sys.argv[0], *options, *sys.argv[1:]], checked)
    atheris.Fuzz()
