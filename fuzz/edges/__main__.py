"""Runs a Python program and counts its edges: `python -m wireproof.fuzz.edges [--below FOLDER]... -m MODULE ARG...`.

Or a file instead of `-m MODULE`. Without `--below` the code below the folder of the module's package, or of the file,
is counted. Without `WIREPROOF_COVERAGE` the program runs as it is.
"""

from __future__ import annotations

import os
import runpy
import sys
from importlib.util import find_spec

from wireproof.fuzz.edges.python_edges import EdgeTracer, counters_of_environment

USAGE = "usage: python -m wireproof.fuzz.edges [--below FOLDER]... (-m MODULE | FILE) ARG..."


def main(arguments: list[str]) -> int:
    """Run the program; return 2 for wrong arguments or a file that cannot be mapped."""
    below: list[str] = []
    while arguments[:1] == ["--below"] and len(arguments) > 1:
        below.append(os.path.abspath(arguments[1]))
        arguments = arguments[2:]
    is_module = arguments[:1] == ["-m"]
    arguments = arguments[is_module:]
    if not arguments or arguments[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 2
    name = arguments[0]
    folder = _folder_of(name) if is_module else os.path.dirname(os.path.abspath(name))
    try:
        counters = counters_of_environment()
    except (OSError, ValueError) as error:
        print(f"wireproof.fuzz.edges: WIREPROOF_COVERAGE: cannot map the file of counters: {error}", file=sys.stderr)
        return 2
    if folder is None:
        print(f"wireproof.fuzz.edges: no module {name!r}", file=sys.stderr)
        return 2
    sys.argv[:] = arguments
    if not is_module:
        sys.path[0] = folder
    if counters is not None:
        EdgeTracer(counters, below or [folder]).start()
    if is_module:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(name, run_name="__main__")
    return 0


def _folder_of(module: str) -> str | None:
    """Return the folder of the outermost package of a module, its file if it has no package; None if there is none."""
    spec = find_spec(module.partition(".")[0])
    if spec is None or spec.origin is None:
        return None
    return os.path.dirname(spec.origin) if spec.submodule_search_locations else spec.origin


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
