"""The causes of a run: everything that did not pass, grouped by what it comes from. A pure function of the records.

A cause is a death, a hang or a failure, with the smallest play that shows it and the plays that follow from it. What
was found to be a consequence while the run was judged (`rests_on`, `held_back`) follows its cause. Besides, these come
from one cause: deaths with the same end and the same last words; waits in vain for the reply to the same request, busy
or idle; failures that break the same clause at the same place; failures where the same large number was read at the
same place; what `sdk_causes` says of SDKs. A combination, and a step that only prepares, follow what stopped at their
place. What fails only under another segmentation has one cause for each clause that asks for the same verdict there.
"""

# Strategy
#
# Grouping errs on one side or the other: too coarse hides a second defect, too fine buries the first one. What the
# pipeline knows (`rests_on`) is believed. Beyond it, two failures are joined only where both the place and the sentence
# or the value agree, since two defects of one reply are common and two of one sentence are not. Combinations name the
# request they are built around and not what is wrong, so their clause says little: they join what stopped at the same
# place, if anything else did. A step that prepares says nothing about its own case; it joins in the same way, and what
# nothing joins is a cause of its own, so that nothing the target did is nobody's.
#
# Deaths are told apart by their words, and joined without words while they have a request in common.

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from wireproof.conformance.model.outcome import ANYWHERE
from wireproof.conformance.model.verdict import Guilty, Level, Verdict
from wireproof.conformance.suite.combinations import is_combination
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.sdk_causes import disturbers, is_lost, sdk_keys, with_spoiled

if TYPE_CHECKING:
    from wireproof.conformance.verdict.records import Record

__all__ = ["Cause", "CauseKind", "causes_of", "signature"]

LARGE = 1 << 7
"""From here on a number is large enough that two failures which read it at one place have one cause."""
VARIES = re.compile(r"0x[0-9a-fA-F]+|\d+|b'[^']*'|\"[^\"]*\"")


class CauseKind(StrEnum):
    """What a cause is; in this order they are shown."""

    DEATH = "death"
    HANG = "hang"
    FAILURE = "failure"
    PRECONDITION = "precondition"
    """A step that only prepares failed, and no case that asks for the same fails."""
    UNDECIDED = "undecided"
    """Nobody's fault as far as known: asked too late, or lost with others."""
    HARNESS = "harness"
    """wireproof's own fault."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause: the smallest play that shows it first."""

    kind: CauseKind
    records: tuple[Record, ...]
    """Those that show it, the smallest first, then those that follow from it."""
    shown_by: int
    """How many of them show it by themselves."""

    @property
    def first(self) -> Record:
        """The smallest play that shows it."""
        return self.records[0]

    @property
    def clause(self) -> str:
        """The clause that is broken; the one about large numbers where nothing else is read wrong."""
        extremes = {_extra(one).get("extreme") for one in self.records[: self.shown_by]}
        if len(extremes) == 1 and (extreme := extremes.pop()) is not None:
            return str(extreme)
        return str(self.first["blamed"] or self.first["clauses"][0])

    @property
    def not_required(self) -> str:
        """Why none of its plays decides the exit code (a requirement set does not ask for them); "" where one does."""
        reasons = [str(one.get("not_required") or "") for one in self.records]
        return reasons[0] if all(reasons) else ""

    @property
    def process(self) -> Mapping[str, Any]:
        """What is known of the process that died or answered nobody; empty for all others."""
        return _process(self.first) or {}

    @property
    def following(self) -> list[str]:
        """The ids of the other cases, each once."""
        others = dict.fromkeys(one["case"] for one in self.records)
        return [one for one in others if one != self.first["case"]]

    @property
    def common(self) -> list[str]:
        """What was sent in every play that shows it, and for which others were held back; empty where that is much."""
        if held := {str(_extra(one)["sends"]) for one in self.records if "sends" in _extra(one)}:
            return sorted(held)
        asked = [_asked(one) for one in self.records[: self.shown_by] if _asked(one)]
        found = sorted(frozenset.intersection(*asked)) if len(asked) > 1 else []
        return found if len(found) <= 2 else []

    def as_json(self) -> dict[str, Any]:
        """Return the cause as run.json has it."""
        first = self.first
        words = {name: self.process[name] for name in ("death", "said", "frame") if self.process.get(name)}
        return {
            "kind": self.kind.value,
            "case": first["case"],
            "delivery": first["delivery"],
            "record_id": first["record_id"],
            "verdict": first["verdict"],
            "level": first["level"],
            "clause": self.clause,
            "expected": first["expected"],
            "got": first["got"],
            **words,
            **({"hang": dict(_extra(first)["hang"])} if _extra(first).get("hang") else {}),
            **({"not_required": self.not_required} if self.not_required else {}),
            **({"requests": self.common} if self.common else {}),
            "following": self.following,
        }


