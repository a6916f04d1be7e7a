"""The stream transport with real sessions: `python -m wireproof.fuzz.targets.transport CORPUS -max_total_time=60`.

WIREPROOF_PROTOCOL names the protocol.
"""

from __future__ import annotations

import atheris

from wireproof.fuzz.targets.instrumented import fuzz, named_protocol


def main() -> None:
    """Run the target."""
    from wireproof.reference_server.registry import server_packages

    name = named_protocol()
    with atheris.instrument_imports(include=["wireproof.reference_server.streams", server_packages(name)[0]]):
        from wireproof.fuzz.transport_input import check

        check(name, bytes(4))
    fuzz(lambda data: check(name, data), "-max_len=120")


if __name__ == "__main__":
    main()
