"""Mutants made by an edit of source: a private copy of the modules concerned, in which one place reads otherwise.

A function cannot be replaced where it is: the right server runs in the same process, and other modules hold it under
its name. So the edited module is compiled again, and so is each module that imports it, directly or not. Within the
copy an import of a copied module finds the copy; every other import finds the module that everybody has. Messages,
errors and whatever else does not depend on the edited place therefore stay the same objects. Exceptions keep their
identity even in copied modules, because code that is not copied catches them.

A place is named by a class or function at the top of one module (`State.forget`, `normalised`, or `state.State.forget`
where two modules have the name), so that a row of a table stays short. Nothing is compiled before it is asked for.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

__all__ = ["Edit", "Edited", "after", "around", "before", "edit", "first"]

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Edit:
    """One place in a package and what it reads instead."""

    place: str
    """The class, method or function: `State.forget`."""
    old: str
    """What is there exactly once; "" stands for the place before the first statement, "def" for the method itself."""
    new: str
    """Lines, indented from where `old` is."""


def edit(place: str, old: str, *new: str) -> Edit:
    """Return the edit of `place` that puts lines where `old` is."""
    return Edit(place, old, "\n".join(new))


def first(place: str, *new: str) -> Edit:
    """Return the edit that puts lines before the first statement of `place`."""
    return Edit(place, "", "\n".join(new))


def before(place: str, old: str, *new: str) -> Edit:
    """Return the edit that puts lines before the statement that begins with `old`."""
    return edit(place, old, *new, old)


def after(place: str, old: str, *new: str) -> Edit:
    """Return the edit that puts lines after the statement `old`."""
    return edit(place, old, old, *new)


def around(place: str, *new: str) -> Edit:
    """Return the edit that makes lines of a method; what it was is another method: `place` with `correct_` before it."""
    return Edit(place, "def", "\n".join(new))


@dataclass(frozen=True)
class _Source:
    """One module as text and tree."""

    path: Path
    text: str
    tree: ast.Module
    imports: frozenset[str]
    """Full names of the modules that it imports when it is imported itself."""

    @cached_property
    def code(self) -> CodeType:
        """The module as it stands, compiled: most copies are of modules that import the edited one."""
        return compile(self.text, str(self.path), "exec")


@cache
def _sources(name: str) -> Mapping[str, _Source]:
    """Return full name -> source of a module, or of all modules of a package."""
    root = import_module(name)
    start = Path(str(root.__file__))
    found = {}
    for path in sorted(start.parent.rglob("*.py")) if hasattr(root, "__path__") else [start]:
        parts = path.relative_to(start.parent).with_suffix("").parts if path != start else ()
        parts = parts[:-1] if parts[-1:] == ("__init__",) else parts
        tree = ast.parse(text := path.read_text())
        imports = {str(one.module) for one in tree.body if isinstance(one, ast.ImportFrom)}
        found[".".join((name, *parts))] = _Source(path, text, tree, frozenset(imports))
    return found


@dataclass(frozen=True, eq=False)
class Edited:
    """Some modules after edits; those that no edit concerns are the common ones."""

    names: Sequence[str]
    """Full names of modules and packages."""
    edits: Sequence[Edit]
    _loaded: dict[str, ModuleType] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def affected(self) -> frozenset[str]:
        """Full names of the modules that are edited, or depend on one that is; raises as `get`."""
        found = set(self._places)
        while more := {name for name, one in self._sources.items() if one.imports & found} - found:
            found |= more
        return frozenset(found)

    def get(self, module: str) -> Any:
        """Return a module by its full name.

        Raises ValueError for a place that is in no module or in several, and for an `old` that is not there once.
        """
        if module not in self.affected:
            return import_module(module)
        return self._loaded.get(module) or self._load(module)

    @cached_property
    def _sources(self) -> Mapping[str, _Source]:
        return {name: source for one in self.names for name, source in _sources(one).items()}

    @cached_property
    def _places(self) -> Mapping[str, list[tuple[str, Edit]]]:
        """Module -> its edits, each with its place within the module."""
        found: dict[str, list[tuple[str, Edit]]] = {}
        for one in self.edits:
            first, _, rest = one.place.partition(".")
            places = [
                (name, inner)
                for name, source in self._sources.items()
                for inner in (one.place, rest if name.endswith(f".{first}") else "")
                if inner and _definition(source.tree, inner) is not None
            ]
            if len(places) != 1:
                raise ValueError(f"{one.place}: expected one definition, found {len(places)}")
            found.setdefault(places[0][0], []).append((places[0][1], one))
        return found

    def _load(self, name: str) -> ModuleType:
        source = self._sources[name]
        text, tree = source.text, source.tree
        for number, (place, one) in enumerate(self._places.get(name, ())):
            text = _changed(text, ast.parse(text) if number else tree, place, one)
        code = source.code if text is source.text else compile(text, str(source.path), "exec")
        module = self._loaded[name] = ModuleType(name)
        vars(module).update(__file__=str(source.path), __builtins__={**vars(builtins), "__import__": self._import})
        exec(code, vars(module))
        for key, value in list(vars(module).items()):
            if isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == name:
                setattr(module, key, getattr(import_module(name), key))
        return module

    def _import(self, name: str, *given: Any, **named: Any) -> Any:
        return self.get(name) if name in self.affected else builtins.__import__(name, *given, **named)


def _definition(tree: ast.Module, place: str) -> Definition | None:
    """Return the class or function at the top of a module, or within one, that `place` names."""
    found: Any = tree
    for name in place.split("."):
        found = next((one for one in found.body if isinstance(one, Definition) and one.name == name), None)
        if found is None:
            return None
    return found  # type: ignore[no-any-return]


def _changed(text: str, tree: ast.Module, place: str, one: Edit) -> str:
    """Return the source of a module, of which `tree` is the tree, after an edit within `place`."""
    definition = _definition(tree, place)
    assert definition is not None
    lines = text.splitlines(keepends=True)
    start, stop = definition.lineno - 1, int(definition.end_lineno or 0)
    if not one.old:
        rest = definition.body[ast.get_docstring(definition) is not None :]
        at, indent = rest[0].lineno - 1 if rest else stop, " " * definition.body[0].col_offset
        return "".join([*lines[:at], indent, one.new.replace("\n", f"\n{indent}"), "\n", *lines[at:]])
    body = "".join(lines[start:stop])
    if one.old == "def":
        head = "".join(lines[start : definition.body[0].lineno - 1])
        indent, named = " " * definition.body[0].col_offset, head.replace("def ", "def correct_", 1)
        new = one.new.replace("\n", f"\n{indent}")
        return "".join([*lines[:start], head, indent, new, "\n\n", named, body[len(head) :], *lines[stop:]])
    if body.count(one.old) != 1:
        raise ValueError(f"{one.place}: expected once, found {body.count(one.old)} times: {one.old!r}")
    line = body[body.rfind("\n", 0, body.index(one.old)) + 1 :]
    indent = line[: len(line) - len(line.lstrip(" "))]
    new = one.new.replace("\n", f"\n{indent}")
    return "".join([*lines[:start], body.replace(one.old, new), *lines[stop:]])
