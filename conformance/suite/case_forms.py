"""The forms of cases that are more than a mapping of known keys: messages, patterns, matchers, steps, choices.

`FORMS` gives `case_reader.py` a function for each. Names of messages and fields are compared with the vocabulary here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar, get_args

import msgspec

from wireproof.conformance.suite.case_reader import (
    PATTERN_NAMES,
    CaseReader,
    Form,
    Kind,
    MisreadError,
    Path,
    key_of,
    keys_of,
)
from wireproof.conformance.suite.names import shown
from wireproof.conformance.suite.pattern_types import (
    Contains,
    EachRow,
    Exactly,
    Excludes,
    FieldChoice,
    FieldPattern,
    Matcher,
    Matchers,
    MessagePattern,
    Pattern,
    PatternChoice,
    PatternItem,
    RowPattern,
)
from wireproof.conformance.suite.sdk_steps import (
    AnySdkStep,
    Connection,
    ScriptedChoice,
    ScriptedItem,
    ScriptedMessage,
    SdkStep,
)
from wireproof.conformance.suite.sequences import SequenceError, expanded
from wireproof.conformance.suite.steps import VERBS, AnyStep, Expect, ExpectPush, Observe, Step, StepChoice, Verb
from wireproof.conformance.suite.values import (
    Call,
    Choice,
    Fields,
    MessageChoice,
    MessageItem,
    Node,
    Number,
    RowEach,
    RowTimes,
    SymbolicMessage,
    Typed,
    Value,
    ValueChoice,
)
from wireproof.conformance.suite.vocabulary import Shape, vocabulary

MATCHERS: Mapping[str, type[Matcher]] = {name: one for one in get_args(Matcher) for name in key_of(one)}
CHOICES: Mapping[str, str] = {"by_profile": "profile", "by_variant": "variant"}
BESIDE = ("on", "clause", "blame", "given", "or_closed", "within", "exact", "when")
"""What may stand beside the verbs of a step."""
ANSWERS = ("ok", "refused", "push", "close", "reset")
"""What may be written to an SDK beside the messages of the protocol."""
SDK_VERBS: Mapping[str, type[SdkStep]] = {name: one for one in get_args(AnySdkStep) for name in key_of(one)}


def _named(reader: CaseReader, node: Node, path: Path, known: Collection[str]) -> tuple[str, Mapping[str, Node]]:
    """Return the name and the fields of `NAME` or `{NAME: fields}`."""
    name, fields = node, None
    if isinstance(node, dict):
        if len(node) != 1:
            raise reader.wrong(path, f"expected one message as NAME or {{NAME: fields}}, got {shown(node)}")
        ((name, fields),) = node.items()
    assert isinstance(name, str)
    if reader.vocabulary is not None and name not in known and "{" not in name:
        raise reader.unknown((*path, name) if isinstance(node, dict) else path, "message", name, known)
    if fields is not None and not isinstance(fields, dict):
        raise reader.wrong((*path, name), f"expected the fields of {name} as a mapping, got {shown(fields)}")
    return name, fields or {}


def _known(reader: CaseReader) -> Collection[str]:
    return reader.vocabulary.messages if reader.vocabulary else ()


def _shape(reader: CaseReader, name: str) -> Shape | None:
    """Return the fields of a message, None where they are not known."""
    if reader.vocabulary is None:
        return None
    return reader.vocabulary.pushes if name == "push" else reader.vocabulary.messages.get(name)


def _check_fields(reader: CaseReader, name: str, fields: Collection[str], shape: Collection[str], path: Path) -> None:
    failed = None
    for one in fields:
        if one not in shape and one != "*":
            failed = reader.unknown((*path, one), f"field of {name}", one, shape)
    if failed:
        raise failed


def _message(reader: CaseReader, node: Node, path: Path) -> SymbolicMessage:
    name, fields = _named(reader, node, path, (*_known(reader), "ok", "refused"))
    return SymbolicMessage(name, _values(reader, name, fields, path))


def _scripted(reader: CaseReader, node: Node, path: Path) -> ScriptedMessage:
    name, fields = _named(reader, node, path, (*_known(reader), *ANSWERS))
    return ScriptedMessage(name, _values(reader, name, fields, path), isinstance(node, str))


def _sdk_step(reader: CaseReader, node: Node, path: Path) -> SdkStep:
    assert isinstance(node, dict)
    verb = next((name for name in node if name in SDK_VERBS), None)
    if verb is not None:
        return reader.fields(SDK_VERBS[verb], node, path)  # type: ignore[return-value]
    beside = {name for kind in SDK_VERBS.values() for name in keys_of(kind)}
    failed = reader.wrong(path, f"a step without a verb; expected one of {', '.join(SDK_VERBS)}")
    for name in node:
        if name not in beside:
            failed = reader.unknown((*path, name), "verb", name, SDK_VERBS)
    raise failed


def _connection(reader: CaseReader, node: Node, path: Path) -> Connection:
    """Return a connection; what it has beside its own keys are fields that the protocol's `connect` takes."""
    assert isinstance(node, dict)
    hints = keys_of(Connection)
    own = {name: one for name, one in node.items() if name not in hints or name == "fields"}
    if reader.vocabulary is not None:
        _check_fields(reader, "connect", own, reader.vocabulary.connect_fields, path)
    fields = reader.each({name: (Value, one) for name, one in own.items()}, path)
    found = reader.fields(Connection, {name: one for name, one in node.items() if name not in own}, path)
    return msgspec.structs.replace(found, fields=fields)  # type: ignore[return-value]