def causes_of(records: Iterable[Record]) -> list[Cause]:
    """Return the causes, deaths first, then hangs and failures; of one kind those of a MUST and with most plays first.

    Of what is undecided, plays that were seen to go wrong stand before those that the end of the run left unplayed.
    What decides nothing (`not_required`) is last. Each record that neither passed nor is unsupported is in one cause.
    """
    bad = [one for one in records if one["verdict"] not in (Verdict.PASS, Verdict.UNSUPPORTED)]
    return sorted((group.cause() for group in _Groups(with_spoiled(bad)).made()), key=_rank)


def _rank(cause: Cause) -> tuple[bool, int, bool, int, int, str]:
    level = min(list(Level).index(Level(one["level"])) for one in cause.records[: cause.shown_by])
    unplayed = cause.kind is CauseKind.UNDECIDED and not cause.first["exchange"]
    kind = list(CauseKind).index(cause.kind)
    return bool(cause.not_required), kind, unplayed, level, -len(cause.records), cause.first["case"]


@dataclass
class _Group:
    """Records of one cause, on their way."""

    kind: CauseKind
    shows: list[Record] = field(default_factory=list)
    follow: list[Record] = field(default_factory=list)

    @property
    def combined(self) -> bool:
        """Whether all that shows it is combinations."""
        return all(is_combination(one["case"]) for one in self.shows)

    def take(self, other: _Group) -> None:
        """Let all of another group follow from this one."""
        self.follow += [*other.shows, *other.follow]

    def cause(self) -> Cause:
        ends = self.kind in (CauseKind.DEATH, CauseKind.HANG)

        def key(one: Record) -> tuple[bool, bool, Any]:
            return one["level"] == Level.MAY, ends and not _is_about_its_request(one), _size(one)

        shows = sorted(self.shows, key=key)
        follow = sorted(self.follow, key=_size)
        return Cause(self.kind, (*shows, *follow), len(shows))


