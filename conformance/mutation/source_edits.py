"""Small wrong edits of Python source, one at a time: what nobody thought of writing as a fault.

Our own mutator, because those of the trade run a test command for each mutant (a second at least) and know nothing of
tapes: here a mutant is an abstract syntax tree compiled in memory, and most are found out within milliseconds.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

__all__ = ["Mutation", "mutated", "mutations"]

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
SILENT_CALLS = frozenset({"log", "warnings"})
"""Names whose method calls no client can see."""
Edit = Callable[[ast.AST], ast.AST]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One edit: the number of its node in `ast.walk` order, the number of its edit there, and how it reads."""

    node: int
    edit: int
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        """As it is listed."""
        return f"{self.line}: {self.before} -> {self.after}"


def mutations(source: str) -> list[Mutation]:
    """Return every edit of a module's source."""
    tree = ast.parse(source)
    hidden = _hidden(tree)
    found = []
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in hidden:
            for which, edit in enumerate(_edits(node)):
                line, after = getattr(node, "lineno", 0), edit(deepcopy(node))
                found.append(Mutation(number, which, line, _shown(node), _shown(after)))
    return found


def mutated(source: str, mutation: Mutation) -> ast.Module:
    """Return the tree of `source` with one edit done."""
    tree = ast.parse(source)
    target = next(node for number, node in enumerate(ast.walk(tree)) if number == mutation.node)
    edit = list(_edits(target))[mutation.edit]

    class Editor(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return edit(node) if node is target else self.generic_visit(node)

    changed = Editor().visit(tree)
    assert isinstance(changed, ast.Module)
    return ast.fix_missing_locations(changed)


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _hidden(tree: ast.Module) -> set[int]:
    """Return the ids of nodes that no behaviour of a server hangs on."""
    return {id(one) for node in ast.walk(tree) for part in _unseen(node) for one in ast.walk(part)}


def _unseen(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what nobody sees of a node: annotations, decorators, options of classes, `__all__`, words of errors."""
    match node:
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
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.FunctionDef(name="__init_subclass__" | "__str__"):
            yield node


def _edits(node: ast.AST) -> Iterator[Edit]:
    """Yield what can be done wrong at a node; each edit changes and returns the node it is given, or another."""
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
    """Say whether a statement does nothing but change something that a client may see."""
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
