"""Parses YAML as cases write it and checks it against a JSON Schema; imported only for what was not seen before."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import ClassVar

import jsonschema_rs
import yaml

from wireproof.conformance.suite.case_error import CaseError
from wireproof.conformance.suite.values import Node

_BOOLEAN = "tag:yaml.org,2002:bool"
_KEYS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge")
_NOT_HERE = (_BOOLEAN, "tag:yaml.org,2002:timestamp")
MOST_ERRORS = 3
"""Errors reported for one place."""


class _YamlLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML that is JSON: only true and false are truths, so that `on` stays the word it is; dates stay words; keys are
    words, each there once.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {
        first: [one for one in resolvers if one[0] not in _NOT_HERE]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> object:
        """Return the mapping; `yaml.YAMLError` when a key is no word or there twice.

        Raises `ConstructorError` for a key that is not a text or occurs twice.
        """
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag not in _KEYS:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} is no word", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_YamlLoader.add_implicit_resolver(_BOOLEAN, re.compile("^(?:true|false)$"), ["t", "f"])


def parsed(text: str, name: str) -> Node:
    """Return the document in `text`; raises `CaseError` that names the file `name` where it is no YAML or no JSON."""
    try:
        document = yaml.load(text, Loader=_YamlLoader)
        json.dumps(document)
    except yaml.YAMLError as error:
        raise CaseError(f"{name}: no YAML: {error}") from None
    except (TypeError, ValueError) as error:
        raise CaseError(f"{name}: no JSON: {error}") from None
    return document  # type: ignore[no-any-return]


def line_of(text: str, path: Iterable[str | int]) -> int:
    """Return the line, from 1, at which a document has what a path leads to, or the nearest thing around it."""
    node = yaml.compose(text, Loader=_YamlLoader)
    line = 1
    for step in path:
        if isinstance(node, yaml.MappingNode):
            key, node = next(((key, value) for key, value in node.value if key.value == str(step)), (None, None))
            line = line if key is None else key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
        elif not isinstance(step, int):
            break
    return line


def checked(text: str, rules: str, name: str) -> Node:
    """Return the document in `text`, right by the schema `rules`; `CaseError` names the file `name` and the place."""
    document = parsed(text, name)
    try:
        errors = list(jsonschema_rs.validator_for(json.loads(rules)).iter_errors(document))
    except ValueError as error:
        raise CaseError(f"{name}: no JSON: {error}") from None
    if errors:
        outermost = min((error.instance_path for error in errors), key=len)
        detail = [error.message[:300] for error in errors if error.instance_path == outermost]
        raise CaseError(f"{name}: {_place(document, outermost)}: {'; '.join(detail[:MOST_ERRORS])}")
    return document


def _place(document: Node, path: Sequence[str | int]) -> str:
    """Return where in the document, with the id of the case or frame instead of its number."""
    node = document
    for step in path[:2]:
        node = node[step] if isinstance(node, dict | list) else None  # type: ignore[index]
    if len(path) >= 2 and isinstance(node, dict):
        return ".".join(str(one) for one in (node.get("id", path[1]), *path[2:]))
    return ".".join(map(str, path)) or "the document"
