"""Mutants that any server can be: everything is answered right, and memory, descriptors, CPU or time of others wasted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from wireproof.mutants.edits import Edit, first
from wireproof.mutants.mutant import Mutant

__all__ = ["keeps_others_waiting", "wasteful"]

M = TypeVar("M", bound=Mutant)


def wasteful(mutant: Callable[..., M], session: str, state: str = "self.state") -> tuple[M, ...]:
    """Return the wasteful mutants of a server, made by its `mutant`: `session` is its class, `state` what all share."""

    def made(name: str, description: str, clauses: str, *edits: Edit) -> M:
        return mutant(name, description, clauses, *edits, live=True)

    kept = f"if not self.closed: vars({state}).setdefault('kept', [])"
    return (
        made("connection-leaves-descriptor", "Each connection leaves a descriptor open after it.", "BUDGET-1",
             first(f"{session}.connection_lost", "import os", f"{kept}.append(os.open(os.devnull, os.O_RDONLY))")),
        made("connection-leaves-buffer", "Each connection leaves a buffer of 4 KiB after it.", "BUDGET-1",
             first(f"{session}.connection_lost", rf"{kept}.append(bytearray(b'\1') * 4096)")),
        made("busy-while-idle", "The server polls for work without a pause.", "BUDGET-2",
             _polls("for _ in range(20_000): pass", "loop.call_soon(look)")),
        made("busy-without-descriptors", "While no descriptor is left the server tries again without a pause.", "BUDGET-5",
             _polls("try: os.close(os.dup(0))",
                    "except OSError:",
                    "    for _ in range(20_000): pass",
                    "    loop.call_soon(look)",
                    "else: loop.call_later(0.05, look)")),
    )  # fmt: skip


def keeps_others_waiting(mutant: Callable[..., M], session: str) -> M:
    """Return the mutant that waits for who sends a request in small pieces: the bytes a and t, as its cases do."""
    return mutant(
        "waits-for-slow-senders", "Who sends a request in small pieces keeps the others waiting.", "BUDGET-4",
        first(f"{session}.data_received", "import time", "if not data.strip(b'at'): time.sleep(0.12)"), live=True,
    )  # fmt: skip


def _polls(*lines: str) -> Edit:
    """Return the edit by which a server begins to do `lines` again and again: they call `look` themselves."""
    return first(
        "State.__init__",
        "import asyncio, os",
        "def look():",
        *(f"    {line}" for line in lines),
        "try: loop = asyncio.get_running_loop()",
        "except RuntimeError: loop = None",
        "if loop: loop.call_soon(look)",
    )
