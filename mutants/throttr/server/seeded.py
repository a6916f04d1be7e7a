"""Mutants that fuzzers must find, of those listed elsewhere: each with its engine and its budget."""

from __future__ import annotations

from wireproof.mutants.mutant import SeededBug

__all__ = ["SEEDED_BUGS"]


def _seeded(part: str, engine: str, budget: int, *mutants: str, variant: str = "") -> tuple[SeededBug, ...]:
    return tuple(SeededBug(mutant=one, part=part, engine=engine, budget=budget, variant=variant) for one in mutants)


SEEDED_BUGS = (
    *_seeded(
        "store",
        "store",
        30_000,
        "insert-refused-after-expiry",
        "update-decrease-wraps",
        "list-loses-what-is-not-ascending",
        "ttl-wraps-at-64-bits",
        "one-in-sixteen-stays-listed",
    ),
    *_seeded("store", "machine", 100, "query-answers-once-more", "list-names-the-expired"),
    *_seeded(
        "store",
        "machine",
        2_000,
        "set-keeps-the-end-of-an-expired-value",
        "value-with-leftovers",
        "insert-takes-an-expired-quota",
    ),
    *_seeded(
        "transport",
        "server",
        500,
        "unfinished-requests-in-one-place",
        "requests-up-to-1023",
        "beginning-behind-whole-requests-lost",
        "nonsense-ends-all-connections",
        "dies-of-a-run-of-bytes",
        "one-request-at-a-time",
        "serves-32-connections",
    ),
    *_seeded("transport", "server", 500, "dies-of-announced-sizes", variant="uint64"),
    *_seeded("transport", "live", 100, "process-ends-at-nonsense", "busy-while-idle", "one-client-at-a-time"),
    *_seeded("transport", "live", 1_500, "memory-of-announced-length", variant="uint32"),
)