def _values(reader: CaseReader, name: str, fields: Mapping[str, Node], path: Path) -> dict[str, Value]:
    """Return the fields of a message; those of its rows are checked, too."""
    inside = (*path, name)
    shape = _shape(reader, name)
    if shape is not None:
        _check_fields(reader, name, fields, shape, inside)
    found = reader.each({one: (Value, value) for one, value in fields.items()}, inside)
    for one, value in found.items():
        if shape and isinstance(value, tuple):
            for row in value:
                row = row.of if isinstance(row, RowEach | RowTimes) else row
                if isinstance(row, Fields) and shape.get(one):
                    _check_fields(reader, f"{name}.{one}", row.fields, shape[one], (*inside, one))
    return found  # type: ignore[return-value]


def _pattern(reader: CaseReader, node: Node, path: Path) -> MessagePattern:
    name, fields = _named(reader, node, path, (*_known(reader), *PATTERN_NAMES))
    found = _pattern_of(reader, name, fields, (*path, name) if isinstance(node, dict) else path)
    return msgspec.structs.replace(found, is_name=isinstance(node, str))


def _pattern_of(reader: CaseReader, name: str, fields: Mapping[str, Node], path: Path) -> MessagePattern:
    """Return the pattern of a message; the fields of its rows are checked, too."""
    shape = _shape(reader, name)
    if shape is not None:
        _check_fields(reader, name, fields, shape, path)
    found = reader.each({one: (FieldPattern, value) for one, value in fields.items()}, path)
    for one, value in found.items():
        if shape and shape.get(one) and isinstance(value, Matchers):
            for row in _rows(value):
                _check_fields(reader, f"{name}.{one}", row.fields, shape[one], (*path, one))
    return MessagePattern(name, found)  # type: ignore[arg-type]


def _rows(table: Matchers) -> Iterator[RowPattern]:
    for one in table.matchers:
        match one:
            case Contains(rows) | Excludes(rows) | Exactly(rows):
                yield from rows
            case EachRow(RowPattern() as row):
                yield row


def _matchers(reader: CaseReader, node: Node, path: Path) -> Matchers:
    assert isinstance(node, dict)
    found, failed = list[Matcher](), None
    for name, argument in node.items():
        if name not in MATCHERS:
            failed = reader.unknown((*path, name), "matcher", name, MATCHERS)
            continue
        kind = MATCHERS[name]
        try:
            found.append(kind(reader.read(keys_of(kind)[name][1], argument, (*path, name))))  # type: ignore[arg-type]
        except MisreadError as error:
            failed = error
    if failed:
        raise failed
    return Matchers(tuple(found))


