"""The frame parser, both sides, every profile and variant: `python -m fuzz.targets.parser CORPUS -max_total_time=60`.

The protocol is that of WIREPROOF_PROTOCOL, or the first one there is.
"""

from __future__ import annotations

import os

from fuzz.targets.instrumented import fuzz, instrument_generated


def main() -> None:
    """Run the target."""
    instrument_generated()
    from fuzz.parser_input import check
    from protocols import protocol_names

    name = os.environ.get("WIREPROOF_PROTOCOL") or protocol_names()[0]
    fuzz(lambda data: check(name, data))


if __name__ == "__main__":
    main()
