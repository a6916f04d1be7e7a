"""What is known of a case without playing it: whether it waits, what it asks last, how it may be segmented."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from wireproof.conformance.model.expressions import ExpressionError, Number, evaluate
from wireproof.conformance.suite.case import Case
from wireproof.conformance.suite.declared import DEFAULT_PARAMETERS
from wireproof.conformance.suite.pattern_types import (
    AnyOf,
    MessagePattern,
    PatternChoice,
    PatternEach,
    PatternItem,
    PatternTimes,
    RowPattern,
)
from wireproof.conformance.suite.sdk_steps import AskStep, ScriptedMessage
from wireproof.conformance.suite.segmentation import Segmentation
from wireproof.conformance.suite.steps import (
    AnyStep,
    Concurrent,
    ConnectTo,
    Expect,
    ExpectAlive,
    ExpectClosed,
    ExpectPush,
    ExpectSilence,
    Measure,
    Observe,
    Repeat,
    Send,
    Step,
    Verb,
    Wait,
    WaitUntil,
)
from wireproof.conformance.suite.symbols import LEAVES
from wireproof.conformance.suite.values import (
    Choice,
    Fill,
    MessageChoice,
    MessageEach,
    MessageItem,
    MessageTimes,
    Raw,
    SymbolicMessage,
)
from wireproof.protocols import Protocol

WRITING = (Send, ExpectSilence, ExpectAlive, Concurrent)
"""Verbs that send requests."""
TIMED = (Concurrent, Measure)
"""Verbs whose outcome is a matter of time, or of what a process takes."""
MANY = 50
"""What counts as the number of something that only a play shows."""


NAME = re.compile(r"[A-Z][A-Z0-9_]+")
"""What the name of a parameter looks like."""


_KEPT: dict[int, tuple[tuple[object, ...], tuple[msgspec.Struct, ...], frozenset[type]]] = {}
"""Id of the steps of a case -> the steps, their parts and the types of these: a run asks for them a dozen times."""
QUICK = 8.0
"""Seconds that a case may let pass and is not slow: what it repeats counts once."""
MOST_KEPT = 10_000


def parts(spec: object) -> Iterator[msgspec.Struct]:
    """Yield everything that steps, messages or patterns are made of, however deep."""
    return iter(_kept(spec)[1] if isinstance(spec, tuple) else _walked(spec))


def _kept(spec: tuple[object, ...]) -> tuple[tuple[object, ...], tuple[msgspec.Struct, ...], frozenset[type]]:
    kept = _KEPT.get(id(spec))
    if kept is None or kept[0] is not spec:
        if len(_KEPT) >= MOST_KEPT:
            _KEPT.clear()
        found = tuple(_walked(spec))
        kept = _KEPT[id(spec)] = spec, found, frozenset(map(type, found))
    return kept


def _walked(spec: object) -> list[msgspec.Struct]:
    found: list[msgspec.Struct] = []
    left = [spec]
    while left:
        one = left.pop()
        kind = type(one)
        if kind is tuple:
            left += [each for each in one if type(each) not in LEAVES]  # type: ignore[attr-defined]
        elif kind is dict:
            left += [each for each in one.values() if type(each) not in LEAVES]  # type: ignore[attr-defined]
        elif isinstance(one, msgspec.Struct):
            found.append(one)
            left += [each for name in one.__struct_fields__ if type(each := getattr(one, name)) not in LEAVES]
    return found


def _has(spec: tuple[object, ...], kinds: tuple[type, ...]) -> bool:
    """Say whether anything in `spec`, however deep, is of these types."""
    return any(issubclass(one, kinds) for one in _kept(spec)[2])


def has_choices(steps: tuple[AnyStep, ...]) -> bool:
    """Say whether anything in steps depends on the profile or the variant."""
    return _has(steps, (Choice,))


def names_in(items: tuple[MessageItem, ...]) -> set[str]:
    """Return the names of the messages in what a step sends, however deep."""
    return {one.name for one in _walked(items) if isinstance(one, SymbolicMessage)}


def waits(case: Case) -> bool:
    """Say whether a case lets time pass."""
    return _has(case.steps, (Wait, WaitUntil))


def is_quick(case: Case, known: Collection[str], declared: Mapping[str, Number]) -> bool:
    """Say whether a case waits for limits that a target declared, some seconds in all; `known`: all there are."""
    read = parameters_in(case, known)
    return bool(read) and read <= declared.keys() and not case.heavy and patience(case, declared) <= QUICK


def patience(case: Case, declared: Mapping[str, Number] | None = None) -> float:
    """Return about how many seconds a case lets pass; what only a play shows counts as one."""
    waited, names = 0.0, {**DEFAULT_PARAMETERS, **(declared or {}), **case.variables}
    for one in parts(case.steps):
        match one:
            case Wait(seconds):
                waited += _number(seconds, names, 1.0)
            case WaitUntil(instant):
                waited += _number(instant.plus, names, 1.0)
    return waited


def parameters_in(case: Case, known: Collection[str]) -> frozenset[str]:
    """Return which of the known parameters of a target a case reads."""
    return frozenset(NAME.findall(repr((case.steps, case.variables)))) & frozenset(known)


def reads_tables(case: Case) -> bool:
    """Say whether a case looks at the rows of a table."""
    return "rows" in _fields(case.steps)


def leaves_unread(case: Case) -> bool:
    """Say whether a case lets a target write until it is blocked, on a connection that is not read."""
    return any(isinstance(one, ConnectTo) and one.unread for one in parts(case.steps))


def longest(case: Case) -> int:
    """Return the bytes of the longest filled field that a case names, as far as that is known."""
    sizes = (_number(one.size, case.variables, 0) for one in parts(case.steps) if isinstance(one, Fill))
    return int(max(sizes, default=0))


def keeps_to_itself(case: Case) -> bool:
    """Say whether every request with fields names something of the case's own (`$…`), so that plays never meet."""
    return all(_names_own(item) for one in parts(case.steps) if isinstance(one, Send) for item in one.send)


