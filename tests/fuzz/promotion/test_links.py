"""Findings on lines of several kinds become cases: links, tokens and features are named as cases name them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.places import ROOT
from wireproof.conformance.model.actions import Open, Read, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.mutation.recording import play
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.written import as_written
from wireproof.fuzz.commands.promote import command
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.findings_folder import save
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.simulated_plays import new_server
from wireproof.fuzz.live.token_substitution import placeholder
from wireproof.fuzz.parser_input import combinations
from wireproof.fuzz.promotion.entry import entry_of
from wireproof.fuzz.promotion.promoted_steps import steps_of
from wireproof.fuzz.script import Script
from wireproof.protocols import protocol
from wireproof.protocols.psrt.requests import Attach, Bye, DataGreeting, Greeting, Login, Nop, Publish, Subscribe

VECTORS = ROOT / "vectors"
PSRT = "psrt", "1", "standard"
CONTEXT = FuzzContext(*PSRT)


def asking(name: str, *requests: object) -> Script:
    return tuple(one for asked in requests for one in (Write(name, CONTEXT.encode(asked)), Read(name, 0.02)))  # type: ignore[arg-type]


SESSION = (
    Open("a"),
    *asking("a", Greeting(0), Login(b"", b"")),
    Open("d", "data"),
    *asking("d", DataGreeting(0), Attach(placeholder("a", 32), 240)),
    *asking("a", Subscribe(b"t"), Publish(7, b"t", b"m")),
    Read("d", 0.02),
    Open("u", "datagram", "datagram"),
    *asking("u", CONTEXT.symbols.protocol.links["datagram"].sync_request()),
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of vectors with everything but the cases, of which it has those of one file."""
    root = tmp_path / "vectors"
    shutil.copytree(VECTORS / "schema", root / "schema")
    shutil.copytree(VECTORS / "psrt", root / "psrt", ignore=shutil.ignore_patterns("1", "psrtd-0.3", "cases", "sdk"))
    (root / "psrt" / "cases").mkdir()
    shutil.copy(VECTORS / "psrt" / "cases" / "datagram.yaml", root / "psrt" / "cases")
    for module in (
        "wireproof.conformance.suite.cases",
        "wireproof.conformance.suite.documents",
        "wireproof.fuzz.promotion.writing",
        "wireproof.fuzz.commands.promote",
    ):
        monkeypatch.setattr(f"{module}.vectors_root", lambda: root)
    load_suite.cache_clear()
    yield root
    load_suite.cache_clear()


def outcome(name: str, mutant: str | None) -> Outcome:
    (case,) = (one for one in load_suite("psrt").cases if one.id == name)
    symbols = Symbols(protocol("psrt"), "1", "standard", case=case.id, namespace="test")
    return play(Player(case, symbols, segmentation=WHOLE), new_server(CONTEXT, mutant).perform)


def test_the_case_names_links_tokens_and_needs(root: Path, tmp_path: Path) -> None:
    finding = FuzzFinding("server", "replies are well formed", "detail", "s", *PSRT, script=SESSION).rerun(3, 3)
    kept = save(tmp_path / "findings", finding)

    result = CliRunner().invoke(command, [str(kept), "--clause", "PSRT-ATTACH-2", "--id", "found/the-case"])

    assert result.exit_code == 0, result.output
    load_suite.cache_clear()
    (case,) = (one for one in load_suite("psrt").cases if one.found)
    assert case.needs == ("udp",)
    steps: Any = as_written(case.steps)
    assert {"connect": {"name": "d", "link": "data"}} in steps
    assert steps[5]["send"] == {"ATTACH": {"token": "@a_token", "timeout": 240}}
    assert outcome(case.id, None).verdict is Verdict.PASS
    assert outcome(case.id, "attach-time-first").verdict is not Verdict.PASS


def test_what_is_pushed_is_asked_for_by_its_name() -> None:
    steps = steps_of((*SESSION, *asking("a", Nop(), Bye())), CONTEXT)

    assert {"on": "d", "expect": {"MESSAGE": {"priority": 7, "topic": "t", "message": "m"}}} in steps
    assert {"send": "NOP", "expect": {"RESPONSE": {"code": "ok"}}} in steps


def test_a_stream_is_sent_where_the_reader_stands() -> None:
    number = next(
        number
        for number, endpoint in enumerate(combinations("psrt"))
        if endpoint.role == "server" and [one.NAME for one in endpoint.path][-1:] == ["TOKEN"]
    )
    finding = FuzzFinding(
        "parser", "only named errors", "detail", "s", *PSRT, data=bytes([number, 0, 0]) + b"\0\xff\x04"
    )

    made = entry_of(finding, "PSRT-NOP-1", None)

    assert made is not None
    assert [step.get("send") for step in made[1]["steps"]][1:3] == [
        {"GREETING": {"mode": "plain"}},
        {"LOGIN": {"login": "", "password": ""}},
    ]
