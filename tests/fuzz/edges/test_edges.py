"""Edges of instrumented targets: counted alike in every process, and a search that they guide is shorter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.places import ROOT
from wireproof.conformance.model.actions import Write
from wireproof.fuzz.commands.coverage_runtime import RUNTIME
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.edges.counters import CLASS_OF, SIZE, VARIABLE, Counters, SeenEdges, shared_counters
from wireproof.fuzz.edges.python_edges import EdgeTracer
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.live_campaign import Campaign, CampaignLimits
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.simulated_plays import simulated
from wireproof.fuzz.live.simulated_target import SimulatedTarget
from wireproof.fuzz.script import Script

THROTTR = FuzzContext("throttr", "7.1.0", "uint16")
CLANG = shutil.which("clang")


def _links() -> bool:
    """Say whether there is a clang with the libraries that it links an instrumented program with."""
    if CLANG is None:
        return False
    command = [CLANG, "-fsanitize-coverage=trace-pc-guard", "-x", "c", "-", "-o", os.devnull]
    marks = (
        b"void __sanitizer_cov_trace_pc_guard_init(int *a, int *b) {} void __sanitizer_cov_trace_pc_guard(int *a) {}"
    )
    program = marks + b" int main(void) { return 0; }"
    return subprocess.run(command, input=program, capture_output=True, check=False).returncode == 0


NO_CLANG = pytest.mark.skipif(not _links(), reason="clang, or what it links instrumented programs with, is not here")


def counts(**taken: int) -> bytes:
    made = bytearray(SIZE)
    for name, count in taken.items():
        made[int(name[1:])] = count
    return bytes(made).translate(CLASS_OF)


def test_an_edge_or_another_class_of_its_count_is_new_once() -> None:
    seen = SeenEdges()

    assert not seen.is_new(counts())
    assert seen.is_new(counts(e7=1))
    assert not seen.is_new(counts(e7=1))
    assert seen.is_new(counts(e7=4))
    assert not seen.is_new(counts(e7=7))
    assert seen.is_new(counts(e65535=255))
    assert len(seen) == 2


def test_the_file_is_shared_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with shared_counters() as counters:
        path = Path(os.environ[VARIABLE])
        with Counters(path) as ours:
            path.write_bytes(b"\x05" + bytes(SIZE - 1))
            assert ours.classes()[0] == counters.classes()[0] == CLASS_OF[5] == 8
            counters.clear()
            assert not any(ours.classes())
    assert VARIABLE not in os.environ


def three_conditions(data: bytes) -> bool:
    """Stand for a server that dies of one request in which three fields hold certain numbers."""
    if len(data) <= 12 or data[0] != 1:
        return False
    if data[1:3] != b"\xff\xff":
        return False
    if data[3]:
        return False
    return data[4:6] == b"\xff\xff"


def traced(script: Script) -> tuple[bool, bytes]:
    counters = bytearray(SIZE)
    tracer = EdgeTracer(counters, [__file__])
    tracer.start()
    try:
        died = any([three_conditions(step.data) for step in script if isinstance(step, Write)])
    finally:
        tracer.stop()
    return died, bytes(counters).translate(CLASS_OF)


class Dying(SimulatedTarget):
    """Serves everybody, says nothing, and dies of the three conditions; its edges are seen if it is `guided`."""

    heavy_share = 0.01

    def __init__(self, *, guided: bool, path: Path) -> None:
        super().__init__(replace(THROTTR, others=[]))
        self.counters = Counters(path) if guided else None
        self.served = simulated(THROTTR, ())

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        died, edges = traced(script)
        return replace(self.served, script=script, death="died" if died else None, edges=edges)


def executions_to_find(folder: Path, *, guided: bool, seed: int, most: int) -> int | None:
    target = Dying(guided=guided, path=folder / "counters")
    campaign = Campaign(target, seed=seed, limits=CampaignLimits(runs=most, findings=1, shrink_s=0))
    return next((found.executions for found in campaign.run()), None)


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.nightly), pytest.param(3, marks=pytest.mark.nightly)]
)
def test_a_fault_after_three_conditions_is_found_with_edges_and_not_without(tmp_path: Path, seed: int) -> None:
    assert executions_to_find(tmp_path, guided=True, seed=seed, most=40_000) is not None
    assert executions_to_find(tmp_path, guided=False, seed=seed, most=4000) is None


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(fuzz, ["server", "throttr", "--coverage", *arguments], env=environment)


SERVED = "-m wireproof serve throttr --profile 7.1.0 --width uint16 --port {port}"


def test_the_last_line_names_the_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    command = f"{sys.executable} -m wireproof.fuzz.edges {SERVED}"
    result = run("--target-command", command, "--runs", "40", "--findings", str(tmp_path))

    assert result.exit_code == 0, result.output
    line = next(one for one in result.output.splitlines() if one.startswith("40 executions"))
    edges = next(int(part.split()[0]) for part in line.split(", ") if part.endswith("edges"))
    assert edges > 200


def test_a_target_that_counts_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    result = run("--target-command", f"{sys.executable} {SERVED}", "--runs", "5", "--findings", str(tmp_path))

    assert result.exit_code == 2
    assert "the target counted no edge" in result.output


def test_an_address_needs_a_file() -> None:
    result = run("tcp://127.0.0.1:1")

    assert result.exit_code == 2
    assert f"expected {VARIABLE}=FILE" in result.output


PROGRAM = """
def steps(number):
    found = 0
    while number:
        found += number
        number -= 1
    return found

