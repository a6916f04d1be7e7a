"""Faults of keys: which of them are taken for one, and which are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, Kinds, with_handler
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.requests import Get, Insert, Purge, Query, Set, Stat, Update
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import DENIED, Handler, State
from wireproof.reference_server.throttr.store import Store

__all__ = ["MUTANTS", "refusing"]

NAMED: Mapping[str, tuple[type[Request], str]] = {
    "insert": (Insert, "INSERT-5"),
    "query": (Query, "QUERY-2"),
    "update": (Update, "UPDATE-10"),
    "purge": (Purge, "PURGE-2"),
    "set": (Set, "SET-4"),
    "get": (Get, "GET-2"),
    "stat": (Stat, "STAT-2"),
}
"""Requests that take a key, and what says how its size is told."""
Fold = Callable[[bytes], bytes]


class _Folded(dict[bytes, Record]):
    """Records by what a key is taken for."""

    def __init__(self, fold: Fold) -> None:
        super().__init__()
        self._fold = fold

    def __getitem__(self, key: bytes) -> Record:
        return super().__getitem__(self._fold(key))

    def __setitem__(self, key: bytes, record: Record) -> None:
        super().__setitem__(self._fold(key), record)

    def __delitem__(self, key: bytes) -> None:
        super().__delitem__(self._fold(key))

    def get(self, key: bytes, default: Any = None) -> Any:
        """See `dict`."""
        return super().get(self._fold(key), default)


def folding(fold: Fold) -> type[State]:
    """Return a server that takes keys with the same `fold` for one key."""

    class _Store(Store):
        def __init__(self, clock: Clock) -> None:
            super().__init__(clock)
            self.records = _Folded(fold)

    class Folding(State):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.store = _Store(self.clock)

    return Folding


def refusing(kinds: Kinds, when: Callable[[Ask], bool]) -> HandlerPatch:
    """Refuse requests of `kinds` where `when(ask)`, before anything is done."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
            return DENIED if when(Ask(request, session, now, state)) else correct(request, session, now)

        return handle

    return with_handler(kinds, make)


def _is_text(ask: Ask) -> bool:
    try:
        ask.request.key.decode()
    except UnicodeDecodeError:
        return False
    return True


FOLDS: tuple[tuple[str, str, Fold, tuple[str, ...]], ...] = (
    ("in-any-case", "Letter case makes no difference between keys.", bytes.lower, ("RECORD-3",)),
    ("by-200-bytes", "Keys are compared by their first 200 bytes.",
     lambda key: key[:200], ("RECORD-3", "RECORD-6", "INSERT-5", "SET-4")),
    ("by-230-bytes", "Keys below 254 bytes are compared by their first 230.",
     lambda key: key[:230] if len(key) < 254 else key, ("RECORD-3",)),
    ("by-254-bytes", "Keys are compared by their first 254 bytes.",
     lambda key: key[:254], ("RECORD-3", "RECORD-6", "INSERT-5", "SET-4")),
    ("without-trailing-zeros", "Zero bytes at the end of a key do not count.",
     lambda key: key.rstrip(b"\0"), ("RECORD-3", "RECORD-4")),
    ("up-to-a-zero-byte", "Keys are compared up to their first zero byte.",
     lambda key: key.partition(b"\0")[0], ("RECORD-3", "RECORD-4")),
    ("trimmed", "Blanks and line ends around a key do not count.", bytes.strip, ("RECORD-3", "RECORD-4")),
    ("of-2-bytes-either-way", "The order of the bytes of a key of two does not count.",
     lambda key: min(key, key[::-1]) if len(key) == 2 else key, ("RECORD-3",)),
    ("of-7-bits", "Bit 7 of the bytes of a key does not count.",
     lambda key: bytes(byte & 0x7F for byte in key), ("RECORD-3", "RECORD-4")),
)  # fmt: skip
# fmt: off
MUTANTS = (
    *(mutant(f"keys-{name}", description, *clauses, state=folding(fold)) for name, description, fold, clauses in FOLDS),
    *(mutant(f"{name}-refuses-255-bytes", f"{name.upper()} of a key of 255 bytes is refused, as if 254 were the most.",
            "RECORD-6", size, handlers=refusing(kind, lambda ask: len(ask.request.key) == 255))
      for name, (kind, size) in NAMED.items()),
    *(mutant(f"{name}-wants-text", f"{name.upper()} of a key that is not UTF-8 is refused.",
            "RECORD-4", handlers=refusing(kind, lambda ask: not _is_text(ask))) for name, (kind, _) in NAMED.items()),
)
# fmt: on
