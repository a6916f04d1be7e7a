"""A whole server against the model of its document.

`python -m wireproof.fuzz.targets.store CORPUS -max_total_time=60`

WIREPROOF_PROTOCOL names the protocol, WIREPROOF_MUTANT a mutant of its server (default: the correct server).
"""

from __future__ import annotations

import os

import atheris

from wireproof.fuzz.targets.instrumented import fuzz, named_protocol


def main() -> None:
    """Run the target."""
    from wireproof.reference_server.registry import server_packages

    name = named_protocol()
    with atheris.instrument_imports(include=[server_packages(name)[0], "wireproof.reference_server.scheduler"]):
        from wireproof.fuzz.store_input import check

        check(name, bytes(2))
    mutant = os.environ.get("WIREPROOF_MUTANT") or None
    fuzz(lambda data: check(name, data, mutant))


if __name__ == "__main__":
    main()
