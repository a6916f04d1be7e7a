"""The JSON schemas of the files that people write, derived from the types that `case_reader.py` reads them into.

msgspec gives the schema of the types as they are kept. What people write differs in a few ways, each undone here: it
names no class, has a list of one as the one, several verbs or matchers in one mapping, and messages by keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache

import msgspec

from wireproof.conformance.suite.case_files import CaseFile, SequenceEntry, SequenceName
from wireproof.conformance.suite.case_forms import BESIDE, CHOICES, MATCHERS
from wireproof.conformance.suite.pattern_types import (
    FieldChoice,
    FieldPattern,
    MessagePattern,
    Pattern,
    PatternChoice,
    PatternItem,
)
from wireproof.conformance.suite.sdk_steps import ScriptedChoice, ScriptedItem, ScriptedMessage, SdkCaseFile
from wireproof.conformance.suite.steps import VERBS, StepChoice
from wireproof.conformance.suite.values import (
    MessageChoice,
    MessageItem,
    Node,
    Number,
    SymbolicMessage,
    Value,
    ValueChoice,
)

Schema = dict[str, Node]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAMES = r"^([A-Z][A-Z0-9_]*|.*\{.*|ok|refused|push|any|close|reset)$"
"""What a message may be called: its name in the protocol, a variable, or one of the words for messages."""
CHOICE_TYPES = (ValueChoice, MessageChoice, PatternChoice, FieldChoice, StepChoice, ScriptedChoice)
UNIONS = {
    "Value": Value, "Number": Number, "FieldPattern": FieldPattern, "Pattern": Pattern, "PatternItem": PatternItem,
    "MessageItem": MessageItem, "SaidItem": ScriptedItem,
}  # fmt: skip
"""Unions that the schema names, so that they are written once."""
ONE_OR_MANY = {
    "Send": ("send",), "Expect": ("expect",), "AskStep": ("ask", "answer", "then", "interim"),
    "SayStep": ("say",), "ReceiveStep": ("receive", "answer"), "SecureStep": ("answer",),
}  # fmt: skip


LEFT_OUT = frozenset({"node", "discriminator", "default"})
"""Parts of a schema that speak of classes, or of what a field has when nobody writes it."""


def schemas() -> dict[str, str]:
    """Return file name -> text of each schema."""
    found = {
        "cases": _schema(CaseFile, "cases", "wireproof cases", "Cases and frames for servers (docs/writing-cases.md)."),
        "sdk-cases": _schema(
            SdkCaseFile, "sdk-cases", "wireproof cases for SDKs", "What an SDK is asked (docs/writing-sdk-cases.md)."
        ),
        "sequences": _sequences(),
    }
    return {f"{name}.schema.json": json.dumps(one, indent=1, ensure_ascii=False) + "\n" for name, one in found.items()}


def _schema(kind: type[msgspec.Struct], name: str, title: str, description: str) -> Schema:
    _, kept = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    types: dict[str, Schema] = {one: _plain(schema) for one, schema in kept.items()}  # type: ignore[misc]
    for one, form in _forms().items():
        if one in types:
            types[one] = {**_described(types[one]), **form(types)}
    types = {one: _referring(schema, _unions()) for one, schema in types.items()}  # type: ignore[misc]
    for union, inner in _unions().items():
        types[inner] = {"anyOf": json.loads(union)}
    root = types.pop(kind.__name__)
    head: Schema = {"$schema": DIALECT, "$id": f"urn:wireproof:{name}:1", "title": title, "description": description}
    used = _used(root, types)
    return {**head, **{key: one for key, one in root.items() if key not in head}, "$defs": used}


@cache
def _unions() -> dict[str, str]:
    """Return the options of each union that has a name, as JSON -> its name."""
    found = {}
    for name, kind in UNIONS.items():
        (schema,), _ = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
        plain = _plain(schema)
        assert isinstance(plain, dict)
        found[json.dumps(plain["anyOf"])] = name
    return found


def _referring(schema: Node, unions: dict[str, str]) -> Node:
    """Return a schema that refers to the unions that have a name."""
    if isinstance(schema, list):
        return [_referring(one, unions) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if name := unions.get(json.dumps(schema.get("anyOf"))):
        rest = {key: one for key, one in schema.items() if key != "anyOf"}
        return {**rest, "$ref": f"#/$defs/{name}"}
    return {key: _referring(one, unions) for key, one in schema.items()}


def _sequences() -> Schema:
    _, kept = msgspec.json.schema_components([SequenceEntry], ref_template="#/$defs/{name}")
    entry: Schema = _plain(kept["SequenceEntry"])  # type: ignore[assignment]
    step: Schema = {"type": "object", "minProperties": 1}
    step["propertyNames"] = {"enum": [*VERBS, "perform", *CHOICES, *BESIDE]}
    given = {key: one for key, one in _property({"": entry}, "", "with").items() if key != "additionalProperties"}
    _properties(entry).update({"steps": {"type": "array", "minItems": 1, "items": step}, "with": given})
    names = _plain(msgspec.json.schema(SequenceName))
    head: Schema = {"$schema": DIALECT, "$id": "urn:wireproof:sequences:1", "title": "wireproof sequences"}
    head["description"] = (
        "Steps that many cases begin with; `perform` in a case stands for them (docs/writing-cases.md)."
    )
    return {**head, "type": "object", "propertyNames": names, "additionalProperties": entry}


def _plain(schema: object) -> Node:
    """Return a schema without the names of classes, which nobody writes."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema if one != "node"]
    if isinstance(schema, dict):
        kept = {key: _plain(one) for key, one in schema.items() if key not in LEFT_OUT and not _is_of_some(key, one)}
        return {key: one for key, one in kept.items() if (key, one) != ("required", [])}
    assert isinstance(schema, Node)
    return schema


