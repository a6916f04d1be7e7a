"""What all targets share: generated codecs are instrumented too, and each target runs alone as fuzzers expect it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import atheris

__all__ = ["fuzz", "instrument_generated"]


def instrument_generated() -> None:
    """Instrument the decoders and encoders that are generated from layouts; before any codec is made."""
    import protocols.frames as frames

    build = frames.build

    def instrumented(*arguments: Any, **scope: Any) -> Any:
        return atheris.instrument_func(build(*arguments, **scope))

    frames.build = instrumented


def fuzz(one_input: Callable[[bytes], None]) -> None:
    """Fuzz until libFuzzer's options in `sys.argv` say enough."""
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
