"""`wireproof test` as people call it: exit codes, one clear line for each thing that can go wrong, no traceback."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.conformance import servers, torn
from tests.conformance.scripted import make_case
from tests.conformance.threads import in_thread, in_thread_reference, in_thread_service
from wireproof.conformance.commands import test as command_module
from wireproof.conformance.model.verdict import Level
from wireproof.conformance.run.processes import module_command, running_server
from wireproof.conformance.suite.cases import Suite, load_suite

REFUSED = {"send": {"QUERY": {"key": "$k"}}, "expect": "refused"}
NAMED = ("--profile", "7.1.0", "--variant", "uint16")
FREE = "tcp://127.0.0.1:1"


def wireproof(*arguments: str) -> Result:
    """Call the command in this process; nothing but an exit leaves it."""
    result = CliRunner().invoke(command_module.command, ["throttr", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    with running_server(module_command("wireproof.reference_server", "throttr", *NAMED)) as address:
        yield address


@pytest.fixture(scope="module")
def wrong() -> Iterator[str]:
    mutant = ("--mutant", "quota-low-byte")
    with running_server(module_command("wireproof.mutants", "throttr", *NAMED, *mutant)) as address:
        yield address


def records_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()]


USAGE = [
    ((FREE,), "wireproof: nothing to test at tcp://127.0.0.1:1: Connection refused"),
    ((FREE, *NAMED), "wireproof: nothing to test at tcp://127.0.0.1:1: Connection refused"),
    (("unix:///nowhere/at/all",), "nothing to test at unix:///nowhere/at/all: No such file or directory"),
    (("127.0.0.1:9000",), "wireproof: expected tcp://HOST:PORT or unix:///PATH, got '127.0.0.1:9000'"),
    (("tcp://host",), "expected tcp://HOST:PORT"), (("tcp://host:99999",), "expected tcp://HOST:PORT"),
    (("tcp://host:0",), "expected tcp://HOST:PORT"), (("udp://h:1",), "expected tcp://HOST:PORT"),
    (("unix://",), "expected tcp://HOST:PORT"), (("tcp://h:1/path",), "expected tcp://HOST:PORT"),
    (("",), "expected tcp"),
    (("simulation", "--nonsense"), "No such option"), ((), "or --target-command; got neither"),
    (("simulation", "--delivery", "halves"), "expected sample, all or some of whole, bytes"),
    (("simulation", "--jobs", "0"), "0 is not in the range"), (("simulation", "--level", "all"), "is not one of"),
    (("simulation", "--profile", "9.9"), "--profile: expected auto, 7.1.0, 7.3.2; got '9.9'"),
    (("simulation", "--variant", "uint128"), "--variant: expected auto, uint8, uint16, uint32, uint64; got 'uint128'"),
    ((FREE, "--variant", "uint128"), "--variant: expected auto"), ((FREE, "-k", "("), "-k: expected a word"),
    (("simulation", "-k", "insert and"), "-k: expected a word, 'not' or '(', got the end in 'insert and'"),
    (("simulation", "-k", "nothingofthename"), "no case left: profile 7.1.0, variant uint16, level MAY"),
    (("simulation", "--baseline", "/nowhere/at/all"), "cannot read the baseline /nowhere/at/all"),
    (("simulation", "-k", "query/", "--out", "/dev/null/x"), "cannot write to /dev/null/x: Not a directory"),
    (("simulation", "-k", "query/status", "--junit", "/dev/null/x"), "cannot write to /dev/null/x: "),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "detail"), USAGE, ids=[" ".join(one) for one, _ in USAGE])
def test_what_cannot_be_done_is_reported_and_exits_2(arguments: tuple[str, ...], detail: str) -> None:
    result = wireproof(*arguments)

    assert result.exit_code == 2
    assert detail in result.stderr
    assert len(result.stderr.strip().splitlines()) == (1 if result.stderr.startswith("wireproof:") else 4)


def test_an_unknown_protocol_is_reported_with_the_known_ones() -> None:
    result = CliRunner().invoke(command_module.command, ["mqtt", "simulation"])

    assert result.exit_code == 2
    assert "'mqtt' is not" in result.stderr
    assert "throttr" in result.stderr


def test_a_green_run_exits_0_and_leaves_records_run_and_junit(tmp_path: Path) -> None:
    result = wireproof("simulation", "-k", "query/", "--out", str(tmp_path), "--junit", str(tmp_path / "j.xml"))
    summary = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))

    assert result.exit_code == summary["exit_code"] == 0
    assert {one["verdict"] for one in records_in(tmp_path)} == {"pass"}
    cases = [one for one in records_in(tmp_path) if one["delivery"] == "whole"]
    plays = len(records_in(tmp_path)) - len(cases)
    assert plays == sum(sum(counts.values()) for counts in summary["deliveries"].values()) > len(cases)
    assert len(cases) == sum(sum(counts.values()) for counts in summary["counts"].values())
    detail = f"passed: {len(cases)} cases, {plays} more plays under other segmentations; 0 MUST or SHOULD failed"
    assert result.output.splitlines()[-1].startswith(detail)
    assert (tmp_path / "j.xml").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "segmentations"),
    [
        ((), {"whole", "bytes", "fields", "beside", "joined", "dripped", "half-closed"}),
        (("--delivery", "all"), {"whole", "bytes", "fields", "beside", "joined", "dripped", "half-closed"}),
        (("--delivery", "joined,bytes"), {"whole", "bytes", "joined"}),
        (("--delivery", "whole"), {"whole"}),
        (("--delivery-budget", "0"), {"whole"}),
        (("--level", "must"), {"whole"}),
        (("--level", "must", "--delivery", "fields"), {"whole", "fields"}),
    ],
)
def test_deliveries_are_those_asked_for(options: tuple[str, ...], segmentations: set[str], tmp_path: Path) -> None:
    assert wireproof("simulation", "-k", "query/status", *options, "--out", str(tmp_path)).exit_code == 0
    assert {one["delivery"] for one in records_in(tmp_path)} == segmentations


def test_a_target_that_only_fails_under_a_delivery_turns_the_run_red_and_its_cell_is_marked(tmp_path: Path) -> None:
    with in_thread_service(torn.Piecemeal) as address:
        arguments = (address, *NAMED, "-k", "query/status", "--timeout", "0.5", "--delivery", "fields,joined")
        result = wireproof(*arguments, "--out", str(tmp_path))
        (tmp_path / "known").write_text("query/status\n")
        known = wireproof(*arguments, "--baseline", str(tmp_path / "known"))

    assert result.exit_code == 1
    assert "≠ fields" in result.output
    assert "query/status [fields] SHOULD clause THR-ROBUSTNESS-6" in result.output
    assert known.exit_code == 0


def test_one_case_that_fails_says_nothing_of_the_profile(wrong: str) -> None:
    one = wireproof(wrong, *NAMED, "-k", "query/fields-of-the-answer")

    assert one.exit_code == 1
    assert "most cases fail as" not in one.output


def test_quiet_prints_the_last_line_only(wrong: str) -> None:
    assert len(wireproof("simulation", "-q", "-k", "query/").output.splitlines()) == 1
    assert len(wireproof(wrong, *NAMED, "-q", "-k", "query/status").output.splitlines()) == 1


def test_long_lines_are_not_wrapped_where_there_is_no_terminal(wrong: str) -> None:
    lines = wireproof(wrong, "-k", "query/", *NAMED).output.splitlines()

    assert any(line.startswith("    ") and len(line) > 90 for line in lines)


@pytest.mark.parametrize(
    ("profile", "mutant"),
    [
        ("7.3.2", "wire:WHOAMI_REPLY.lead:left-out"),
        pytest.param("7.1.0", "wire:WHOAMI_REPLY.end:longer", marks=pytest.mark.nightly),
    ],
)
def test_who_answers_one_request_like_another_profile_is_tested_as_named(profile: str, mutant: str) -> None:
    with in_thread_reference(profile, "uint16", mutant) as address:
        named = ("--profile", profile, "--variant", "uint16", "--timeout", "1")
        result = wireproof(address, *named, "-k", "whoami/id-of-one-row or query/status")

        asked = wireproof(address, "-k", "query/status", "--timeout", "1")

    assert result.exit_code == 1
    assert f"and as {profile} by another; it is tested as that" in result.output
    assert "WHOAMI" in result.output
    assert f"and {profile} by another; it is tested as the former: name the profile with --profile" in asked.output


def test_a_wrong_width_is_refused_with_the_one_that_is_spoken(reference: str) -> None:
    for named, reported in (
        (("--profile", "7.1.0", "--variant", "uint64"), "speaks variant uint16, not uint64"),
        (("--profile", "7.3.2", "--variant", "uint16"), "speaks profile 7.1.0, not 7.3.2"),
        (("--profile", "7.3.2", "--variant", "uint8"), "speaks profile 7.1.0 and variant uint16, not 7.3.2 and uint8"),
    ):
        result = wireproof(reference, "-k", "query/", *named)

        assert (result.exit_code, result.stderr) == (2, f"wireproof: {reference} {reported}\n")


@pytest.mark.parametrize(
    ("option", "value", "has"), [("--profile", "7.3.2", "7.1.0"), ("--variant", "uint8", "uint16")]
)
def test_what_the_target_does_not_speak_is_reported_when_it_is_asked(
    reference: str, option: str, value: str, has: str
) -> None:
    result = wireproof(reference, option, value)

    assert result.exit_code == 2
    assert f"{reference} speaks {option[2:]} {has}, not {value}" in result.stderr


def test_auto_finds_what_the_target_speaks(reference: str, tmp_path: Path) -> None:
    result = wireproof(reference, "-k", "query/status", "--out", str(tmp_path))
    summary = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))

    assert result.exit_code == 0
    assert (summary["profile"], summary["variant"], summary["target"]) == ("7.1.0", "uint16", reference)
    assert summary["implementation_version"].startswith("wireproof")


@pytest.mark.parametrize("handle", [servers.babbles, servers.resets])
def test_another_protocol_is_refused_when_asked_and_fails_when_named(handle: Any) -> None:
    with in_thread(handle) as address:
        asked = wireproof(str(address), "--timeout", "0.5")
        named = wireproof(str(address), *NAMED, "-k", "query/", "--timeout", "0.5")

    assert asked.exit_code == 2
    assert "speaks no known profile of throttr" in asked.stderr
    assert named.exit_code == 1
    assert named.stderr.startswith(f"wireproof: {address} speaks no known profile of throttr: ")
    assert "it is tested as 7.1.0 uint16 all the same" in named.stderr
    assert "most cases fail as 7.1.0 uint16" in named.output


@pytest.mark.parametrize(
    ("handle", "what"),
    [
        (servers.closes, "0 bytes came, then it (closed|reset) the connection"),
        (servers.never_answers, "0 bytes came in 0.2 s"),
        (servers.never_reads, "0 bytes came in 0.2 s"),
    ],
)
def test_a_target_that_says_nothing_is_none_even_where_it_is_named(handle: Any, what: str) -> None:
    with in_thread(handle) as address:
        result = wireproof(str(address), *NAMED, "--timeout", "0.2")

    assert result.exit_code == 2
    assert re.fullmatch(f"wireproof: nothing to test at {address}: asked twice, {what}\n", result.stderr)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("live", [True, False])
def test_a_full_disk_ends_the_run_with_one_line(reference: str, tmp_path: Path, live: bool) -> None:
    (tmp_path / "records.jsonl").symlink_to("/dev/full")
    result = wireproof(reference if live else "simulation", *NAMED, "-k", "query/", "--out", str(tmp_path))

    assert result.exit_code == 2
    reason = f"wireproof: cannot write to {tmp_path}/records.jsonl: No space left on device"
    goes_on = f"; what was played is kept: make space, then go on with --resume {tmp_path}"
    assert result.stderr.strip() in (reason, reason + goes_on)  # not begun, or begun


def test_a_baseline_forgives_and_a_stale_one_exits_4(wrong: str, tmp_path: Path) -> None:
    failing_run = (wrong, "-k", "query/", *NAMED, "--segmentation", "whole")
    wireproof(*failing_run, "--out", str(tmp_path))
    failing = [one["case"] for one in records_in(tmp_path) if one["verdict"] != "pass"]
    (tmp_path / "known").write_text("\n".join(failing))
    (tmp_path / "stale").write_text("\n".join([*failing, "query/no-longer-there"]))

    assert failing
    assert wireproof(*failing_run, "--baseline", str(tmp_path / "known")).exit_code == 0
    stale = wireproof(*failing_run, "--baseline", str(tmp_path / "stale"))
    assert stale.exit_code == 4
    assert "wireproof baseline prune FILE RUN takes such lines out" in stale.stderr
    assert "unknown in the baseline: query/no-longer-there is no case or clause of this version" in stale.stderr
    assert f"{len(failing)} cases fail as the baseline says, 0 others fail" in stale.stderr
    (tmp_path / "half").write_text("")
    assert wireproof(*failing_run, "--baseline", str(tmp_path / "half")).exit_code == 1


def made(monkeypatch: pytest.MonkeyPatch, *cases: Any) -> None:
    real = load_suite("throttr")
    suite = Suite("throttr", real.clauses, cases, (), real.probe)
    monkeypatch.setattr(command_module, "load_suite", lambda name: suite)


BROKEN = make_case({"send": {"QUERY": {"key": "@never_saved"}}, "expect": "refused"}, id="made/broken")


def test_our_own_fault_alone_exits_3(monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, BROKEN, make_case(REFUSED, id="made/passes"))
    result = wireproof("simulation", "--delivery", "whole")

    assert result.exit_code == 3
    assert result.output.splitlines()[-1].startswith(
        "harness error: 2 cases; 0 MUST or SHOULD failed; 1 harness error;"
    )


def test_our_own_fault_hides_no_failure_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    fails = make_case({**REFUSED, "expect": "ok"}, id="made/fails")
    made(monkeypatch, fails, BROKEN, make_case(REFUSED, id="made/passes"))
    result = wireproof("simulation", "--delivery", "whole")

    assert result.exit_code == 1
    assert result.output.splitlines()[-1].startswith("failed: 3 cases; 1 MUST or SHOULD failed; 1 harness error;")
    assert "harness error in 1 of 3 plays" in result.stderr


def test_a_may_case_never_turns_a_run_red(monkeypatch: pytest.MonkeyPatch) -> None:
    made(monkeypatch, make_case({**REFUSED, "expect": "ok"}, level=Level.MAY))

    assert wireproof("simulation").exit_code == 0


def test_a_suite_that_is_wrong_exits_3(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(name: str) -> Suite:
        raise command_module.CaseError("query.yaml: query/one: no such clause")

    monkeypatch.setattr(command_module, "load_suite", wrong)
    result = wireproof("simulation")

    assert (result.exit_code, result.stderr) == (
        3,
        "wireproof: error in the suite: query.yaml: query/one: no such clause\n",
    )


def test_a_profile_with_one_variant_needs_no_other_word() -> None:
    with running_server(module_command("wireproof.reference_server", "psrt", "--profile", "psrtd-0.3")) as address:
        result = CliRunner().invoke(
            command_module.command, ["psrt", address, "--profile", "psrtd-0.3", "-k", "nop/answered", "-q"]
        )

    assert result.exit_code == 0, result.output
