"""Seeds a bug in our own code by editing the source of a function, for the duration of a context or of a process.

The code object of the function is replaced in place, so modules that imported it before run the edited code, too.
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
    """One replacement in the source of a function."""

    module: ModuleType
    function: str
    """Its name in the module, with dots: `Buffer.want`."""
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
    """Return the code of a function after the edits. Raises `ValueError` if a place does not occur exactly once."""
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
    """Apply edits for the duration of the context; yield the edited functions. Raises `ValueError`, see `Edit`.

    Objects made by these functions before stay as they are.
    """
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
