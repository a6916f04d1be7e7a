"""The TTL scheduler against its model: `python -m wireproof.fuzz.targets.scheduler CORPUS -max_total_time=60`."""

from __future__ import annotations

import atheris

from wireproof.fuzz.targets.instrumented import fuzz, seed_bug


def main() -> None:
    """Run the target."""
    with atheris.instrument_imports(
        include=["wireproof.reference_server.scheduler", "wireproof.reference_server.buckets"]
    ):
        from wireproof.fuzz.scheduler_input import check
    seed_bug()

    fuzz(check)


if __name__ == "__main__":
    main()
