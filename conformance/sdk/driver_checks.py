"""What a connected driver is tried with, each trial an async generator of findings."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from wireproof.conformance.sdk.check_results import CheckResult
from wireproof.conformance.sdk.driver_process import NoAnswerError
from wireproof.conformance.sdk.driver_protocol import DriverMessageError, FailureKind, Hello
from wireproof.conformance.sdk.operation import OperationContext
from wireproof.conformance.sdk.reported_values import differences
from wireproof.conformance.sdk.shown_bytes import shown
from wireproof.protocols.fields import Blob, Kind, Raw, Split, UInt
from wireproof.protocols.messages import Message, Push, Request

__all__ = ["at_the_end", "connecting", "each_operation", "pushes", "refusals", "together"]

TROUBLE = (NoAnswerError, DriverMessageError)
SHORT = 1.0
"""Seconds for an event that a driver need not send."""
LONGEST_NAME = 1 << 16
"""Names longer than this are not tried."""


def ordered(ground: OperationContext) -> list[str]:
    """Return every operation of the profile; those that ask by an id last, once one was reported."""

    def by_id(name: str) -> bool:
        return any(isinstance(kind, Raw) for _, kind in ground.plain.layout(ground.plain.operations[name]).fields)

    parting = {one.NAME.lower() for one in ground.plain.protocol.sdk.parting}
    return sorted((one for one in ground.plain.operations if one not in parting), key=by_id)


async def each_operation(
    ground: OperationContext, hello: Hello, *, extreme: bool = False
) -> AsyncIterator[CheckResult]:
    """Try every operation of the profile, those too that the driver says it has not.

    What found nothing is asked again after each operation that may have changed that. `extreme`: the values of
    `ground.samples` are of the kind that gets lost.
    """
    suffix = ", extreme values" if extreme else ""
    known = [name for name in ordered(ground) if name in hello.operations]
    for name in ordered(ground):
        if name in known:
            yield CheckResult(name + suffix, tuple(await ground.play(name)))
        elif not extreme:
            yield await _left_out(ground, name)
    for name in [one for one in known if not ground.has_more(one)]:
        missing = [one for one in known if ground.has_more(one) and one not in ground.found]
        if missing:
            await ground.play(name)
        for one in missing:
            wrong = await ground.play(one)
            if wrong or one in ground.found:
                ground.found.add(one)
                yield CheckResult(f"{one}{suffix}, with something to be found", tuple(wrong))


async def _left_out(ground: OperationContext, name: str) -> CheckResult:
    _, fields = ground.fields(name)
    ground.take()
    try:
        answer = await ground.driver.answer(ground.driver.begin(name, connection=ground.name, **fields))
    except TROUBLE as error:
        return CheckResult(name, (f"hello does not name it: expected the error unsupported; {error}",))
    if answer.kind is not FailureKind.UNSUPPORTED:
        got = f"the error {answer.kind}" if answer.kind else f"the result {answer.result}"
        return CheckResult(name, (f"hello does not name it: expected the error unsupported, got {got}",))
    return CheckResult(name, note="unsupported, and says so")


async def together(ground: OperationContext, hello: Hello) -> AsyncIterator[CheckResult]:
    """Try several commands in flight, and a batch."""
    listening = ground.plain.protocol.sdk.listening
    some = [one for one in ordered(ground) if one in hello.operations and one != listening and _is_simple(ground, one)]
    some = some[:3]
    if len(some) > 1:
        yield CheckResult(f"in flight at once: {', '.join(some)}", tuple(await ground.play_at_once(some)))
    if "batch" in hello.operations and some:
        yield CheckResult(f"batch: {', '.join(some)}", tuple(await ground.play_batch(some)))


async def refusals(ground: OperationContext, hello: Hello) -> AsyncIterator[CheckResult]:
    """Try a number too wide and a name too long: they must be refused before a byte is sent."""
    known = [name for name in ordered(ground) if name in hello.operations]
    for name in known:
        request = ground.plain.operations[name]
        wide = ground.samples.wide_fields(request)
        if wide:
            widest = _kinds(ground, request)[wide[0]]
            assert isinstance(widest, UInt)
            over = widest.maximum + 1
            yield await _refused(ground, name, {wide[0]: over}, FailureKind.TOO_WIDE, f"{wide[0]} {over}")
            break
    for name in known:
        request = ground.plain.operations[name]
        named = ground.samples.named_field(request)
        kind = _kinds(ground, request)[named] if named else None
        size = kind.size.maximum + 1 if isinstance(kind, Blob | Split) else 0
        if named and 0 < size <= LONGEST_NAME:
            yield await _refused(ground, name, {named: b"k" * size}, FailureKind.TOO_LONG, f"{named} of {size} bytes")
            break


async def _refused(
    ground: OperationContext, name: str, change: dict[str, object], kind: FailureKind, detail: str
) -> CheckResult:
    request = _with(ground.samples.of(ground.plain.operations[name]), change)
    title = f"{name} with {detail}, which does not fit"
    ground.take()
    try:
        answer = await ground.driver.ask(name, connection=ground.name, **ground.plain.beside(request))
    except TROUBLE as error:
        return CheckResult(title, (f"expected the error {kind}; {error}",))
    came = ground.take().came
    wrong = [f"expected nothing to be sent, it sent {shown(came)}"] if came else []
    if answer.error is None:
        wrong.append(f"expected the error {kind}, got the result {answer.result}")
    elif answer.kind not in (kind, FailureKind.REFUSED):
        wrong.append(f"expected the error {kind}, got {answer.kind}: {answer.error.detail}")
    if came:
        await ground.connect_anew()  # what was sent may have left half a request behind
    return CheckResult(title, tuple(wrong))


async def pushes(ground: OperationContext, hello: Hello) -> AsyncIterator[CheckResult]:
    """Push a message of each kind to a connection that is subscribed."""
    listening = ground.plain.protocol.sdk.listening
    if listening not in hello.operations or not ground.plain.pushes:
        yield CheckResult("events", note=f"no {listening}, no events")
        return
    wrong = await ground.play(listening)
    if wrong:
        yield CheckResult(f"{listening}, for the sake of a push", tuple(wrong))
        return
    for kind in ground.plain.pushes:
        yield await _pushed(ground, ground.samples.of(kind))


async def _pushed(ground: OperationContext, push: Push) -> CheckResult:
    data = ground.codec.encode(push)
    ground.driver.take_events()
    ground.push(data)
    title = f"a message is pushed: {shown(data)}"
    try:
        event = await ground.driver.event(ground.name, "message")
    except NoAnswerError as error:
        return CheckResult(title, (f"expected the event message with {ground.plain.event(push)}; {error}",))
    detail = {name: value for name, value in event.fields.items() if value is not None}
    left_out = ground.plain.protocol.sdk.optional - detail.keys()
    expected = {name: value for name, value in ground.plain.event(push).items() if name not in left_out}
    return CheckResult(title, tuple(differences(expected, detail, "event")))


async def at_the_end(ground: OperationContext, hello: Hello) -> AsyncIterator[CheckResult]:
    """Close from the server's side and ask on, then connect again, close and ask on."""
    known = next((name for name in ordered(ground) if name in hello.operations), None)
    ground.driver.take_events()
    ground.cut()
    try:
        await ground.driver.event(ground.name, "closed", deadline=SHORT)
        note = ""
    except NoAnswerError:
        note = f"no event closed in {SHORT:g} s; it need not come"
    if known:
        yield await _closed(ground, known, "the server closed the connection", note, lost=True)
    yield await connecting(ground, "connect again under the same name")
    asked = {one.NAME.lower() for one in ground.plain.protocol.sdk.parting} & ground.plain.operations.keys()
    for name in sorted(asked):
        if name in hello.operations:
            yield CheckResult(name, tuple(await ground.play(name)))
            yield await connecting(ground, f"connect again after {name}")
        else:
            yield await _left_out(ground, name)
    try:
        answer = await ground.driver.ask("close", connection=ground.name)
        if answer.kind is FailureKind.UNSUPPORTED:
            yield CheckResult("close", note="unsupported, and says so")
            return
        wrong = [f"expected {{}}, got the error {answer.kind}: {answer.error.detail}"] if answer.error else []
    except TROUBLE as error:
        wrong = [str(error)]
    yield CheckResult("close", tuple(wrong))
    if known and not wrong:
        yield await _closed(ground, known, "the connection was closed", "")


