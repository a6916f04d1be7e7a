"""Mutants of clients are killed for a clause they break; one that changes nothing, or is blamed elsewhere, survives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from wireproof.conformance.commands.mutation import command
from wireproof.conformance.mutation import client_kills, clients
from wireproof.conformance.mutation.clients import ClientMutationRun
from wireproof.conformance.mutation.last_kills import read_last_kills
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.mutants.registry import client_mutants
from wireproof.mutants.throttr.client.mutant import mutant
from wireproof.reference_client.throttr import Client

RUN = ClientMutationRun("throttr", "7.3.2", "uint32")


def few(suite: Suite, profile: str, variant: str) -> Iterator[Case]:
    wanted = ("sdk-query/reply", "sdk-refused/key-too-long", "sdk-wrong/status.02", "sdk-push/plain")
    return (one for one in applicable(suite, profile, variant) if one.id.startswith(wanted))


@pytest.fixture(autouse=True)
def _only_a_few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "applicable", few)


@pytest.mark.parametrize(
    ("name", "blamed"),
    [
        ("got-quota-and-ttl-swapped", "THR-QUERY-6"),
        ("long-names-cut", "THR-CLIENT-2"),
        ("unknown-status-is-success", "THR-CLIENT-6"),
        ("pushes-twice", "THR-CLIENT-12"),
        ("dies-of-unknown-status", "THR-CLIENT-6"),
    ],
)
def test_a_mutant_is_killed_for_a_clause_it_breaks(name: str, blamed: str) -> None:
    result = RUN.result(client_mutants("throttr")[name])

    assert (result.blamed, bool(result.killer)) == (blamed, True)


def test_the_reference_client_fails_nothing() -> None:
    assert RUN.false_alarms() == []


@pytest.mark.parametrize(("times", "alarms"), [(1, 0), (2, 1)])
def test_what_the_reference_client_fails_is_played_again(
    times: int, alarms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside six mutants on two busy cores it was not ready in time."""
    plays: list[list[str]] = []

    async def play(run: ClientMutationRun, cases: Sequence[Case], mutant: None, report: Callable[..., None]) -> None:
        plays.append([one.id for one in cases])
        for one in cases:
            is_late = one is cases[0] and len(plays) <= times
            report({"case": one.id, "verdict": "fail" if is_late else "pass", "expected": "a", "got": "b"}, None)

    monkeypatch.setattr(ClientMutationRun, "_play", play)

    assert len(RUN.false_alarms()) == alarms
    assert plays[1] == plays[0][:1]


def test_what_conforms_and_what_is_blamed_elsewhere_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    known = dict(client_mutants("throttr"))
    swapped = known["got-quota-and-ttl-swapped"]
    known["harmless"] = mutant("harmless", "Nothing.", "QUERY-6", client=Client)
    known["elsewhere"] = mutant("elsewhere", "Swaps.", "INSERT-2", client=swapped.client)
    for where in ("wireproof.mutants.registry", "wireproof.conformance.mutation.clients"):
        monkeypatch.setattr(f"{where}.client_mutants", lambda protocol: known)

    result = CliRunner().invoke(
        command,
        ["throttr", "--role", "client", "--variant", "uint32", "--mutant", "harmless", "--mutant", "elsewhere"],
    )

    assert result.exit_code == 1
    assert "survives: harmless" in result.output
    assert "blamed elsewhere: sdk-query/reply.whole [THR-QUERY-6]" in result.output
    assert "0 of 2 mutants of the client killed" in result.output


