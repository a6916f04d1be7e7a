"""Several kinds of line in one case: each is read by its own grammar, wherever a connection is looked at."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.conformance import several_links as small
from tests.conformance.several_links import (
    ACKNOWLEDGED,
    DATA,
    GREET,
    LOGIN,
    OK,
    PUBLISH,
    PUSHED,
    SECURED,
    SESSION,
    UDP,
    datagram,
    simulated,
)
from wireproof.conformance.drivers.replay import ReplayDriver, ReplayError, trace_of
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty, Level, Verdict
from wireproof.conformance.suite.cases import Clause, Suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.verdict.records import Run, record
from wireproof.protocols import registry

Step = Mapping[str, Any]


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PACKAGES", {**registry.PACKAGES, "psrt": "wireproof.protocols.psrt"})


GOOD: dict[str, tuple[Step, ...]] = {
    "the usual link": SESSION,
    "two links": (*SESSION, *DATA, PUBLISH, PUSHED),
    "inside TLS": (*SECURED, PUBLISH),
    "datagrams": (UDP, {"send": [datagram(), datagram()], "on": "u", "expect": [ACKNOWLEDGED] * 2}),
    "a datagram without an answer": (UDP, {"send": datagram("PUBLISH_NO_ACK"), "on": "u"}, {"silent": "u"}),
    "no datagram": (UDP, {"send": {"raw": "eeaa"}, "on": "u"}, {"silent": "u"}),
    "a new client": ({"alive": True},),
    "nothing came": (*SESSION, {"silent": "a"}),
    "what the reply decides": (
        *SESSION,
        {"send": {"PUBLISH_REPL": {"topic": "t"}}, "expect": {"RESPONSE": {"code": "OK_WAITING"}}},
        {"send": {"REPL_DATA": {"priority": 127, "timestamp": 5, "message": "m"}}, "expect": OK},
        {"send": "NOP", "expect": OK},
    ),
    "a greeting by hand": ({"send": {"raw": "eeaa00", "as": GREET["send"]}, "expect": "GREETING_REPLY"}, LOGIN),
    "a request that ends the session": (
        *SESSION,
        {"send": {"raw": {"message": {"SUBSCRIBE": {"topics": "end"}}}}},
        {"closed": "a"},
    ),
    "a case that means a wrong value": ({"send": {"GREETING": {"mode": 5}}}, {"closed": "a"}),
    "a refused login": (
        GREET,
        {"send": {"LOGIN": {"login": "x", "password": "wrong"}}},
        {"closed": "a"},
        {"alive": True},
    ),
    "the end of a session": (*SESSION, {"send": "BYE", "expect": OK}, {"closed": "a"}),
}


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
@pytest.mark.parametrize("name", GOOD)
def test_a_right_server_passes_under_every_delivery(name: str, segmentation: str) -> None:
    outcome = simulated(*GOOD[name], segmentation=segmentation)

    assert (outcome.verdict, outcome.got) == (Verdict.PASS, None)


def test_deliveries_reach_the_streams_and_leave_datagrams_alone() -> None:
    cuts = {
        name: {one: simulated(*GOOD[name], segmentation=one).extra["cuts"] for one in SEGMENTATIONS if one != "whole"}
        for name in ("datagrams", "the usual link")
    }

    assert set(cuts["datagrams"].values()) == {0}
    assert cuts["the usual link"] == {
        "bytes": 6,
        "fields": 2,
        "beside": 2,
        "dripped": 6,
        "joined": 0,
        "half-closed": 1,
        "spelled": 0,
    }


def test_neighbours_stand_only_where_a_session_has_begun_and_goes_on() -> None:
    outcome = simulated(*SESSION, PUBLISH, {"send": "BYE", "expect": OK}, {"closed": "a"}, segmentation="joined")
    sent = [one.data for one in outcome.trace if one.kind is Kind.SENT]

    assert [len(one) for one in sent] == [3, 5, 1 + 13 + 1, 1 + 1]
    assert (sent[2][0], sent[2][-1]) == (0, 0)
    assert sent[3] == b"\x00\xff"


def test_a_neighbour_after_a_request_that_ends_the_session_may_stay_unanswered() -> None:
    ends = {"send": {"raw": {"message": {"SUBSCRIBE": {"topics": "end"}}}}}
    known, unknown = (
        simulated(*SESSION, ends, *closing, segmentation="joined") for closing in (({"closed": "a"},), ({"wait": 0.1},))
    )

    assert known.verdict is Verdict.PASS
    assert (unknown.verdict, unknown.expected) == (
        Verdict.FAIL,
        "an answer to a NOP sent in one segment with the case's own requests",
    )


def test_the_trace_reports_what_was_spoken_and_plays_again() -> None:
    steps = (*SESSION, *DATA, UDP, {"send": datagram(), "on": "u", "expect": ACKNOWLEDGED}, PUBLISH, PUSHED)
    outcome = simulated(*steps)

    assert [one.link for one in outcome.trace if one.kind is Kind.OPENED] == ["", "data", "datagram"]
    assert ReplayDriver(outcome.trace).play(small.player(steps)) == outcome
    elsewhere = [{**one, "connect": {"name": "u", "link": "data"}} if one is UDP else one for one in steps]
    with pytest.raises(ReplayError, match="the case speaks data, it was datagram"):
        ReplayDriver(outcome.trace).play(small.player(elsewhere))


def test_a_record_reports_what_was_spoken_and_plays_again() -> None:
    steps = (*SECURED, *DATA, PUBLISH, PUSHED)
    player = small.player(steps)
    clause = Clause("PSRT-X-1", "X", {"1": Level.MUST}, "A clause.", "1", ())
    suite = Suite("psrt", {clause.id: clause}, (player.case,), (), {})
    made = record(Run("psrt", "1", "standard", "t", "t"), suite, player.case, simulated(*steps), duration_us=1)
    opened = [one.get("link") for one in made["exchange"] if one["text"].startswith("opened")]

    assert opened == [None, "data"]
    assert any(one["text"] == "secured" for one in made["exchange"])
    assert ReplayDriver(trace_of(made)).play(player).verdict is Verdict.PASS


def test_the_default_link_by_name_is_the_same() -> None:
    outcome = simulated({"connect": {"name": "a", "link": "control"}}, *SESSION)

    assert outcome == simulated(*SESSION)


@pytest.mark.parametrize(
    ("steps", "detail"),
    [
        (({"connect": {"name": "a", "link": "quic"}},), "psrt has no link 'quic'; it has control, data, datagram"),
        ((GREET, {"connect": {"name": "a", "link": "data"}}), "connection a is open already"),
        ((*SESSION, *DATA, {"silent": "d"}), "silent: d: this kind of line has no request that is answered at once"),
        ((UDP, {"half_close": "u"}), "half_close: u speaks in datagrams"),
        ((UDP, {"secure": "u"}), "secure: what u speaks cannot go on inside TLS"),
    ],
)
def test_what_a_link_cannot_do_is_the_cases_fault(steps: tuple[Step, ...], detail: str) -> None:
    outcome = simulated(*steps)

    assert (outcome.verdict, outcome.guilty) == (Verdict.HARNESS_ERROR, Guilty.HARNESS)
    assert detail in str(outcome.got)


def test_a_datagram_that_nothing_asked_for_fails_a_case_at_its_end() -> None:
    steps = (UDP, {"send": [datagram("PUBLISH_NO_ACK"), datagram()], "on": "u", "expect": ACKNOWLEDGED})

    assert simulated(*steps).verdict is Verdict.PASS
    outcome = simulated(*steps, twice=True)
    assert (outcome.verdict, outcome.expected) == (Verdict.FAIL, "nothing more")


def test_a_datagram_that_came_all_the_same_is_no_silence() -> None:
    outcome = simulated(*GOOD["a datagram without an answer"], twice=True)

    assert (outcome.verdict, outcome.expected) == (Verdict.FAIL, "no datagram")


def test_tls_on_one_side_alone_is_a_failed_handshake() -> None:
    alone = simulated(GREET, {"secure": "a"})
    assert (alone.verdict, alone.got) == (Verdict.FAIL, "the target does not begin TLS (reset)")

    ignored = simulated(*SECURED, ignores_tls=True)
    assert (ignored.verdict, ignored.expected) == (Verdict.FAIL, "a TLS handshake")
    assert "the target does not begin TLS" in str(ignored.got)

    clear = simulated(SECURED[0], {"send": {"raw": "00"}}, {"closed": "a"})
    assert clear.verdict is Verdict.PASS


def test_a_turn_to_tls_is_noted() -> None:
    assert [one.kind for one in simulated(*SECURED).trace][:4] == [
        Kind.OPENED,
        Kind.SENT,
        Kind.SECURED,
        Kind.RECEIVED,
    ]


@pytest.mark.parametrize(("waited", "verdict"), [(0.3, Verdict.PASS), (0.1, Verdict.FAIL)])
def test_a_beacon_is_none_too_many_once_its_line_was_silent(waited: float, verdict: Verdict) -> None:
    """Over a slow line the last round trip takes as long as a server waits for its beacon."""
    outcome = simulated(*SESSION, *DATA, {"wait": waited}, beacons=True)

    assert (outcome.verdict, outcome.expected) == (verdict, None if verdict is Verdict.PASS else "nothing more")
