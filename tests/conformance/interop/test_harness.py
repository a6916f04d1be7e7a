"""Pairs of a protocol whose clients need a harness at the server: it makes channels and publishes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.interop import command
from wireproof.conformance.interop import scenario
from wireproof.conformance.interop.interop_run import Interop
from wireproof.conformance.interop.participants import clients_of, servers_of
from wireproof.conformance.interop.results import Side
from wireproof.conformance.interop.results_page import PairingResult
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.processes import module_command
from wireproof.conformance.suite.cases import load_suite
from wireproof.protocols.plain import Plain
from wireproof.protocols.registry import protocol

NAME = "namechan"
WITNESS = Path(__file__).resolve().parents[2] / "witness" / NAME / "main.py"
DRIVER = Path(__file__).resolve().parent / "mutant_driver.py"
REPLAY = "channel-broadcast-persistent-strong-from_message"


def mutant_server(name: str) -> str:
    return " ".join(module_command("wireproof", "mutant", NAME, name))


def mutant_driver(name: str) -> str:
    return f"{sys.executable} {DRIVER} {name} {NAME} --driver"


def played(
    *,
    driver: str = "",
    server: str = "",
    listeners: tuple[str, ...] = (),
    profile: str = "1",
    only: str = "",
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[PairingResult, Interop]:
    """Return what the one pair came to; `only` is a scene."""
    if only:
        whole = scenario.scenes
        monkeypatch.setattr(
            "wireproof.conformance.interop.pairing.scenes",
            lambda *given: [one for one in whole(*given) if one.name == only],
        )
    clients = clients_of(NAME, (driver,) if driver else (), reference=not driver)
    texts = (server,) if server else ()
    servers = servers_of(NAME, texts, profile, "standard", reference=not server, listeners=listeners)
    interop = Interop(load_suite(NAME), Spoken(profile, "standard"), 2.0)
    asyncio.run(interop.run(clients, servers, lambda pair, one: None))
    (result,) = interop.results
    return result, interop


def broke(result: PairingResult) -> list[tuple[str, Side, str | None]]:
    return [(one.name, one.broke.side, one.broke.clause) for one in result.played if one.broke]


@pytest.mark.parametrize("profile", ["1", "1+publish"])
def test_the_references_agree_in_every_request_of_client_and_harness(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, interop = played(profile=profile, monkeypatch=monkeypatch)

    known = protocol(NAME)
    wanted = {*Plain(known, profile, "standard").operations, *(one.NAME.lower() for one in known.harness_requests)}
    assert broke(result) == []
    assert result.agreed == len(result.played)
    assert {one.step.operation for one in result.played} == wanted
    client, server = sorted(interop.columns, key=lambda column: column.side)
    by_harness = sum(bool(one.step.link) for one in result.played)
    assert len(server.records) - len(client.records) == by_harness > 0


def test_a_server_by_another_hand_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    server = f"{sys.executable} {WITNESS} --port {{port}} --hook {{data}}/hook --data {{data}}"

    result, _ = played(server=server, listeners=("hook=unix://{data}/hook",), monkeypatch=monkeypatch)

    assert broke(result) == []
    assert result.agreed == len(result.played)


@pytest.mark.parametrize(
    ("mutant", "number", "operation"),
    [
        ("from-message-is-exclusive", 4, "subscribe"),
        ("ids-by-two", 4, "subscribe"),
        ("wire:MESSAGE.topic:wider", 4, "subscribe"),
    ],
)
def test_a_wrong_server_is_named(mutant: str, number: int, operation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = played(server=mutant_server(mutant), only=REPLAY, monkeypatch=monkeypatch)

    assert {side for _, side, _ in broke(result)} == {Side.SERVER}, (
        result.note,
        [one.untested for one in result.played],
    )
    assert broke(result)[0][0] == f"{REPLAY}/{number:02}-{operation}"


@pytest.mark.parametrize(
    ("mutant", "scene"),
    [
        ("broadcast-to-one", "channel-broadcast-transient-strong-from_current"),
        ("round-robin-to-all", "channel-round_robin-transient-strong-from_current"),
        ("round-robin-to-one", "channel-round_robin-persistent-strong-from_current"),
    ],
)
def test_what_comes_to_several_subscribers_is_judged(mutant: str, scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = played(server=mutant_server(mutant), only=scene, monkeypatch=monkeypatch)

    assert result.played
    assert {side for _, side, _ in broke(result)} == {Side.SERVER}


def test_it_is_for_a_server_to_choose_who_is_the_first_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = "channel-round_robin-persistent-strong-from_current"
    server = mutant_server("legal-turns-from-the-last")

    result, _ = played(server=server, only=scene, monkeypatch=monkeypatch)

    assert broke(result) == []
    assert result.agreed == len(result.played) > 10


def test_a_wrong_client_is_named_and_its_request_is_reported_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = played(driver=mutant_driver("message-off-by-one"), only=REPLAY, monkeypatch=monkeypatch)

    assert [side for _, side, _ in broke(result)] == [Side.CLIENT] * 3
    one, *others = [one for one in result.played if one.broke]
    assert {one.step.operation, *(other.step.operation for other in others)} == {"subscribe"}
    assert [each.step.connection for each in (one, *others)] == ["a", "c", "d"]
    assert one.broke is not None
    assert "From_message 2" in one.broke.expected
    assert "From_message 3" in one.broke.got


@pytest.mark.parametrize("variant", ["legal-topic-ids-from-1000", "legal-pings-often", "legal-fields-in-another-order"])
def test_what_a_server_may_choose_is_nobodys_fault(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = played(server=mutant_server(variant), only=REPLAY, monkeypatch=monkeypatch)

    assert broke(result) == []
    assert result.agreed == len(result.played)


@pytest.mark.parametrize("variant", ["spelled-with-comments", "blank-lines-between", "connects-at-once"])
def test_how_a_client_spells_a_request_is_nobodys_fault(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = played(driver=mutant_driver(variant), profile="1+publish", only=REPLAY, monkeypatch=monkeypatch)

    assert broke(result) == []
    assert result.agreed == len(result.played)


def test_scenes_that_need_a_harness_are_left_out_where_it_cannot_reach_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = " ".join(module_command("wireproof.reference_server", NAME))

    result, _ = played(server=server, monkeypatch=monkeypatch)

    left = [one for one in result.played if one.untested]
    assert broke(result) == []
    assert {one.untested for one in left} == {"nobody declared where the server's hook is: --listener hook=ADDRESS"}
    assert {one.scene for one in result.played if one.agreed} == {"channel"}


def test_a_harness_that_is_not_answered_is_the_servers_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = " ".join(module_command("wireproof.reference_server", NAME))

    result, _ = played(
        server=server, listeners=(f"hook=unix://{tmp_path}/nobody",), only=REPLAY, monkeypatch=monkeypatch
    )

    assert [(name, side) for name, side, _ in broke(result)] == [(f"{REPLAY}/01-hook_create", Side.SERVER)]
    assert all(one.untested for one in result.played[1:])


def test_listeners_are_given_once_or_for_each_server() -> None:
    texts = ("tcp://127.0.0.1:1", "tcp://127.0.0.1:2")

    def places(*listeners: str) -> list[str]:
        found = servers_of(NAME, texts, "1", "standard", reference=False, listeners=listeners)
        return [str(one.listening(None)["hook"]) for one in found]

    assert places("hook=unix:///a") == ["unix:///a"] * 2
    assert places("hook=unix:///a", "hook=unix:///b") == ["unix:///a", "unix:///b"]
    with pytest.raises(TargetError, match="once, or once for each of 2 servers, got it 3 times"):
        places(*["hook=unix:///a"] * 3)


def test_a_listener_without_a_name_is_reported_in_a_line() -> None:
    done = CliRunner().invoke(
        command, [NAME, "--profile", "1", "--server", "tcp://127.0.0.1:1", "--listener", "unix:///a"]
    )

    assert done.exit_code == 2
    assert "--listener: expected NAME=ADDRESS, got 'unix:///a'" in done.output
