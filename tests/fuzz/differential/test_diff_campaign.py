"""Several servers at once: equal ones show nothing, a wrong one its clause, right ones that differ a quirk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.fuzz.differential.kept_sources import kept_sources
from wireproof.conformance.model.actions import Open, Read, Write
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.fuzz.differential import diff_campaign as module
from wireproof.fuzz.differential.compared_servers import SimulatedServer
from wireproof.fuzz.differential.comparison import differences
from wireproof.fuzz.differential.conforming_variants import ConformingVariants
from wireproof.fuzz.differential.conversations import Source
from wireproof.fuzz.differential.diff_campaign import BY_DOCUMENT, BY_VARIANT, LEFT_OPEN, DiffCampaign, DiffLimits
from wireproof.fuzz.live.canaries import canary
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.execution import PROBE
from wireproof.mutants.registry import server_mutants
from wireproof.protocols.throttr.requests import Insert, Query

SUITE = load_suite("throttr")
Run = Callable[..., DiffCampaign]


def server(mutant: str | None = None, profile: str = "7.1.0", label: str = "") -> SimulatedServer:
    return SimulatedServer(label or mutant or "reference", FuzzContext("throttr", profile, "uint16"), mutant)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs a campaign on the conversations that ask for some requests and no others."""

    def ran(*servers: SimulatedServer, asking: set[str], runs: int = 40, optional: bool = True) -> DiffCampaign:
        def chosen(context: FuzzContext, suite: Suite) -> Iterator[Source]:
            found = (one for one in kept_sources(context, suite) if one.requests and one.requests <= asking)
            return (one for one in found if optional or not one.optional)

        monkeypatch.setattr(module, "sources", chosen)
        campaign = DiffCampaign(servers, SUITE, limits=DiffLimits(runs=runs, findings=1))
        campaign.learn()
        assert list(campaign.run()) == list(campaign.found.values())
        return campaign

    return ran


def test_equal_servers_show_no_difference(run: Run) -> None:
    campaign = run(server(), server(), asking={"INSERT", "QUERY", "SET", "GET", "SUBSCRIBE", "PUBLISH"}, runs=25)

    assert (campaign.found, campaign.quirks, campaign.progress.executions) == ({}, {}, 25)


@pytest.mark.parametrize(
    ("mutant", "asking"),
    [
        ("quota-low-byte", {"INSERT", "QUERY"}),
        ("insert-overwrites-a-counter", {"INSERT", "QUERY"}),
        ("get-ttl-in-seconds", {"SET", "GET"}),
    ],
)
def test_a_wrong_server_differs_in_the_clause_it_breaks(mutant: str, asking: set[str], run: Run) -> None:
    campaign = run(server(), server(mutant), asking=asking, runs=200)

    clauses = {one.clause for one in campaign.found.values()}
    assert clauses & set(server_mutants("throttr")[mutant].clauses), clauses
    assert {one.deviating for one in campaign.found.values()} == {(mutant,)}
    assert all(len(one.script) <= 6 for one in campaign.found.values())


def test_the_deviating_one_of_three_is_named(run: Run) -> None:
    campaign = run(
        server(label="a"), server("quota-low-byte", label="b"), server(label="c"), asking={"INSERT", "QUERY"}
    )

    (found,) = campaign.found.values()
    assert found.deviating == ("b",)
    assert found.difference.texts[0] == found.difference.texts[2] != found.difference.texts[1]


def test_what_the_document_leaves_open_is_learnt_first(run: Run) -> None:
    campaign = run(server(), server("legal-set-overwrites"), asking={"SET", "GET"}, runs=60)

    assert campaign.found == {}
    assert [(one.why, one.clause) for one in campaign.quirks.values()] == [(LEFT_OPEN, "THR-SET-18")]


def test_what_a_conforming_variant_answers_is_a_quirk_without_learning(run: Run) -> None:
    campaign = run(server(), server("legal-set-overwrites"), asking={"SET", "GET"}, runs=60, optional=False)

    assert campaign.found == {}
    assert [one.difference.shape for one in campaign.quirks.values()] == ["SET: STATUS.ok False | True"]
    assert {one.why for one in campaign.quirks.values()} == {BY_VARIANT}


def test_without_learning_and_variants_it_would_be_a_finding(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.ConformingVariants, "allow", lambda self, found, plays, script: False)

    campaign = run(server(), server("legal-set-overwrites"), asking={"SET", "GET"}, runs=60, optional=False)

    assert [one.difference.shape for one in campaign.found.values()] == ["SET: STATUS.ok False | True"]