def _is_of_some(key: str, schema: object) -> bool:
    """Say whether a part is written by some versions of msgspec only: the names of a mapping with few."""
    return key == "propertyNames" and isinstance(schema, dict) and "enum" in schema


def _forms() -> dict[str, Callable[[dict[str, Schema]], Schema]]:
    """Return class -> what makes the schema of the form that people write it in."""
    named = {one.__name__: _message(one.__name__) for one in (SymbolicMessage, MessagePattern, ScriptedMessage)}
    chosen = {one.__name__: _choice(one.__name__) for one in CHOICE_TYPES}
    return {
        **{one: _one_or_many(one, keys) for one, keys in ONE_OR_MANY.items()},
        **named,
        **chosen,
        "Matchers": _matchers,
        "Fields": lambda types: _mapping_of(types["Fields"], "fields"),
        "RowPattern": lambda types: _mapping_of(types["RowPattern"], "written"),
        "Call": _call,
        "Connection": _connection,
        "Observe": _observe,
        "ExpectPush": _push,
        "Step": _step,
    }


def _properties(schema: Schema) -> Schema:
    found = schema["properties"]
    assert isinstance(found, dict)
    return found


def _property(types: dict[str, Schema], kind: str, key: str) -> Schema:
    found = _properties(types[kind])[key]
    assert isinstance(found, dict)
    return found


def _described(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("title", "description") if key in schema}


def _mapping_of(schema: Schema, key: str) -> Schema:
    """Return the schema of a mapping that stands for itself, which the class keeps in one field."""
    found = _properties(schema)[key]
    assert isinstance(found, dict)
    return {"type": "object", "additionalProperties": found["additionalProperties"]}


def _one_or_many(kind: str, keys: Iterable[str]) -> Callable[[dict[str, Schema]], Schema]:
    def make(types: dict[str, Schema]) -> Schema:
        for key in keys:
            lists = _property(types, kind, key)
            items = lists["items"] if "items" in lists else _list_in(lists)["items"]
            _properties(types[kind])[key] = {
                **_described(lists),
                "anyOf": [items, {"type": "array", "items": _nested(items)}],
            }
        return types[kind]

    return make


