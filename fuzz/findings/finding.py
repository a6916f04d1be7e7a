"""A finding: what was broken, by what input, where, how often again; its identity is what makes two of them one.

Schema: reports/schema/finding.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from wireproof.conformance.verdict.records import now_text, wireproof_version
from wireproof.fuzz.script import Script, from_json, to_json

__all__ = ["SCHEMA", "SCRIPT_ENGINES", "STEP_ENGINE", "FindingError", "FuzzFinding"]

SCHEMA = "wireproof.finding/1"

SCRIPT_ENGINES = frozenset({"server", "differential"})
"""Engines whose findings are scripts, judged by what servers answered to them."""
STEP_ENGINE = "machine"
"""The engine whose findings are scripts, judged while they are played."""
DECODED = frozenset({"detail", "data", "script", "reproduced"})
"""Fields that JSON has in another form."""


class FindingError(ValueError):
    """Raised for what is no finding; it says what was expected."""


@dataclass(frozen=True)
class FuzzFinding:
    """One thing that was found."""

    engine: str
    """What found it: parser, scheduler, store, server, differential."""
    oracle: str
    """What noticed: the name of an invariant, or of an oracle of live servers."""
    detail: str
    """What was seen, in words."""
    shape: str
    """The same for the same bug: a normalised stack, or the shape of a reply."""
    protocol: str
    profile: str
    variant: str
    clause: str | None = None
    """The clause it breaks, where one is known."""
    state: str = ""
    """Where the target stood: the shape of what it had answered before."""
    target: str = ""
    """Address or command; empty for our own code."""
    implementation: str = ""
    data: bytes = b""
    """The input of an engine that feeds bytes."""
    script: Script = ()
    """The input of an engine that talks to servers."""
    reproduced: tuple[int, int] = (0, 0)
    """Seen again k of n times."""
    found_at: str = field(default_factory=now_text)
    executions: int = 0
    """Executions until it was found."""
    seed: int = 0
    found_by: str = field(default_factory=wireproof_version)

    @property
    def key(self) -> tuple[str, ...]:
        """What makes two findings one."""
        return self.protocol, self.engine, self.oracle, self.clause or "", self.state, self.shape

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits of the key."""
        return sha256("\0".join(self.key).encode()).hexdigest()[:16]

    @property
    def label(self) -> str:
        """`stable`, `flaky` or `gone`, with k of n; `not re-run` before that."""
        seen, of = self.reproduced
        if not of:
            return "not re-run"
        return f"{'stable' if seen == of else 'flaky' if seen else 'gone'} ({seen} of {of})"

    def rerun(self, seen: int, of: int) -> FuzzFinding:
        """Return it with how often it was seen again."""
        return replace(self, reproduced=(seen, of))

    def to_json(self) -> dict[str, Any]:
        """Return finding.json."""
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
            "script": to_json(self.script),
            "again": {"seen": self.reproduced[0], "of": self.reproduced[1]},
            "found_at": self.found_at,
            "found_by": self.found_by,
            "executions": self.executions,
            "seed": self.seed,
        }

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> FuzzFinding:
        """Return the finding that `to_json` told; raises `FindingError`, `ScriptError`."""
        if document.get("schema") != SCHEMA:
            raise FindingError(f"expected a finding of schema {SCHEMA}, got {document.get('schema')!r}")
        try:
            kept = {name: document[name] for name in FuzzFinding.__dataclass_fields__ if name not in DECODED}
            reproduced = document["again"]["seen"], document["again"]["of"]
            return FuzzFinding(
                **kept,
                detail=document["told"],
                data=bytes.fromhex(document["data"]),
                script=from_json(document["script"]),
                reproduced=reproduced,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise FindingError(f"no finding: {type(error).__name__}: {error}") from None