@pytest.mark.parametrize("legal", ["legal-pushes-late", "legal-200-ms-an-answer", "legal-written-in-halves"])
def test_a_slow_server_is_no_difference(legal: str, run: Run) -> None:
    campaign = run(server(), server(legal), asking={"INSERT", "SUBSCRIBE", "PUBLISH"}, runs=25)

    assert (campaign.found, campaign.quirks) == ({}, {})


def test_a_push_that_is_lost_is_a_difference(run: Run) -> None:
    campaign = run(server(), server("push-to-nobody"), asking={"SUBSCRIBE", "PUBLISH"}, runs=25)

    assert campaign.found


def test_what_differs_where_nothing_is_left_open_is_no_quirk(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = {"INSERT", "UPDATE", "QUERY"}
    doubting = run(server(), server("ttl-update-ignored"), asking=asking, runs=1)
    monkeypatch.setattr(module, "QUICK", -1.0)
    trusting = run(server(), server("ttl-update-ignored"), asking=asking, runs=1)

    assert "QUERY: QUERY_REPLY.ttl differs" in trusting.quirks
    assert "QUERY: QUERY_REPLY.ttl differs" not in doubting.quirks


def test_what_the_documents_say_differently_is_a_quirk(run: Run) -> None:
    campaign = run(server(), server(profile="7.3.2"), asking={"SET", "GET", "STAT"}, runs=40)

    assert campaign.found == {}
    assert BY_DOCUMENT in {one.why for one in campaign.quirks.values()}


def test_a_server_that_is_asked_again_and_serves_is_no_difference(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine answers late; who is given more time and answers has not ended."""
    play = SimulatedServer.play

    def late(self: SimulatedServer, script: Any, patience: float = 0.0) -> Any:
        found = play(self, script, patience)
        asked = [one for one in found.trace if one.connection != PROBE or one.kind is not Kind.RECEIVED]
        return found if patience == module.SERVED else replace(found, trace=type(found.trace)(asked))

    monkeypatch.setattr(SimulatedServer, "play", late)
    campaign = run(server(), server(), asking={"INSERT", "QUERY"}, runs=5)

    assert (campaign.found, campaign.progress.executions) == ({}, 5)


def test_a_server_that_serves_nobody_ends_a_campaign(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_is_served", lambda server, play: False)
    monkeypatch.setattr(SimulatedServer, "restart", lambda self, why: False)

    campaign = run(server(), server(), asking={"INSERT", "QUERY"})

    assert campaign.progress.executions <= 1
    assert campaign.stopped == "reference no longer serves anybody and cannot be restarted from here"


TMQP = load_suite("tmqp")


def compared(mutant: str, runs: int) -> DiffCampaign:
    """Return a campaign, over, on the TMQP reference server and a mutant of it."""
    context = FuzzContext("tmqp", "doc", "standard")
    servers = SimulatedServer("reference", context), SimulatedServer(mutant, context, mutant)
    campaign = DiffCampaign(servers, TMQP, limits=DiffLimits(runs=runs, findings=1, shrink_s=2))
    campaign.learn()
    list(campaign.run())
    return campaign


@pytest.mark.parametrize("legal", ["legal-short-ids", "legal-more-in-json"])
def test_ids_that_a_server_makes_and_the_form_of_its_json_are_no_difference(legal: str) -> None:
    campaign = compared(legal, 60)

    assert (campaign.found, campaign.quirks) == ({}, {})


@pytest.mark.parametrize(
    ("mutant", "shape"),
    [
        ("one-made-id", "HELLO: WELCOME.target differs"),
        ("headers-once", "PUSH: PUSH.headers differs"),
        ("deliveries-not-counted", "PRODUCE: RESPONSE.payload.Deliveries differs"),
    ],
)
def test_wrong_ids_headers_and_members_of_json_are_differences(mutant: str, shape: str) -> None:
    assert [one.difference.shape for one in compared(mutant, 3000).found.values()] == [shape]


def test_what_expires_at_once_may_still_be_there() -> None:
    """At the first instant of a clock nothing can be past, so the variant that is late looked like the reference."""
    context = FuzzContext("throttr", "7.3.2", "uint16")
    key = canary(1) + b"k"
    asked = context.encode(Insert(3, 2, 0, key)) + context.encode(Query(key))
    script = (Open("a"), Write("a", asked), Read("a", 0.2), Read("a", 0.2))
    late, right = server("legal-expiry-200-ms-late", "7.3.2").play(script), server(None, "7.3.2").play(script)
    (found,) = differences([right, late])

    assert found.kinds == ("STATUS ok=False", "QUERY_REPLY")
    assert ConformingVariants(context).allow(found, [late], script)