class _Groups:
    """Records on their way into groups."""

    def __init__(self, bad: Sequence[Record]) -> None:
        self._bad = bad
        self._groups: list[_Group] = []

    def made(self) -> list[_Group]:
        """Return the groups."""
        follows = [one for one in self._bad if _follows(one)]
        roots = [one for one in self._bad if not _follows(one)]
        self._deaths([one for one in roots if _process(one) is not None])
        alone = [one for one in roots if _process(one) is None]
        self._failures([one for one in alone if _kind(one) in (CauseKind.FAILURE, CauseKind.HANG, CauseKind.DEATH)])
        self._combinations()
        self._others([one for one in alone if _kind(one) not in (CauseKind.FAILURE, CauseKind.HANG, CauseKind.DEATH)])
        self._followed(follows)
        return self._groups

    def _deaths(self, records: Sequence[Record]) -> None:
        """Join ends of the process with the same end and words, or without words and with a request in common."""
        by_words: dict[tuple[str, ...], _Group] = {}
        wordless: dict[tuple[str, ...], list[tuple[set[str], _Group]]] = defaultdict(list)
        requests = frozenset({"", *(name for one in self._bad for name in _asked(one))})
        for one in sorted(records, key=lambda one: (_group(one) not in requests, _size(one))):
            process = _process(one) or {}
            kind = CauseKind.HANG if _extra(one).get("hang") else CauseKind.DEATH
            key = kind.value, *signature(process)
            if key[-1]:
                by_words.setdefault(key, _Group(kind)).shows.append(one)
                continue
            asked = set(_asked(one)) if _group(one) in requests or not wordless[key] else set()
            for common, group in wordless[key]:
                if common & asked or not asked:
                    common &= asked or common
                    group.shows.append(one)
                    break
            else:
                wordless[key].append((asked, _Group(kind, [one])))
        self._groups += [*by_words.values(), *(group for found in wordless.values() for _, group in found)]

    def _failures(self, records: Sequence[Record]) -> None:
        """Join failures by sentence and place, and by place and large number."""
        leads = {id(one): id(one) for one in records}

        def lead(key: int) -> int:
            while leads[key] != key:
                key = leads[key]
            return key

        held: dict[tuple[object, ...], int] = {}
        disturbed = disturbers(records)
        for one in records:
            for key in sdk_keys(one, disturbed.get(one.get("record_id", ""))) or _keys(one):
                leads[lead(id(one))] = lead(held.setdefault(key, id(one)))
        groups: dict[int, _Group] = {}
        for one in sorted(records, key=_size):
            groups.setdefault(lead(id(one)), _Group(_kind(one))).shows.append(one)
        self._groups += groups.values()

    def _combinations(self) -> None:
        """Let combinations follow from what stopped at the same place, or from a request that is never answered."""
        for one in [group for group in self._groups if group.combined and group.kind is not CauseKind.DEATH]:
            found = self._at({_place(record) for record in one.shows}, but=one)
            fails = one.kind is CauseKind.FAILURE
            if not (fails and found is not None and not found.combined):
                one.shows = [record for record in one.shows if not self._unanswered(record)]
            if fails and found is not None:
                found.take(one)
            if not one.shows or (fails and found is not None):
                self._groups.remove(one)

    def _unanswered(self, record: Record) -> bool:
        """Let a play follow from a request that it uses and that another case finds unanswered; say whether."""
        asked = _asked(record)
        for group in self._groups:
            silent = group.kind is CauseKind.HANG and not group.combined
            if silent and any((_place(one) or ("", ""))[0] in asked for one in group.shows):
                group.follow.append(record)
                return True
        return False

    def _at(self, places: set[tuple[str, str] | None], *, but: _Group | None = None) -> _Group | None:
        """Return the group with most plays that has one at such a place, those of one case before combinations.

        A place without a field meets all of that reply, and what was judged by many replies meets all.
        """
        found = [
            group
            for group in self._groups
            if group is not but
            and group.kind in (CauseKind.FAILURE, CauseKind.HANG)
            and any(_meet(_place(one), place) for one in group.shows for place in places)
        ]
        return max(found, key=lambda one: (not one.combined, len(one.shows) + len(one.follow)), default=None)

    def _others(self, records: Sequence[Record]) -> None:
        """Let what failed in a step that prepares follow, or stand by itself; all else by what came."""
        apart: dict[tuple[object, ...], _Group] = {}
        for one in records:
            kind, place = _kind(one), _place(one)
            found = self._at({place}) if kind is CauseKind.PRECONDITION and place is not None else None
            if found is not None:
                found.follow.append(one)
                continue
            if kind is CauseKind.PRECONDITION and self._unanswered(one):
                continue
            key = (kind, place) if place is not None and kind is CauseKind.PRECONDITION else (kind, _plain(one["got"]))
            apart.setdefault(key, _Group(kind)).shows.append(one)
        self._groups += apart.values()

    def _followed(self, records: Sequence[Record]) -> None:
        """Put each consequence where its cause is."""
        where, unknown = dict[str, _Group](), dict[str, _Group]()
        for group in self._groups:
            for one in (*group.follow, *group.shows):
                if one["case"] not in where or one["delivery"] == WHOLE.name:
                    where[one["case"]] = group
        for one in sorted(records, key=lambda one: "held_back" in _extra(one)):
            cause = str(_extra(one).get("rests_on") or _extra(one).get("held_back"))
            group = where.get(cause) or unknown.setdefault(cause, _Group(_kind(one)))
            (group.follow if cause in where else group.shows).append(one)
            where.setdefault(one["case"], group)
        self._groups += unknown.values()