def _names_own(item: MessageItem) -> bool:
    """Say whether any text in a message, however deep, begins with `$`; a message without fields needs none."""
    if isinstance(item, SymbolicMessage) and not item.fields:
        return True
    return any(text.startswith("$") for text in _texts(item))


def _texts(spec: object) -> Iterator[str]:
    if isinstance(spec, str):
        yield spec
    elif isinstance(spec, msgspec.Struct):
        yield from _texts(tuple(getattr(spec, name) for name in spec.__struct_fields__))
    elif isinstance(spec, dict | tuple):
        for one in spec.values() if isinstance(spec, dict) else spec:
            yield from _texts(one)


def _fields(spec: object) -> set[str]:
    """Return the names of the fields that messages and patterns name."""
    kinds = (SymbolicMessage, MessagePattern, RowPattern)
    return {name for one in parts(spec) if isinstance(one, kinds) for name in one.fields}


def is_concurrent(case: Case) -> bool:
    """Say whether what a case's connections are answered depends on how the target mixes their requests."""
    return _has(case.steps, (Concurrent,))


def requests(case: Case) -> int:
    """Return about how many requests a case sends: what only a play shows counts as 50."""
    return sum(_requests(step, case.variables) for step in case.steps)


def _requests(step: AnyStep, names: Mapping[str, object]) -> int:
    if not isinstance(step, Step):
        return sum(_requests(one, names) for one in step.options.values())
    return sum(_requests_of(verb, names) for verb in step.verbs)


def _requests_of(verb: Verb, names: Mapping[str, object]) -> int:
    match verb:
        case Repeat(loop):
            return _times(loop.each, names) * sum(_requests(one, names) for one in loop.steps)
        case Measure(measured):
            return sum(_requests(one, names) for one in measured.steps)
        case Send(items):
            return sum(_messages(one, names) for one in items)
    return int(isinstance(verb, WRITING))


def _messages(item: MessageItem, names: Mapping[str, object]) -> int:
    match item:
        case MessageEach(each):
            return _times(each, names)
        case MessageTimes(times):
            return _times({"": (1, times)}, names)
    return 1


def sends_fields(case: Case) -> bool:
    """Say whether a case sends any request that has fields, so that there is something to cut."""
    return any(_sends_fields(one) for one in parts(case.steps))


def _sends_fields(verb: msgspec.Struct) -> bool:
    if isinstance(verb, Send):
        return any(not isinstance(one, SymbolicMessage) or bool(one.fields) for one in verb.send)
    return isinstance(verb, WRITING)


def _times(each: Mapping[str, tuple[object, object]], names: Mapping[str, object]) -> int:
    ((first, last),) = each.values()
    low, high = (_number(one, names, -1.0) for one in (first, last))
    return MANY if -1.0 in (low, high) else int(high - low + 1)


def _number(spec: object, names: Mapping[str, object], otherwise: float) -> float:
    """Return the value of an expression, `otherwise` where only a play shows it."""
    try:
        return evaluate(str(spec), names)
    except ExpressionError:
        return otherwise


