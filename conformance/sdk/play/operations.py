"""What is asked of an SDK and reported by its driver during one play, and how both are judged. Sans-IO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from wireproof.conformance.model.outcome import FailurePlace, Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, DriverEvent, FailureKind, Hello
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.abilities import SdkAbilities
from wireproof.conformance.sdk.play.in_flight import Due, InFlight, SdkConnection, answered_by
from wireproof.conformance.sdk.play.operation_check import (
    error_text,
    event_differs,
    report_differs,
    reports_nothing,
)
from wireproof.conformance.sdk.play.reply_script import ReplyPiece, ReplyScript, field_at
from wireproof.conformance.sdk.play.request_equivalence import RequestEquivalence, are_interleaved, is_missing
from wireproof.conformance.sdk.shown_bytes import first_difference, shown
from wireproof.conformance.suite.sdk_steps import Answering, AskStep, Fails, ReceiveStep
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.values import Value
from wireproof.protocols import LocalProtocolError, Message, Push, Reply
from wireproof.protocols.messages import Request
from wireproof.protocols.plain import Plain

__all__ = ["ActionGenerator", "SdkOperations"]

ActionGenerator = act.Playing[None]
ANY = tuple(kind for kind in FailureKind if kind is not FailureKind.UNSUPPORTED)
RESULT = "result"
"""In `blame` of a step: what is reported differs, and no field that has a clause."""
REFUSALS = (FailureKind.TOO_WIDE, FailureKind.TOO_LONG, FailureKind.REFUSED, FailureKind.OTHER)


class SdkOperations:
    """The calls of one play; its methods raise `Stopped` at the first thing that is not as it should be."""

    def __init__(self, symbols: Symbols, hello: Hello, clause: str, timeout: float) -> None:
        self.script = ReplyScript(symbols)
        self.hello = hello
        self.abilities = SdkAbilities(symbols, hello)
        self.timeout = timeout
        self.clause = clause
        """Blamed when the play stops here."""
        self.at = FailurePlace("", "", frozenset())
        self.observed: list[str] = []
        """What the SDK did where it may choose."""
        self.patience: float | None = None
        """Seconds that what becomes of this step may take, where the case says it."""
        self.one_at_a_time = False
        """The driver does one command after the other, as a program with a blocking SDK does."""
        self.misread = False
        """What stopped the play is a number for which a type of the SDK has no room."""
        self.swapped = False
        """What stopped the play is an answer that was given to another request under way."""
        self.interleaved = False
        """What stopped the play is that the bytes of requests made at once were mixed."""
        self.begun: set[type[Message]] = set()
        """What began a connection of this play and came, or was answered before the case."""
        self.began = False
        """What stopped the play is that the SDK began its connection once more."""
        self.stuck = False
        """The driver did not answer: it has to be started again."""
        self.spoken = symbols.protocol
        self._plain = Plain(symbols.protocol, symbols.profile, symbols.variant)
        self.equivalence = RequestEquivalence(self.spoken, self.script.codec)
        self._answers: dict[int, DriverAnswer] = {}
        self._calls = 0

    def together(self, under_way: bool) -> None:
        """Stop where several things are to be under way and the SDK does one at a time.

        Raises `Stopped` (unsupported).
        """
        if under_way and self.one_at_a_time:
            detail = "it does not begin another before the first is done"
            raise Stopped(Verdict.UNSUPPORTED, "several commands under way", detail)

    def number_of_call(self) -> int:
        """Return a number for a call."""
        self._calls += 1
        return self._calls

    def line(self, name: str, link: str) -> str:
        """Return the name of a connection's line for a link."""
        return name if link in ("", next(iter(self.spoken.links))) else f"{name}.{link}"

    def begin(self, do: str, name: str, fields: Mapping[str, object]) -> act.Playing[int]:
        """Have the driver begin one command; return the call."""
        call = self.number_of_call()
        died = yield from act.asked(act.Command(call, do, name, fields))
        if died is not None:
            self.crashed(died)
        return call

    def command(self, name: str, line: InFlight, requests: Sequence[Request], step: AskStep) -> act.Playing[list[int]]:
        """Have the driver begin requests, in one batch perhaps; return the calls."""
        batch, more = step.batch, self.script.requests(step.then or ())
        beside = {name: value for one in more for name, value in self._plain.beside(one).items()}
        done = [(one.NAME.lower(), {**self._plain.beside(one), **beside}) for one in requests]
        calls = []
        if batch:
            parts = [{"do": do, **fields} for do, fields in done]
            calls.append((yield from self.begin("batch", name, {"requests": parts})))
        else:
            for do, fields in done:
                calls.append((yield from self.begin(do, name, fields)))
        for at, request in enumerate(requests):
            line.due.append(Due(request, calls[0] if batch else calls[at], at if batch else None))
        return calls

    def fresh(self, step: AskStep, messages: Sequence[Message]) -> None:
        """Stop where a field that must differ each time was sent before. Raises `Stopped` (fail)."""
        if step.fresh is None:
            return
        value = self.equivalence.repeated(step.fresh, messages)
        if value is not None:
            self._blame(step, step.fresh)
            raise Stopped(Verdict.FAIL, f"a {step.fresh} that was not sent before", value.hex())

    def refused(self, name: str, connection: InFlight, calls: Sequence[int]) -> ActionGenerator:
        """Expect that the SDK takes none of it, and sends nothing. Raises `Stopped` if it sends something."""
        got = yield from act.asked(act.Receive(name, b"", tuple(calls)))
        if got.data:
            self.began_again(got.messages)
            raise Stopped(Verdict.FAIL, "a refusal, and nothing sent", f"it sent {shown(got.data)}", byte=0)
        yield from self._all_fail(connection, REFUSALS, "a refusal, and nothing sent")

    def noticed_a_loss(self, connection: InFlight, got: act.Got) -> act.Playing[bool]:
        """Say whether all that was asked ended as `closed` and was not sent: it is asked again then."""
        if got.data or got.answered is None:
            return False
        answers = []
        for one in connection.due:
            answers.append((yield from self.reported(one.call)))
        if any(one.kind is not FailureKind.CLOSED for one in answers):
            return False
        connection.due.clear()
        return True

    def not_sent(
        self, connection: InFlight, step: AskStep, requests: Sequence[Request], got: act.Got
    ) -> ActionGenerator:
        """Say what is wrong with the bytes that came instead; nothing where the SDK may refuse or has failed before.

        Raises `Stopped` with what is wrong.
        """
        filled = self.equivalence.filled(requests, got.messages, step.ignore, step.among)
        expected = self.equivalence.written(filled, sealed=step.sealed)
        at = first_difference(expected, got.data)
        wanted, came = shown(expected, at), shown(got.data, at)
        self.began_again(got.messages, requests)
        self.sent_otherwise(step, filled, got, at, ended=expected.startswith(got.data))
        each = [self.equivalence.written([one], sealed=step.sealed) for one in filled]
        self.interleaved = len(filled) > 1 and are_interleaved(each, got.data)
        self.clause = (self.interleaved and self.spoken.sdk.whole_clause) or self.clause
        if got.answered is not None and expected.startswith(got.data):
            answer = yield from self.reported(got.answered)
            self.abilities.excuse(answer, [one.request for one in connection.due])
            if _may_fail_so(step, answer) and not got.data:
                connection.failed = True
                return (yield from self._all_fail(connection, ANY, "an error"))
            detail = error_text(answer) if answer.error else f"the result {answer.result}"
            raise Stopped(Verdict.FAIL, wanted, f"{came}, then it reports {detail}", byte=at)
        if expected.startswith(got.data):
            silent = not got.ended and not got.data
            how = "it closed the connection" if got.ended else "no more in time"
            raise Stopped(Verdict.HANG if silent else Verdict.FAIL, wanted, f"{came}, then {how}", byte=at)
        raise Stopped(Verdict.FAIL, wanted, f"{came}: they differ at byte {at}", byte=at)

    def began_again(self, messages: Sequence[Message], expected: Sequence[Message] = ()) -> None:
        """Stop where what begins a connection came more often than the case expects. Raises `Stopped` (fail)."""
        for kind, clause in self.spoken.sdk.once.items():
            due = sum(type(one) is kind for one in expected) or kind not in self.begun
            if more := [one for one in messages if type(one) is kind][due:]:
                self.clause, self.began = clause, True
                self.at = FailurePlace(kind.NAME, "", self.at.asked)
                got = f"another one: {shown(self.script.codec.encode(more[0]))}"
                raise Stopped(Verdict.FAIL, f"one {kind.NAME}", got)

    def sent_otherwise(
        self,
        step: AskStep | ReceiveStep,
        requests: Sequence[Request],
        got: act.Got,
        at: int,
        *,
        ended: bool,
    ) -> None:
        """Note which of the requests was not sent as it should be, by its first wrong byte, and blame its field.

        `ended`: nothing came at that byte.
        """
        number, inside = self._request_at(requests, at)
        self.at = replace(self.at, reply_to=requests[number].NAME)
        if not ended and not is_missing(requests, got.messages, number):
            field = self._field_unlike(requests, got) or field_at(self.script.codec, requests[number], inside)
            self._blame(step, field)

    def _field_unlike(self, requests: Sequence[Request], got: act.Got) -> str:
        """Return the first field that came with another value, bytes before it perhaps too; "" where it is unknown."""
        is_whole = b"".join(map(self.script.codec.encode, got.messages)) == got.data
        for one, other in zip(requests, got.messages, strict=False):
            layout = self.script.codec.layout(type(one))
            if not (layout.is_packed or is_whole) or type(one) is not type(other):
                return ""
            unlike = (name for name, _ in layout.fields if getattr(one, name) != getattr(other, name))
            if name := next(unlike, ""):
                return str(name)
        return ""

    def _request_at(self, requests: Sequence[Request], at: int) -> tuple[int, int]:
        """Return which of the requests byte `at` belongs to, and where in it that byte is; the last one's if none."""
        for number, one in enumerate(requests):
            try:
                size = len(self.script.codec.encode(one))
            except LocalProtocolError:
                return number, at
            if at < size or number == len(requests) - 1:
                return number, at
            at -= size
        return 0, at

    def _blame(self, step: Answering | ReceiveStep, field: str) -> None:
        self.at = replace(self.at, field=field)
        if not isinstance(step, ReceiveStep):
            self.clause = step.blame.get(field, self.clause)

    def judge(
        self, held: SdkConnection, connection: InFlight, step: Answering, pieces: Sequence[ReplyPiece]
    ) -> ActionGenerator:
        """Compare what the driver reports with the replies and pushes that were written.

        Raises `SymbolError` for a reply to nothing.
        """
        after, pushes, lost = "", list[Push](), list[ReplyPiece]()
        for one in () if connection.failed and not connection.due else pieces:
            due = answered_by(self.spoken.sdk, connection.due, one.message)
            if due is None or one.message is None:
                pushes += [one.message] if isinstance(one.message, Push) else []
                continue
            connection.due.remove(due)
            self.at = FailurePlace(due.request.NAME, "", self.at.asked, after)
            answer = yield from self.reported(due.call)
            try:
                self._hold(step, due, answer, one, one.message)
            except Stopped:
                replies = (it.message for it in pieces if it is not one and it not in lost)
                others = (self._plain.result(it) for it in replies if isinstance(it, Reply))
                self.swapped = any(report_differs(other, answer, due.place) is None for other in others)
                self.clause = (self.swapped and self.spoken.sdk.order_clause) or self.clause
                raise
            after = due.request.NAME
            lost += [one] * (answer.error is not None)
        if step.events == "any":
            held.free = True
            return
        told = [one for one in pushes if type(one) not in self.spoken.sdk.own]
        for at, push in enumerate(told):
            yield from self._event(held.name, push, told[at + 1 :])

    def came(self, step: AskStep | ReceiveStep, requests: Sequence[Request], messages: Sequence[Message]) -> None:
        """Note how requests were sent: what an SDK chose itself is saved where the step says so."""
        self.begun |= {type(one) for one in requests if type(one) in self.spoken.sdk.once}
        for chosen, names in step.save.items():
            for name, one in zip(names, messages, strict=False):
                self.script.save(name, getattr(one, chosen))

    def sent(self, line: InFlight, step: AskStep, requests: Sequence[Request], messages: Sequence[Message]) -> None:
        """Note how the requests that were asked last were sent."""
        self.came(step, requests, messages)
        filled = self.equivalence.filled(requests, messages, step.ignore, step.among)
        for due, one in zip(list(line.due)[-len(filled) :], filled, strict=False):
            due.request = one

    def unanswered(self, line: InFlight) -> ActionGenerator:
        """Expect that what is never answered is reported done. Raises `Stopped` if it is reported as failed."""
        while line.due:
            due = line.due.popleft()
            self.at = FailurePlace(due.request.NAME, "", self.at.asked)
            answer = yield from self.reported(due.call)
            self.abilities.excuse(answer, [due.request])
            if answer.error is not None:
                raise Stopped(Verdict.FAIL, "a result", f"the error {error_text(answer)}")

    def _hold(self, step: Answering, due: Due, answer: DriverAnswer, written: ReplyPiece, reply: Message) -> None:
        """Compare a report with the reply that the SDK was sent."""
        if reports_nothing(answer, due.place) and self._plain.is_flag(type(reply)):
            self.observed.append("reports nothing")
            return
        expected = self._plain.result(reply)
        found = report_differs(expected, answer, due.place)
        if found is None or (
            type(due.request) in self.spoken.sdk.parting and answer.error is None and not answer.result
        ):
            self.observed += ["reported"] * bool(step.or_fails)
            return
        self.abilities.excuse(answer, [due.request, reply])
        if not self.hello.binary_safe:
            beside = report_differs(expected, answer, due.place, textual=True)
            if beside is None:
                self.abilities.carries([reply])
            found = beside or found
        if answer.error is not None and _may_fail_so(step, answer):
            self.observed.append(f"fails: {answer.error.kind}")
            return
        self._blame(step, found.field)
        self.clause = step.blame.get(RESULT, self.clause) if found.field not in step.blame else self.clause
        self.misread = found.misread
        after = f" after the answer to {self.at.after}" if self.at.after else ""
        raise Stopped(Verdict.FAIL, f"{found.expected} (the server sent {shown(written.data)}{after})", found.got)

    def _event(self, name: str, push: Push, later: Sequence[Push]) -> ActionGenerator:
        event = yield from act.asked(act.NextEvent(name))
        if isinstance(event, act.Died):
            self.crashed(event)
        if isinstance(event, DriverEvent):
            unlike = (event_differs(self._plain.event(one), event, self.spoken.sdk.optional) for one in (push, *later))
            if (found := next(unlike)) is None:
                return
            self.abilities.carries([push])
            if all(unlike):
                self.at = FailurePlace(push.NAME, found.field, self.at.asked)
                raise Stopped(Verdict.FAIL, found.expected, found.got)
        told = "none in its turn: a later one was reported" if isinstance(event, DriverEvent) else event.told
        wanted = f"the event message with {self._plain.event(push)}"
        raise Stopped(Verdict.FAIL, wanted, told or f"none in {self.timeout:g} s")

    def failing(self, connection: InFlight, fails: Fails | None) -> ActionGenerator:
        """Compare what is still due with `fails`; a case must say of each request what becomes of it.

        Raises `SymbolError` if the case leaves one out.
        """
        if not connection.due:
            return
        if fails is None:
            raise SymbolError(f"{connection.due[0].request.NAME} is neither answered nor expected to fail")
        kinds = self.kinds(fails)
        yield from self._all_fail(connection, kinds, f"an error ({' or '.join(kinds)})")

    def kinds(self, fails: Fails) -> tuple[FailureKind, ...]:
        """Return the kinds of errors that a step allows."""
        return ANY if fails == "any" else tuple(FailureKind(one) for one in fails)

    def connect_fields(self, given: Mapping[str, Value]) -> dict[str, object]:
        """Return the protocol's own fields of `connect` as a driver is given them.

        Raises `SymbolError` for an unknown field.
        """
        known = self.spoken.sdk.connect_fields
        if unknown := [name for name in given if name not in known]:
            raise SymbolError(f"connect has no field {unknown[0]}; it has {', '.join(known) or 'none of its own'}")
        return {name: self._connect_field(known[name], value) for name, value in given.items()}

    def _connect_field(self, kind: str | tuple[str, ...], value: Value) -> object:
        if kind == "bytes":
            return {"hex": self.script.data(value).hex()}
        return f"{self.script.number(value, kind):g}" if kind == "seconds" else str(self.script.text(value))

    def _all_fail(self, connection: InFlight, kinds: Sequence[FailureKind], expected: str) -> ActionGenerator:
        while connection.due:
            due = connection.due.popleft()
            answer = yield from self.reported(due.call)
            if answer.kind is FailureKind.UNSUPPORTED:
                self.abilities.excuse(answer, [due.request])
            if answer.error is None:
                raise Stopped(Verdict.FAIL, expected, f"the result {answer.result}")
            if answer.kind not in kinds:
                raise Stopped(Verdict.FAIL, expected, f"the error {error_text(answer)}")
            self.observed.append(f"fails: {answer.kind}")

    def reported(self, call: int, seconds: float | None = None) -> act.Playing[DriverAnswer]:
        """Return the driver's answer to a call; `Stopped` when there is none."""
        if call not in self._answers:
            seconds = seconds or self.patience
            got = yield from act.asked(act.AwaitReport(call, seconds))
            if isinstance(got, act.Silent):
                self.stuck = True
                told = got.told or f"none in {seconds or self.timeout:g} s"
                raise Stopped(Verdict.HANG, "an answer of the driver", told)
            if isinstance(got, act.Died):
                self.crashed(got)
            if isinstance(got, act.Nonsense):
                raise Stopped(Verdict.UNTESTABLE, "a line of the driver protocol", got.detail)
            self._answers[call] = got
        return self._answers[call]

    def crashed(self, died: act.Died) -> NoReturn:
        """Stop: the driver ended. Raises `Stopped` (crash)."""
        raise Stopped(Verdict.CRASH, "a driver that runs on", died.detail)


def _may_fail_so(step: Answering, answer: DriverAnswer) -> bool:
    """Say whether an answer is an error that will do in a step."""
    return answer.error is not None and (step.or_fails is True or answer.kind in (step.or_fails or ()))
