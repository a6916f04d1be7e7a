"""A reference server that wastes what it is given, in one way: `python wasteful.py FAULT OPTIONS`."""

from __future__ import annotations

import sys

from wireproof.mutants.cli import main
from wireproof.mutants.throttr.server import MUTANTS, waste

if __name__ == "__main__":
    name = sys.argv.pop(1)
    MUTANTS.update({one.name: one for one in waste.MUTANTS})  # type: ignore[attr-defined]
    sys.argv[1:] = ["throttr", *sys.argv[1:], "--mutant", name]
    main()
