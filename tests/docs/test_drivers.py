"""Each template of a driver runs as it is, and their page lists the operations with the fields of the layouts."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
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
TEMPLATES: dict[str, tuple[tuple[str, ...], list[str], list[str]]] = {
    "php": (("php",), [], ["php", str(DRIVERS / "php" / "driver.php")]),
    "go": (("go",), ["go", "build", "-o", "{built}", str(DRIVERS / "go" / "driver.go")], ["{built}"]),
    "java": (("java",), [], ["java", str(DRIVERS / "java" / "Driver.java")]),
    "cpp": (
        ("g++",),
        ["g++", "-pthread", "-std=c++17", "-o", "{built}", str(DRIVERS / "cpp" / "driver.cpp")],
        ["{built}"],
    ),
    "csharp": (
        ("mcs", "mono"),
        ["mcs", "-warnaserror", "-out:{built}", str(DRIVERS / "csharp" / "Driver.cs")],
        ["mono", "{built}"],
    ),
}
"""Folder -> (required programs, build command, run command); `{built}` is the file that is built."""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")


def checked(words: list[str], profile: str, variant: str) -> list[CheckResult]:
    """Return what `wireproof driver check` finds."""

    async def run() -> list[CheckResult]:
        async with DriverProcess(ProcessTransport(words), deadline=20) as driver:
            return [one async for one in DriverCheck(driver, "throttr", profile, variant).run()]

    return asyncio.run(run())


Built = Callable[[str], list[str]]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build a template once; the command that runs it."""
    folder, done = tmp_path_factory.mktemp("drivers"), set[str]()

    def build(name: str) -> list[str]:
        programs, build, run = TEMPLATES[name]
        if missing := [one for one in programs if shutil.which(one) is None]:
            pytest.skip(f"{missing[0]} is not installed")
        file = str(folder / name)
        if build and name not in done:
            subprocess.run([one.format(built=file) for one in build], check=True, timeout=120)
            done.add(name)
        return [one.format(built=file) for one in run]

    return build


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
def test_a_template_runs_as_it_is(name: str, built: Built) -> None:
    findings = checked(built(name), "7.3.2", "uint64")

    right = [one.name for one in findings if not one.note]
    assert [one for one in findings if one.wrong] == []
    assert {"insert", "query", "batch: insert, query", "close", "quit"} <= set(right)


@pytest.mark.parametrize("name", ["go", "java", "cpp", "csharp"])
def test_no_connection_waits_for_another(name: str, built: Built) -> None:
    run = built(name)
    query = {"do": "query", "key": {"hex": "6b"}}
    with socket.create_server(("127.0.0.1", 0)) as server:
        where = {"host": "127.0.0.1", "port": server.getsockname()[1], "profile": "7.3.2", "variant": "uint8"}
        with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdin
            assert driver.stdout

            def send(**line: object) -> None:
                print(json.dumps(line), file=driver.stdin, flush=True)

            peers = []
            for number, connection in enumerate("ab"):
                send(id=number, do="connect", connection=connection, **where)
                assert json.loads(driver.stdout.readline())["ok"]
                peers.append(server.accept()[0])
            send(id=2, connection="a", **query)
            send(id=3, connection="b", **query)
            peers[1].sendall(b"\0")
            first = json.loads(driver.stdout.readline())
            peers[0].sendall(b"\0")
            second = json.loads(driver.stdout.readline())
            send(id=4, do="quit")
            ended = driver.wait(10)
        for one in peers:
            one.close()

    assert (first["id"], second["id"], ended) == (3, 2, 0)
    assert first["result"] == second["result"] == {"status": False}


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
