"""Several servers at once: equal ones show nothing, a wrong one its clause, right ones that differ a quirk."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from wireproof.conformance.suite.cases import Suite, load_suite
from wireproof.fuzz.differential import diff_campaign as module
from wireproof.fuzz.differential.compared_servers import SimulatedSide
from wireproof.fuzz.differential.conversations import Source, sources
from wireproof.fuzz.differential.diff_campaign import BY_DOCUMENT, LEFT_OPEN, Bounds, DiffCampaign
from wireproof.fuzz.live.context import Ground
from wireproof.mutants.registry import server_mutants

SUITE = load_suite("throttr")
Run = Callable[..., DiffCampaign]


def side(mutant: str | None = None, profile: str = "7.1.0", told: str = "") -> SimulatedSide:
    return SimulatedSide(told or mutant or "reference", Ground("throttr", profile, "uint16"), mutant)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs a campaign on the conversations that ask for some requests and no others."""

    def ran(*sides: SimulatedSide, asking: set[str], runs: int = 40, optional: bool = True) -> DiffCampaign:
        def chosen(ground: Ground, suite: Suite) -> Iterator[Source]:
            found = (one for one in sources(ground, suite) if one.requests and one.requests <= asking)
            return (one for one in found if optional or not one.optional)

        monkeypatch.setattr(module, "sources", chosen)
        campaign = DiffCampaign(sides, SUITE, bounds=Bounds(runs=runs, findings=1))
        campaign.learn()
        assert list(campaign.run()) == list(campaign.found.values())
        return campaign

    return ran


def test_equal_servers_show_no_difference(run: Run) -> None:
    campaign = run(side(), side(), asking={"INSERT", "QUERY", "SET", "GET", "SUBSCRIBE", "PUBLISH"}, runs=25)

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
    campaign = run(side(), side(mutant), asking=asking, runs=200)

    clauses = {one.clause for one in campaign.found.values()}
    assert clauses & set(server_mutants("throttr")[mutant].clauses), clauses
    assert {one.odd for one in campaign.found.values()} == {(mutant,)}
    assert all(len(one.script) <= 6 for one in campaign.found.values())


def test_the_odd_one_of_three_is_named(run: Run) -> None:
    campaign = run(side(told="a"), side("quota-low-byte", told="b"), side(told="c"), asking={"INSERT", "QUERY"})

    (found,) = campaign.found.values()
    assert found.odd == ("b",)
    assert found.difference.told[0] == found.difference.told[2] != found.difference.told[1]


def test_what_the_document_leaves_open_is_learnt_first(run: Run) -> None:
    campaign = run(side(), side("legal-set-overwrites"), asking={"SET", "GET"}, runs=60)

    assert campaign.found == {}
    assert [(one.why, one.clause) for one in campaign.quirks.values()] == [(LEFT_OPEN, "THR-SET-18")]


def test_without_learning_it_would_be_a_finding(run: Run) -> None:
    campaign = run(side(), side("legal-set-overwrites"), asking={"SET", "GET"}, runs=60, optional=False)

    assert [one.difference.shape for one in campaign.found.values()] == ["SET: STATUS.ok False | True"]


def test_what_differs_where_nothing_is_left_open_is_no_quirk(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = {"INSERT", "UPDATE", "QUERY"}
    doubting = run(side(), side("ttl-update-ignored"), asking=asking, runs=1)
    monkeypatch.setattr(module, "QUICK", -1.0)
    trusting = run(side(), side("ttl-update-ignored"), asking=asking, runs=1)

    assert "QUERY: QUERY_REPLY.ttl differs" in trusting.quirks
    assert "QUERY: QUERY_REPLY.ttl differs" not in doubting.quirks


def test_what_the_documents_say_differently_is_a_quirk(run: Run) -> None:
    campaign = run(side(), side(profile="7.3.2"), asking={"SET", "GET", "STAT"}, runs=40)

    assert campaign.found == {}
    assert BY_DOCUMENT in {one.why for one in campaign.quirks.values()}


def test_a_server_that_serves_nobody_ends_a_campaign(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_is_served", lambda side, play: False)
    monkeypatch.setattr(SimulatedSide, "restart", lambda self, why: False)

    campaign = run(side(), side(), asking={"INSERT", "QUERY"})

    assert campaign.progress.executions == 1
    assert campaign.stopped == "reference serves nobody any more, and it is not ours to start again"
