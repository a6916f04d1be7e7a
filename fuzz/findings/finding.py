"""A finding: what was broken, by what input, where, and how often it was reproduced.

Schema: reports/schema/finding.schema.json; `detail` is its key `told`, `reproduced` its key `again`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256

from wireproof.conformance.verdict.records import now_text, wireproof_version
from wireproof.fuzz.script import Script, from_json, to_json
from wireproof.protocols.json_values import JsonObject

__all__ = ["SCHEMA", "SCRIPT_ENGINES", "STEP_ENGINE", "FindingError", "FuzzFinding"]

SCHEMA = "wireproof.finding/1"

SCRIPT_ENGINES = frozenset({"server", "differential"})
"""Engines whose findings are scripts, judged by the servers' answers."""
STEP_ENGINE = "machine"
"""The engine whose findings are scripts, judged while they are played."""
DECODED = frozenset({"detail", "data", "script", "steps", "reproduced"})
"""Fields that JSON holds in another form."""


class FindingError(ValueError):
    """Raised for a document that is no finding; the message says what was expected."""


@dataclass(frozen=True)
class FuzzFinding:
    """One finding."""

    engine: str
    """The engine: parser, scheduler, store, machine, server or differential."""
    oracle: str
    """The name of the broken invariant, or of the oracle that reported it."""
    detail: str
    """What was observed, as text."""
    shape: str
    """Equal for equal bugs: a normalised traceback, or the shape of a reply."""
    protocol: str
    profile: str
    variant: str
    clause: str | None = None
    """The broken clause, if it is known."""
    state: str = ""
    """The state of the target: the shape of its previous answers."""
    target: str = ""
    """Address or command; "" for our own code."""
    implementation: str = ""
    data: bytes = b""
    """The input of an engine that feeds bytes."""
    steps: tuple[str, ...] = ()
    """What an input of bytes does, one step a line, for people."""
    script: Script = ()
    """The input of an engine that plays scripts."""
    reproduced: tuple[int, int] = (0, 0)
    """(k, n): reproduced k of n times."""
    found_at: str = field(default_factory=now_text)
    executions: int = 0
    """Executions until it was found."""
    seed: int = 0
    found_by: str = field(default_factory=wireproof_version)

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies a finding."""
        return self.protocol, self.engine, self.oracle, self.clause or "", self.state, self.shape

    @property
    def id(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the key."""
        return sha256("\0".join(self.key).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """`stable`, `flaky` or `gone` with k of n; `not re-run` before any replay."""
        seen, of = self.reproduced
        if not of:
            return "not re-run"
        return f"{'stable' if seen == of else 'flaky' if seen else 'gone'} ({seen} of {of})"

    def rerun(self, seen: int, of: int) -> FuzzFinding:
        """Return the finding, reproduced `seen` of `of` times."""
        return replace(self, reproduced=(seen, of))

    def to_json(self) -> dict[str, object]:
        """Return the content of finding.json."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "engine": self.engine,
            "oracle": self.oracle,
            "clause": self.clause,
            "told": self.detail,
            "shape": self.shape,
            "state": self.state,
            "protocol": self.protocol,
            "profile": self.profile,
            "variant": self.variant,
            "target": self.target,
            "implementation": self.implementation,
            "data": self.data.hex(),
            "steps": list(self.steps),
            "script": to_json(self.script),
            "again": {"seen": self.reproduced[0], "of": self.reproduced[1]},
            "found_at": self.found_at,
            "found_by": self.found_by,
            "executions": self.executions,
            "seed": self.seed,
        }

    @staticmethod
    def from_json(document: JsonObject) -> FuzzFinding:
        """Return the finding of a document from `to_json`. Raises `FindingError`, `ScriptError`."""
        if document.get("schema") != SCHEMA:
            raise FindingError(f"expected a finding of schema {SCHEMA}, got {document.get('schema')!r}")
        try:
            kept = {name: document[name] for name in FuzzFinding.__dataclass_fields__ if name not in DECODED}
            reproduced = document["again"]["seen"], document["again"]["of"]
            return FuzzFinding(
                **kept,
                detail=document["told"],
                data=bytes.fromhex(document["data"]),
                steps=tuple(map(str, document.get("steps", ()))),
                script=from_json(document["script"]),
                reproduced=reproduced,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FindingError(f"no finding: {type(error).__name__}: {error}") from None
