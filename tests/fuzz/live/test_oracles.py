"""The oracles: silent on the correct server whatever is sent, and each reports what it is meant for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz.live.simulated_plays import first_suspicion, played
from wireproof.conformance.model.actions import Open, Read, Write
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.run.processes import Usage
from wireproof.fuzz.live.canaries import canaries_in, renumbered, with_fresh_canaries
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.script import Script
from wireproof.protocols.throttr.requests import Get, Insert, Query, Set

CONTEXT = FuzzContext("throttr", "7.1.0", "uint16")
KEY = b"~00000001~k"


def script(*requests: object) -> Script:
    return (Open("a"), *(Write("a", CONTEXT.encode(one)) for one in requests), Read("a", 0.02))  # type: ignore[arg-type]


VALID = script(Insert(7, 4, 30, KEY), Query(KEY), Get(KEY))


def spoken(play: Play) -> str | None:
    return next((one.oracle for one in judged(play)), None)


def altered(play: Play, kind: Kind, old: bytes, new: bytes | None) -> Play:
    """Return the play with other bytes in the first event that has those; None leaves it out."""
    events = list(play.trace)
    at = next(at for at, event in enumerate(events) if event.kind is kind and old in event.data)
    event = events[at]
    events[at : at + 1] = (
        [] if new is None else [TraceEvent(event.at_us, event.connection, kind, event.data.replace(old, new, 1))]
    )
    return replace(play, trace=type(play.trace)(events))


@pytest.mark.parametrize(
    ("profile", "variant"), [pytest.param("7.1.0", "uint16", marks=pytest.mark.nightly), ("7.3.2", "uint8")]
)
def test_the_bugless_server_reports_nothing(profile: str, variant: str) -> None:
    assert first_suspicion(FuzzContext("throttr", profile, variant), 250) is None


def test_every_seed_reports_nothing_as_it_is() -> None:
    for one in list(CONTEXT.seeds())[::10]:
        assert spoken(played(CONTEXT, with_fresh_canaries(one))) is None


@pytest.mark.parametrize(
    ("mutant", "oracle"),
    [("quota-low-byte", "answers agree with the model"), ("set-status-inverted", "answers agree with the model")],
)
def test_mutants_are_found_within_a_stated_number(mutant: str, oracle: str) -> None:
    found = first_suspicion(CONTEXT, 600, mutant=mutant)

    assert found is not None
    assert found.oracle == oracle


def test_a_lost_answer_is_reported_from_a_stuck_connection() -> None:
    play = played(CONTEXT, with_fresh_canaries(VALID))
    sync_request = CONTEXT.encode(CONTEXT.symbols.protocol.link.sync_request())
    asked = [TraceEvent(0, "a", Kind.SILENT), TraceEvent(0, "a", Kind.SENT, sync_request)]
    short = list(altered(play, Kind.RECEIVED, b"\1\1\7\0", b"\1\7\0").trace)
    at = next(at for at, event in enumerate(short) if event.connection == "~probe")

    stuck = list(altered(play, Kind.RECEIVED, b"\1\1\7\0\4\x1e\0\0", b"\1").trace)
    held = [*stuck[:at], *asked, TraceEvent(0, "a", Kind.SILENT), *stuck[at:]]
    lost = [*stuck[:at], *asked, TraceEvent(0, "a", Kind.RECEIVED, b"\0"), *stuck[at:]]

    assert spoken(replace(play, trace=type(play.trace)(held))) == "a connection is served on"
    assert spoken(replace(play, trace=type(play.trace)(lost))) == "every request is answered"


def test_what_is_no_reply_is_noticed_with_its_clause() -> None:
    (found,) = judged(altered(played(CONTEXT, with_fresh_canaries(VALID)), Kind.RECEIVED, b"\1\1", b"\1\7"))

    assert found.oracle == "replies are well formed"
    assert found.clause is not None


@pytest.mark.parametrize(
    ("ends", "oracle"),
    [
        ((), None),
        ((Kind.ENDED,), "replies are well formed"),
        ((Kind.HALF_CLOSED, Kind.ENDED), "replies are well formed"),
        ((Kind.CLOSED,), None),
    ],
)
def test_a_reply_that_is_cut_short_is_noticed_where_the_target_ended_the_connection(
    ends: tuple[Kind, ...], oracle: str | None
) -> None:
    play = altered(played(CONTEXT, with_fresh_canaries(VALID)), Kind.RECEIVED, b"\1\1\7\0\4\x1e\0\0", b"\1\1\7\0")
    at = next(at for at, event in enumerate(play.trace) if event.connection == "~probe")
    came = [event for event in play.trace[:at] if event.kind is not Kind.CLOSED]
    kept = [*came[:5], *(TraceEvent(0, "a", kind) for kind in ends), *play.trace[at:]]

    found = [one.oracle for one in judged(replace(play, trace=type(play.trace)(kept)))]
    assert found[:1] == ([oracle] if oracle else [])


def test_bytes_of_others_in_a_reply_are_noticed() -> None:
    play = played(CONTEXT, with_fresh_canaries(script(Set(4, 30, KEY, KEY + b"mine"), Get(KEY))))
    (own,) = canaries_in(bytes(play.lines[0].sent))
    changed = altered(play, Kind.RECEIVED, own, b"~0badcafe~")

    assert spoken(play) is None
    assert spoken(changed) == "replies hold nobody else's bytes"


def test_an_end_without_a_reason_and_a_probe_without_an_answer_are_noticed() -> None:
    play = played(CONTEXT, with_fresh_canaries(VALID))
    at = next(at for at, event in enumerate(play.trace) if event.connection == "~probe")
    over = [*play.trace[:at], TraceEvent(0, "a", Kind.ENDED), *play.trace[at:]]
    silent = [event for event in play.trace if (event.connection, event.kind) != ("~probe", Kind.RECEIVED)]

    assert spoken(replace(play, trace=type(play.trace)(over))) == "valid requests end no connection"
    assert spoken(replace(play, trace=type(play.trace)(silent))) == "others are served"
    assert spoken(replace(play, trace=type(play.trace)(play.trace[:at]))) == "others are served"


def test_processes_are_judged_by_their_usage_and_output() -> None:
    play = played(CONTEXT, with_fresh_canaries(VALID))
    measured = [*play.trace, TraceEvent(0, "", Kind.MEASURED, b'{"memory": 90000000}')]
    grown = replace(play, trace=type(play.trace)(measured), before=Usage(10_000_000, 3, 0.0), fed=100)

    assert spoken(grown) == "memory is linear in the input"
    assert spoken(replace(grown, before=Usage(10_000_000, 3, 0.0, 20 << 40))) is None, "a sanitizer keeps what is freed"
    assert spoken(replace(grown, fed=10_000_000)) is None
    assert spoken(replace(grown, fed=10_000_000, held=20_000_000)) == "memory is linear in the input"
    assert spoken(replace(grown, fed=10_000_000, held=80_000_000)) is None
    assert spoken(replace(play, idle_cpu=0.9)) == "an idle server rests"
    assert spoken(replace(play, idle_cpu=0.1)) is None
    (died,) = judged(replace(play, death="died of SIGSEGV", words=['  File "/a/b.py", line 7, in f', "x"]))
    assert died.shape == "died of SIGSEGV | f at b.py:#"
    message, ended = judged(replace(play, death="exited", words=["SUMMARY: AddressSanitizer: overflow /x/y.c:12 in f"]))
    assert ended.oracle == "the process stays"
    assert (message.oracle, message.shape) == ("a sanitizer is silent", "AddressSanitizer: overflow y.c:# in f")


def test_marks_are_renewed_across_writes_and_stay_equal() -> None:
    cut: Script = (Open("a"), Write("a", b"x~0000"), Write("a", b"0001~y~00000001~"), Write("b", b"~00000001~"))
    sent = [one.data for one in with_fresh_canaries(cut) if isinstance(one, Write)]
    (own,) = canaries_in(b"".join(sent[:2]))

    assert own != b"~00000001~"
    assert sent == [b"x" + own[:5], own[5:] + b"y" + own, own]
    assert canaries_in(renumbered(cut, 1)[3].data) == {b"~00000002~"}  # type: ignore[union-attr]