def _row_pattern(reader: CaseReader, node: Node, path: Path) -> RowPattern:
    assert isinstance(node, dict)
    found = reader.each({name: (FieldPattern, one) for name, one in node.items()}, path)
    if not isinstance(found.get("times", 1), int | str):
        raise reader.wrong((*path, "times"), f"expected a number, got {shown(node['times'])}")
    return RowPattern(found)  # type: ignore[arg-type]


def _each_row(reader: CaseReader, node: Node, path: Path) -> object:
    """Return what every row must be: a matcher of numbers, or the fields of a row."""
    if isinstance(node, dict) and not node.keys() <= MATCHERS.keys():
        return reader.read(RowPattern, node, path)
    return reader.read(FieldPattern, node, path)


def _fields(reader: CaseReader, node: Node, path: Path) -> Fields:
    assert isinstance(node, dict)
    return Fields(reader.each({name: (Value, one) for name, one in node.items()}, path))  # type: ignore[arg-type]


def _call(reader: CaseReader, node: Node, path: Path) -> Call:
    assert isinstance(node, dict)
    name = reader.read(str, node["call"], (*path, "call"))
    found = reader.each({key: (Value, one) for key, one in node.items() if key != "call"}, path)
    return Call(name, found)  # type: ignore[arg-type]


ChoiceOf = TypeVar("ChoiceOf", bound=Choice)


def _choice(kind: type[ChoiceOf]) -> Form:
    """Return the form of `{by_profile: {NAME: X}}` or `{by_variant: ...}`, alone in its mapping."""

    def read(reader: CaseReader, node: Node, path: Path) -> ChoiceOf:
        assert isinstance(node, dict)
        if len(node) != 1:
            raise reader.wrong(path, f"expected a choice alone, got {', '.join(node)}")
        ((name, options),) = node.items()
        if not isinstance(options, dict) or not options:
            raise reader.wrong((*path, name), f"expected a mapping by {CHOICES[name]}, got {shown(options)}")
        inner = get_args(keys_of(kind)["options"][1])[1]
        found, words = dict[str, object](), reader.vocabulary
        for key, one in options.items():
            _check_option(reader, name, key, (*path, name))
            if words is not None and key in words.profiles:
                reader.vocabulary = vocabulary(words.protocol, (key,))
            try:
                found[key] = reader.read(inner, one, (*path, name, key))
            finally:
                reader.vocabulary = words
        return kind(CHOICES[name], found)  # type: ignore[call-arg, arg-type]

    return Form(read, keys=tuple(CHOICES))


def _check_option(reader: CaseReader, choice: str, name: str, path: Path) -> None:
    """See that an option is a profile or variant of the protocol, or `else`."""
    words = reader.vocabulary
    if words is not None and name != "else":
        known = words.profiles if choice == "by_profile" else words.variants
        if name not in known:
            raise reader.unknown((*path, name), CHOICES[choice], name, (*known, "else"))


def _one_or_many(inner: Kind) -> Form:
    """Return the form of a list that may be left out where it has one element; lists in it are laid flat."""

    def read(reader: CaseReader, node: Node, path: Path) -> tuple[object, ...]:
        if not isinstance(node, list):
            return (reader.read(inner, node, path),)
        found = reader.listed(inner | tuple[inner, ...] if _has_lists(node) else inner, node, path)  # type: ignore[valid-type]
        return tuple(each for one in found for each in (one if isinstance(one, tuple) else (one,)))

    return Form(read, (dict, list, str))


def _has_lists(nodes: list[Node]) -> bool:
    return any(isinstance(one, list) for one in nodes)


def _observe(reader: CaseReader, node: Node, path: Path) -> Observe:
    if not isinstance(node, dict) or not node:
        raise reader.wrong(path, f"expected labels and patterns as a mapping, got {shown(node)}")
    kinds: dict[str, Kind] = {"silent": Number, "closed": bool}
    found = reader.each({name: (kinds.get(name, Pattern), one) for name, one in node.items()}, path)
    silent, closed = found.pop("silent", None), found.pop("closed", False)
    return Observe(found, silent, closed)  # type: ignore[arg-type]


