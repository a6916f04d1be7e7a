"""Where the checkout is that these tests are part of, and which of them run longest."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SPARK, GATES = "tests/spark/", "tests/gates/"
"""How the ids of the tests begin that run longest."""
