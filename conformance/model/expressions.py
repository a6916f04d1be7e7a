"""Small integer and number expressions in cases: `MAX - 1`, `2*N + 3`, `before + 2`.

Names come from the variant (`N`: bytes of a dynamic field, `MAX`: its largest value), the case's `foreach` variables
and saved values. Nothing but arithmetic is evaluated.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

Number = int | float

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}

FUNCTIONS: dict[str, Callable[[Iterable[Number]], Number]] = {"min": min, "max": max}
"""Functions of two numbers or more."""

LARGEST = 1 << 128
"""Beyond what any field of any protocol holds."""


class ExpressionError(ValueError):
    """Raised when a text is no arithmetic expression over the known names; it says which part."""


def evaluate(text: str, names: Mapping[str, object]) -> Number:
    """Return the value of the expression; `ExpressionError` names what was expected and what came."""
    try:
        value = _value(_parsed(text), names, text)
    except ArithmeticError as error:
        raise ExpressionError(f"{text!r} has no value: {error}") from None
    if not abs(value) < LARGEST:
        raise ExpressionError(f"{text!r} is beyond every field: expected less than 2 ** 128")
    return value


@lru_cache(4096)
def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise ExpressionError(f"expected a number or an expression, got {text!r}") from None


def _value(node: ast.expr, names: Mapping[str, object], text: str) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name) if isinstance(names.get(name), int | float):
            return names[name]  # type: ignore[return-value]
        case ast.Name(id=name):
            known = ", ".join(sorted(name for name, value in names.items() if isinstance(value, int | float)))
            raise ExpressionError(f"unknown name {name!r} in {text!r}; known: {known}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names, text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            first, second = _value(left, names, text), _value(right, names, text)
            if isinstance(op, ast.Pow) and not (0 <= second <= 128 and abs(first) <= LARGEST):
                raise ExpressionError(f"expected an exponent from 0 to 128 in {text!r}, got {second}")
            return _BINARY[type(op)](first, second)  # type: ignore[no-any-return]
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as given, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](_value(one, names, text) for one in given)
    raise ExpressionError(f"expected + - * // % ** min max over numbers and names, got {text!r}")
