"""`wireproof` as a process among others: servers that die, Ctrl-C, ports in use, readers that went away."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.signals import sigint_inherited
from wireproof.conformance.report.claim import claimed
from wireproof.conformance.run.processes import module_command, module_environment, running_server

NAMED = ("--profile", "7.1.0", "--variant", "uint16")


def called(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Call the installed command as a process."""
    return subprocess.run(
        module_command("wireproof", *arguments),
        env=module_environment(), capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    with running_server(module_command("wireproof.reference_server", "throttr", *NAMED)) as address:
        yield address


def records_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()]


DIES = """
import asyncio, os
from tests.conformance.servers import reference
async def main():
    async with reference() as address:
        print(f"listening {address}", flush=True)
        with open(os.environ["PLAYED"]) as played:
            while played.read().count("\\n") < 5:
                await asyncio.sleep(0.001)
                played.seek(0)
        os._exit(1)
asyncio.run(main())
"""


def test_a_server_that_dies_is_one_crash_with_every_record_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYED", str(tmp_path / "records.jsonl"))
    (tmp_path / "records.jsonl").touch()
    with running_server([sys.executable, "-c", DIES]) as address:
        some = ("--jobs", "4", "-k", "query/ or update/ or get/ or set/")
        done = called("test", "throttr", address, *NAMED, "--out", str(tmp_path), *some)
    records = records_in(tmp_path)

    assert done.returncode == 1
    assert f"failed: {len({one['case'] for one in records})} cases" in done.stdout
    assert "Traceback" not in done.stderr
    assert {"pass", "untestable"} <= {one["verdict"] for one in records}
    assert len([one["case"] for one in records if one["verdict"] == "crash"]) == 1
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["finished_at"]


@pytest.mark.parametrize("sigint", [signal.SIG_DFL, signal.SIG_IGN])
def test_ctrl_c_keeps_what_was_played_and_says_so(reference: str, tmp_path: Path, sigint: signal.Handlers) -> None:
    command = module_command("wireproof", "test", "throttr", reference, *NAMED, "--out", str(tmp_path), "--jobs", "1")
    (tmp_path / "records.jsonl").touch()
    with (
        sigint_inherited(sigint),
        subprocess.Popen(
            command, env=module_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        while process.poll() is None and (tmp_path / "records.jsonl").stat().st_size == 0:
            os.sched_yield()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)

    assert process.returncode == 130
    assert errors.startswith("wireproof: interrupted: ")
    assert len(errors.splitlines()) == 1
    assert f"; records in {tmp_path}; go on with --resume {tmp_path}" in errors
    assert records_in(tmp_path)
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["finished_at"] is None


def test_interrupted_it_shows_the_causes_that_were_found_until_then(tmp_path: Path) -> None:
    served = shlex.join(module_command("wireproof", "mutant", "throttr", "quota-low-byte", *NAMED))
    command = module_command("wireproof", "test", "throttr", "--target-command", f"{served} --port {{port}}")
    with subprocess.Popen(
        [*command, *NAMED, "--out", str(tmp_path), "--jobs", "1"],
        env=module_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        while process.poll() is None and not (
            is_begun(tmp_path) and '"fail"' in (tmp_path / "records.jsonl").read_text()
        ):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=30)

    assert process.returncode == 130, errors
    assert out.startswith("cause 1 of ")
    assert errors.splitlines()[-1].startswith("wireproof: interrupted: ")


def test_a_port_in_use_is_reported_by_the_reference_server(reference: str) -> None:
    done = subprocess.run(
        module_command("wireproof.reference_server", "throttr", "--port", reference.rpartition(":")[2]),
        env=module_environment(), capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    assert done.returncode not in (0, None)
    assert "Address already in use" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_lists_its_commands() -> None:
    shown = called("--help")

    assert shown.returncode == 0
    assert all(name in shown.stdout for name in ("test", "vectors", "matrix", "demo"))
    assert called("nonsense").returncode == 2


@contextmanager
def closed_pipe() -> Iterator[int]:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


def test_a_reader_that_went_away_is_no_traceback() -> None:
    with closed_pipe() as pipe:
        done = subprocess.run(
            module_command("wireproof", "test", "throttr", "simulation", "-k", "query/"),
            env=module_environment(), stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip

    assert "Traceback" not in done.stderr
    assert done.returncode != 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize(
    "arguments", [("test", "throttr", "simulation", "-k", "query/"), ("vectors", "show", "query/status")]
)
def test_a_full_stdout_is_one_line(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            module_command("wireproof", *arguments),
            env=module_environment(), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "wireproof: cannot write to stdout: No space left on device"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_process_ends_a_run_as_ctrl_c_does(reference: str, tmp_path: Path, sent: signal.Signals) -> None:
    command = module_command("wireproof", "test", "throttr", reference, *NAMED, "--out", str(tmp_path), "--jobs", "1")
    with (
        sigint_inherited(signal.SIG_IGN),
        subprocess.Popen(
            command, env=module_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        until = time.monotonic() + 30
        while process.poll() is None and not is_begun(tmp_path) and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(sent)
        _, errors = process.communicate(timeout=30)
    run = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))

    assert process.returncode == 130
    assert errors.startswith("wireproof: interrupted: ")
    assert (run["finished_at"], run["partial"], run["exit_code"]) == (None, ["it was interrupted"], 130)


def is_begun(folder: Path) -> bool:
    return (folder / "records.jsonl").exists() and (folder / "records.jsonl").stat().st_size > 0


def test_a_run_that_takes_too_long_ends_as_partial(reference: str, tmp_path: Path) -> None:
    done = called("test", "throttr", reference, *NAMED, "--out", str(tmp_path), "--jobs", "1", "--max-time", "3")
    run, records = json.loads((tmp_path / "run.json").read_text(encoding="utf-8")), records_in(tmp_path)

    assert done.returncode == 1
    *progress, last = done.stderr.splitlines()
    assert last.startswith("wireproof: the run ended: the time for it is over (--max-time 3); ")
    assert last.endswith(" cases not played")
    assert all(re.match(r"\d+ s: \d+ of \d+ plays: ", line) for line in progress)
    assert "; partial: the time for it is over (--max-time 3); records in " in done.stdout.splitlines()[-1]
    assert re.search(r" cases[^;]*; 0 MUST or SHOULD failed; \d+ not played; ", done.stdout.splitlines()[-1])
    assert run["partial"] == ["the time for it is over (--max-time 3)"]
    assert run["finished_at"] is not None
    assert len({one["case"] for one in records}) == run["cases"] == records[0]["run_cases"]


def test_a_selection_is_partial_in_each_record_from_the_start(tmp_path: Path) -> None:
    done = called("test", "throttr", "simulation", "-k", "query/status", "--level", "should", "--out", str(tmp_path))
    run = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))

    assert done.returncode == 0
    assert run["partial"] == ["-k query/status", "--level should"]
    assert {one["partial"] for one in records_in(tmp_path)} == {"-k query/status; --level should"}
    assert run["cases"] > 500


def test_a_second_run_into_one_folder_leaves_the_first_alone(tmp_path: Path) -> None:
    with claimed(tmp_path):
        (tmp_path / "target.log").write_text("of the first run")
        done = called("test", "throttr", "--target-command", "false", "--out", str(tmp_path))

    assert done.returncode == 2
    assert done.stderr.startswith(f"wireproof: another run writes to {tmp_path} (process {os.getpid()})")
    assert (tmp_path / "target.log").read_text() == "of the first run"
