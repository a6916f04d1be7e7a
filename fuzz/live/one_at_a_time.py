"""Scripts in which one connection acts after the other, so that the order of what the server does is known."""

from __future__ import annotations

from wireproof.conformance.model.actions import Open, Secure, Shut, Sleep, Write
from wireproof.fuzz.script import Script, ScriptStep

__all__ = ["SETTLE", "has_several", "in_turn"]

SETTLE = Sleep(0.0)
"""A step in which a play reads what is due on every connection, where a model says so, and does nothing else."""


def has_several(script: Script) -> bool:
    """Return whether a script opens several connections."""
    return len({step.connection for step in script if isinstance(step, Open)}) > 1


def in_turn(script: Script) -> Script:
    """Return the script with `SETTLE` wherever another connection goes on, one ends, or time passes."""
    steps: list[ScriptStep] = []
    asked: str | None = None
    """The connection that asked since all was settled."""
    for step in script:
        if step == SETTLE:
            continue
        is_other = isinstance(step, Write | Open | Secure) and step.connection != asked
        if asked is not None and (is_other or isinstance(step, Shut | Sleep)):
            steps.append(SETTLE)
            asked = None
        steps.append(step)
        if isinstance(step, Write):
            asked = step.connection
    return tuple(steps)
