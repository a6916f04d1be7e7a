"""Finds the first difference between the answers of several servers, and names it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from wireproof.conformance.model.actions import Open
from wireproof.conformance.model.wording import describe
from wireproof.fuzz.differential.answer_views import (
    CLOSED,
    NOTHING,
    ChosenId,
    ComparedAnswer,
    ConnectionView,
    TimeUntilExpiry,
    views_of,
)
from wireproof.fuzz.live.observation import Play, Suspicion
from wireproof.fuzz.live.oracles import ORACLES

__all__ = ["PROCESS", "PUSH", "STAYS", "AnswerDifference", "agree_at", "differences", "ends"]

PUSH = "PUSH"
CONNECT = "connect"
PROCESS = "the process"
STAYS = "stays"
FATAL_ORACLES = ("sanitizer", "death", "hang")


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """The first place at which the answers of the servers differ."""

    connection: str
    index: int
    """The number of equal answers before it on that connection."""
    request: str
    """The request that is answered; or PUSH, `connect` or PROCESS."""
    field: str
    """`NAME.field` if all servers answered with the same message, else ""."""
    kinds: tuple[str, ...]
    """The kind of each answer; the value of a field that is true or false."""
    texts: tuple[str, ...]
    """Each answer as text."""
    valid: bool
    """Whether all servers decode only whole requests."""
    clause: str | None = None
    """The clause that one of the answers breaks by itself."""

    @property
    def shape(self) -> str:
        """The identity: request, field and kinds."""
        return f"{self.request}: {self.field}{' ' if self.field else ''}{' | '.join(self.kinds)}"

    @property
    def is_of_a_process(self) -> bool:
        """Whether a server ended or serves nobody."""
        return self.request == PROCESS

    @property
    def where(self) -> str:
        """Request and field, without the answers."""
        return f"{self.request}: {self.field}"


def differences(plays: Sequence[Play]) -> Iterator[AnswerDifference]:
    """Yield the first difference of each connection between the plays of one script."""
    unread = {step.connection for step in plays[0].script if isinstance(step, Open) and step.unread}
    views = [views_of(play.lines) for play in plays]
    for at, lines in enumerate(zip_longest(*(play.lines for play in plays))):
        there = [line for line in lines if line is not None]
        if len(there) < len(plays):
            kinds = tuple("taken" if line is not None else "refused" for line in lines)
            yield AnswerDifference(there[0].name, 0, CONNECT, "", kinds, kinds, True)
            return
        seen = [one[at] for one in views]
        if there[0].name in unread:  # what was not taken may not have come
            seen = [replace(view, cut=True) for view in seen]
        found = _differ(there[0].name, seen, all(line.valid for line in there))
        if found is not None:
            yield found


def ends(plays: Sequence[Play]) -> Iterator[AnswerDifference]:
    """Yield that a server ended, or serves nobody after the script, also where all of them do."""
    fates = [_fate(play) for play in plays]
    if any(fates):
        kinds = tuple(one.shape if one else STAYS for one in fates)
        texts = tuple(one.detail if one else STAYS for one in fates)
        yield AnswerDifference("", 0, PROCESS, "", kinds, texts, True)


def _fate(play: Play) -> Suspicion | None:
    """Return how the server ended, or that it serves nobody; None if it serves on."""
    if play.death is None and play.serves:
        return None
    return next(filter(None, (ORACLES[name](play) for name in FATAL_ORACLES)), None)


def agree_at(found: AnswerDifference, one: Play, other: Play) -> bool:
    """Return whether two servers answer alike up to the place of a difference between others, and there.

    What they answer behind it on that connection is not asked.
    """
    for there in differences([one, other]):
        if there.connection == found.connection:
            return (there.request == PUSH, there.index) > (found.request == PUSH, found.index)
    return True


def _differ(name: str, views: Sequence[ConnectionView], valid: bool) -> AnswerDifference | None:
    least = min(len(view.answers) for view in views)
    for index in range(least):
        found = _mismatch([view.answers[index] for view in views])
        if found is not None:
            return _named(name, index, _asked(views, index), found, valid)
    ends = [view.answers[least] if len(view.answers) > least else _end(view) for view in views]
    if not any(view.cut for view in views) and (found := _mismatch(ends)) is not None:
        return _named(name, least, _asked(views, least), found, valid)
    return _pushes(name, views, valid)


def _end(view: ConnectionView) -> ComparedAnswer:
    return ComparedAnswer(view.end, {}, view.end)


def _pushes(name: str, views: Sequence[ConnectionView], valid: bool) -> AnswerDifference | None:
    if any(view.cut or view.end == CLOSED for view in views):
        return None
    none = ComparedAnswer(NOTHING, {}, NOTHING)
    for index, some in enumerate(zip_longest(*(view.pushes for view in views), fillvalue=none)):
        found = _mismatch([one if one.kind == NOTHING else ComparedAnswer(PUSH, one.fields, one.text) for one in some])
        if found is not None:
            return _named(name, index, PUSH, found, valid)
    return None


def _asked(views: Sequence[ConnectionView], index: int) -> str:
    """Return the name of a request, as the first profile that decodes it does."""
    return next((view.asked[index] for view in views if index < len(view.asked)), "what is no request")


Mismatch = tuple[str, tuple[str, ...], tuple[str, ...], str | None]


def _mismatch(answers: Sequence[ComparedAnswer]) -> Mismatch | None:
    """Return field, kinds, texts and clause of the first mismatch; None if all agree."""
    texts = tuple(one.text for one in answers)
    if len({one.kind for one in answers}) > 1:
        kinds = tuple(_kind(one) for one in answers)
        return "", kinds, texts, next((one.clause for one in answers if one.clause), None)
    shared = [name for name in answers[0].fields if all(name in one.fields for one in answers)]
    for name in shared:
        values = [one.fields[name] for one in answers]
        if not all(_agree(values[0], value) for value in values[1:]):
            kinds = tuple(str(value) for value in values) if isinstance(values[0], bool | str) else ("differs",)
            shown = tuple(f"{name} = {_shown(value)}" for value in values)
            return f"{answers[0].kind}.{name}", kinds, shown, None
    return None


def _shown(value: object) -> str:
    return str(value) if isinstance(value, TimeUntilExpiry | ChosenId) else describe(value)


def _kind(one: ComparedAnswer) -> str:
    """Return the kind of an answer with its boolean fields."""
    flags = [f"{name}={value}" for name, value in one.fields.items() if isinstance(value, bool)]
    return " ".join([one.kind, *flags])


def _agree(one: object, other: object) -> bool:
    return (
        one.agrees(other)
        if isinstance(one, TimeUntilExpiry) and isinstance(other, TimeUntilExpiry)
        else bool(one == other)
    )


def _named(name: str, index: int, request: str, found: Mismatch, valid: bool) -> AnswerDifference:
    field, kinds, texts, clause = found
    return AnswerDifference(name, index, request, field, kinds, texts, valid, clause)
