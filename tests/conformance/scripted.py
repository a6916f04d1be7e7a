"""What the tests here share: a case in two lines, its symbols, and a target that follows a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from wireproof.conformance.model.actions import Action, Answer, Look, Open, Read, ReadUsage, Shut, Sleep, Write
from wireproof.conformance.model.outcome import Outcome, StepEvent
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import Case, Frame, frames_in, load_suite
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbolic import steps_of
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import protocol

CLAUSE, OTHER = "THR-QUERY-4", "THR-QUERY-5"
INSERT = {"INSERT": {"key": "$k", "quota": 7, "ttl_type": "seconds", "ttl": 60}}
ASK = {"QUERY": {"key": "$k"}}


def make_case(*steps: Mapping[str, Any], **changes: Any) -> Case:
    """Return a case of these steps."""
    given: dict[str, Any] = {
        "id": "made/up", "title": "A case made up for a test", "topic": "made", "clauses": (CLAUSE,), "level": None,
        "profiles": ("7.1.0", "7.3.2"), "variants": (), "exclusive": False, "slow": False, "fresh_server": False,
        "steps": steps_of(list(steps)), "variables": {},
    }  # fmt: skip
    return Case(**{**given, **changes})


def make_frame(name: str, variants: tuple[str, ...] = (), **body: object) -> Frame:
    """Return a frame of the topic `made` that is about a message, or about bytes and the error that they give."""
    entry = {"id": name, "title": f"A frame: {name}", "clauses": [CLAUSE], **body}
    (found,) = frames_in({"frames": [entry]}, load_suite("throttr").context, "made.yaml")
    return replace(found, topic="made", profiles=("7.1.0", "7.3.2"), variants=variants)


def make_symbols(
    profile: str = "7.1.0", variant: str = "uint16", *, case: str = "made/up", namespace: str = "t", **variables: Any
) -> Symbols:
    """Return the symbols of a case."""
    return Symbols(protocol("throttr"), profile, variant, case=case, namespace=namespace, variables=variables)


class ScriptedTarget:
    """A driver whose target says, on each connection, what the script has next; time passes only in waits."""

    def __init__(
        self, reads: Mapping[str, Sequence[bytes | Kind]] | None = None, *, takes: int = 1000, lag: float = 0.0
    ) -> None:
        self._reads = {name: list(script) for name, script in (reads or {}).items()}
        self._takes = takes
        self._lag = lag
        self._now = 0.0
        self._half: set[str] = set()
        self.write_ends = Kind.SENT
        self.written: dict[str, bytes] = {}
        self.actions: list[Action] = []
        self.open: set[str] = set()
        self.figures: list[bytes] = []
        self.meanwhile: dict[str, list[bytes]] = {}
        """Connection -> what has come while time passed, at each look."""

    def play(self, player: Player) -> Outcome:
        """Run a player to its outcome."""
        play = player.play()
        try:
            action = next(play)
            while True:
                self.actions.append(action)
                action = play.send(self._answer(action))
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome

    def _answer(self, action: Action) -> Answer:
        kind, data = self._do(action)
        return Answer(kind, self._now, data)

    def _do(self, action: Action) -> tuple[Kind, bytes]:
        match action:
            case Look(name):
                come = self.meanwhile.get(name)
                return (Kind.RECEIVED, come.pop(0)) if come else (Kind.SILENT, b"")
            case Open(name):
                self._takes -= 1
                if self._takes < 0:
                    return Kind.RESET, b"refused"
                self.open.add(name)
                return Kind.OPENED, b"40000"
            case Write(name, data):
                self.written[name] = self.written.get(name, b"") + data
                return self.write_ends, b""
            case Read(name, timeout):
                return self._read(name, timeout)
            case Shut(name, "half"):
                self._half.add(name)
                return Kind.HALF_CLOSED, b""
            case Shut(name, _):
                self.open.discard(name)
                return Kind.CLOSED, b""
            case Sleep(seconds):
                self._now += seconds + self._lag
            case ReadUsage():
                return Kind.MEASURED, self.figures.pop(0) if self.figures else b""
        return Kind.WAITED, b""

    def _read(self, name: str, timeout: float) -> tuple[Kind, bytes]:
        script = self._reads.setdefault(name, [])
        if script:
            sent = script.pop(0)
            return (Kind.RECEIVED, sent) if isinstance(sent, bytes) else (sent, b"")
        if name in self._half:
            return Kind.ENDED, b""
        self._now += timeout
        return Kind.SILENT, b""


def play(
    *steps: Mapping[str, Any],
    reads: Mapping[str, Sequence[bytes | Kind]] | Sequence[bytes | Kind] = (),
    target: ScriptedTarget | None = None,
    symbols: Symbols | None = None,
    notes: list[StepEvent] | None = None,
) -> Outcome:
    """Play steps against a scripted target; `reads` without names are those of connection `a`."""
    script = reads if isinstance(reads, Mapping) else {"a": reads}
    player = Player(
        make_case(*steps),
        symbols or make_symbols(),
        segmentation=SEGMENTATIONS["whole"],
        timeout=2.0,
        on_step=notes.append if notes is not None else None,
    )
    return (target or ScriptedTarget(script)).play(player)
