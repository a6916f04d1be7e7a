"""Pairs are played and judged: right ones agree in everything, of wrong ones the side that broke first is named."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner

from tests.places import ROOT
from wireproof.conformance.commands.interop import command
from wireproof.conformance.interop import scenario
from wireproof.conformance.interop.interop_run import Interop
from wireproof.conformance.interop.participants import clients_of, servers_of
from wireproof.conformance.interop.results import Side, StepResult
from wireproof.conformance.interop.results_page import PairingResult
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.processes import module_command, running_server
from wireproof.conformance.suite.cases import load_suite
from wireproof.protocols.plain import Plain
from wireproof.protocols.registry import protocol

HERE = Path(__file__).resolve().parent
SCHEMAS = ROOT / "reports" / "schema"
USUAL = ("7.1.0", "uint16")


def driver_of(mutant: str) -> str:
    """Return the command of a driver that is wrong."""
    return f"{sys.executable} {HERE / 'wrong_driver.py'} {mutant} throttr --driver"


def wrong_server(mutant: str, profile: str, variant: str) -> str:
    """Return the command of a server that is wrong."""
    return " ".join(
        module_command("wireproof", "mutant", "throttr", mutant, "--profile", profile, "--variant", variant)
    )


def played(
    *,
    drivers: tuple[str, ...] = (),
    servers: tuple[str, ...] = (),
    spoken: tuple[str, str] = USUAL,
    only: tuple[str, ...] = (),
    monkeypatch: pytest.MonkeyPatch,
    timeout: float = 5.0,
) -> tuple[PairingResult, Interop]:
    """Return what the one pair came to; `only` are the scenes that are played."""
    if only:
        whole = scenario.scenes
        monkeypatch.setattr(
            "wireproof.conformance.interop.pairing.scenes",
            lambda plain, mark, most: [one for one in whole(plain, mark, most) if one.name in only],
        )
    clients = clients_of("throttr", drivers, reference=not drivers)
    targets = servers_of("throttr", servers, *spoken, reference=not servers)
    interop = Interop(load_suite("throttr"), Spoken(*spoken), timeout)
    asyncio.run(interop.run(clients, targets, lambda pair, one: None))
    (result,) = interop.results
    return result, interop


def broke(result: PairingResult) -> list[tuple[str, Side]]:
    """Return each operation that went wrong, with who broke first."""
    return [(one.name, one.broke.side) for one in result.played if one.broke]


def first(result: PairingResult) -> StepResult:
    """Return the first operation that went wrong."""
    return next(one for one in result.played if one.broke)


@pytest.mark.parametrize("spoken", [USUAL, ("7.3.2", "uint64")])
def test_the_references_agree_in_every_request(spoken: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = played(spoken=spoken, monkeypatch=monkeypatch)

    operations = {one.step.operation for one in result.played}
    assert broke(result) == []
    assert result.agreed == len(result.played)
    assert operations == set(Plain(protocol("throttr"), *spoken).operations)


@pytest.mark.parametrize(
    ("mutant", "scene", "clause", "name", "byte"),
    [
        ("quota-low-byte", "record-insert", "THR-QUERY-6", "record-insert/04-query", 1),
        ("unsubscribe-answers-twice", "channel", "THR-ROBUSTNESS-5", "channel/12-unsubscribe", None),
    ],
)
def test_a_wrong_server_is_named(
    mutant: str, scene: str, clause: str, name: str, byte: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, _ = played(servers=(wrong_server(mutant, *USUAL),), only=(scene,), monkeypatch=monkeypatch)

    one = first(result)
    assert {side for _, side in broke(result)} == {Side.SERVER}
    assert one.broke is not None
    assert (one.name, one.broke.clause) == (name, clause)
    assert byte is None or one.broke.byte == byte


def test_a_wrong_server_is_named_whatever_byte_a_reply_before_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id that begins with 03 could begin a push, but the client reports it as the id."""
    wrong = f"{sys.executable} {HERE / 'wrong_server.py'}"

    result, _ = played(servers=(wrong,), only=("channel",), monkeypatch=monkeypatch)

    one = first(result)
    assert one.broke is not None
    assert (one.name, one.broke.side, one.broke.clause) == ("channel/12-unsubscribe", Side.SERVER, "THR-ROBUSTNESS-5")


