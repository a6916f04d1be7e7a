"""The seam that mutants use: rules, options, handlers, sessions, state, the feed of a data socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.reference_server.psrt.simulated import BEACON, OK, Server, publish, pushed
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.protocols.psrt.requests import Attach, Bye, Greeting, Nop, Publish
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.feed import Feed
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import RefusedError, State


def _refuse(request: Any, session: Any, now: int) -> Any:
    raise RefusedError("no")


class _Chatty(Feed):
    def interval(self, timeout_s: int) -> int:
        return super().interval(timeout_s) // 5


class _FeedsMore(PsrtSession):
    feed_type = _Chatty


class _Deaf(State):
    def forget(self, client: Client) -> None:
        self.clients.pop(client.token, None)


PATCHES: Mapping[str, ServerMutant] = {
    one.name: one
    for one in (
        mutant("two-bytes", "NOP is answered twice.", "X-1", handlers=lambda correct, state: {Nop: lambda *_: b"\1\1"}),
        mutant("bare-bye", "BYE is not answered.", "X-1", handlers=lambda correct, state: {Bye: _refuse}),
        mutant("odd-greeting", "Another version.", "X-1", handlers=lambda c, s: {Greeting: lambda *_: b"\xee\xaa\2\0"}),
        mutant("silent", "PUBLISH is not answered.", "X-1", handlers=lambda c, s: {Publish: lambda *_: b""}),
        mutant("shallow", "Topics are as deep as one level.", "X-1", options={"max_topic_depth": 0}),
        mutant("tick", "Beacons come on ticks.", "X-1", rules={"beacon_by_silence": False}),
        mutant("immortal", "Data sockets outlive their control socket.", "X-1", state=_Deaf),
        mutant("chatty", "Beacons come too often.", "X-1", session=_FeedsMore),
    )
}


def test_a_handler_may_say_other_bytes_and_the_stream_goes_on() -> None:
    control = Server(mutant=PATCHES["two-bytes"]).control()
    assert control.send(b"\0", publish("a"), b"\0") == b"\1\1" + OK + b"\1\1"
    assert Server(mutant=PATCHES["silent"]).control().send(publish("a"), b"\0") == OK
    line = Server(mutant=PATCHES["odd-greeting"]).line()
    assert line.send(b"\xee\xaa\0", b"\1\0\0\0\0")[:4] == b"\xee\xaa\2\0"


def test_a_handler_may_refuse() -> None:
    control = Server(mutant=PATCHES["bare-bye"]).control()
    assert control.refuses(b"\xff")


def test_options_rules_state_and_session_may_be_others() -> None:
    assert Server(mutant=PATCHES["shallow"]).control().send(publish("a/b")) == b"\xff"
    assert not Server(mutant=PATCHES["tick"]).service.state.rules.beacon_by_silence
    control, data = (immortal := Server(mutant=PATCHES["immortal"])).both("a")
    control.send(b"\xff")
    immortal.control().send(publish("a"))
    assert data.take() == pushed("a")
    _, data = (chatty := Server(mutant=PATCHES["chatty"])).both(timeout=1)
    chatty.wait(1)
    assert data.take() == BEACON * 10


def test_only_handlers_that_are_others_are_reported() -> None:
    assert Server(mutant=PATCHES["two-bytes"]).service.touched == {"NOP"}
    assert Server(mutant=PATCHES["chatty"]).service.touched is None
    assert Server().service.touched is None
    assert Attach in Server().service.handlers
