"""Servers that are compared on lines of several kinds: tokens may differ, pushes and answers may not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fuzz.differential.kept_sources import kept_sources
from wireproof.conformance.drivers.simulation import Simulation, carried_out
from wireproof.conformance.model.actions import Open, Read, Sleep, Write
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.run.reference_target import service
from wireproof.conformance.suite.cases import load_suite
from wireproof.fuzz.differential import diff_campaign
from wireproof.fuzz.differential.compared_servers import SimulatedServer
from wireproof.fuzz.differential.comparison import differences
from wireproof.fuzz.differential.diff_campaign import DiffCampaign, DiffLimits
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import playing
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.simulated_plays import simulated
from wireproof.fuzz.live.token_substitution import placeholder
from wireproof.fuzz.script import Script
from wireproof.protocols.messages import Request
from wireproof.protocols.namechan import requests as namechan
from wireproof.protocols.psrt.requests import Attach, DataGreeting, Greeting, Login, Publish, Subscribe

CONTEXT = FuzzContext("psrt", "1", "standard")
NAMECHAN = FuzzContext("namechan", "1", "standard")


@pytest.fixture(autouse=True)
def made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_campaign, "sources", kept_sources)


def asking(name: str, *requests: object) -> Script:
    return tuple(one for asked in requests for one in (Write(name, CONTEXT.encode(asked)), Read(name, 0.02)))  # type: ignore[arg-type]


SESSION = (
    Open("a"),
    *asking("a", Greeting(0), Login(b"", b"")),
    Open("d", "data"),
    *asking("d", DataGreeting(0), Attach(placeholder("a", 32), 4)),
    *asking("a", Subscribe(b"t"), Publish(7, b"t", b"m")),
    Read("d", 0.02),
)


def namechan_session(*topics: bytes) -> Script:
    """Return a script that makes queues, subscribes and unsubscribes them."""

    def says(name: str, *requests: Request) -> Script:
        return tuple(one for asked in requests for one in (Write(name, NAMECHAN.encode(asked)), Read(name, 0.02)))

    made = says("h", *(namechan.HookCreate(topic, 0, 0, 0) for topic in topics))
    asked = says("a", *map(namechan.Subscribe, topics), *map(namechan.Unsubscribe, topics))
    return (
        Open("h", "hook", listener="hook"),
        *made,
        Open("a"),
        *says("a", namechan.Version(), namechan.Connect(id=b"c")),
        *asked,
    )


def on_another(script: Script, seed: int) -> Play:
    """Return the play on a server that draws other tokens."""
    made = CONTEXT.name, {"profile": CONTEXT.profile, "variant": CONTEXT.variant, "seed": seed}
    server = Simulation(lambda clock: service(made[0], clock=clock, **made[1]))  # type: ignore[arg-type]
    return Play(script, carried_out(playing(script, CONTEXT, patience=1.0), server.perform), CONTEXT, 1.0)


def test_tokens_may_differ() -> None:
    plays = [on_another(SESSION, seed) for seed in (1, 2)]

    assert plays[0].lines[0].received != plays[1].lines[0].received
    assert list(differences(plays)) == []


def test_a_push_that_is_missing_on_another_line_is_a_difference() -> None:
    play = simulated(CONTEXT, SESSION)
    lost = [
        one for one in play.trace if not (one.connection == "d" and one.kind is Kind.RECEIVED and len(one.data) > 4)
    ]
    (found,) = differences([play, replace(play, trace=type(play.trace)(lost))])

    assert (found.connection, found.shape) == ("d", "PUSH: PUSH | nothing")


def test_what_tls_says_is_not_compared() -> None:
    play = simulated(CONTEXT, (Open("a"), *asking("a", Greeting(1)), Write("a", b"no TLS")))
    alert = TraceEvent(0, "a", Kind.RECEIVED, bytes.fromhex("15030300020216"))
    at = next(at for at, one in enumerate(play.trace) if one.data == b"no TLS")
    message = replace(play, trace=type(play.trace)([*play.trace[: at + 1], alert, *play.trace[at + 1 :]]))

    assert message.lines[0].received
    assert list(differences([play, message])) == []


def test_signs_of_life_are_no_difference() -> None:
    more = simulated(CONTEXT, (*SESSION, Sleep(3.9), Read("d", 0.02)))

    assert [one.NAME for one, request in more.lines[1].messages if request is None].count("BEACON") == 1
    assert list(differences([more, simulated(CONTEXT, SESSION)])) == []


@pytest.mark.parametrize("mutant", ["attach-time-first", "publish-unanswered"])
def test_a_wrong_server_is_reported_from_the_reference(mutant: str) -> None:
    sides = [SimulatedServer("simulation", CONTEXT), SimulatedServer("wrong", CONTEXT, mutant=mutant)]
    campaign = DiffCampaign(sides, load_suite("psrt"), limits=DiffLimits(runs=40, findings=1, shrink_s=0.5))
    (found, *_) = campaign.run()

    assert found.deviating == ("wrong",)
    assert found.clause is not None


def test_servers_alike_show_nothing() -> None:
    sides = [SimulatedServer(one, CONTEXT) for one in "ab"]
    campaign = DiffCampaign(sides, load_suite("psrt"), limits=DiffLimits(runs=60))

    assert list(campaign.run()) == []
    assert kept_sources(CONTEXT, load_suite("psrt"))


def test_ids_that_a_server_chooses_may_differ() -> None:
    fresh, used = (SimulatedServer(one, NAMECHAN) for one in "ab")
    used.play(namechan_session(b"before"))
    plays = [one.play(namechan_session(b"one", b"two")) for one in (fresh, used)]

    assert plays[0].lines[1].received != plays[1].lines[1].received
    assert list(differences(plays)) == []


def test_ids_must_stay_what_the_server_chose() -> None:
    sides = [SimulatedServer("a", NAMECHAN), SimulatedServer("b", NAMECHAN, mutant="unsubscribed-without-id")]
    (found,) = differences([one.play(namechan_session(b"one", b"two")) for one in sides])

    assert found.shape == "UNSUBSCRIBE: UNSUBSCRIBED.id differs"
    assert found.texts == ("id = 1 (topic 1 that came)", "id = 0 (topic 3 that came)")
