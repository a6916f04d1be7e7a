"""The driver of a mutant of a reference client: `mutant_driver.py MUTANT PROTOCOL --driver`."""

from __future__ import annotations

import sys

from wireproof.mutants.registry import mutant_client
from wireproof.reference_client import cli, driver

if __name__ == "__main__":
    mutant = sys.argv.pop(1)
    driver.sdk_class = lambda protocol: mutant_client(protocol, mutant)
    cli.main()