import sys
print(steps(int(sys.argv[1])))
"""


def edges_of(path: Path, command: list[str]) -> bytes:
    with Counters(path) as counters:
        counters.clear()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), VARIABLE: str(path)}
        subprocess.run(command, check=True, capture_output=True, env=environment, timeout=60)
        return counters.classes()


def test_a_python_program_counts_the_same_edges_each_time(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "wireproof.fuzz.edges", str(program)]

    none, one, again, many = (edges_of(tmp_path / "map", [*command, number]) for number in ("0", "1", "1", "40"))
    assert one == again
    assert SeenEdges().is_new(none)
    assert SIZE - none.count(0) < SIZE - one.count(0)
    assert one != many


@pytest.mark.parametrize(
    ("arguments", "words"), [([], "usage:"), (["-m"], "usage:"), (["-m", "no_such_module"], "no module")]
)
def test_wrong_arguments_are_named(arguments: list[str], words: str) -> None:
    command = [sys.executable, "-m", "wireproof.fuzz.edges", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)

    assert done.returncode == 2
    assert words in done.stderr


C_PROGRAM = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
    const char *word = count > 1 ? words[1] : "";
    if (word[0] == 'a') {
        if (word[1] == 'b')
            puts("both");
        else
            puts("one");
    }
    if (word[0] == 'f') {
        if (fork() == 0) {
            if (word[1] == 'x')
                puts("child");
            fflush(stdout);
            _exit(0);
        }
        wait(NULL);
    }
    return 0;
}
"""


@NO_CLANG
def test_a_program_built_by_clang_counts_edges(tmp_path: Path) -> None:
    assert CLANG is not None
    (tmp_path / "program.c").write_text(C_PROGRAM, encoding="utf-8")
    flags = ["-Wall", "-Wextra", "-Werror", "-O0", "-fsanitize-coverage=trace-pc-guard"]
    built = [CLANG, *flags, "program.c", str(RUNTIME), "-o", "program"]
    subprocess.run(built, check=True, cwd=tmp_path, timeout=60)
    program = str(tmp_path / "program")

    seen = SeenEdges()

    def is_new(*words: str) -> bool:
        return seen.is_new(edges_of(tmp_path / "map", [program, *words]))

    assert [is_new(), is_new("ac"), is_new("ab"), is_new("ab"), is_new()] == [True, True, True, False, False]
    assert [is_new("fy"), is_new("fx"), is_new("fx")] == [True, True, False], "a child counts in the same file"
    without = {key: value for key, value in os.environ.items() if key != VARIABLE}
    assert subprocess.run([program, "ab"], capture_output=True, env=without, timeout=60).stdout == b"both\n"


def test_the_command_prints_where_the_runtime_is() -> None:
    result = CliRunner().invoke(fuzz, ["coverage-runtime"])

    assert result.exit_code == 0
    assert Path(result.output.strip()).read_text(encoding="utf-8").startswith("/*")
