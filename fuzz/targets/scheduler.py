"""The TTL scheduler against its model: `python -m fuzz.targets.scheduler CORPUS -max_total_time=60`."""

from __future__ import annotations

import atheris

from fuzz.targets.instrumented import fuzz, plant


def main() -> None:
    """Run the target."""
    with atheris.instrument_imports(include=["reference_server.scheduler", "reference_server.buckets"]):
        from fuzz.scheduler_input import check
    plant()

    fuzz(check)


if __name__ == "__main__":
    main()
