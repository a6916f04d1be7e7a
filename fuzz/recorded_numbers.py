"""The numbers of each document, written down apart from the code: server and model share those of the code.

An edit of such a number moves both, so no comparison of the two shows it. `vectors/<protocol>/numbers.yaml` holds them
once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from importlib import import_module
from types import ModuleType
from typing import Any

import yaml

from wireproof.conformance.suite.documents import vectors_root
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.protocols.registry import PACKAGES

__all__ = ["check_numbers", "check_recorded_numbers", "recorded_numbers"]

INVARIANT = "numbers are those of the document"


def check_recorded_numbers(name: str) -> None:
    """Compare all numbers of a protocol's `enums.py` with the recorded ones. Raises `InvariantError`."""
    check_numbers(import_module(f"{PACKAGES[name]}.enums"), recorded_numbers(name))


def recorded_numbers(name: str) -> Mapping[str, Any]:
    """Return what is recorded of a protocol: name of an enum, a table or a constant -> its numbers, or its value."""
    found: Mapping[str, Any] = yaml.safe_load((vectors_root() / name / "numbers.yaml").read_text(encoding="utf-8"))
    return found


def check_numbers(module: ModuleType, recorded: Mapping[str, Any]) -> None:
    """Compare the enums, tables and constants of a module with `recorded`. Raises `InvariantError`, for one of them."""
    found = {name: _plain(value) for name, value in vars(module).items() if _is_number(name, value, module)}
    for name in sorted({*found, *recorded}):
        for part in sorted({*_parts(found.get(name)), *_parts(recorded.get(name))}):
            got, wanted = _parts(found.get(name)).get(part), _parts(recorded.get(name)).get(part)
            if got != wanted:
                where = f"{module.__name__.removeprefix('wireproof.')}: {name}{part and f'.{part}'}"
                raise InvariantError(INVARIANT, f"{where} is {got}, recorded {wanted}", where)


def _is_number(name: str, value: object, module: ModuleType) -> bool:
    """Say whether something of a module is an enum of its own, or a constant."""
    if isinstance(value, type):
        return issubclass(value, IntEnum) and value.__module__ == module.__name__
    return name.isupper() and isinstance(value, int | bytes | dict)


def _plain(value: Any) -> object:
    """Return numbers as they are recorded."""
    if isinstance(value, type) and issubclass(value, IntEnum):
        return {name: int(one) for name, one in value.__members__.items()}
    if isinstance(value, dict):
        return {one.name: number for one, number in value.items()}
    return {"hex": value.hex()} if isinstance(value, bytes) else int(value)


def _parts(value: object) -> Mapping[str, object]:
    """Return the numbers of an enum or a table by name; a constant has no name beside its own."""
    return {} if value is None else value if isinstance(value, dict) else {"": value}
