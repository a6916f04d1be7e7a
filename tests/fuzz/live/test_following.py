"""The model of the whole server follows live plays: pushes, the empty key, and what it must leave open."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from wireproof.conformance.model.actions import Open, Read, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.fuzz.live.canaries import with_fresh_canaries
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.exchanges import FollowedTrace
from wireproof.fuzz.live.following import Follower, follower
from wireproof.fuzz.live.one_at_a_time import SETTLE, in_turn
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.live.own_names import use_own_names
from wireproof.fuzz.live.simulated_plays import simulated
from wireproof.fuzz.live.simulated_target import SimulatedTarget
from wireproof.fuzz.live.token_substitution import has_placeholders, on_other_connections, placeholder
from wireproof.fuzz.script import Script
from wireproof.protocols import Request
from wireproof.protocols.namechan import requests as namechan
from wireproof.protocols.namechan.enums import Replay
from wireproof.protocols.psrt.requests import Attach, DataGreeting, Greeting, Login
from wireproof.protocols.psrt.requests import Publish as PsrtPublish
from wireproof.protocols.psrt.requests import Subscribe as PsrtSubscribe
from wireproof.protocols.throttr.replies import PushedEvent
from wireproof.protocols.throttr.requests import (
    Event,
    Get,
    Insert,
    Publish,
    Purge,
    Query,
    Subscribe,
    Unsubscribe,
    Whoami,
)
from wireproof.protocols.throttr.requests import Set as SetBuffer
from wireproof.protocols.tmqp import requests as tmqp
from wireproof.protocols.tmqp.replies import ProtocolReply, Welcome

THROTTR = FuzzContext("throttr", "7.3.2", "uint16")
PSRT = FuzzContext("psrt", "1", "standard")
NAMECHAN = FuzzContext("namechan", "1", "standard")
CHANNEL, KEY = b"~00000001~c", b"~00000002~k"


def asked(context: FuzzContext, name: str, *requests: Request) -> Script:
    return tuple(Write(name, context.encode(one)) for one in requests)


def pushed(*more: Request) -> Script:
    """Return a script in which `a` and `b` subscribe and `p` publishes, one after the other."""
    steps = (Open("a"), *asked(THROTTR, "a", Subscribe(CHANNEL)), Open("b"), *asked(THROTTR, "b", Subscribe(CHANNEL)))
    return in_turn((*steps, Open("p"), *asked(THROTTR, "p", Publish(CHANNEL, b"~00000003~"), *more)))


def psrt_clients() -> Script:
    steps: Script = ()
    for control, data in ("ad", "be"):
        steps += (Open(control), *asked(PSRT, control, Greeting(0)), Read(control, 0.02))
        steps += (*asked(PSRT, control, Login(b"", b"")), Read(control, 0.02), Open(data, "data"))
        steps += (*asked(PSRT, data, DataGreeting(0)), Read(data, 0.02))
        steps += asked(PSRT, data, Attach(placeholder(control, 32), 255))
        steps += (Read(data, 0.02), *asked(PSRT, control, PsrtSubscribe(b"t")))
    return in_turn((*steps, *asked(PSRT, "a", PsrtPublish(7, b"t", b"m"))))


def namechan_clients() -> Script:
    topic = CHANNEL
    made = namechan.HookCreate(topic, 0, 0, 0)
    steps: Script = (Open("h", "hook", listener="hook"), *asked(NAMECHAN, "h", made))
    for name in "ab":
        begun = (namechan.Version(1), namechan.Connect(1, b"w"), namechan.Subscribe(topic, Replay.FROM_CURRENT))
        steps += (Open(name), *asked(NAMECHAN, name, *begun))
    return in_turn((*steps, *asked(NAMECHAN, "h", namechan.HookPublish(topic, b"body"))))


def reports(context: FuzzContext, script: Script, mutant: str | None = None) -> list[tuple[str, str | None]]:
    return [(one.oracle, one.clause) for one in judged(simulated(context, with_fresh_canaries(script), mutant))]


@pytest.mark.parametrize(
    ("context", "script", "mutant", "clause"),
    [
        (THROTTR, pushed(), "push-to-nobody", "THR-PUSH-4"),
        (THROTTR, pushed(), "push-not-to-the-latest", "THR-PUSH-4"),
        (PSRT, psrt_clients(), "push-to-the-first-only", "PSRT-MESSAGE-8"),
        (NAMECHAN, namechan_clients(), "broadcast-to-one", "NCH-BROADCAST-1"),
    ],
)
def test_a_push_that_does_not_come_is_reported(context: FuzzContext, script: Script, mutant: str, clause: str) -> None:
    assert reports(context, script) == []
    assert reports(context, script, mutant) == [("every push arrives", clause)]


def test_a_push_that_nobody_is_due_is_reported() -> None:
    other = in_turn((Open("c"), *asked(THROTTR, "c", Subscribe(CHANNEL + b"other")), *pushed()))

    assert reports(THROTTR, other) == []
    assert reports(THROTTR, other, "push-to-whoever-subscribed") == [("pushes agree with the model", "THR-PUSH-5")]
    assert reports(THROTTR, pushed(), "push-twice") == [("pushes agree with the model", "THR-PUSH-6")]


def to_everybody(*, carried: bool = False) -> Script:
    """Return a script in which `p` publishes to everybody, also from inside another request."""
    asking = Publish(b"*", b"~00000003~")
    steps = (Open("a"), *asked(THROTTR, "a", Whoami()), Open("b"), *asked(THROTTR, "b", Whoami()), Open("p"))
    last = Event(b"c", THROTTR.encode(asking)) if carried else asking
    return in_turn((*steps, *asked(THROTTR, "p", last)))


def to_one(*, carried: bool = False) -> Script:
    """Return a script in which `p` publishes to the id of `a`."""
    asking = Publish(placeholder("a", 16).hex().encode(), b"~00000003~")
    return tuple(
        replace(step, data=step.data.replace(THROTTR.encode(Publish(b"*", asking.payload)), THROTTR.encode(asking)))
        if isinstance(step, Write) and not carried
        else replace(step, data=THROTTR.encode(Event(b"c", THROTTR.encode(asking))))
        if isinstance(step, Write) and step.connection == "p"
        else step
        for step in to_everybody(carried=carried)
    )


@pytest.mark.parametrize(
    ("script", "mutant", "expected"),
    [
        (to_everybody(), "push-to-nobody", ("every push arrives", "THR-PUSH-4")),
        (to_everybody(), "push-twice", ("pushes agree with the model", "THR-PUSH-6")),
        (to_everybody(carried=True), "push-to-nobody", ("every push arrives", "THR-PUSH-4")),
        (to_everybody(carried=True), "push-twice", ("pushes agree with the model", "THR-PUSH-6")),
        (to_one(), "push-to-nobody", ("every push arrives", "THR-PUSH-4")),
        (to_one(), "push-twice", ("pushes agree with the model", "THR-PUSH-6")),
        (to_one(carried=True), "push-to-nobody", ("every push arrives", "THR-PUSH-4")),
        (to_one(carried=True), "push-names-the-channel-of-its-event", ("every push arrives", "THR-PUSH-3")),
    ],
)
def test_pushes_of_what_is_published_to_everybody_to_an_id_and_inside_a_request_are_judged(
    script: Script, mutant: str, expected: tuple[str, str]
) -> None:
    assert reports(THROTTR, script) == []
    assert reports(THROTTR, script, mutant) == [expected]


@pytest.mark.parametrize("mutant", ["legal-events-refused", "legal-events-01-00"])
def test_what_a_request_holds_that_may_be_answered_in_any_way_is_open_until_the_answer_shows_it(mutant: str) -> None:
    behind = asked(THROTTR, "p", Event(b"c", THROTTR.encode(Insert(7, 4, 60, KEY))), Query(KEY))

    assert reports(THROTTR, in_turn((*to_everybody(carried=True), SETTLE, *behind)), mutant) == []


def followed() -> tuple[FuzzContext, Follower, FollowedTrace]:
    """Return a bare follower, and the trace that it follows."""
    context = FuzzContext("throttr", "7.3.2", "uint16")
    found = follower(context, bare=True)
    assert found is not None
    trace = FollowedTrace(context=context)
    trace.follower = found
    return context, found, trace


def test_a_server_that_never_answers_such_a_request_is_asked_once() -> None:
    context, follows, trace = followed()
    trace.append(TraceEvent(0, "a", Kind.OPENED))
    trace.append(TraceEvent(0, "a", Kind.SENT, context.encode(Event(b"c", context.encode(Whoami())))))
    awaited = follows.awaited()
    assert awaited is trace.now["a"]
    follows.missed(awaited)

    assert follows.has_stopped
    assert context.left_open == {"EVENT"}


def test_what_a_later_connection_publishes_to_an_earlier_one_is_read_before_another_goes_on() -> None:
    late = (Open("q"), *asked(THROTTR, "q", Query(KEY)), *asked(THROTTR, "a", Query(KEY)))
    script = in_turn((*pushed(), *late, *asked(THROTTR, "p", Publish(CHANNEL, b"~00000003~"))))
    trace = simulated(THROTTR, with_fresh_canaries(script)).trace

    assert not [one for one in trace if one.kind is Kind.SILENT]
    pushes = [at for at, one in enumerate(trace) if one.kind is Kind.RECEIVED and one.data[:1] == b"\x19"]
    assert pushes[1] < next(at for at, one in enumerate(trace) if one.connection == "q")


@pytest.mark.parametrize("script", [pushed(), tuple(step for step in pushed() if step != SETTLE)])
def test_an_answer_that_does_not_come_is_waited_for_once(script: Script) -> None:
    play = simulated(THROTTR, with_fresh_canaries(script), "publish-unanswered")

    assert [one.oracle for one in judged(play)] != []
    assert play.patience * 10**6 <= play.trace[-1].at_us <= 1.6 * play.patience * 10**6


def stopped_with_a_push_due() -> tuple[FuzzContext, Follower, FollowedTrace]:
    """Return a follower that has stopped, its trace; `a` is due a push of what `p` published before."""
    context, follows, trace = followed()
    for name in "ap":
        trace.append(TraceEvent(0, name, Kind.OPENED))
    for name, request in (("a", Subscribe(CHANNEL)), ("p", Publish(CHANNEL, b"x"))):
        trace.append(TraceEvent(0, name, Kind.SENT, context.encode(request)))
        trace.append(TraceEvent(0, name, Kind.RECEIVED, b"\1"))
    trace.append(TraceEvent(0, "p", Kind.SENT, context.encode(Event(b"c", b""))))
    trace.append(TraceEvent(0, "p", Kind.RECEIVED, b"\0"))
    assert follows.has_stopped
    assert follows.awaited() is trace.now["a"]
    return context, follows, trace


def test_a_push_that_takes_its_time_is_waited_for_also_where_the_model_stops() -> None:
    context, follows, trace = stopped_with_a_push_due()
    trace.append(TraceEvent(30_000, "a", Kind.RECEIVED, context.encode(PushedEvent(CHANNEL, b"x"))))

    assert follows.awaited() is None
    follows.finish()
    assert follows.found is None


@pytest.mark.parametrize("ends", [(Kind.ENDED,), (Kind.RESET,), (Kind.CLOSED,), (Kind.HALF_CLOSED, Kind.CLOSED)])
def test_nothing_is_read_on_a_connection_that_ended_after_the_model_stopped(ends: tuple[Kind, ...]) -> None:
    """A play read there without end, hearing of the end only; a simulation raised KeyError."""
    _, follows, trace = stopped_with_a_push_due()
    for kind in ends:
        trace.append(TraceEvent(0, "a", kind))

    assert follows.awaited() is None


def test_a_name_that_is_opened_again_after_the_model_stopped_is_waited_for_as_any_other() -> None:
    """It was waited for a quarter as long, as the connection that had its name before was closed."""
    begun = (Open("a"), *asked(THROTTR, "a", Whoami()), Open("b"), *asked(THROTTR, "b", Subscribe(CHANNEL)))
    again = (Shut("a", "close"), Open("a"), *asked(THROTTR, "a", Publish(CHANNEL, b"~00000003~")))
    script = (*begun, Open("p"), Write("p", b"\xff"), *again)
    play = simulated(THROTTR, with_fresh_canaries(script), "publish-unanswered")

    waited = [one.at_us for one in play.trace if one.connection == "a" and one.kind is Kind.SILENT]
    assert waited[0] >= play.patience * 10**6


def test_nothing_is_awaited_on_a_connection_that_ended_after_something_was_found() -> None:
    context, follows, trace = followed()
    trace.append(TraceEvent(0, "a", Kind.OPENED))
    both = context.encode(Insert(7, 4, 60, KEY)) + context.encode(Query(KEY))
    for kind, data in ((Kind.SENT, both), (Kind.RECEIVED, b"\0")):
        trace.append(TraceEvent(0, "a", kind, data))
    assert follows.found is not None
    trace.append(TraceEvent(0, "a", Kind.ENDED))

    assert follows.awaited() is None


def test_what_nobody_waited_for_is_not_missing() -> None:
    """Where answers come in any order, a model that stops waits for nothing more."""
    context = FuzzContext("tmqp", "twino-3.0.0", "standard")
    follows = follower(context, bare=True)
    assert follows is not None
    trace = FollowedTrace(context=context)
    trace.follower = follows
    for name in (b"~00000001~a", b"~00000002~b"):
        hello = tmqp.Hello(payload=b"NONE /\r\nClient-Id:%s\r\n" % name)
        trace.append(TraceEvent(0, name[-1:].decode(), Kind.OPENED))
        asked = context.encode(tmqp.Protocol()) + context.encode(hello)
        trace.append(TraceEvent(0, name[-1:].decode(), Kind.SENT, asked))
        told = ProtocolReply(), Welcome(one_delivery=1, id=b"w", target=name, content_type=202)
        trace.append(
            TraceEvent(0, name[-1:].decode(), Kind.RECEIVED, b"".join(map(context.symbols.codec.encode, told)))
        )
    assert follows.awaited() is None

    relayed = tmqp.Respond(id=b"r", target=b"~00000002~b"), tmqp.Respond(id=b"s", target=b"~00000002~b")
    for one in relayed:
        trace.append(TraceEvent(0, "a", Kind.SENT, context.encode(one)))
    follows.finish()

    assert follows.has_stopped
    assert follows.found is None


def test_what_others_publish_to_everybody_is_open() -> None:
    steps = (Open("a"), *asked(THROTTR, "a", Whoami()), Open("p"), *asked(THROTTR, "p", Publish(b"*", b"of others")))

    assert reports(THROTTR, in_turn(steps), "push-twice") == []


def test_scripts_are_changed_to_the_names_that_every_connection_has() -> None:
    names = set()
    for seed in range(20):
        script = use_own_names(Random(seed), pushed(), THROTTR)
        names |= {one.channel for one in requests_of(script) if isinstance(one, Publish)}
        assert reports(THROTTR, in_turn(script)) == []
    assert names >= {b"*", placeholder("a", 16).hex().encode(), placeholder("p", 16).hex().encode()}
    old = FuzzContext("throttr", "7.1.0", "uint16")
    assert use_own_names(Random(1), pushed(), old) == pushed()
    assert use_own_names(Random(1), psrt_clients(), PSRT) == psrt_clients()


def requests_of(script: Script) -> list[Request]:
    return [one for step in script if isinstance(step, Write) for one in THROTTR.requests(step.data)[0]]


def test_placeholders_of_ids_in_hexadecimal_follow_their_connection() -> None:
    script = (Open("a"), Write("a", placeholder("a", 16).hex().encode() + placeholder("a", 16)))

    assert has_placeholders((Write("a", placeholder("a", 16).hex().encode()),))
    assert on_other_connections(script, lambda name: name + "2")[1] == Write(
        "a2", placeholder("a2", 16).hex().encode() + placeholder("a2", 16)
    )


def test_who_has_unsubscribed_or_left_is_due_nothing() -> None:
    gone = (*pushed(), *asked(THROTTR, "a", Unsubscribe(CHANNEL)), Shut("b", "close"))

    assert reports(THROTTR, in_turn((*gone, *asked(THROTTR, "p", Publish(CHANNEL, b"~00000004~"))))) == []


def test_what_is_asked_at_once_on_two_connections_is_not_judged() -> None:
    steps = (
        Open("a"),
        Open("p"),
        *asked(THROTTR, "a", Subscribe(CHANNEL)),
        *asked(THROTTR, "p", Publish(CHANNEL, b"x")),
    )

    assert reports(THROTTR, steps, "push-to-nobody") == []


def test_a_reader_that_does_not_read_is_not_judged() -> None:
    steps = tuple(Open("a", unread=True) if step == Open("a") else step for step in pushed())

    assert reports(THROTTR, steps, "push-to-nobody") == []


def test_the_empty_key_is_judged_once_an_answer_has_shown_what_it_holds() -> None:
    known = (Open("a"), *asked(THROTTR, "a", Purge(b""), Insert(300, 4, 60, b""), Query(b"")))
    unknown = (Open("a"), *asked(THROTTR, "a", Query(b""), Get(b"")))

    assert reports(THROTTR, known) == reports(THROTTR, unknown) == []
    assert [one for one, _ in reports(THROTTR, known, "quota-low-byte")] == ["answers agree with the model"]
    live = SimulatedTarget(THROTTR)
    live.play((Open("a"), *asked(THROTTR, "a", SetBuffer(4, 60, b"", b"of an earlier play"))), patience=1.0)
    assert list(judged(live.play(unknown, patience=1.0))) == []


def test_what_lies_behind_a_push_that_is_known_to_be_lost_is_found() -> None:
    script = pushed(Insert(300, 4, 60, KEY), Query(KEY))
    context = FuzzContext("throttr", "7.3.2", "uint16")
    context.known.add(("every push arrives", "push missing"))

    assert reports(context, script, "push-to-nobody") == []
    context.known.clear()
    assert reports(context, script, "push-to-nobody") == [("every push arrives", "THR-PUSH-4")]


def test_a_model_goes_on_behind_an_answer_that_is_known_to_be_wrong() -> None:
    context = FuzzContext("throttr", "7.3.2", "uint16")
    wrong = (*asked(context, "p", Insert(300, 4, 60, b""), Query(b"")), SETTLE)
    script = (*pushed(), *wrong, *asked(context, "p", Publish(CHANNEL, b"~00000005~")))
    (found,) = judged(simulated(context, with_fresh_canaries(script), "quota-low-byte"))
    context.known.add(found.key)

    assert list(judged(simulated(context, with_fresh_canaries(script), "quota-low-byte"))) == []
    trace = simulated(context, with_fresh_canaries(script), "quota-low-byte").trace
    assert trace.follower is not None  # type: ignore[attr-defined]
    assert not trace.follower.has_stopped  # type: ignore[attr-defined]


def test_scripts_in_turn_settle_before_another_connection_goes_on() -> None:
    script = (
        Open("a"),
        Write("a", b"1"),
        Write("a", b"2"),
        Open("b"),
        Write("b", b"3"),
        Sleep(0.1),
        Shut("a", "close"),
    )
    settled = (Open("a"), Write("a", b"1"), Write("a", b"2"), SETTLE, Open("b"), Write("b", b"3"), SETTLE, *script[5:])

    assert in_turn(script) == settled
    assert in_turn(settled) == settled


def test_names_of_cases_are_those_of_one_play() -> None:
    script = (Write("a", b"v-0123ab-k v-0123"), Write("a", b"ab-k"))
    first, second = (b"".join(step.data for step in with_fresh_canaries(script)) for _ in range(2))  # type: ignore[union-attr]

    assert first != second
    assert first[:10] == first[11:]
