"""The commands of the guide run as they are written, and play what their step says: the reference passes each."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.places import ROOT
from wireproof.conformance.run.processes import module_command
from wireproof.conformance.run.processes.modules import module_environment
from wireproof.conformance.run.processes.servers import ServerProcess, parse_command
from wireproof.conformance.run.selection import select
from wireproof.conformance.suite.cases import load_suite

GUIDE = (ROOT / "docs" / "namechan-guide.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
LINES = [line for block in BLOCKS for line in block.splitlines()]
COMMANDS = [line for line in LINES if line.startswith("wireproof ")]
SERVERS = [line for line in LINES if line.startswith("python -m wireproof.reference_server ")]
TESTS = [line for line in COMMANDS if line.startswith("wireproof test namechan ") and " -k " in line]
STEPS = re.findall(r"^\| \d \|.*\| `(?:wireproof test-sdk [^`]*)?-k ([^`]+)` \|$", GUIDE, re.MULTILINE)
HERE, HOOK = "tcp://127.0.0.1:9000", "/tmp/hook"
"""Where the guide says that the server of its reader listens."""
LONG = re.compile(r"^wireproof (durability|interop)|--feature replay$")
"""Commands that play for a minute or more, of one segmentation, too."""


def words_of(line: str) -> list[str]:
    return shlex.split(line)


def profile_of(line: str) -> str:
    words = words_of(line)
    return words[words.index("--profile") + 1] if "--profile" in words else "1"


def declared(words: list[str]) -> frozenset[str]:
    listeners = [words[at + 1].partition("=")[0] for at, word in enumerate(words) if word == "--listener"]
    return frozenset(listeners + [words[at + 1] for at, word in enumerate(words) if word == "--feature"])


def reference(*more: str) -> list[str]:
    return module_command("wireproof.reference_server", "namechan", *more)


@cache
def started(profile: str) -> tuple[ServerProcess, Path]:
    """Return a reference server of a profile, as a reader has one by then, and its hook."""
    hook = Path("{data}") / "hook"
    settings = ["--profile", profile, "--max-kept", "20", "--publish-command-socket", str(hook), "--data", "{data}"]
    process = ServerProcess(parse_command(shlex.join(reference(*settings))), environment=module_environment())
    process.__enter__()
    assert process.data is not None
    return process, process.data / "hook"


@pytest.fixture(scope="module", autouse=True)
def ended() -> Iterator[None]:
    yield
    for profile in ("1", "1+publish"):
        started(profile)[0].__exit__(None, None, None)
    started.cache_clear()


def played(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the guide against the reference server in place of the reader's."""
    mine = shlex.join(reference("--port", "{port}", "--data", "{data}", "--publish-command-socket", "{data}/hook"))
    if HERE in line or HOOK in line:
        process, hook = started(profile_of(line))
        line = line.replace(HERE, str(process.address)).replace(f"unix://{HOOK}", f"unix://{hook}")
    words = [one.replace("my-server {port} {data}", mine) for one in words_of(line)]
    command = [sys.executable, "-P", "-m", *words]
    return subprocess.run(
        command, cwd=folder, env=module_environment(), capture_output=True, text=True, timeout=900, check=False
    )


def passes(line: str, folder: Path) -> str:
    done = played(line, folder)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_guide_has_commands_for_both_profiles() -> None:
    sections = {one.split("\n")[0]: one for one in GUIDE.split("\n## ")}
    extension = next(text for title, text in sections.items() if title.startswith("9."))

    assert len(TESTS) >= 8
    assert [line for line in COMMANDS if line in extension and "-k publish/" in line]
    assert [line for line in COMMANDS if line in extension and "vectors export" in line]
    assert len(SERVERS) == 2
    assert len(STEPS) == 8


@pytest.mark.parametrize("line", TESTS)
def test_most_of_what_a_command_selects_can_be_played_there(line: str) -> None:
    words, profile = words_of(line), profile_of(line)
    expression = words[words.index("-k") + 1]
    cases = select(load_suite("namechan"), profile, "standard", expression=expression, slow=False)
    unsupported = [case.id for case in cases if set(case.needs) - declared(words) - {"replay"}]

    assert len(cases) - len(unsupported) > len(cases) / 2, unsupported


@pytest.mark.parametrize("line", [one for one in COMMANDS if not LONG.search(one) and "'...'" not in one])
def test_the_reference_passes_a_command_in_one_segmentation(line: str, tmp_path: Path) -> None:
    is_test = line.startswith("wireproof test ") and "--segmentation" not in line
    passes(f"{line} --segmentation whole" if is_test else line, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("line", [one for one in COMMANDS if "'...'" not in one])
def test_the_reference_passes_a_command_as_it_is_written(line: str, tmp_path: Path) -> None:
    passes(line, tmp_path)


@pytest.mark.parametrize("line", SERVERS)
def test_the_reference_server_starts_as_it_is_written(line: str) -> None:
    words = words_of(line)
    command = module_command(*words[2:], *("--port", "0"))
    with ServerProcess(parse_command(shlex.join(command)), environment=module_environment()) as process:
        assert process.address.port > 0


@pytest.mark.parametrize("expression", STEPS)
def test_the_reference_client_passes_a_step_as_it_is_written(expression: str, tmp_path: Path) -> None:
    driver = shlex.join(module_command("wireproof.reference_client", "namechan", "--driver"))

    passes(f"wireproof test-sdk namechan --driver '{driver}' -k {expression}", tmp_path)