def _pushes(reader: CaseReader, node: Node, path: Path) -> ExpectPush:
    """Return `push: fields`, a list of them, or one repeated: patterns called `push`."""
    nodes = node if isinstance(node, list) else [node]
    named = [
        {**one, "of": {"push": one["of"]}}
        if isinstance(one, dict) and "of" in one and not one.keys().isdisjoint(("times", "each"))
        else {"push": one}
        for one in nodes
    ]
    return ExpectPush(reader.listed(PatternItem, named, path))  # type: ignore[arg-type]


def _step(reader: CaseReader, node: Node, path: Path) -> Step:
    assert isinstance(node, dict)
    failed: MisreadError | None = None
    for name in node:
        if name not in VERBS and name not in BESIDE:
            failed = reader.unknown((*path, name), "verb", name, (*VERBS, "perform", *BESIDE))
    if failed is None and node.keys().isdisjoint(VERBS):
        failed = reader.wrong(path, f"a step without a verb; expected one of {', '.join(VERBS)}")
    hints = keys_of(Step)
    verbs = list[Verb]()
    for name, kind in VERBS.items():
        if name in node:
            try:
                verbs.append(_verb(reader, kind, name, node[name], (*path, name)))
            except MisreadError as error:
                failed = error
    beside = reader.each({name: (hints[name][1], node[name]) for name in BESIDE if name in node}, path)
    if failed:
        raise failed
    return Step(tuple(verbs), **beside)  # type: ignore[arg-type]


def _verb(reader: CaseReader, kind: type[Typed], name: str, node: Node, path: Path) -> Verb:
    if kind is Observe:
        return _observe(reader, node, path)
    if kind is ExpectPush:
        return _pushes(reader, node, path)
    return kind(reader.read(keys_of(kind)[name][1], node, path))  # type: ignore[return-value]


def _steps(reader: CaseReader, node: Node, path: Path) -> tuple[object, ...]:
    """Return steps, with those that `perform` stands for."""
    if not isinstance(node, list):
        raise reader.wrong(path, f"expected a list of steps, got {shown(node)}")
    found, failed = list[object](), None
    for number, one in enumerate(node):
        try:
            if isinstance(one, dict) and "perform" in one:
                found += _performed(reader, one, (*path, number))
            else:
                found.append(reader.read(AnyStep, one, (*path, number)))
        except MisreadError as error:
            failed = error
    if failed:
        raise failed
    return tuple(found)


def _performed(reader: CaseReader, node: dict[str, Node], path: Path) -> list[object]:
    """Return the steps of a sequence; what is wrong with them is wrong where it is performed."""
    try:
        steps = expanded([node], reader.sequences)
    except SequenceError as error:
        raise reader.wrong((*path, "perform"), str(error)) from None
    inner = CaseReader(FORMS, reader.vocabulary, reader.sequences)
    found = [inner.struct(Step, one, ()) for one in steps]
    for problem in inner.problems:
        where = ".".join(map(str, problem.path))
        failed = reader.wrong((*path, "perform"), f"in the sequence: {where}: {problem.message}")
    if inner.problems:
        raise failed
    return list(found)


FORMS: Mapping[object, Form] = {
    SymbolicMessage: Form(_message, (dict, str)),
    ScriptedMessage: Form(_scripted, (dict, str)),
    AnySdkStep: Form(_sdk_step),
    Connection: Form(_connection, is_open=True),
    tuple[ScriptedItem, ...]: _one_or_many(ScriptedItem),
    MessagePattern: Form(_pattern, (dict, str)),
    Matchers: Form(_matchers, keys=tuple(MATCHERS)),
    RowPattern: Form(_row_pattern, is_open=True),
    keys_of(EachRow)["each"][1]: Form(_each_row),
    Fields: Form(_fields, is_open=True),
    Call: Form(_call, keys=("call",)),
    **{
        kind: _choice(kind)
        for kind in (ValueChoice, FieldChoice, MessageChoice, PatternChoice, StepChoice, ScriptedChoice)
    },
    tuple[MessageItem, ...]: _one_or_many(MessageItem),
    keys_of(Expect)["expect"][1]: _one_or_many(PatternItem),
    tuple[AnyStep, ...]: Form(_steps, (list,)),
    Step: Form(_step, is_open=True),
}
