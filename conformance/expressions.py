"""Small integer and number expressions in cases: `MAX - 1`, `2*N + 3`, `before + 2`.

Names come from the variant (`N`: bytes of a dynamic field, `MAX`: its largest value), the case's `foreach` variables
and saved values. Nothing but arithmetic is evaluated.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
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


class ExpressionError(ValueError):
    """Raised when a text is no arithmetic expression over the known names; it says which part."""


def evaluate(text: str, names: Mapping[str, Any]) -> Number:
    """Return the value of the expression; `ExpressionError` names what was expected and what came."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        raise ExpressionError(f"expected a number or an expression, got {text!r}") from None
    return _value(tree.body, names, text)


def _value(node: ast.expr, names: Mapping[str, Any], text: str) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name) if isinstance(names.get(name), int | float):
            return names[name]  # type: ignore[no-any-return]
        case ast.Name(id=name):
            known = ", ".join(sorted(name for name, value in names.items() if isinstance(value, int | float)))
            raise ExpressionError(f"unknown name {name!r} in {text!r}; known: {known}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names, text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names, text), _value(right, names, text))  # type: ignore[no-any-return]
    raise ExpressionError(f"expected + - * // % ** over numbers and names, got {text!r}")
