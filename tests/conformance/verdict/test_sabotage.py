"""Whatever is wrong with wireproof itself: a harness_error, and no target is ever failed for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tests.conformance.sabotage import LOSSES, READERS, SPOKEN, WRITERS, simulated, some_cases, spoilt, writer_that
from tests.conformance.scripted import ASK, INSERT, make_case
from wireproof.conformance.commands import test as command_module
from wireproof.conformance.drivers.simulation import Simulation
from wireproof.conformance.drivers.sockets import SocketStream
from wireproof.conformance.model.actions import Answer
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.monitor.blame import CHEAP, MONITOR
from wireproof.conformance.plugin.pytest_plugin import explain
from wireproof.conformance.run.probe import Spoken
from wireproof.conformance.run.processes import module_command, running_server
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import Carrier
from wireproof.protocols import protocol
from wireproof.protocols.throttr.replies import QueryReply
from wireproof.protocols.throttr.requests import Insert, Query

NAMED = ("--profile", "7.1.0", "--variant", "uint16")
SEEN = {"QUERY_REPLY": {"quota": 7, "ttl_type": "seconds"}}
ORDINARY = make_case({"send": INSERT, "expect": "ok"}, {"send": ASK, "expect": SEEN})
every_spoken = pytest.mark.parametrize(("profile", "variant"), SPOKEN)


def verdicts(profile: str, variant: str, client: Any = None) -> Counter[Verdict]:
    return Counter(simulated(case, profile, variant, client).verdict for case in some_cases(profile, variant))


def assert_ours(outcome: Outcome) -> None:
    assert (outcome.verdict, outcome.guilty, outcome.blamed) == (Verdict.HARNESS_ERROR, Guilty.HARNESS, None)
    assert outcome.expected == "that wireproof sends what the case means and reads what came"
    assert outcome.extra[MONITOR]["first"] == "harness"


@every_spoken
def test_a_sound_harness_passes(profile: str, variant: str) -> None:
    assert set(verdicts(profile, variant)) == {Verdict.PASS}


@every_spoken
@pytest.mark.parametrize("how", WRITERS)
def test_a_client_that_writes_wrongly_fails_nobody(profile: str, variant: str, how: str) -> None:
    seen = verdicts(profile, variant, writer_that(WRITERS[how]))

    assert set(seen) <= {Verdict.HARNESS_ERROR, Verdict.PASS}, "what is long and passes is not read"
    assert seen[Verdict.HARNESS_ERROR] > 9 * seen[Verdict.PASS]


@every_spoken
@pytest.mark.parametrize("how", READERS)
def test_a_client_that_reads_wrongly_fails_nobody(profile: str, variant: str, how: str) -> None:
    seen = verdicts(profile, variant, READERS[how])

    assert set(seen) <= {Verdict.HARNESS_ERROR, Verdict.PASS}, "what is long and passes is not read"
    assert seen[Verdict.HARNESS_ERROR] > 9 * seen[Verdict.PASS]


@pytest.mark.parametrize("how", WRITERS)
def test_a_wrong_write_is_reported_with_the_message_that_was_intended(how: str) -> None:
    outcome = simulated(ORDINARY, "7.1.0", "uint16", writer_that(WRITERS[how]))

    assert_ours(outcome)
    assert outcome.extra[MONITOR]["error"] in ("not_meant", "unknown_type")
    assert str(outcome.got).startswith("on connection a, byte 0 of what wireproof sent: ")
    assert "the case alone says " in str(outcome.got)


@pytest.mark.parametrize("how", READERS)
def test_a_wrong_reading_is_reported_with_the_byte_of_the_target(how: str) -> None:
    outcome = simulated(ORDINARY, "7.1.0", "uint16", READERS[how])

    assert_ours(outcome)
    assert outcome.extra[MONITOR]["error"] == "misread"
    assert str(outcome.got).startswith("on connection a, byte 0 of what the target sent: the player")
    assert "the case alone says fail" in str(outcome.got)


@every_spoken
def test_a_player_that_sends_cut_frames_fails_nobody(
    profile: str, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Carrier, "pieces", lambda carrier, data, found: [(data[:-1], None)])
    seen = verdicts(profile, variant)

    assert set(seen) <= {Verdict.HARNESS_ERROR, Verdict.PASS}, "what is long and passes is not read"
    assert seen[Verdict.HARNESS_ERROR] > 9 * seen[Verdict.PASS]


@every_spoken
@pytest.mark.parametrize("how", LOSSES)
def test_a_driver_that_does_something_to_what_came_fails_nobody(
    profile: str, variant: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Simulation._read

    def read(self: Simulation, *asked: Any) -> Answer:
        return spoilt(real(self, *asked), LOSSES[how])

    monkeypatch.setattr(Simulation, "_read", read)
    seen = verdicts(profile, variant)

    assert set(seen) <= {Verdict.HARNESS_ERROR, Verdict.PASS}, "nothing came in some, nothing else passes"
    assert seen[Verdict.HARNESS_ERROR] > 9 * seen[Verdict.PASS]


@every_spoken
@pytest.mark.parametrize("how", LOSSES)
def test_a_driver_that_does_something_to_what_is_sent_fails_nobody(
    profile: str, variant: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Simulation._write

    def write(self: Simulation, wire: Any, data: bytes, pause: float, *detail: Any) -> Answer:
        return real(self, wire, LOSSES[how](data), pause, *detail)

    monkeypatch.setattr(Simulation, "_write", write)
    seen = verdicts(profile, variant)

    assert set(seen) <= {Verdict.HARNESS_ERROR, Verdict.PASS}, "nothing is sent in some, nothing else passes"
    assert seen[Verdict.HARNESS_ERROR] > 9 * seen[Verdict.PASS]


def test_what_a_driver_did_is_reported_with_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Simulation._read

    def read(self: Simulation, *asked: Any) -> Answer:
        answer = real(self, *asked)
        return spoilt(answer, LOSSES["changes a bit"]) if len(answer.data) > 1 else answer

    monkeypatch.setattr(Simulation, "_read", read)
    outcome = simulated(ORDINARY, "7.1.0", "uint16")

    assert_ours(outcome)
    assert outcome.got == "on connection a, byte 1 of what the target sent: the player was given other bytes than came"
    assert outcome.extra[MONITOR]["error"] == "misdelivered"


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
def test_a_codec_that_all_share_checks_itself(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    throttr = protocol("throttr")
    codec = throttr.codec(throttr.profiles[profile], "uint16")
    decode, encode = codec.replies[Query], codec.request_encoders[Insert]

    def misread(*detail: Any) -> Any:
        message, stop = decode(*detail)
        found = isinstance(message, QueryReply)
        return (msgspec.structs.replace(message, quota=message.quota + 1) if found else message), stop

    with monkeypatch.context() as patch:
        patch.setitem(codec.replies, Query, misread)
        assert_ours(simulated(ORDINARY, profile, "uint16"))
    with monkeypatch.context() as patch:
        patch.setitem(codec.request_encoders, Insert, lambda message: encode(msgspec.structs.replace(message, quota=9)))
        assert_ours(simulated(ORDINARY, profile, "uint16"))

    assert simulated(ORDINARY, profile, "uint16").verdict is Verdict.PASS


def test_a_monitor_that_fails_is_wireproofs_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wireproof.conformance.monitor.blame.monitored", lambda *detail: 1 / 0)
    outcome = simulated(ORDINARY, "7.1.0", "uint16")

    assert (outcome.verdict, outcome.got) == (
        Verdict.HARNESS_ERROR,
        "the monitor failed: ZeroDivisionError: division by zero",
    )


def test_pytest_learns_that_it_is_not_the_target() -> None:
    detail = {
        "title": "t",
        "blamed": None,
        "clauses": ["C-1"],
        "level": "MUST",
        "byte": None,
        "expected": "e",
        "got": "g",
    }

    assert explain({**detail, "verdict": "harness_error", "exchange": []}).startswith(
        "harness_error (wireproof itself is at fault, not the target): t\n"
    )
    assert explain({**detail, "verdict": "fail", "exchange": []}).startswith("fail: t\n")


def long_case(frames: int, **expected: Any) -> Case:
    return make_case({"send": {"each": {"i": [1, frames]}, "of": {"PURGE": {"key": "k{i}"}}}, **expected})


def test_a_long_play_that_passes_is_not_read_and_one_that_does_not_pass_is() -> None:
    client = writer_that(lambda frame: frame[:-1] + b"?")
    failing = long_case(CHEAP, expect="ok")

    assert simulated(long_case(CHEAP), "7.1.0", "uint16", client).verdict is Verdict.HARNESS_ERROR
    assert simulated(long_case(CHEAP + 1), "7.1.0", "uint16", client).verdict is Verdict.PASS
    assert_ours(simulated(failing, "7.1.0", "uint16", client))


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    with running_server(module_command("wireproof.reference_server", "throttr", *NAMED)) as address:
        yield address


@pytest.mark.parametrize("name", ["read", "write"])
@pytest.mark.parametrize("how", LOSSES)
def test_over_sockets_it_exits_3_and_says_whose_fault_it_is(
    how: str, name: str, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    spoil, real = LOSSES[how], getattr(SocketStream, name)

    async def read(self: SocketStream, timeout: float) -> tuple[Kind, bytes]:
        kind, data = await real(self, timeout)
        return (kind, spoil(data)) if kind is Kind.RECEIVED and spoil(data) else (Kind.SILENT, b"")

    async def write(self: SocketStream, data: bytes, *detail: Any) -> tuple[Kind, bytes]:
        return await real(self, spoil(data), *detail)

    arguments = [
        "throttr",
        reference,
        *NAMED,
        "--timeout",
        "0.5",
        "-k",
        "query/status",
        "--implementation-version",
        "1",
    ]

    async def asked(*detail: Any) -> tuple[Spoken, str]:
        return Spoken("7.1.0", "uint16"), ""

    monkeypatch.setattr(command_module, "ask_spoken", asked)
    monkeypatch.setattr(SocketStream, name, {"read": read, "write": write}[name])
    result = CliRunner().invoke(command_module.command, arguments)

    assert result.exit_code == 3
    assert "harness error: 1 case" in result.output
    assert "fault: harness" in result.output
    # on a busy machine there is progress
    errors = [line for line in result.stderr.splitlines() if " s: " not in line]
    assert errors == ["wireproof: harness error in 1 of 1 plays: they do not judge the target"]
