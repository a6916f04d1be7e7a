"""What a play gives: its outcome, the events of its steps, and the exception that stops it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.protocols import Message
from wireproof.protocols.json_values import JsonObject

ANYWHERE = "*"
AT_END = "nothing more"
"""The field of what came after the last step, though nothing asked for it: it says little of what its case is about."""
BY_MODEL = "what the document allows after all that was asked"
"""What was expected where the model of the whole document judged."""


@dataclass(frozen=True, slots=True)
class FailurePlace:
    """Where a play stopped: at the reply to which request, in which field of it, after asking what."""

    reply_to: str
    """Name of the request, or of the push; empty when it was not about a message, `ANYWHERE` when about many."""
    field: str
    """Empty when the message itself is another one, or none."""
    asked: frozenset[str]
    """Names of the requests sent up to there, those carried inside others too."""
    after: str = ""
    """Name of the request whose answer came just before, in one stream with this one; empty where none did."""

    @staticmethod
    def of(extra: Mapping[str, str]) -> FailurePlace:
        """Return the place whose `fields` these are."""
        return FailurePlace(
            extra["reply_to"], extra["field"], frozenset(extra["asked"].split()), extra.get("behind", "")
        )

    @property
    def fields(self) -> dict[str, str]:
        """The place as a record's extras have it."""
        after = {"behind": self.after} if self.after else {}
        return {"reply_to": self.reply_to, "field": self.field, "asked": " ".join(sorted(self.asked)), **after}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a play showed, before levels are weighed: never lenient."""

    verdict: Verdict
    trace: Trace
    guilty: Guilty | None = None
    blamed: str | None = None
    step: int | None = None
    byte: int | None = None
    """Offset in the message that differs, or how many bytes of it came."""
    expected: str | None = None
    got: str | None = None
    observed: str | None = None
    place: FailurePlace | None = None
    """Where it stopped."""
    extra: JsonObject = field(default_factory=dict, compare=False)
    """What else the driver can witness."""

    @property
    def unreachable(self) -> bool:
        """Whether the target took no connection before the case had sent a byte: nobody there, and not its doing."""
        if self.verdict is not Verdict.UNTESTABLE or any(one.kind is Kind.SENT for one in self.trace):
            return False
        return any(one.kind is Kind.RESET for one in self.trace)


@dataclass(frozen=True, slots=True)
class StepEvent:
    """What one step did, for a listener: the verb, the connection, the bytes and the messages they are."""

    do: str
    connection: str
    data: bytes = b""
    messages: tuple[Message, ...] = ()
    expect: object = None
    """The pattern that a received message had to match."""
    seconds: float = 0.0
    link: str = ""
    """What is spoken on the connection that was opened, unless it is the default."""


class Stopped(Exception):  # noqa: N818 - control flow of the player, caught in `play`
    """An expectation was not met: the verdict and why."""

    def __init__(self, verdict: Verdict, expected: str, got: str, *, byte: int | None = None) -> None:
        super().__init__(expected, got)
        self.verdict = verdict
        self.expected = expected
        self.got = got
        self.byte = byte


def harness_error(why: str, trace: Trace, step: int | None = None) -> Outcome:
    """Return the outcome of a play that wireproof itself could not carry through."""
    expected = "a case that can be played to its end"
    return Outcome(Verdict.HARNESS_ERROR, trace, Guilty.HARNESS, step=step, expected=expected, got=why)
