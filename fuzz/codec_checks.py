"""The checks of the parser's fuzz target, of which each input draws one."""

from __future__ import annotations

from enum import Enum
from zlib import crc32

__all__ = ["CHECK_BY_BYTE", "CodecCheck", "check_of"]


class CodecCheck(Enum):
    """The checks of one execution."""

    FRAME = "decode one frame"
    LIMIT = "decode one frame under limits near its size"
    WRITTEN = "encode what was read"
    REDRAWN = "encode what was read with another value"
    SEGMENTATION = "read the stream in pieces"
    ECONOMY = "count bytes copied and memory"
    DIALOGUE = "let both sides speak to each other"


RARE_CHECKS = {
    CodecCheck.SEGMENTATION: 3,
    CodecCheck.WRITTEN: 6,
    CodecCheck.ECONOMY: 2,
    CodecCheck.LIMIT: 6,
    CodecCheck.REDRAWN: 8,
    CodecCheck.DIALOGUE: 4,
}
"""Check -> of how many in 256 inputs it runs: a check 20 times as slow as decoding a frame runs less often."""
CHECK_BY_BYTE = [what for what, times in RARE_CHECKS.items() for _ in range(times)]
CHECK_BY_BYTE += [CodecCheck.FRAME] * (256 - len(CHECK_BY_BYTE))


def check_of(data: bytes) -> CodecCheck:
    """Return the check that `check_one` runs on an input."""
    return CHECK_BY_BYTE[crc32(data) & 0xFF]
