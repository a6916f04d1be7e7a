"""Pairs are played by the scenes that their protocol has written: right ones agree, of wrong ones the side is named."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wireproof.conformance.commands.interop import command
from wireproof.conformance.interop import interop_run
from wireproof.conformance.interop.interop_run import Interop
from wireproof.conformance.interop.participants import clients_of, servers_of
from wireproof.conformance.interop.proxied_connection import ProxiedConnection
from wireproof.conformance.interop.proxy import Proxy
from wireproof.conformance.interop.results import Side
from wireproof.conformance.interop.results_page import PairingResult
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Level
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.processes import module_command
from wireproof.conformance.suite import interop_scenes
from wireproof.conformance.suite.cases import CaseError, load_suite
from wireproof.conformance.suite.documents import vectors_root
from wireproof.conformance.suite.interop_scenes import FILE, written_scenes
from wireproof.conformance.suite.steps import Step
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols.plain import Plain
from wireproof.protocols.registry import protocol, protocol_names

HERE = Path(__file__).resolve().parent
WRITING = [name for name in protocol_names() if (vectors_root() / name / FILE).is_file()]
SPOKEN = [(name, profile) for name in WRITING for profile in protocol(name).profiles]
NEEDS_A_SETTING = {"psrt": {"publish_repl"}, "tmqp": {"route"}}
"""What no server takes that has only its usual settings: an account for replication, a router."""


class SlowToEnd:
    """What a server sends on one connection; that it has ended is seen late."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def read(self, size: int) -> bytes:
        data = await self._reader.read(size)
        if not data:
            await asyncio.sleep(0.2)
        return data


def driver_of(name: str, mutant: str) -> str:
    """Return the command of the driver of a client that is wrong."""
    return f"{sys.executable} {HERE / 'mutant_driver.py'} {mutant} {name} --driver"


def server_of(name: str, mutant: str, profile: str) -> str:
    """Return the command of a server that is wrong."""
    return " ".join(module_command("wireproof", "mutant", name, mutant, "--profile", profile))


def played(
    name: str,
    profile: str,
    *,
    driver: str = "",
    server: str = "",
    only: str = "",
    monkeypatch: pytest.MonkeyPatch,
) -> PairingResult:
    """Return what the one pair came to; `only` is a scene."""
    found = [one for one in written_scenes(name) if not only or one.case.id == f"interop/{only}"]
    monkeypatch.setattr(interop_run, "written_scenes", lambda _: found)
    clients = clients_of(name, (driver,) if driver else (), reference=not driver)
    servers = servers_of(name, (server,) if server else (), profile, "standard", reference=not server)
    interop = Interop(load_suite(name), Spoken(profile, "standard"), 5.0)
    asyncio.run(interop.run(clients, servers, lambda pair, one: None))
    (result,) = interop.results
    return result


def broke(result: PairingResult) -> list[tuple[str, Side, str | None]]:
    """Return each step that went wrong: its name, who broke first, the clause."""
    return [(one.name, one.broke.side, one.broke.clause) for one in result.played if one.broke]


