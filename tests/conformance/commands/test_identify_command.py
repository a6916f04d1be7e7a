"""`wireproof identify` and `doctor`: who is there, and what this machine has."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest
from click.testing import CliRunner

from tests.conformance import servers
from wireproof.cli import command
from wireproof.conformance.commands import doctor
from wireproof.conformance.run.identify import Identity, identified
from wireproof.conformance.run.probe import Spoken, is_fresh_server
from wireproof.conformance.suite import cases
from wireproof.conformance.suite.cases import load_probe, load_suite
from wireproof.protocols import protocol_names, registry


def printed(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(command, list(words))
    assert done.exit_code == code, done.output
    return done.output


def test_a_server_is_known_among_all_protocols_and_left_as_it_was() -> None:
    async def main() -> tuple[list[Identity], dict[str, str], bool]:
        async with servers.reference("7.3.2", "uint32") as address:
            found, refused = await identified(address, protocol_names(), 1.0)
            return found, refused, await is_fresh_server(load_suite("throttr"), address, found[0].spoken, 5.0)

    found, refused, fresh = asyncio.run(main())

    assert [(one.protocol, one.spoken) for one in found] == [("throttr", Spoken("7.3.2", "uint32"))]
    assert found[0].version.startswith("wireproof")
    assert found[0].evidence[0] == "443 bytes answer the question for profile and variant"
    assert refused.keys() == {*protocol_names()} - {"throttr"}
    assert fresh


def test_a_protocol_whose_extra_is_missing_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.NEEDS, "psrt", ("a_package_that_nobody_has",))
    registry.protocol.cache_clear()

    async def main() -> tuple[list[Identity], dict[str, str]]:
        async with servers.reference("7.3.2", "uint32") as address:
            return await identified(address, protocol_names(), 1.0)

    found, refused = asyncio.run(main())

    assert [one.protocol for one in found] == ["throttr"]
    assert "psrt needs the package 'a_package_that_nobody_has'" in refused["psrt"]


def test_it_reads_no_cases_and_takes_less_than_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> float:
        async with servers.reference("7.3.2", "uint32") as address:
            began = time.monotonic()
            await identified(address, protocol_names(), 0.8)
            return time.monotonic() - began

    load_probe.cache_clear()
    monkeypatch.setattr(cases, "read_cases", lambda *_: pytest.fail("cases were read"))

    assert asyncio.run(main()) < 2.0


def test_a_stranger_is_reported_with_what_came() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in protocol_names():
                taken, _ = listening.accept()
                taken.sendall(b"220 hello\r\n")
                taken.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        text = printed("identify", f"tcp://127.0.0.1:{listening.getsockname()[1]}", code=1)
        thread.join(20)

    assert "speaks no protocol that is known" in text
    assert all(f"  {name}: " in text for name in protocol_names())


@pytest.mark.parametrize(
    ("target", "error"), [("tcp://127.0.0.1:1", "nothing to ask at"), ("nonsense", "expected tcp")]
)
def test_nobody_there_exits_2(target: str, error: str) -> None:
    assert error in printed("identify", target, code=2)


def test_the_doctor_reports_what_is_there_and_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed("doctor")
    assert "wireproof test can run here" in text
    assert all(name in text for name in ("python", "java", "descriptors", "loopback", "atheris"))

    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    found = {one.name: one for one in doctor.examined()}
    assert (found["scapy"].state, found["scapy"].detail) == (doctor.WORSE, "pip install 'wireproof[fuzz]'")
    assert "pip install 'wireproof[spark]'" in found["java"].detail

    monkeypatch.setattr(doctor.resource, "getrlimit", lambda _: (64, 64))
    assert {one.name: one.state for one in doctor.examined()}["descriptors"] == doctor.MISSING
    assert "cannot run here" in printed("doctor", code=1)
