"""A throttr server whose ids begin with 03, as pushes do, and that answers UNSUBSCRIBE twice."""

from __future__ import annotations

import sys

from wireproof.mutants.cli import main
from wireproof.mutants.throttr.server import MUTANTS
from wireproof.mutants.throttr.server.mutant import mutant
from wireproof.mutants.throttr.server.patches import with_answer
from wireproof.protocols.throttr.requests import Unsubscribe, Whoami

LIKE_A_PUSH = with_answer(Whoami, lambda answer, ask: b"\x03" + answer[1:])
TWICE = with_answer(Unsubscribe, lambda answer, ask: answer * 2)

if __name__ == "__main__":
    MUTANTS["twice"] = mutant(  # type: ignore[index]
        "twice",
        "It answers UNSUBSCRIBE twice.",
        "UNSUBSCRIBE-4",
        handlers=lambda correct, state: {**LIKE_A_PUSH(correct, state), **TWICE(correct, state)},
    )
    sys.argv[1:] = ["throttr", "--profile", "7.1.0", "--variant", "uint16", "--mutant", "twice"]
    main()
