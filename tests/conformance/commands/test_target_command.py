"""`wireproof test --target-command`: a server started for the run, restarted when it dies, gone at the end."""

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from tests.conformance.run.supervised import counted, most_starts
from tests.conformance.signals import sigint_inherited
from tests.places import ROOT
from tests.processes import have_ended
from wireproof.conformance.commands.target_options import (
    parameters_of,
    tls_of,
    undeclared_limits,
    unknown_limits,
)
from wireproof.conformance.commands.test import command
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.run.processes import module_command, module_environment
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.declared import Parameter

NAMED = ("--profile", "7.1.0", "--variant", "uint16", "--delivery", "whole")
REFERENCE = shlex.join(module_command("wireproof.reference_server", "throttr"))
SOME = ("-k", "unsubscribe/not-held or unsubscribe/one-byte or query/status or query/ttl-unit")


def dying(how: str) -> str:
    return shlex.join([sys.executable, str(ROOT / "tests/conformance/dying.py"), how, "--port", "{port}"])


def start(*arguments: str) -> subprocess.Popen[str]:
    command = module_command("wireproof", "test", "throttr", *arguments)
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=module_environment(), text=True, cwd=ROOT, **pipes)


def called(*arguments: str, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    with start(*arguments) as process:
        try:
            out, errors = process.communicate(timeout=timeout)
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


def behind_a_proxy() -> str:
    """Return a command that starts a server and a proxy before it, as a container does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = shlex.join([*module_command("wireproof.reference_server", "throttr"), "--port", str(port), "--profile"])
    proxy = shlex.join([sys.executable, "-m", "tests.conformance.relays", "127.0.0.1", str(port)])
    # the proxy begins when the server says that it listens
    return shlex.join(["sh", "-c", f"{server} 7.1.0 | {{ read line; exec {proxy}; }}"])


def records_in(folder: Path) -> dict[str, dict[str, Any]]:
    lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return {one["case"]: one for one in map(json.loads, lines)}


def descendants(command: str) -> list[int]:
    """Return the ids of processes, of anybody, that were started with this text in their command line."""
    found = []
    for one in psutil.process_iter():
        try:
            if command in " ".join(one.cmdline()) and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one.pid)
        except psutil.Error:
            continue
    return found


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[str]:
    """Give options that make a server's command line recognisable, and see that none is left."""
    mark = f"--unix {tmp_path}/s"
    yield mark
    assert have_ended(*descendants(mark))


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the records of a server that does not die."""
    folder = tmp_path_factory.mktemp("healthy")
    called("--target-command", f"{REFERENCE} --port {{port}}", *NAMED, *SOME, "--evidence", "all", "--out", str(folder))
    return records_in(folder)


def test_a_server_is_started_tested_and_gone(mine: str, tmp_path: Path) -> None:
    one = ("-k", "query/status", "--out", str(tmp_path))
    done = called("--target-command", f"{REFERENCE} --port {{port}} {mine}", *one)
    run = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))

    assert (done.returncode, "wireproof" in done.stderr) == (0, False)
    assert run["target"] == run["implementation"] == f"{REFERENCE} --port {{port}} {mine}"
    assert "listening tcp://127.0.0.1:" in (tmp_path / "target.log").read_text(encoding="utf-8")


def test_a_server_that_says_where_it_listens_needs_no_port(mine: str) -> None:
    assert called("--target-command", f"{REFERENCE} {mine}", "-k", "query/status").returncode == 0


@pytest.mark.parametrize(
    ("how", "death", "words"),
    [
        ("segfault", "it died of SIGSEGV", "Fatal Python error: Segmentation fault"),
        ("slowly", "it ended with exit code 70", "fatal: nobody unsubscribes here"),
        pytest.param(
            "exit", "it ended with exit code 70", "fatal: nobody unsubscribes here", marks=pytest.mark.nightly
        ),
    ],
)
def test_each_death_is_the_crash_of_the_case_that_did_it(
    healthy: dict[str, dict[str, Any]], mine: str, tmp_path: Path, how: str, death: str, words: str
) -> None:
    done = called("--target-command", f"{dying(how)} {mine}", *NAMED, *SOME, "--out", str(tmp_path))
    found = records_in(tmp_path)
    deadly = {
        name
        for name, one in healthy.items()
        if any(event["direction"] == "sent" and event["hex"].startswith("12") for event in one["exchange"])
    }

    crashed = {name for name, one in found.items() if one["verdict"] == "crash"}
    (cause,) = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["causes"]

    assert len(deadly) > 1
    assert crashed | {name for name, one in found.items() if "held_back" in one.get("extra", {})} == deadly
    assert {name for name, one in found.items() if one["verdict"] == "pass"} == set(healthy) - deadly
    assert all(found[name]["got"].startswith(death) for name in crashed)
    assert all(words in "".join(found[name]["extra"]["process"]["last_words"]) for name in crashed)
    assert (cause["kind"], cause["said"], {cause["case"], *cause["following"]}) == ("death", words, deadly)
    assert done.stdout.startswith(f"cause 1 of 1: death [{cause['clause']}] {death}")
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert f"after {death}" in (tmp_path / "target.log").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_one_that_dies_a_little_later_is_found_all_the_same(mine: str, tmp_path: Path) -> None:
    some = ("-k", "unsubscribe/not-held or query/s or query/ttl-unit", "--out", str(tmp_path))
    called("--target-command", f"{dying('late')} {mine}", *NAMED, *some)
    found = records_in(tmp_path)

    assert {name for name, one in found.items() if one["verdict"] == "crash"} == {"unsubscribe/not-held"}
    assert {one["verdict"] for name, one in found.items() if name.startswith("query/")} == {"pass"}


@pytest.mark.nightly
def test_one_that_takes_nobody_any_more_and_does_not_end_is_ended(mine: str, tmp_path: Path) -> None:
    some = ("-k", "unsubscribe/not-held or query/s or query/ttl-unit", "--out", str(tmp_path))
    called("--target-command", f"{dying('closed')} {mine}", *NAMED, *some)
    found = records_in(tmp_path)

    assert {name for name, one in found.items() if one["verdict"] == "crash"} == {"unsubscribe/not-held"}
    assert "took no connection any more, and was ended by wireproof" in found["unsubscribe/not-held"]["got"]
    assert {one["verdict"] for name, one in found.items() if name.startswith("query/")} == {"pass"}


@pytest.mark.parametrize(
    ("how", "busy", "reported"),
    [
        ("deaf", False, "waiting, as in a deadlock"),
        pytest.param("busy", True, "busy, as in an endless loop", marks=pytest.mark.nightly),
    ],
)
def test_one_that_answers_nobody_any_more_hangs_and_is_started_again(
    mine: str, tmp_path: Path, how: str, busy: bool, reported: str
) -> None:
    few = ("-k", "unsubscribe/not-held or query/s or query/ttl-unit", "--timeout", "0.5")
    done = called("--target-command", f"{dying(how)} {mine}", *NAMED, *few, "--out", str(tmp_path))
    found = records_in(tmp_path)
    hangs = {name for name, one in found.items() if one["verdict"] == "hang"}

    assert hangs == {"unsubscribe/not-held"}
    assert "answered nobody any more" in found["unsubscribe/not-held"]["got"]
    assert found["unsubscribe/not-held"]["extra"]["hang"]["busy"] is busy
    assert reported in done.stdout.splitlines()[0]
    assert {one["verdict"] for name, one in found.items() if name.startswith("query/")} == {"pass"}


def test_it_is_started_again_only_so_often(mine: str, tmp_path: Path) -> None:
    options = (*NAMED, *SOME, "--restarts", "1", "--out", str(tmp_path))
    called("--target-command", f"{dying('exit')} {mine}", *options)
    log = (tmp_path / "target.log").read_text(encoding="utf-8")
    starts = [line for line in log.splitlines() if line.startswith("=== wireproof: start ")]
    records = records_in(tmp_path)
    left = [one["got"] for one in records.values() if one["verdict"] == "untestable"]

    assert counted(starts) == 2
    assert len(starts) <= 2 + most_starts(len(records))
    assert left
    assert [one for one in left if "--restarts" not in one] == []


@pytest.mark.parametrize(
    ("how", "sigint"),
    [
        (signal.SIGINT, signal.SIG_DFL),
        (signal.SIGTERM, signal.SIG_IGN),
        pytest.param(signal.SIGINT, signal.SIG_IGN, marks=pytest.mark.nightly),
        pytest.param(signal.SIGTERM, signal.SIG_DFL, marks=pytest.mark.nightly),
        pytest.param(signal.SIGHUP, signal.SIG_DFL, marks=pytest.mark.nightly),
        pytest.param(signal.SIGHUP, signal.SIG_IGN, marks=pytest.mark.nightly),
    ],
)
def test_interrupted_it_leaves_no_process(
    mine: str, tmp_path: Path, how: signal.Signals, sigint: signal.Handlers
) -> None:
    """Whether SIGINT is ignored by what starts it, as a script's `&` does, or not."""
    (tmp_path / "records.jsonl").touch()
    options = (*NAMED, "--out", str(tmp_path), "--jobs", "1")
    with (
        sigint_inherited(sigint),
        start("--target-command", f"{REFERENCE} --port {{port}} {mine}", *options) as process,
    ):
        while process.poll() is None and (tmp_path / "records.jsonl").stat().st_size == 0:
            time.sleep(0.01)
        process.send_signal(how)
        _, errors = process.communicate(timeout=30)

    assert process.returncode == 130
    assert errors.startswith("wireproof: interrupted: ")
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(("how", "pauses"), [(signal.SIGTERM, (0.01, 0.01, 0.0)), (signal.SIGINT, (0.03, 0.0))])
def test_signals_that_come_together_are_one(
    mine: str, tmp_path: Path, how: signal.Signals, pauses: tuple[float, ...]
) -> None:
    """As `timeout` sends them, to the process and to its group; and as people press Ctrl-C."""
    options = (*NAMED, "--out", str(tmp_path), "--jobs", "1")
    with (
        sigint_inherited(signal.SIG_DFL),
        start("--target-command", f"{REFERENCE} --port {{port}} {mine}", *options) as process,
    ):
        records = tmp_path / "records.jsonl"
        while process.poll() is None and not (records.exists() and records.read_bytes().count(b"\n") > 50):
            time.sleep(0.01)
        for pause in pauses:
            process.send_signal(how)
            time.sleep(pause)
        _, errors = process.communicate(timeout=30)

    assert process.returncode == 130
    assert re.search(r"^wireproof: interrupted: \d+ of \d+ cases played; records in ", errors, re.MULTILINE)
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["partial"]


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        ((), "expected a TARGET (tcp://HOST:PORT, unix:///PATH, simulation) or --target-command; got neither"),
        (("simulation", "--target-command", "x"), "or --target-command; got both"),
        (("--target-command", "'"), "No closing quotation"),
        (("--target-command", "no-such-program {port}"), "cannot start 'no-such-program': No such file or directory"),
        (("--target-command", f"{sys.executable} -c pass"), "did not become ready: it ended with exit code 0"),
        (("--target-command", "sleep 60", "--ready-timeout", "0.3"), "no line 'listening ADDRESS' that holds in 0.3 s"),
        (("simulation", "--limit", "MONEY=3"), "--limit: expected NAME=NUMBER with one of MEMORY_SLACK"),
        (("simulation", "--limit", "IDLE_CPU=much"), "got 'IDLE_CPU=much'"),
        (("--target-command", "x", "--out", "/dev/null/x"), "cannot write to /dev/null/x: Not a directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_reported_in_a_line(arguments: tuple[str, ...], detail: str) -> None:
    done = CliRunner().invoke(command, ["throttr", *arguments])

    assert done.exit_code == 2
    assert detail in done.stderr
    assert isinstance(done.exception, SystemExit)


def test_limits_of_the_protocol_are_set_like_the_others() -> None:
    suite = replace(load_suite("throttr"), parameters={"DEPTH": Parameter(3, "A limit of the target.")})
    found = parameters_of({"tolerance": 0.5, "limits": ("DEPTH=7", "IDLE_CPU=0.5")}, suite)

    assert (found["DEPTH"], found["IDLE_CPU"], found["TOLERANCE"], found["ANSWER_TIME"]) == (7, 0.5, 0.5, 1.0)
    assert isinstance(found["DEPTH"], int)
    with pytest.raises(TargetError, match="ANSWER_TIME, DEPTH; got 'DEPHT=7'"):
        parameters_of({"tolerance": 0.5, "limits": ("DEPHT=7",)}, suite)


def test_limits_that_nobody_declared_are_named_where_cases_that_read_them_fail() -> None:
    psrt = load_suite("psrt")
    deep = {"publish/too-deep", "subscribe/too-deep", "topic/hash-not-itself"}

    assert undeclared_limits(psrt, (), deep).startswith("2 of the cases that did not pass read limits")
    assert "not declared: MAX_TOPIC_DEPTH=3; --limit" in undeclared_limits(psrt, (), deep)
    assert undeclared_limits(psrt, ("MAX_TOPIC_DEPTH=3",), deep) == ""
    assert undeclared_limits(load_suite("throttr"), (), {"query/status"}) == ""


def test_slow_cases_wait_as_long_as_the_document_allows_where_nothing_is_declared() -> None:
    suite = load_suite("namechan")

    def interval(*limits: str, **options: bool) -> float:
        given = {"tolerance": 0.25, "limits": limits, "slow": True}
        return parameters_of(given, suite, **options)["PING_INTERVAL"]

    assert (interval(), interval("PING_INTERVAL=7"), interval(real=False)) == (50, 7, 4)


def test_limits_that_no_document_bounds_are_unknown_until_they_are_declared() -> None:
    suite = load_suite("tmqp")

    assert unknown_limits((), suite) == {"PING_INTERVAL", "PING_TIMEOUT"}
    assert unknown_limits(("PING_INTERVAL=6",), suite) == {"PING_TIMEOUT"}


def test_an_authority_that_is_none_is_reported(tmp_path: Path) -> None:
    (tmp_path / "none.pem").write_text("none")
    for path in (tmp_path / "none.pem", tmp_path / "absent.pem"):
        with pytest.raises(TargetError, match=f"--tls-ca: expected certificates \\(PEM\\) in {path}"):
            tls_of({"tls_ca": path})


def test_a_listener_may_be_in_the_folder_of_the_server(tmp_path: Path) -> None:
    serve = module_command("wireproof.reference_server", "namechan", "--port", "{port}", "--data", "{data}")
    started = ["--target-command", shlex.join([*serve, "--publish-command-socket", "{data}/hook"])]
    words = ["namechan", "--listener", "hook=unix://{data}/hook", "-k", "hook/create-again", "--out", str(tmp_path)]

    played = CliRunner().invoke(command, [*words, *started])
    refused = CliRunner().invoke(command, [*words, "--target-command", shlex.join(serve[:-2])])

    assert played.exit_code == 0, played.output
    assert "unsupported" not in played.stdout
    assert refused.exit_code == 2
    assert "--listener hook: expected {data} in --target-command, too, got none" in refused.stderr


def test_a_server_that_is_started_behind_a_proxy_is_not_blamed_for_the_port_that_it_sees(tmp_path: Path) -> None:
    """A container's port is forwarded by one."""
    command = "--target-command", behind_a_proxy(), "--out", str(tmp_path / "run")
    done = called(*command, *NAMED, "-k", "connections/port or query/status")

    assert done.returncode == 0, done.stdout
    assert "a proxy or NAT is before the target" in done.stderr
    verdicts = {case: record["verdict"] for case, record in records_in(tmp_path / "run").items()}
    assert verdicts["connections/port"] == "unsupported"
