"""Deaths and hangs are told apart by their words, or else by what was sent; a campaign goes on after a known one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from wireproof.conformance.model.actions import Open, Read, Shut, Write
from wireproof.conformance.model.trace import Trace
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import PROBE
from wireproof.fuzz.live.known_deaths import KnownDeaths, stuck_shapes, traits
from wireproof.fuzz.live.live_campaign import Campaign, CampaignLimits
from wireproof.fuzz.live.observation import Play, Suspicion
from wireproof.fuzz.live.oracles import SERVED, SERVED_ON, STAYS, judged
from wireproof.fuzz.live.reduction import Attribution, asking_only
from wireproof.fuzz.live.simulated_target import SimulatedTarget
from wireproof.fuzz.script import Script
from wireproof.protocols.throttr.requests import Get, Query, Subscribe, Whoami

CONTEXT = FuzzContext("throttr", "7.3.2", "uint16")
TRACE = """Traceback (most recent call last):
  File "/srv/app/{file}.py", line {line}, in {name}
    boom
ValueError: {value}
"""


def died(words: str, death: str = "died of SIGSEGV") -> Play:
    return Play((), Trace(), CONTEXT, 1.0, death, words.splitlines())


def test_deaths_of_one_signal_are_distinguished_by_their_own_frames() -> None:
    first, again, other = (
        next(judged(died(TRACE.format(file=file, line=line, name=name, value=value))))
        for file, line, name, value in (("a", 7, "put", 1), ("a", 7, "put", 22), ("b", 9, "get", 1))
    )

    assert first.key == again.key
    assert first.key != other.key
    assert "put" in first.detail
    assert not first.is_wordless
    assert next(judged(died("listening tcp://127.0.0.1:1"))).is_wordless


def test_reports_of_a_sanitizer_are_distinguished_by_their_own_frames() -> None:
    text = (
        "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1 at pc 0x2 bp 0x3 sp 0x4\n"
        "    #0 0x55 in memcpy /usr/lib/libsanitizer/x.cpp:1:2\n"
        "    #1 0x55 in {name} /srv/app/{name}.cpp:12:3\n"
        "SUMMARY: AddressSanitizer: heap-use-after-free /usr/lib/libsanitizer/x.cpp:1:2 in memcpy\n"
    )
    one, other = (next(judged(died(text.format(name=name)))) for name in ("put", "get"))

    assert one.oracle == "a sanitizer is silent"
    assert one.key != other.key


def script(*requests: object, end: str = "close", more: bytes = b"") -> Script:
    data = b"".join(map(CONTEXT.encode, requests)) + more  # type: ignore[arg-type]
    return (Open("a"), Write("a", data), Read("a", 1.0), Shut("a", end))


def test_traits_name_what_is_sent_and_how_connections_end() -> None:
    assert traits(script(Whoami(), Query(b"x"), end="reset"), CONTEXT) == {"WHOAMI", "QUERY", "reset"}
    assert traits(script(Whoami(), more=b"\xfe"), CONTEXT) == {"WHOAMI", "no request"}
    assert traits(script(Whoami(), more=b"\x02\x07"), CONTEXT) == {"WHOAMI", "an incomplete QUERY"}


def test_what_is_sent_is_read_across_writes_as_a_server_reads_it() -> None:
    """On Throttr 5.0.11 one death, by a type that is none, was told as twelve: by what stood before it in each."""
    asked = CONTEXT.encode(Subscribe(b"b" * 20))
    split = (Open("a"), Write("a", b"\x02"), Read("a", 0.02), Write("a", asked), Read("a", 1.0), Shut("a", "close"))
    whole = (Open("a"), Write("a", asked[:2]), Read("a", 0.02), Write("a", asked[2:]), Shut("a", "close"))
    deaths = KnownDeaths(CONTEXT)
    deaths.add(STAYS, script(more=b"\x7f"))

    assert traits(split, CONTEXT) == {"QUERY", "no request"}
    assert deaths.would_meet(split)
    assert traits(whole, CONTEXT) == {"SUBSCRIBE"}
    assert traits((*whole[:2], Open("b"), *whole[3:]), CONTEXT) == {"SUBSCRIBE", "connections"}
    assert traits((*whole[:2], Open("a")), CONTEXT) == {"an incomplete SUBSCRIBE", "connections"}


def test_a_script_with_all_traits_of_a_death_would_meet_it() -> None:
    deaths = KnownDeaths(CONTEXT)
    deaths.add("the process stays", script(Query(b"x"), end="reset"))

    assert deaths.would_meet(script(Whoami(), Query(b"other"), end="reset"))
    assert not deaths.would_meet(script(Query(b"x")))


def test_a_death_that_needs_a_request_twice_is_not_met_by_one() -> None:
    deaths = KnownDeaths(CONTEXT)
    other, mine = (CONTEXT.encode(Subscribe(name)) for name in (b"other", b"mine"))
    deaths.add("the process stays", (Open("a"), Write("a", mine * 2)))

    assert deaths.would_meet((Open("a"), Write("a", other), Write("a", other)))
    assert not deaths.would_meet((Open("a"), Write("a", mine)))
    assert not deaths.would_meet((Open("a"), Open("b"), Write("a", mine + other), Write("b", mine)))


def test_a_hang_that_was_not_reduced_to_its_end_is_known_by_what_it_asks_and_not_by_how_often() -> None:
    deaths = KnownDeaths(CONTEXT)
    deaths.add(SERVED, script(Query(b"x"), Query(b"x")), is_reduced=False)
    told = deaths.distinguished(
        Suspicion(SERVED, "", "unanswered", is_wordless=True), script(Query(b"x"), Query(b"x")), is_reduced=False
    )

    assert deaths.known(SERVED) == [{"QUERY"}]
    assert told.shape == "unanswered | by QUERY"


def test_known_deaths_that_are_met_do_not_end_a_run() -> None:
    with SimulatedTarget(CONTEXT) as live:
        campaign = Campaign(live, seed=1, limits=CampaignLimits(runs=300, restarts=1))
        play = live.play

        def dies(script: Script, **given: Any) -> Play:
            found = play(script, **given)
            asks = any(CONTEXT.requests(step.data)[0] for step in script if isinstance(step, Write))
            return replace(found, death="died", words=("ValueError: always",)) if asks else found

        live.play = dies  # type: ignore[method-assign]
        found = list(campaign.run())

    assert len(found) == 1
    assert campaign.progress.executions == 300
    assert campaign.deaths.met > 20


class DyingOfNoRequest(SimulatedTarget):
    """Dies of what is no request, whatever was asked before."""

    plays = 0

    def play(self, script: Script, **given: Any) -> Play:
        self.plays += 1
        found = super().play(script, **given)
        return replace(found, death="died of SIGSEGV") if "no request" in traits(script, CONTEXT) else found


def test_a_death_by_what_is_no_request_is_tried_without_the_requests_before_it() -> None:
    death = Suspicion(STAYS, "the server died of SIGSEGV", "died of SIGSEGV", is_wordless=True)
    with DyingOfNoRequest(CONTEXT) as live:
        found = Attribution(live, death, seconds=60).of([script(Whoami(), Subscribe(b"x"), more=b"\xfe\1")])

    assert found.seen == found.of
    assert live.plays < 10
    assert traits(found.script, CONTEXT) == {"no request"}
    assert [one.data for one in found.script if isinstance(one, Write)] == [b"\xfe\1"]


class DyingAtTimes(SimulatedTarget):
    """Dies at two plays, of nothing that was sent."""

    plays = 0

    def play(self, script: Script, **given: Any) -> Play:
        self.plays += 1
        found = super().play(script, **given)
        return replace(found, death="died of SIGSEGV") if self.plays in (5, 150) else found


def test_deaths_without_words_that_were_never_reproduced_are_one_finding() -> None:
    with DyingAtTimes(CONTEXT) as live:
        found = list(Campaign(live, seed=1, limits=CampaignLimits(runs=200)).run())

    assert live.plays > 200
    assert [one.what.suspicion.shape for one in found] == ["died of SIGSEGV | not reproduced"]


class Dying(SimulatedTarget):
    """Dies of any request: the first time after a line about something else, and some time after the play."""

    plays = 0

    def play(self, script: Script, **given: Any) -> Play:
        self.plays += 1
        found = super().play(script, **given)
        return (
            replace(found, death="died of SIGABRT", words=("an exception of long ago",)) if self.plays == 1 else found
        )

    def ended_late(self, play: Play) -> Play:
        return replace(play, death="died of SIGABRT") if any(isinstance(one, Write) for one in play.script) else play


def test_a_death_is_the_same_without_the_line_that_was_printed_before_and_some_time_after_its_play() -> None:
    with Dying(CONTEXT) as live:
        (found,) = Campaign(live, seed=1, limits=CampaignLimits(runs=1)).run()

    assert (found.what.seen, found.what.of) == (3, 3)
    assert found.what.suspicion.detail == "the server died of SIGABRT"
    assert found.what.suspicion.shape.startswith("died of SIGABRT | by ")


def test_a_smaller_script_shows_the_death_of_one_that_was_not_reduced_to_its_end() -> None:
    deaths, oracle = KnownDeaths(CONTEXT), "the process stays"
    deaths.add(oracle, script(Whoami(), Query(b"x")), is_reduced=False)

    assert deaths.known(oracle) == [{"WHOAMI", "QUERY"}]
    assert not deaths.explains(oracle, script(Get(b"x")))
    assert deaths.explains(oracle, script(Query(b"x")))
    deaths.add(oracle, script(Query(b"x"), end="reset"))
    assert not deaths.explains(oracle, script(Query(b"x")))


def test_a_death_of_nothing_is_that_of_every_script() -> None:
    deaths = KnownDeaths(CONTEXT)
    assert not deaths.explains(STAYS, script(Query(b"x")))
    deaths.add(STAYS, (Open("a"),))

    assert deaths.explains(STAYS, script(Query(b"x")))
    assert not deaths.would_meet(script(Query(b"x")))


def test_a_guess_keeps_the_requests_of_a_few_kinds() -> None:
    whole = script(Whoami(), Query(b"x"), Get(b"x"))
    kept = asking_only(whole, frozenset({"WHOAMI", "GET"}), CONTEXT)

    assert traits(kept, CONTEXT) == {"WHOAMI", "GET"}
    assert kept[0] == whole[0]


def test_a_stuck_connection_is_told_by_what_was_answered_last() -> None:
    stuck = Suspicion(SERVED_ON, "", "", about=("GET", ""), after="QUERY", is_wordless=True)
    at_once = replace(stuck, after="")

    assert stuck_shapes(stuck) == ("after QUERY", "at GET")
    assert KnownDeaths(CONTEXT).distinguished(stuck, ()).shape == "after QUERY"
    assert KnownDeaths(CONTEXT).distinguished(at_once, ()).shape == "at GET"


class Mortal(SimulatedTarget):
    """A server that dies without a word of QUERY and of SUBSCRIBE."""

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        """Play; die where a script is deadly."""
        has = traits(script, self.context)
        play = super().play(script, patience=patience)
        deadly = "QUERY" in has or "SUBSCRIBE" in has
        return replace(play, death="died of SIGSEGV") if deadly else play


@pytest.fixture
def campaign() -> Iterator[Campaign]:
    with Mortal(CONTEXT) as live:
        yield Campaign(live, seed=1, limits=CampaignLimits(runs=120, findings=4, shrink_s=2.0))


def test_a_second_death_is_found_after_the_first(campaign: Campaign) -> None:
    shapes = [one.what.suspicion.shape for one in campaign.run()]

    assert any("QUERY" in shape for shape in shapes), shapes
    assert any("SUBSCRIBE" in shape for shape in shapes), shapes
    assert len(shapes) == len(set(shapes))
    assert campaign.deaths.avoided > 0


def test_a_known_finding_is_steered_around_and_not_reported_again(campaign: Campaign) -> None:
    known = FuzzFinding(
        "server", "the process stays", "it died", "died of SIGSEGV | by QUERY", "throttr", "7.3.2", "uint16",
        script=script(Query(b"x")),
    )  # fmt: skip
    campaign.steer_around([known])

    shapes = [one.what.suspicion.shape for one in campaign.run()]

    assert "died of SIGSEGV | by QUERY" not in shapes
    assert any("SUBSCRIBE" in shape for shape in shapes), shapes


def test_what_hangs_a_server_is_not_what_ends_it() -> None:
    deaths = KnownDeaths(CONTEXT)
    deaths.add("a connection is served on", script(Query(b"x")))

    assert deaths.would_meet(script(Query(b"x")))
    assert not deaths.would_meet(script(Query(b"x")), "the process stays")


class Hanging(SimulatedTarget):
    """A server that serves nobody after QUERY, and after SUBSCRIBE."""

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        """Play; take no new connection where a script hangs it."""
        play = super().play(script, patience=patience)
        if not {"QUERY", "SUBSCRIBE"} & traits(script, self.context):
            return play
        return replace(play, trace=Trace(one for one in play.trace if one.connection != PROBE))


def test_a_second_hang_is_found_after_the_first() -> None:
    with Hanging(CONTEXT) as live:
        campaign = Campaign(live, seed=1, limits=CampaignLimits(runs=120, findings=4, shrink_s=2.0))
        found = [one.what.suspicion for one in campaign.run()]

    shapes = [one.shape for one in found]
    assert {one.oracle for one in found} == {"others are served"}
    assert any("QUERY" in shape for shape in shapes), shapes
    assert any("SUBSCRIBE" in shape for shape in shapes), shapes
    assert len(shapes) == len(set(shapes))
    assert campaign.deaths.avoided > 0
