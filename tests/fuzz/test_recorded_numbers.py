"""Every number that server and model share is recorded apart from the code, and a wrong one is a finding."""

from __future__ import annotations

from enum import IntEnum
from importlib import import_module
from types import ModuleType

import pytest

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.known_targets import TARGETS
from wireproof.fuzz.recorded_numbers import check_numbers, recorded_numbers
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols.registry import PACKAGES


@pytest.mark.parametrize("name", protocol_names())
def test_any_number_that_is_edited_is_found(name: str) -> None:
    """Also one in a table or a constant."""
    right = import_module(f"{PACKAGES[name]}.enums")
    recorded = recorded_numbers(name)
    check_numbers(right, recorded)
    edited = set[str]()
    for enum, kind in {**vars(right)}.items():
        if not (isinstance(kind, type) and issubclass(kind, IntEnum) and kind is not IntEnum):
            continue
        for one in kind:
            wrong = ModuleType(right.__name__)
            members = {other.name: int(other) + 4096 * (other is one) for other in kind}
            vars(wrong).update({**vars(right), enum: IntEnum(enum, members, module=right.__name__)})
            with pytest.raises(InvariantError, match=rf"{enum}\.{one.name} is {int(one) + 4096}, recorded {int(one)}"):
                check_numbers(wrong, recorded)
            edited.add(enum)
    assert edited >= set(protocol(name).names) & set(vars(right))


def test_constants_tables_and_what_is_not_recorded_are_compared() -> None:
    right = import_module(f"{PACKAGES['throttr']}.enums")
    recorded = recorded_numbers("throttr")
    units = {one: number * 2 for one, number in right.NANOSECONDS_PER_UNIT.items()}
    for name, value in (("NANOSECONDS_PER_UNIT", units), ("NEW_LIMIT", 7)):
        wrong = ModuleType(right.__name__)
        vars(wrong).update({**vars(right), name: value})
        with pytest.raises(InvariantError, match=name):
            check_numbers(wrong, recorded)


def test_bytes_are_compared() -> None:
    right = import_module(f"{PACKAGES['psrt']}.enums")
    wrong = ModuleType(right.__name__)
    vars(wrong).update({**vars(right), "CONTROL_HEADER": b"\xee\xbb"})

    with pytest.raises(InvariantError, match=r"CONTROL_HEADER\.hex is eebb, recorded eeaa"):
        check_numbers(wrong, recorded_numbers("psrt"))


def test_the_engine_compares_numbers_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    from wireproof.protocols.tmqp import enums

    monkeypatch.setattr(enums, "LONGEST_TTL", 30)

    with pytest.raises(InvariantError, match="LONGEST_TTL is 30, recorded 31"):
        TARGETS["parser"].check_recorded("tmqp")
