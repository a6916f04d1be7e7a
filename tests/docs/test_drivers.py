"""Each template of a driver runs as it is, and their page lists the operations with the fields of the layouts."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.places import ROOT
from wireproof.conformance.sdk.check_results import CheckResult
from wireproof.conformance.sdk.driver_check import DriverCheck
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.transports import ProcessTransport
from wireproof.protocols.plain import RESERVED, Plain
from wireproof.protocols.registry import protocol
from wireproof.reference_client.registry import driven_protocols

DRIVERS = ROOT / "docs" / "drivers"
PAGE = (DRIVERS / "README.md").read_text(encoding="utf-8")
COMBINATIONS = [(one.name, variant) for one in protocol("throttr").profiles.values() for variant in one.variants]
TEMPLATES = {
    "php": ("php", [], ["php", str(DRIVERS / "php" / "driver.php")]),
    "go": ("go", ["go", "build", "-o", "driver", str(DRIVERS / "go" / "driver.go")], ["./driver"]),
    "java": ("java", [], ["java", str(DRIVERS / "java" / "Driver.java")]),
    "cpp": ("g++", ["g++", "-std=c++17", "-o", "driver", str(DRIVERS / "cpp" / "driver.cpp")], ["./driver"]),
}
"""Folder -> (required program, build command, run command)."""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")


def checked(words: list[str], profile: str, variant: str) -> list[CheckResult]:
    """Return what `wireproof driver check` finds."""

    async def run() -> list[CheckResult]:
        async with DriverProcess(ProcessTransport(words), deadline=20) as driver:
            return [one async for one in DriverCheck(driver, "throttr", profile, variant).run()]

    return asyncio.run(run())


@needs_node
@pytest.mark.parametrize(("profile", "variant"), COMBINATIONS)
def test_the_node_driver_does_everything(profile: str, variant: str) -> None:
    findings = checked(["node", str(DRIVERS / "node" / "driver.mjs")], profile, variant)

    unsupported = [one.name for one in findings if one.note.startswith("unsupported")]
    assert [one for one in findings if one.wrong] == []
    assert unsupported == []
    assert len(findings) > 40


@needs_node
def test_the_check_notices_a_wrong_sdk_under_the_node_driver(tmp_path: Path) -> None:
    shutil.copytree(DRIVERS / "node", tmp_path, dirs_exist_ok=True)
    sdk = tmp_path / "throttr.mjs"
    right = sdk.read_text(encoding="utf-8")
    wrong = right.replace("(sum << 8n) | BigInt(byte), 0n)", "(sum << 8n) | BigInt(byte), 0n) & 0xffffffffffffn")
    assert wrong != right
    sdk.write_text(wrong, encoding="utf-8")

    findings = checked(["node", str(tmp_path / "driver.mjs")], "7.3.2", "uint64")

    assert "query, extreme values" in [one.name for one in findings if one.wrong]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_runs_as_it_is(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, build, run = TEMPLATES[name]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    monkeypatch.chdir(tmp_path)
    if build:
        subprocess.run(build, check=True, timeout=120)

    findings = checked(run, "7.3.2", "uint64")

    right = [one.name for one in findings if not one.note]
    assert [one for one in findings if one.wrong] == []
    assert {"insert", "query", "batch: insert, query", "close", "quit"} <= set(right)


@pytest.mark.parametrize(
    ("spoken", "profile"), [(one, each) for one in driven_protocols() for each in protocol(one).profiles]
)
def test_the_page_lists_every_operation(spoken: str, profile: str) -> None:
    plain = Plain(protocol(spoken), profile, protocol(spoken).default_variant)
    (section,) = [one for one in PAGE.split("\n## Operations of ") if one.lower().startswith(spoken)]
    rows = dict(re.findall(r"^\| `(\w+)`(?: \([\d.]+\))? \| (.*?) \|", section, re.MULTILINE))
    for name in plain.operations:
        listed = [one.split(" (")[0] for one in rows[name].split(", ") if f"{profile})" in one or "(" not in one]
        layouts = [field for part in plain.parts(name) for field, _ in plain.reported_fields(part)]
        fields = [f"{one}_" if one in RESERVED else one for one in layouts]
        assert listed == (fields or ["-"]), name