def last_request(steps: Sequence[AnyStep]) -> int | None:
    """Return the number of the step after whose request our side may end, when there is one.

    Nothing is asked after it on any connection, and on its own only replies come.
    """
    later: list[Step] = []
    for number in reversed(range(len(steps))):
        step = steps[number]
        if not isinstance(step, Step) or step.when:
            return None
        if not any(isinstance(verb, WRITING) for verb in step.verbs):
            if step.or_closed or not all(isinstance(verb, Expect | ExpectPush) for verb in step.verbs):
                return None
            later.append(step)
        else:
            return number if _only_replies_follow(step, later) else None
    return None


def _only_replies_follow(step: Step, later: list[Step]) -> bool:
    match step.verbs:
        case (ExpectSilence(on),):
            alone = False
        case (ExpectAlive(),):
            on, alone = step.on, True
        case verbs if all(isinstance(verb, Send | Expect) for verb in verbs):
            on, alone = step.on, False
        case _:
            return False
    if step.or_closed:
        return False
    awaited = [verb for one in (step, *later) if one is step or (not alone and one.on == on) for verb in one.verbs]
    return not any(isinstance(one, MessagePattern) and one.name == "push" for one in _walked(tuple(awaited)))


def applies(case: Case, segmentation: Segmentation, spoken: Protocol) -> bool:
    """Say whether a case can be played under a delivery: neither its question nor its answer changes with it."""
    if segmentation.plain:
        return True
    if case.fresh_server or case.budget or _has(case.steps, TIMED) or not _has(case.steps, WRITING):
        return False
    if leaves_unread(case):  # what piles up depends on how fast it is asked for
        return False
    if segmentation.joins:
        return not case.exclusive and not _times_out(case) and _fields(case.steps).isdisjoint(spoken.counted_with_noops)
    if segmentation.half_closes:
        return all(link.half_closes for link in spoken.links.values()) and last_request(case.steps) is not None
    if segmentation.respells:
        return any(link.has_spellings for link in spoken.links.values())
    if case.exclusive and not _fields(case.steps).isdisjoint(spoken.time_moves):
        return False
    return not (segmentation.slow and (case.slow or case.heavy or case.exclusive or waits(case)))


def _times_out(case: Case) -> bool:
    """Say whether a case waits until the target closes a connection."""
    ends = any(isinstance(one, ExpectClosed) or (isinstance(one, Observe) and one.closed) for one in parts(case.steps))
    return waits(case) and ends


def message_patterns(spec: PatternItem | Sequence[PatternItem] | None) -> Iterator[MessagePattern]:
    """Yield the patterns of messages in what is expected, through choices and repetitions; `ok` as STATUS."""
    match spec:
        case MessagePattern("ok" | "refused" as name):
            yield MessagePattern("STATUS", {"ok": name == "ok"})
        case MessagePattern():
            yield spec
        case AnyOf(options):
            yield from message_patterns(options)
        case PatternChoice(_, options):
            for one in options.values():
                yield from message_patterns(one)
        case PatternEach(_, of) | PatternTimes(_, of):
            yield from message_patterns(of)
        case tuple() | list():
            for one in spec:
                yield from message_patterns(one)


def expected(step: AnyStep) -> Iterator[MessagePattern]:
    """Yield the patterns that a step expects."""
    if isinstance(step, Step):
        for verb in step.verbs:
            if isinstance(verb, Expect):
                yield from message_patterns(verb.expect)


def asked_by(step: AnyStep) -> Iterator[str]:
    """Yield the names of the messages that a step sends; of repeated ones, once; bytes by what they stand for."""
    if isinstance(step, Step):
        for verb in step.verbs:
            if isinstance(verb, Send):
                for item in verb.send:
                    yield from _asked(item)


def _asked(item: MessageItem) -> Iterator[str]:
    match item:
        case SymbolicMessage(name):
            yield name
        case Raw(_, SymbolicMessage(name)):
            yield name
        case MessageEach(_, of) | MessageTimes(_, of):
            yield from _asked(of)
        case MessageChoice(_, options):
            for one in options.values():
                for each in one if isinstance(one, tuple) else (one,):
                    yield from _asked(each)


def sent_by(case: Case) -> frozenset[str]:
    """Return what a case sends, or asks an SDK to send: names of messages, and their plain fields as `NAME.field=1`."""
    found: set[str] = set()
    asked = tuple(one.ask for one in parts(case.script) if isinstance(one, AskStep))
    for one in (*parts(case.steps), *_walked(asked)):
        if isinstance(one, SymbolicMessage | ScriptedMessage):
            found.add(one.name)
            fields = one.fields.items() if isinstance(one.fields, dict) else ()
            named = {
                name: case.variables.get(str(value), value) for name, value in fields if isinstance(value, str | int)
            }
            found.update(f"{one.name}.{name}={value}" for name, value in named.items())
    return frozenset(found)
