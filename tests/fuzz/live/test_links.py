"""Scripts on several links: decoded by state, tokens substituted, judged where the protocol allows it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from tests.fuzz.live.simulated_plays import first_suspicion
from wireproof.conformance.model.actions import Open, Read, Write
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.report.capture import write_capture
from wireproof.conformance.run.processes import ServerProcess, parse_command
from wireproof.conformance.suite.cases import load_suite
from wireproof.fuzz.commands.replay_finding import command as replay
from wireproof.fuzz.commands.server import keep_found
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.finding_files import exchange, write_evidence
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.generation import ScriptGenerator
from wireproof.fuzz.live.live_campaign import Campaign, CampaignLimits
from wireproof.fuzz.live.mutators import MUTATORS
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.oracles import judged
from wireproof.fuzz.live.simulated_plays import simulated
from wireproof.fuzz.live.token_substitution import on_other_connections, placeholder
from wireproof.fuzz.script import Script, from_json, to_json
from wireproof.protocols.psrt.requests import (
    Attach,
    Bye,
    DataGreeting,
    Greeting,
    Login,
    Nop,
    Publish,
    PublishRepl,
    Subscribe,
)

PSRT = "psrt", "1", "standard"
CONTEXT = FuzzContext(*PSRT)
TOKEN = placeholder("a", 32)
WITHIN = 150


def asking(name: str, *requests: object) -> Script:
    return tuple(one for asked in requests for one in (Write(name, CONTEXT.encode(asked)), Read(name, 0.02)))  # type: ignore[arg-type]


SESSION = (
    Open("a"),
    *asking("a", Greeting(0), Login(b"", b"")),
    Open("d", "data"),
    *asking("d", DataGreeting(0), Attach(TOKEN, 255)),
    *asking("a", Subscribe(b"t"), Publish(7, b"t", b"m")),
    Read("d", 0.02),
    Open("u", "datagram", "datagram"),
    Write("u", CONTEXT.encode(CONTEXT.symbols.protocol.links["datagram"].sync_request())),
    Read("u", 0.02),
)


def spoken(play: Play) -> str | None:
    return next((one.oracle for one in judged(play)), None)


def with_event(play: Play, name: str, kind: Kind, data: bytes = b"") -> Play:
    """Return the play with one more event, the last of a connection."""
    events = list(play.trace)
    at = max(at for at, event in enumerate(events) if event.connection == name and event.kind is not Kind.CLOSED)
    events.insert(at + 1, TraceEvent(0, name, kind, data))
    return replace(play, trace=type(play.trace)(events))


def test_a_token_is_filled_in_and_what_is_pushed_comes_elsewhere() -> None:
    play = simulated(CONTEXT, SESSION)
    known_ids = {line.name: [message.NAME for message, _ in line.messages] for line in play.lines}

    assert known_ids == {
        "a": ["GREETING_REPLY", "TOKEN", "RESPONSE", "RESPONSE"],
        "d": ["DATA_GREETING_REPLY", "RESPONSE", "MESSAGE"],
        "u": ["DATAGRAM_REPLY"],
    }
    assert all(line.valid and line.clear and line.due == 0 for line in play.lines)
    assert spoken(play) is None
    assert "d: ATTACH" in "\n".join(exchange(play.trace, CONTEXT))


def test_what_was_reported_on_a_connection_is_asked_for_under_its_other_name() -> None:
    steps = on_other_connections(SESSION, lambda name: f"7.{name}")

    assert [step for step in steps if isinstance(step, Open)][1] == Open("7.d", "data")
    assert Write("7.d", CONTEXT.encode(Attach(placeholder("7.a", 32), 255))) in steps
    assert spoken(simulated(CONTEXT, tuple(steps))) is None


def test_scripts_say_what_is_spoken_where() -> None:
    assert from_json(to_json(SESSION)) == SESSION


def test_fields_are_known_after_earlier_messages() -> None:
    at = next(at for at, step in enumerate(SESSION) if isinstance(step, Write) and step.data[:1] == b"\1")
    publish = next(at for at, step in enumerate(SESSION) if isinstance(step, Write) and step.data[:2] == b"\1\7")

    assert CONTEXT.edges(SESSION, at) == (4,)
    assert CONTEXT.edges(SESSION, publish) == (1, 2, 6, 7, 8)
    assert CONTEXT.opened(SESSION, publish)[:2] == (SESSION[0], SESSION[1])


@pytest.mark.parametrize("name", MUTATORS)
def test_every_mutator_takes_lines_of_every_kind(name: str) -> None:
    CONTEXT.others[:] = [SESSION]
    for seed in range(10):
        assert spoken(simulated(CONTEXT, MUTATORS[name](Random(seed), SESSION, CONTEXT))) is None


def test_scripts_that_ask_anything_are_answered_on_every_link() -> None:
    drawing, seen = ScriptGenerator(CONTEXT, Random(1)), set[str]()
    for _ in range(40):
        play = simulated(CONTEXT, drawing.script())
        seen.update(message.NAME for line in play.lines for message, _ in line.messages)

    assert seen >= {"TOKEN", "RESPONSE", "DATAGRAM_REPLY", "MESSAGE"}


def test_the_bugless_server_reports_nothing() -> None:
    assert first_suspicion(CONTEXT, 120) is None


def test_what_is_wrong_is_noticed_on_each_kind_of_line() -> None:
    play = simulated(CONTEXT, (*SESSION, *asking("a", Nop())))

    assert spoken(play) is None
    assert spoken(with_event(play, "a", Kind.ENDED)) == "valid requests end no connection"
    assert spoken(with_event(play, "a", Kind.RECEIVED, b"\1")) == "replies are well formed"
    assert spoken(with_event(play, "d", Kind.RECEIVED, b"\x55")) == "replies are well formed"
    assert spoken(with_event(play, "u", Kind.RECEIVED, b"\xee\xaa")) == "replies are well formed"
    assert spoken(with_event(play, "u", Kind.RESET)) is None


def test_a_session_that_may_end_is_let_go() -> None:
    play = simulated(CONTEXT, (*SESSION, *asking("a", Bye())))
    refused = simulated(CONTEXT, (*SESSION, *asking("a", Publish(1, b"#", b"m"))))

    assert [line.ended for line in play.lines][:2] == [Kind.ENDED, Kind.ENDED]
    assert (spoken(play), spoken(refused)) == (None, None)


def test_nothing_is_owed_where_tls_is_asked_for() -> None:
    play = simulated(CONTEXT, (Open("a"), *asking("a", Greeting(1)), Write("a", b"\x16\x03\x01")))

    assert not play.lines[0].valid
    assert spoken(play) is None
    assert spoken(with_event(play, "a", Kind.RECEIVED, bytes.fromhex("15030300020216"))) is None


def test_others_are_served_once_they_are_let_in_and_answered() -> None:
    play = simulated(CONTEXT, SESSION)
    events = [one for one in play.trace if (one.connection, one.kind) != ("~probe", Kind.RECEIVED)]
    greeted = [*events, TraceEvent(0, "~probe", Kind.RECEIVED, b"\xee\xaa\1\0")]

    assert spoken(replace(play, trace=type(play.trace)(greeted))) == "others are served"


def test_a_wrong_server_is_found_and_replayed(tmp_path: Path) -> None:
    wrong = f"{sys.executable} {Path(__file__).with_name('wrong_server.py')} {{}} {{port}} {' '.join(PSRT)}"
    dies = wrong.replace("{}", "dies")
    with ServerProcess(parse_command(dies)) as server, LiveTarget(FuzzContext(*PSRT), None, server) as live:
        campaign = Campaign(live, seed=2, limits=CampaignLimits(runs=WITHIN, findings=1, shrink_s=3.0))
        (found,) = campaign.run()
        finding, kept = keep_found(found, live.context, tmp_path, "", "", 2)

    assert (finding.oracle, finding.reproduced[0] > 0, kept is not None) == ("the process stays", True, True)
    again = CliRunner().invoke(replay, [str(kept), "--target-command", dies])
    assert (again.exit_code, again.output.split()[0]) == (1, "REPRODUCED"), again.output


def test_the_script_of_a_finding_fills_tokens_in_and_sends_datagrams(tmp_path: Path) -> None:
    finding = FuzzFinding("server", "every request is answered", "detail", "s", *PSRT, script=SESSION)
    write_evidence(tmp_path, finding, CONTEXT, simulated(CONTEXT, SESSION).trace)
    reference = f"{sys.executable} -m reference_server psrt --udp --port {{port}}"

    with ServerProcess(parse_command(reference)) as server:
        played = subprocess.run(
            [sys.executable, "-I", "replay.py", "127.0.0.1", str(server.address.port)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
        )

    assert (played.returncode, played.stdout.split()[-1]) == (1, "REPRODUCED"), played.stdout + played.stderr
    assert "u < eeaa010001" in played.stdout


@pytest.mark.parametrize(
    ("features", "links", "asked"),
    [
        (frozenset(), {"", "data"}, False),
        (frozenset({"udp", "replication", "accounts"}), {"", "data", "datagram"}, True),
    ],
)
def test_what_a_target_lacks_is_not_asked_of_it(features: frozenset[str], links: set[str], asked: bool) -> None:
    context = FuzzContext(*PSRT, features=features)
    drawing = ScriptGenerator(context, Random(1))
    scripts = [drawing.script() for _ in range(60)]
    opened = {step.link for script in scripts for step in script if isinstance(step, Open)}
    named = {one.NAME for script in scripts for line in context.read(script).values() for one in line.requests}

    assert opened == links
    assert ("PUBLISH_REPL" in named) is asked


def test_what_a_target_lacks_is_not_held_against_it() -> None:
    script = (*SESSION, *asking("a", PublishRepl(b"t")))
    lacking = FuzzContext(*PSRT, features=frozenset({"udp"}))

    assert spoken(with_event(simulated(CONTEXT, script), "a", Kind.ENDED)) == "valid requests end no connection"
    assert spoken(with_event(simulated(lacking, script), "a", Kind.ENDED)) is None


def test_cases_that_need_a_feature_are_no_seeds_without_it() -> None:
    (case, *_) = (one for one in load_suite("psrt").cases if one.needs)

    assert FuzzContext(*PSRT, features=frozenset()).may_fail(case.id)
    assert not FuzzContext(*PSRT, features=frozenset(case.needs)).may_fail(case.id)
    assert not CONTEXT.may_fail(case.id)


def test_a_target_that_is_set_up_otherwise_may_refuse_what_the_cases_are_served() -> None:
    deep = simulated(CONTEXT, (*SESSION, *asking("a", Publish(0, b"a/b/c/d/e/+", b""))), bare=True)
    intended = simulated(CONTEXT, (Open("a"), *asking("a", Greeting(0), Login(b"lim", b"secret"))), bare=True)

    assert [play.lines[0].ended for play in (deep, intended)] == [Kind.ENDED, Kind.ENDED]
    assert [spoken(play) for play in (deep, intended)] == [None, None]


def test_datagrams_are_captured_as_datagrams(tmp_path: Path) -> None:
    pytest.importorskip("scapy")
    from scapy.layers.inet import UDP
    from scapy.utils import rdpcap

    write_capture(tmp_path / "capture.pcapng", simulated(CONTEXT, SESSION).trace, 2873, {"datagram"})
    packets = [one[UDP] for one in rdpcap(str(tmp_path / "capture.pcapng")) if UDP in one]

    assert [(one.dport == 2873, bytes(one.payload)[:4].hex()) for one in packets] == [
        (True, "eeaa0100"),
        (False, "eeaa0100"),
    ]


def test_requests_without_an_answer_are_not_waited_for() -> None:
    context = FuzzContext("namechan", "1", "standard")
    script = (Open("a"), *(Write("a", context.encode(one)) for one in context.probe))
    play = simulated(context, script)

    assert play.probe is not None
    assert play.serves
    assert [line.due for line in (*play.lines, play.probe)] == [0, 0]
