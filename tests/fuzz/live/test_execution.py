"""How scripts are played: nothing is waited for that cannot come."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from wireproof.conformance.drivers.simulation import carried_out
from wireproof.conformance.model.actions import Action, Answer, Open, Read, Shut, Write
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import playing
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.live.simulated_plays import new_server, simulated
from wireproof.fuzz.live.token_substitution import placeholder
from wireproof.fuzz.script import performing
from wireproof.protocols.namechan.requests import Connect, Unsubscribe, Version
from wireproof.protocols.psrt.requests import Attach, DataGreeting, Greeting, Login
from wireproof.protocols.throttr.requests import Insert, Query

THROTTR = FuzzContext("throttr", "7.3.2", "uint32")


def test_replies_of_a_closed_connection_are_not_waited_for_on_the_next_one_of_that_name() -> None:
    asked = Write("a", THROTTR.encode(Query(b"key")))
    script = (Open("a"), asked, Shut("a", "half"), Shut("a", "close"), Open("a"))

    play = simulated(THROTTR, script)

    assert play.serves
    assert max(event.at_us for event in play.trace) < 100_000


def test_the_end_after_the_last_reply_is_seen_where_nothing_was_read() -> None:
    namechan = FuzzContext("namechan", "1", "standard")
    refused = namechan.encode(Version(0)) + namechan.encode(Connect(1, b"me")) + namechan.encode(Unsubscribe(b"topic"))

    play = simulated(namechan, (Open("a", unread=True), Write("a", refused)))

    assert [line.ended for line in play.lines] == [Kind.ENDED]
    assert not list(judged(play))


def test_a_token_that_comes_in_pieces_is_read_to_its_end_before_it_is_used() -> None:
    """A server that writes byte by byte was sent the placeholder as its token, and looked like a wrong one."""
    psrt, token = FuzzContext("psrt", "1", "standard"), bytes(range(32))
    asked = psrt.encode(Greeting(0)) + psrt.encode(Login(b"", b""))
    attached = psrt.encode(DataGreeting(0)) + psrt.encode(Attach(placeholder("a", 32), 5))
    script = (Open("a"), Write("a", asked), Read("a", 0.1), Open("d", "data"), Write("d", attached))
    pieces = [b"\xee\xaa\x01\x00" + token[:1], token[1:2], token[2:]]
    kinds = {Open: Kind.OPENED, Write: Kind.SENT, Read: Kind.RECEIVED}
    playing, done = performing(script, Trace(), psrt.substitution(script)), list[Action]()

    action = next(playing)
    with suppress(StopIteration):
        while True:
            done.append(action)
            came = pieces.pop(0) if isinstance(action, Read) else b""
            action = playing.send(Answer(kinds[type(action)], 0.0, came))

    assert pieces == []
    assert isinstance(done[-1], Write)
    assert token in done[-1].data


def test_of_a_connection_that_is_read_no_further_nothing_is_required() -> None:
    """A play that took too much was told as a reset by the server, after a part of a reply."""
    server, reads = new_server(THROTTR), list[Answer]()

    def perform(action: Action) -> Answer:
        if not isinstance(action, Read) or action.connection != "a":
            return server.perform(action)
        reads.append(server.perform(action) if not reads else Answer(Kind.SILENT, 0.0, b"nothing more is read"))
        return msgspec.structs.replace(reads[-1], data=reads[-1].data[:-1]) if len(reads) == 1 else reads[-1]

    script = (Open("a"), Write("a", THROTTR.encode(Insert(1, 4, 60, b"k")) + THROTTR.encode(Query(b"k"))))
    trace = carried_out(playing(script, THROTTR, patience=1.0), perform)
    play = Play(script, trace, THROTTR, 1.0)

    assert len(reads) > 1
    assert play.lines[0].lost
    assert not list(judged(play))
