"""How scripts are played: nothing is waited for that cannot come."""

from __future__ import annotations

from wireproof.conformance.model.actions import Open, Shut, Write
from wireproof.conformance.model.trace import Kind
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.live.simulated import simulated
from wireproof.protocols.namechan.requests import Connect, Unsubscribe, Version
from wireproof.protocols.throttr.requests import Query

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
