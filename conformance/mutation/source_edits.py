"""Small edits of Python source, one at a time: mutants that nobody chose.

Our own mutation operators, because the tools of the trade run a test command for each mutant (a second at least) and
know nothing of recordings. Here a mutant is a syntax tree compiled in memory, and most are killed within milliseconds.

Left out is what no behaviour depends on: annotations, decorators, options of classes, `__all__`, imports for type
checkers, text of errors, assertions, log calls, `__str__` and `__repr__`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

__all__ = ["SourceEdit", "edited", "source_edits"]

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
SILENT_CALLS = frozenset({"log", "warnings"})
"""Names whose method calls no client can observe."""
UNSEEN_FUNCTIONS = frozenset({"__init_subclass__", "__str__", "__repr__"})
SHOWN = 160
"""Characters of source text kept of an edit or its statement."""
Edit = Callable[[ast.AST], ast.AST]


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """One edit of one node."""

    node: int
    """The number of the node in the order of `ast.walk`."""
    choice: int
    """Which of the edits possible at the node."""
    line: int
    statement_line: int
    """The first line of the statement that the node is part of."""
    function: str
    """Qualified name of the function around it; empty at the level of the module or of a class."""
    statement: str
    """The statement, or the first line of a compound one, as source text."""
    text: str
    """The node before and after: `a < b -> a <= b`."""

    def __str__(self) -> str:
        """Return how it is listed."""
        place = f"{self.line}: {self.text}"
        return place if self.text.startswith(self.statement) else f"{place}, in: {self.statement}"


def source_edits(source: str) -> list[SourceEdit]:
    """Return every edit of the source of a module."""
    tree = ast.parse(source)
    hidden = _hidden(tree)
    around = _surroundings(tree)
    found = []
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in hidden:
            continue
        function, statement = around.get(id(node), ("", None))
        first = statement.lineno if statement is not None else 0
        for choice, edit in enumerate(_edits(node)):
            text = f"{_shown(node)} -> {_shown(edit(deepcopy(node)))}"
            line = getattr(node, "lineno", first)
            found.append(
                SourceEdit(number, choice, line, first, function, _shown(statement) if statement else "", text)
            )
    return found


def edited(source: str, chosen: SourceEdit) -> ast.Module:
    """Return the tree of `source` with one edit applied."""
    tree = ast.parse(source)
    target = next(node for number, node in enumerate(ast.walk(tree)) if number == chosen.node)
    edit = list(_edits(target))[chosen.choice]

    class Editor(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return edit(node) if node is target else self.generic_visit(node)

    changed = Editor().visit(tree)
    assert isinstance(changed, ast.Module)
    return ast.fix_missing_locations(changed)


def _surroundings(tree: ast.Module) -> dict[int, tuple[str, ast.stmt | None]]:
    """Return id of a node -> the qualified name of its function, and its innermost statement."""
    found: dict[int, tuple[str, ast.stmt | None]] = {}

    def visit(node: ast.AST, names: tuple[str, ...], function: str, statement: ast.stmt | None) -> None:
        if isinstance(node, ast.stmt):
            statement = node
        found[id(node)] = (function, statement)
        inside = names
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inside = (*names, node.name)
        for field, value in ast.iter_fields(node):
            is_body = field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, inside, ".".join(inside) if is_body else function, statement)

    visit(tree, (), "", None)
    return found


def _shown(node: ast.AST) -> str:
    """Return a node as source text on one line; of a compound statement its first line."""
    if isinstance(node, ast.stmt) and hasattr(node, "body"):
        text = ast.unparse(node).split("\n")[0]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            text = next(line for line in ast.unparse(node).split("\n") if not line.startswith("@"))
    else:
        text = ast.unparse(node)
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _hidden(tree: ast.Module) -> set[int]:
    """Return the ids of nodes that no behaviour of a server depends on."""
    return {id(one) for node in ast.walk(tree) for part in _unseen(node) for one in ast.walk(part)}


def _unseen(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node that no behaviour depends on."""
    match node:
        case ast.FunctionDef(name=name) if name in UNSEEN_FUNCTIONS:
            yield node
        case ast.FunctionDef(decorator_list=decorators, returns=returns, args=arguments):
            yield from decorators
            yield from filter(None, [returns])
            named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            yield from (one.annotation for one in named if one.annotation is not None)
        case ast.ClassDef(decorator_list=decorators, keywords=keywords):
            yield from decorators
            yield from keywords
        case ast.AnnAssign(annotation=annotation):
            yield annotation
        case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            yield node
        case ast.Raise() | ast.Assert() | ast.JoinedStr():
            yield node


def _edits(node: ast.AST) -> Iterator[Edit]:
    """Yield what can be edited at a node; each edit changes and returns the node it is given, or returns another."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield partial(_set, "ops", [COMPARISONS[type(op)]()])
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in ARITHMETIC:
            yield partial(_set, "op", ARITHMETIC[type(operator)]())
        case ast.BoolOp(op=operator):
            yield partial(_set, "op", ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not()):
            yield _operand
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield partial(_set, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Constant(value=value):
            yield from (partial(_set, "value", other) for other in _other_constants(value))
    if isinstance(node, ast.AugAssign) or _is_effect(node):
        yield _nothing


def _other_constants(value: object) -> Iterator[object]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, bytes) and value:
        yield bytes([value[0] ^ 1]) + value[1:]


def _is_effect(node: ast.AST) -> bool:
    """Say whether a statement does nothing but change something that a client may observe."""
    match node:
        case ast.Expr(value=ast.Call(func=function)):
            return ast.unparse(function).split(".")[0] not in SILENT_CALLS
        case ast.Assign(targets=[ast.Attribute()]):
            return True
    return False


def _operand(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.UnaryOp)
    return node.operand


def _set(name: str, value: object, node: ast.AST) -> ast.AST:
    setattr(node, name, value)
    return node


def _nothing(node: ast.AST) -> ast.AST:
    return ast.copy_location(ast.Pass(), node)