@pytest.mark.parametrize(("name", "profile"), SPOKEN)
def test_the_references_agree_in_every_operation(name: str, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = played(name, profile, monkeypatch=monkeypatch)

    known = Plain(protocol(name), profile, "standard").operations
    assert broke(result) == []
    assert result.agreed == len(result.played) > 0
    assert {one.step.operation for one in result.played} & {*known} == {*known} - NEEDS_A_SETTING[name]


@pytest.mark.parametrize(("name", "profile"), SPOKEN)
def test_what_a_step_blames_binds(name: str, profile: str) -> None:
    suite = load_suite(name)
    for scene in written_scenes(name):
        if profile not in scene.case.profiles:
            continue
        symbols = Symbols(protocol(name), profile, "standard", case=scene.case.id, namespace="t")
        for step in symbols.here(scene.case.steps):
            assert isinstance(step, Step)
            clause = suite.clauses[step.clause or scene.case.clauses[0]]
            assert clause.levels.get(profile) in (Level.MUST, Level.SHOULD), f"{scene.case.id}: {clause.id}"


@pytest.mark.parametrize(
    ("name", "profile", "mutant", "scene", "step", "clause"),
    [
        ("psrt", "1", "subscribe-answered-for-each", "several", "several/01-subscribe", "PSRT-ROBUSTNESS-10"),
        ("psrt", "1", "bye-without-answer", "bye", "bye/02-bye", "PSRT-BYE-3"),
        ("tmqp", "doc", "payload-cut", "sizes", "sizes/08-push", "TMQP-SEND_DIRECT-1"),
        ("tmqp", "doc", "headers-lost", "direct", "direct/02-push", "TMQP-SEND_DIRECT-1"),
    ],
)
def test_a_wrong_server_is_named(
    name: str, profile: str, mutant: str, scene: str, step: str, clause: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = played(name, profile, server=server_of(name, mutant, profile), only=scene, monkeypatch=monkeypatch)

    assert {side for _, side, _ in broke(result)} == {Side.SERVER}
    where, _, blamed = broke(result)[0]
    assert (where, blamed) == (step, clause) or not step


@pytest.mark.parametrize(
    ("name", "profile", "mutant", "scene", "step"),
    [
        ("psrt", "1", "messages-end-at-zero", "publish", "publish/07-push"),
        ("psrt", "1", "unsubscribe-subscribes", "several", "several/04-unsubscribe"),
        ("tmqp", "doc", "respond-to-nobody", "direct", "direct/05-respond"),
        ("tmqp", "doc", "targets-in-ascii", "sizes", "sizes/01-send_direct"),
        ("tmqp", "doc", "failure-is-ok", "refused", "refused/01-produce"),
        ("tmqp", "doc", "messages-without-source", "broadcast", "broadcast/05-push"),
        ("tmqp", "doc", "pulled-without-content-lost", "pull", ""),
    ],
)
def test_a_wrong_client_is_named(
    name: str, profile: str, mutant: str, scene: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = played(name, profile, driver=driver_of(name, mutant), only=scene, monkeypatch=monkeypatch)

    assert {side for _, side, _ in broke(result)} == {Side.CLIENT}
    assert broke(result)[0][0] == step or not step


def test_what_a_client_lacks_is_unsupported_and_what_builds_on_it_is_not_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = f"{sys.executable} {HERE / 'wrong_driver.py'} lacks_subscribe psrt --driver"

    result = played("psrt", "1", driver=driver, only="publish", monkeypatch=monkeypatch)

    assert broke(result) == []
    assert [one.unsupported for one in result.played][:2] == [True, False]
    assert all("no operation subscribe" in one.untested for one in result.played[1:])


def test_a_server_that_closes_when_it_is_asked_is_named_and_not_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    server = server_of("psrt", "bye-without-answer", "1")

    result = played("psrt", "1", server=server, only="bye", monkeypatch=monkeypatch)

    assert [side for _, side, _ in broke(result)] == [Side.SERVER]
    assert all(one.untested for one in result.played[2:]), "what comes after it is nobody's"


def test_a_server_that_closes_one_connection_after_the_other_is_named_and_not_its_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = Proxy._pump

    async def pump(self: Proxy, connection: ProxiedConnection, reader: Any, *others: Any) -> None:
        is_control = connection is self.connections[0]
        await usual(self, connection, SlowToEnd(reader) if is_control and others[-1] is Kind.ENDED else reader, *others)

    monkeypatch.setattr(Proxy, "_pump", pump)
    server = server_of("psrt", "bye-without-answer", "1")

    result = played("psrt", "1", server=server, only="bye", monkeypatch=monkeypatch)

    assert broke(result) == [("bye/02-bye", Side.SERVER, "PSRT-BYE-3")]


def test_a_protocol_says_what_is_wrong_with_its_scenes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = "{send: NOP, on: nobody}"
    (tmp_path / "psrt").mkdir()
    (tmp_path / "psrt" / "interop.yaml").write_text(
        f"scenes:\n  - {{id: interop/x, title: something to be played, clauses: [PSRT-NOP-1], steps: [{step}]}}\n"
    )
    load_suite("psrt")
    monkeypatch.setattr(interop_scenes, "vectors_root", lambda: tmp_path)
    written_scenes.cache_clear()
    try:
        with pytest.raises(CaseError, match="no client 'nobody'"):
            written_scenes("psrt")
    finally:
        written_scenes.cache_clear()


def test_what_clients_open_besides_streams_is_recorded_and_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    result = played("psrt", "1", only="datagram", monkeypatch=monkeypatch)

    opened = {event.link for one in result.played for event in one.trace if event.kind == "opened"}
    assert broke(result) == []
    assert "datagram" in opened


def test_the_command_plays_the_scenes_of_any_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    found = written_scenes("tmqp")[:1]
    monkeypatch.setattr(interop_run, "written_scenes", lambda _: found)

    done = CliRunner().invoke(command, ["tmqp"], catch_exceptions=False)

    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == "passed: 1 pair, 8 of 8 operations agree"