def test_a_server_that_does_not_answer_is_named_and_not_the_client_that_gave_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong = wrong_server("set-value-size-of-n-bytes", *USUAL)

    result, _ = played(servers=(wrong,), only=("record-set",), monkeypatch=monkeypatch, timeout=0.5)

    one = first(result)
    assert one.broke is not None
    assert (one.name, one.broke.side, one.broke.verdict) == ("record-set/03-set", Side.SERVER, Verdict.HANG)
    assert all(later.untested for later in result.played[3:])


def test_what_a_client_does_after_the_server_broke_the_protocol_is_not_held_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoken = ("7.3.2", "uint8")

    result, _ = played(
        servers=(wrong_server("get-value-size-of-two-bytes", *spoken),),
        only=("record-set",),
        spoken=spoken,
        monkeypatch=monkeypatch,
    )

    later = result.played[result.played.index(first(result)) + 1]
    assert {side for _, side in broke(result)} == {Side.SERVER}
    assert later.untested.startswith("the server broke the protocol before")


def test_what_the_protocol_leaves_open_is_nobodys_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = "legal-totals-7.1.0"

    result, interop = played(servers=(wrong_server(mutant, *USUAL),), only=("record-insert",), monkeypatch=monkeypatch)

    assert {side for _, side in broke(result)} == {Side.NOBODY}
    assert {one["verdict"] for column in interop.columns for one in column.records} <= {"pass", "untestable"}


@pytest.mark.parametrize(
    ("mutant", "scene", "name", "verdict", "byte"),
    [
        ("sends_another_quota", "record-insert", "record-insert/03-insert", Verdict.FAIL, 1),
        ("reports_another_quota", "record-insert", "record-insert/04-query", Verdict.FAIL, None),
        ("never_answers_a_query", "record-insert", "record-insert/01-query", Verdict.HANG, None),
        ("dies_at_stat", "record-insert", "record-insert/02-stat", Verdict.CRASH, None),
        ("keeps_messages", "channel", "channel/10-publish", Verdict.HANG, None),
    ],
)
def test_a_wrong_client_is_named(
    mutant: str, scene: str, name: str, verdict: Verdict, byte: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, interop = played(drivers=(driver_of(mutant),), only=(scene,), monkeypatch=monkeypatch, timeout=0.7)

    one = first(result)
    assert {side for _, side in broke(result)} == {Side.CLIENT}
    assert one.broke is not None
    assert (one.name, one.broke.verdict, one.broke.byte) == (name, verdict, byte)
    client, server = sorted(interop.columns, key=lambda column: column.side)
    assert verdict in {record["verdict"] for record in client.records}
    assert {record["verdict"] for record in server.records} <= {"pass", "untestable"}


def test_records_of_both_roles_are_written_and_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scenario.scenes
    monkeypatch.setattr("wireproof.conformance.interop.pairing.scenes", lambda *given: whole(*given)[1:2])
    wrong = wrong_server("quota-low-byte", *USUAL)

    done = CliRunner().invoke(command, ["throttr", "--server", wrong, "--out", str(tmp_path)], catch_exceptions=False)

    assert done.exit_code == 1, done.output
    runs = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("*/run.json"))]
    schema = jsonschema_rs.validator_for(json.loads((SCHEMAS / "record.schema.json").read_text()))
    summary = jsonschema_rs.validator_for(json.loads((SCHEMAS / "run.schema.json").read_text()))
    assert Counter(run["role"] for run in runs) == {"client": 1, "server": 2}
    assert [list(summary.iter_errors(run)) for run in runs] == [[], [], []]
    records = [json.loads(line) for path in tmp_path.glob("*/records.jsonl") for line in path.read_text().splitlines()]
    assert [str(error) for one in records for error in schema.iter_errors(one)] == []
    failed = [one for one in records if one["verdict"] == "fail"]
    assert [(one["role"], one["blamed"], one["byte"], one["guilty"]) for one in failed] == [
        ("server", "THR-QUERY-6", 1, "target")
    ]
    named = {run["implementation"]: {peer["implementation"] for peer in run["peers"]} for run in runs}
    assert named[f"{wrong}, interop"] == {"wireproof reference, interop"}
    assert {one["run_id"] for one in records} == {run["run_id"] for run in runs}, "a pair has one run"
    assert "server [THR-QUERY-6] at byte 1" in done.output
    assert done.output.splitlines()[-1].startswith("failed: 2 pairs")


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        (["--profile", "9.9"], "--profile: expected 7.1.0, 7.3.2; got '9.9'"),
        (["--server", "tcp://nowhere"], "expected tcp://HOST:PORT"),
        (["--server", "tcp://127.0.0.1:1"], "nothing to test at tcp://127.0.0.1:1"),
        (["--driver", "/no/such/driver"], "cannot start '/no/such/driver'"),
        (["--driver", "true"], "the driver ended with exit code 0"),
    ],
)
def test_what_cannot_be_played_is_reported_in_a_line(arguments: list[str], detail: str) -> None:
    done = CliRunner().invoke(command, ["throttr", "--no-reference", *arguments], catch_exceptions=False)

    assert done.exit_code == 2, done.output
    assert detail in done.output