def signature(process: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is the same in all deaths of one cause: how the process ended and what it said; "" for no words."""
    death = str(process.get("death") or "")
    if process.get("frame"):
        return death, str(process["frame"])
    return death, _plain(process.get("said")) if process.get("names_a_cause") else ""


def _process(record: Record) -> Mapping[str, Any] | None:
    extra = _extra(record)
    if extra.get("process"):
        return dict(extra["process"])
    return dict(extra["ends"][0]) if extra.get("ends") else None


def _follows(record: Record) -> bool:
    return "rests_on" in _extra(record) or "held_back" in _extra(record)


def _kind(record: Record) -> CauseKind:
    match Verdict(record["verdict"]):
        case Verdict.HARNESS_ERROR:
            return CauseKind.HARNESS
        case Verdict.CRASH:
            return CauseKind.DEATH
        case Verdict.HANG:
            return CauseKind.HANG
        case Verdict.UNTESTABLE:
            prepared = record["guilty"] != Guilty.HARNESS and record["step"] is not None
            return CauseKind.PRECONDITION if prepared else CauseKind.UNDECIDED
    return CauseKind.FAILURE


def _keys(record: Record) -> list[tuple[object, ...]]:
    """Return what a failure shares with others of the same cause."""
    kind, place = _kind(record), _place(record)
    if record["delivery"] != WHOLE.name:
        return [("segmentation", record["blamed"])]
    hang = _extra(record).get("hang") if kind is CauseKind.HANG else None
    if place is None:
        return [(kind, record["expected"]) if hang else (kind, record["blamed"], _plain(record["got"]))]
    if hang:
        return [(kind, place[0], hang["busy"])]
    if kind is CauseKind.HANG:
        return [(kind, place[0], record["blamed"]) if is_combination(record["case"]) else (kind, place[0])]
    found: list[tuple[object, ...]] = [(kind, record["blamed"], place)]
    if "extreme" in _extra(record):
        found.append((kind, _extra(record)["extreme"]))
    number = re.fullmatch(r"(\d+)", str(record["got"]).split(";")[0].strip())
    if number and int(number[1]) >= LARGE and place[1]:
        found.append((kind, place, number[1]))
    return found


def _extra(record: Record) -> Mapping[str, Any]:
    return record.get("extra") or {}


def _place(record: Record) -> tuple[str, str] | None:
    extra = _extra(record)
    if "history" in extra:
        return ANYWHERE, ""
    return (str(extra["reply_to"]), str(extra["field"])) if extra.get("reply_to") else None


def _meet(one: tuple[str, str] | None, other: tuple[str, str] | None) -> bool:
    """Say whether two plays stopped at the same place, as far as it is known."""
    if one is None or other is None:
        return False
    return ANYWHERE in (one[0], other[0]) or (one[0] == other[0] and (one[1] == other[1] or not (one[1] and other[1])))


def _is_about_its_request(record: Record) -> bool:
    """Say whether the target ended, or was silent, at the request that the case is about."""
    return bool(_group(record)) and _group(record) == _extra(record).get("reply_to")


def _group(record: Record) -> str:
    return str(record.get("group", ""))


def _asked(record: Record) -> frozenset[str]:
    return frozenset(str(_extra(record).get("asked", "")).split())


def _plain(text: object) -> str:
    """Return a text without what differs from play to play."""
    return VARIES.sub("#", str(text or ""))


def _size(record: Record) -> tuple[bool, int, int, int, str]:
    """Return what orders plays from small to large: whole ones, of a MUST, with few bytes and few writes."""
    sent = [one for one in record["exchange"] if one["direction"] == "sent"]
    size = sum(len(one["hex"]) for one in sent)
    return (
        record["delivery"] != WHOLE.name or not (sent or is_lost(record)),
        size,
        len(sent),
        -len(record["clauses"]),
        record["case"],
    )
