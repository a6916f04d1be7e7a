"""The frame parser: both sides, every profile and variant.

`python -m wireproof.fuzz.targets.parser CORPUS -max_total_time=60`

WIREPROOF_PROTOCOL names the protocol.
"""

from __future__ import annotations

from wireproof.fuzz.parser_input import check_one, combinations, decode_seeds, rebuild_codecs
from wireproof.fuzz.targets.instrumented import fuzz, instrument_generated, instrument_package, named_protocol, seed_bug
from wireproof.protocols.registry import PACKAGES

OPTIONS = ("-max_len=300", "-reduce_inputs=0")
"""The longest name fits in one input; searching for shorter inputs would take as long as running them."""


def main() -> None:
    """Run the target."""
    name = named_protocol()
    alone = all(endpoint.stands_alone for endpoint in combinations(name))
    decode_seeds(name)
    rebuild_codecs(name)
    seed_bug()
    instrument_generated()
    if not alone:
        instrument_package(PACKAGES[name], "wireproof.protocols.onepass", "wireproof.protocols.sexp")
    fuzz(lambda data: check_one(name, data), *OPTIONS)


if __name__ == "__main__":
    main()