def test_a_fault_of_our_own_is_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object) -> None:
        raise RuntimeError("the judge is ill")

    monkeypatch.setattr("wireproof.conformance.interop.pairing.Judge.reply", fails)

    done = CliRunner().invoke(command, ["throttr"], catch_exceptions=False)

    assert done.exit_code == 3
    assert "harness error: RuntimeError: the judge is ill" in done.output


def test_what_a_client_lacks_is_unsupported_and_reports_nothing_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    result, interop = played(drivers=(driver_of("lacks_stat"),), only=("record-insert",), monkeypatch=monkeypatch)

    lacking = [one for one in result.played if one.step.operation == "stat"]
    client, server = sorted(interop.columns, key=lambda column: column.side)
    assert broke(result) == []
    assert lacking
    assert all(one.unsupported for one in lacking)
    assert sum(one["verdict"] == "unsupported" for one in client.records) == len(lacking)
    assert len(server.records) == len(client.records) - len(lacking)


def test_a_server_at_an_address_is_played_under_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_server(module_command("wireproof.reference_server", "throttr")) as address:
        result, _ = played(servers=(address,), only=("carried", "tables"), monkeypatch=monkeypatch)

    assert result.server == address
    assert broke(result) == []
    assert result.agreed == len(result.played) > 0


def test_a_client_may_ask_something_by_itself_when_it_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = driver_of("legal-asks_on_connect")

    result, _ = played(drivers=(driver,), only=("tables",), spoken=("7.3.2", "uint16"), monkeypatch=monkeypatch)

    assert broke(result) == []
    assert result.agreed == len(result.played) > 0


def test_a_server_at_an_address_says_what_is_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scenario.scenes
    monkeypatch.setattr("wireproof.conformance.interop.pairing.scenes", lambda *given: whole(*given)[-1:])
    words = module_command("wireproof.reference_server", "throttr", "--profile", "7.3.2", "--variant", "uint64")

    with running_server(words) as address:
        done = CliRunner().invoke(command, ["throttr", "--no-reference", "--server", address], catch_exceptions=False)

    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-1] == "passed: 1 pair, 1 of 1 operations agree"
