"""Mutants that fuzzers must find, of those listed elsewhere: each with its engine and its budget."""

from __future__ import annotations

from wireproof.mutants.mutant import SeededBug

__all__ = ["SEEDED_BUGS"]


def _seeded(engine: str, budget: int, *names: str) -> tuple[SeededBug, ...]:
    return tuple(SeededBug(mutant=one, part="transport", engine=engine, budget=budget) for one in names)


SEEDED_BUGS = (
    *_seeded(
        "server",
        200,
        "nop-behind-publish-unanswered",
        "publish-answered-twice",
        "datagram-reply-of-4-bytes",
        "push-on-the-control-socket",
        "nop-closes-data-socket",
    ),
    *_seeded(
        "server",
        1_000,
        "push-len-without-00",
        "beacon-within-a-push",
        "answers-beyond-64-lost",
        "pieces-forgotten",
        "single-bytes-forgotten",
        "error-closes-everybody",
        "attach-wrong-ends-sessions",
        "data-socket-ends-its-session",
    ),
    *_seeded("live", 300, "process-ends-at-nonsense"),
)