def _is_simple(ground: OperationContext, name: str) -> bool:
    """Say whether an operation is one request on the default link."""
    parts = ground.plain.parts(name)
    return len(parts) == 1 and ground.plain.protocol.link_for(parts[0]) == ""


async def _closed(ground: OperationContext, name: str, when: str, note: str, *, lost: bool = False) -> CheckResult:
    """Ask after the end of a connection; `lost`: an SDK may have made it again."""
    title = f"{name} after {when}"
    request = ground.samples.of(ground.plain.operations[name])
    opened = len(ground.stage.connections)
    try:
        answer = await ground.driver.ask(name, connection=ground.name, **ground.plain.beside(request))
    except TROUBLE as error:
        return CheckResult(title, (f"expected the error closed; {error}",), note)
    if answer.error is None and lost and len(ground.stage.connections) > opened:
        return CheckResult(title, note="it connected again by itself and asked there")
    if answer.error is None:
        return CheckResult(title, (f"expected the error closed, got the result {answer.result}",), note)
    if answer.kind is not FailureKind.CLOSED:
        return CheckResult(title, (f"expected the error closed, got {answer.kind}: {answer.error.detail}",), note)
    return CheckResult(title, note=note)


async def connecting(ground: OperationContext, title: str) -> CheckResult:
    """Have the driver connect."""
    try:
        answer = await ground.connect()
    except TROUBLE as error:
        return CheckResult(title, (str(error),))
    if answer.error is not None:
        return CheckResult(title, (f"expected {{}}, got the error {answer.kind}: {answer.error.detail}",))
    return CheckResult(title)


def _kinds(ground: OperationContext, message: type[Message]) -> dict[str, Kind]:
    return dict(ground.plain.layout(message).fields)


def _with(request: Request, change: dict[str, object]) -> Request:
    return msgspec.structs.replace(request, **change)
