"""A reference server that wastes what it is given, in one way: `python wasteful.py FAULT OPTIONS`."""

from __future__ import annotations

import sys

from reference_server.cli import main
from reference_server.throttr.faults import FAULTS, waste

if __name__ == "__main__":
    name = sys.argv.pop(1)
    FAULTS.update({one.name: one for one in waste.FAULTS})  # type: ignore[attr-defined]
    sys.argv[1:] = ["throttr", *sys.argv[1:], "--fault", name]
    main()