def test_a_conforming_variant_must_fail_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    swapped = client_mutants("throttr")["got-quota-and-ttl-swapped"]
    known = {
        "conforming": mutant("conforming", "Nothing.", "", client=Client),
        "not-conforming": mutant("not-conforming", "Swaps.", "", client=swapped.client),
    }
    for where in ("wireproof.mutants.registry", "wireproof.conformance.mutation.clients"):
        monkeypatch.setattr(f"{where}.client_mutants", lambda protocol: known)
    everything = clients.applicable
    monkeypatch.setattr(
        clients, "applicable", lambda *given: [one for one in everything(*given) if one.id.startswith("sdk-query/")]
    )
    arguments = ["throttr", "--role", "client", "--variant", "uint32", "--mutant"]

    right = CliRunner().invoke(command, [*arguments, "conforming"])
    wrong = CliRunner().invoke(command, [*arguments, "not-conforming"])

    assert (right.exit_code, wrong.exit_code) == (0, 1)
    assert "0 of 0 mutants of the client killed" in right.output
    assert "1 conforming variant; 0 false alarms" in right.output
    assert "false alarm: the conforming variant not-conforming fails sdk-query/reply.whole" in wrong.output


def test_one_that_is_killed_exits_0_and_one_that_is_unknown_is_a_usage_error() -> None:
    arguments = ["throttr", "--role", "client", "--variant", "uint32", "--details", "--mutant"]

    right = CliRunner().invoke(command, [*arguments, "long-names-cut"])
    unknown = CliRunner().invoke(command, [*arguments, "no-such-mutant"])

    assert (right.exit_code, unknown.exit_code) == (0, 2)
    assert "long-names-cut: sdk-refused/key-too-long.256 THR-CLIENT-2" in right.output


NAMES = ("got-quota-and-ttl-swapped", "long-names-cut", "unknown-status-is-success", "pushes-twice")


def by_case(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    known = {name: one for name, one in client_mutants("throttr").items() if name in names}
    for where in ("wireproof.mutants.registry", "wireproof.conformance.mutation.clients"):
        monkeypatch.setattr(f"{where}.client_mutants", lambda protocol: known)
    monkeypatch.setattr(client_kills, "applicable", few)


def run_by_case(folder: Path) -> Result:
    kept = ["--previous", str(folder / "kills.json")]
    return CliRunner().invoke(
        command, ["throttr", "--role", "client", "--variant", "uint32", "--by-case", "--details", *kept]
    )


def test_a_case_that_kills_no_mutant_fails_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_case(monkeypatch, "got-quota-and-ttl-swapped")
    result = run_by_case(tmp_path)

    assert result.exit_code == 1
    assert "1 of 1 mutants of the client killed" in result.output
    assert "sdk-query/reply kills got-quota-and-ttl-swapped" in result.output
    assert "kills nothing: sdk-refused/key-too-long kills no mutant" in result.output
    kept = read_last_kills(tmp_path / "kills.json", "throttr client")
    assert kept == {"sdk-query/reply": "sdk-query/reply.whole|got-quota-and-ttl-swapped"}


def test_cases_that_kill_a_mutant_each_pass_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_case(monkeypatch, *NAMES)
    result = run_by_case(tmp_path)

    assert result.exit_code == 0, result.output
    assert "none by 0" in result.output


def test_what_a_case_killed_last_time_is_played_first(monkeypatch: pytest.MonkeyPatch) -> None:
    by_case(monkeypatch, *NAMES)
    found = client_kills.client_kills(RUN)
    cases = {case: str(kill) for case, kill in found.killed.items()}

    again = client_kills.client_kills(RUN, last=cases)
    elsewhere = client_kills.client_kills(RUN, last={**cases, "sdk-query/reply": "sdk-query/reply.whole|pushes-twice"})

    assert again.killed == found.killed
    assert again.plays == len(cases)
    assert elsewhere.killed["sdk-query/reply"].mutant == "got-quota-and-ttl-swapped"
    assert elsewhere.plays > len(cases)


def test_a_kill_of_this_run_needs_no_play(monkeypatch: pytest.MonkeyPatch) -> None:
    by_case(monkeypatch, *NAMES)
    known = client_kills.client_kills(RUN).killed

    assert client_kills.client_kills(RUN, known.values()).plays == 0
