"""A fault in our own code, as an edit of its source: planted for as long as a context lasts, or for a whole process.

The code of a function is exchanged in place, so that whoever imported it already runs the wrong one too.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["Edit", "applied"]


@dataclass(frozen=True)
class Edit:
    """One place in the source of a function and what stands there instead."""

    module: ModuleType
    function: str
    """Its name in the module, dots between: `Buffer.want`."""
    old: str
    new: str

    def found(self) -> FunctionType:
        """Return the function."""
        found: Any = self.module
        for name in self.function.split("."):
            found = inspect.getattr_static(found, name)
        plain: FunctionType = found.__func__ if isinstance(found, classmethod) else found  # type: ignore[assignment]
        return plain


def _edited(edits: list[Edit]) -> Any:
    """Return the code of a function after these edits; `ValueError` when a place is not there exactly once."""
    function = edits[0].found()
    source = inspect.getsource(function)
    for edit in edits:
        if source.count(edit.old) != 1:
            raise ValueError(f"{edit.function}: expected once, got {source.count(edit.old)} times: {edit.old!r}")
        source = source.replace(edit.old, edit.new)
    scope = dict(vars(edits[0].module))
    within = "if True:\n" if source[0].isspace() else ""
    source = f"from __future__ import annotations\n{within}{source}"
    exec(compile(source, function.__code__.co_filename, "exec"), scope)
    made: Any = scope[function.__name__]
    return (made.__func__ if isinstance(made, classmethod) else made).__code__


@contextmanager
def applied(edits: tuple[Edit, ...]) -> Iterator[list[FunctionType]]:
    """Let our code be wrong within; gives the functions that are. What was made of it before stays as it is."""
    by_function: dict[FunctionType, list[Edit]] = {}
    for edit in edits:
        by_function.setdefault(edit.found(), []).append(edit)
    codes = {function: _edited(mine) for function, mine in by_function.items()}
    correct = {function: function.__code__ for function in codes}
    for function, code in codes.items():
        function.__code__ = code
    try:
        yield list(codes)
    finally:
        for function, code in correct.items():
            function.__code__ = code