def _nested(items: Node) -> Node:
    """Return the schema of what stands in such a list: an item, or a list of them laid flat."""
    lists: Schema = {"type": "array", "items": items}
    return {"anyOf": [items, lists]}


def _list_in(schema: Schema) -> Schema:
    options = schema["anyOf"]
    assert isinstance(options, list)
    return next(one for one in options if isinstance(one, dict) and "items" in one)


def _message(kind: str) -> Callable[[dict[str, Schema]], Schema]:
    def make(types: dict[str, Schema]) -> Schema:
        fields: Schema = {**_property(types, kind, "fields"), "type": ["object", "null"]}
        named: Schema = {"minProperties": 1, "maxProperties": 1, "propertyNames": {"pattern": NAMES}}
        return {"type": ["string", "object"], "pattern": NAMES, **named, "additionalProperties": fields}

    return make


def _choice(kind: str) -> Callable[[dict[str, Schema]], Schema]:
    def make(types: dict[str, Schema]) -> Schema:
        options = _property(types, kind, "options")
        one: Schema = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False}
        return {**one, "properties": {key: {"minProperties": 1, **options} for key in CHOICES}}

    return make


def _matchers(types: dict[str, Schema]) -> Schema:
    found: Schema = {key: _property(types, kind.__name__, key) for key, kind in MATCHERS.items()}
    return {"type": "object", "minProperties": 1, "additionalProperties": False, "properties": found}


def _call(types: dict[str, Schema]) -> Schema:
    values = _property(types, "Call", "arguments")["additionalProperties"]
    return {
        "type": "object",
        "required": ["call"],
        "properties": {"call": {"type": "string"}},
        "additionalProperties": values,
    }


def _connection(types: dict[str, Schema]) -> Schema:
    own = dict(_properties(types["Connection"]))
    fields = own.pop("fields")
    assert isinstance(fields, dict)
    return {
        "type": "object",
        "required": ["name"],
        "properties": own,
        "additionalProperties": fields["additionalProperties"],
    }


def _observe(types: dict[str, Schema]) -> Schema:
    found = _properties(types["Observe"])
    observed: Schema = {
        "type": "object",
        "minProperties": 1,
        "properties": {key: found[key] for key in ("silent", "closed")},
    }
    observed["additionalProperties"] = _property(types, "Observe", "labels")["additionalProperties"]
    return {"type": "object", "properties": {"observe": observed}}


def _push(types: dict[str, Schema]) -> Schema:
    fields: Schema = {"type": "object"}
    return {"type": "object", "properties": {"push": {"anyOf": [fields, {"type": "array", "items": fields}]}}}


def _step(types: dict[str, Schema]) -> Schema:
    beside: Schema = {key: _property(types, "Step", key) for key in BESIDE}
    verbs: Schema = {
        key: {**_described(types[kind.__name__]), **_property(types, kind.__name__, key)} for key, kind in VERBS.items()
    }
    performed: Schema = {"type": ["string", "object"], "minProperties": 1, "maxProperties": 1}
    found: Schema = {**verbs, "perform": performed, **beside}
    return {"type": "object", "minProperties": 1, "additionalProperties": False, "properties": found}


def _used(root: Schema, types: dict[str, Schema]) -> Schema:
    """Return the types that something refers to, by name."""
    found, left = set[str](), [str(one) for one in _references(root)]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _references(types[name])
    return {name: one for name, one in sorted(types.items()) if name in found}


def _references(schema: Node) -> list[str]:
    if isinstance(schema, dict):
        here = [str(schema["$ref"]).rpartition("/")[2]] if "$ref" in schema else []
        return here + [name for one in schema.values() for name in _references(one)]
    return [name for one in schema for name in _references(one)] if isinstance(schema, list) else []
