"""The peers of the parser's fuzz target: nothing at all, and the hand-written decoder instrumented as a whole.

`python -m tests.bench.fuzz_peers empty CORPUS -runs=100000`
"""

from __future__ import annotations

import sys

import atheris

from tests.bench import codec_peers
from wireproof.fuzz.targets.instrumented import fuzz
from wireproof.fuzz.targets.parser import OPTIONS

decoders = {lead: atheris.instrument_func(decode) for lead, decode in codec_peers.DECODERS.items()}


def empty(data: bytes) -> None:
    """Do nothing."""


@atheris.instrument_func
def hand_written(data: bytes) -> None:
    """Decode requests until something is none."""
    at, end = 0, len(data)
    while at < end:
        decode = decoders.get(data[at])
        if decode is None:
            return
        message, stop = decode(data, at, end)
        if message is None:
            return
        at = stop


if __name__ == "__main__":
    fuzz({"empty": empty, "hand-written": hand_written}[sys.argv.pop(1)], *OPTIONS)
