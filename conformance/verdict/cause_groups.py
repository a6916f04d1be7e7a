"""Groups of records that one cause explains, found by what the records have in common. A pure function."""

# Strategy
#
# Grouping errs on one side or the other: too coarse hides a second defect, too fine buries the first one. What the
# pipeline knows (`rests_on`) is believed. Beyond it, two failures are joined only where both the place and the sentence
# or the value agree, since two defects of one reply are common and two of one sentence are not. Combinations name the
# request they are built around and not what is wrong, so their clause says little: they join what stopped at the same
# place, if anything else did. A step that prepares says nothing about its own case; it joins in the same way, and what
# nothing joins is a cause of its own, so that nothing the target did is nobody's.
#
# Deaths are distinguished by their words, and joined without words while they have a request in common.

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.generated_cases import is_generated
from wireproof.conformance.suite.segmentation import WHOLE
from wireproof.conformance.verdict.record_facts import (
    CauseKind,
    asked_in,
    awaited_in_vain,
    ends_apart,
    entry_of,
    extra_of,
    follows,
    group_of,
    is_about_its_request,
    is_modelled,
    kind_of,
    let_time_pass,
    manner_of,
    meet,
    place_of,
    plain,
    process_of,
    signature,
    size_of,
    unreadable,
)
from wireproof.conformance.verdict.sdk_causes import (
    SdkKeys,
    is_connecting,
    names_its_request,
    names_its_value,
    shown_as_played,
)

if TYPE_CHECKING:
    from wireproof.conformance.verdict.records import Record

__all__ = ["Group", "grouped"]
SHOWN = (CauseKind.FAILURE, CauseKind.HANG, CauseKind.DEATH)
"""What shows a cause by itself."""
ANY = "*"


@dataclass
class Group:
    """Records of one cause, on their way."""

    kind: CauseKind
    shows: list[Record] = field(default_factory=list)
    follow: list[Record] = field(default_factory=list)

    @property
    def combined(self) -> bool:
        """Whether all that shows it is cases that nobody wrote."""
        return all(is_generated(one["case"]) for one in self.shows)

    @property
    def modelled(self) -> bool:
        """Whether all that shows it is failures that the model judged."""
        return self.kind is CauseKind.FAILURE and all(map(is_modelled, self.shows))

    @property
    def prepares(self) -> bool:
        """Whether all that is known is a step that prepares."""
        return self.kind is CauseKind.PRECONDITION

    @property
    def is_whole(self) -> bool:
        """Whether a play in whole messages shows the cause by itself."""
        return self.kind in SHOWN and any(one["delivery"] == WHOLE.name for one in self.shows)

    def take(self, other: Group) -> None:
        """Let all of another group follow from this one."""
        self.follow += [*other.shows, *other.follow]

    def sort(self, order: Mapping[int, int]) -> None:
        """Put the smallest play first, one of a MUST before one of a MAY; of an SDK before one of a SHOULD, too.

        What an SDK does wrong in plain requests shows again in streams, which are about something else; the clause
        comes first that is about the request, or the value, or that most of what shows it is about. What it does wrong
        wherever it is asked for that is best shown by what was played first (`order`, by `id`), of a connection by a
        case that opens it step by step.
        """
        ends = self.kind in (CauseKind.DEATH, CauseKind.HANG)
        of_sdk = all(one.get("role") == "client" for one in self.shows)
        entries = Counter(blamed for blamed, _ in {(one["blamed"], entry_of(one)) for one in self.shows})
        late = (Level.SHOULD, Level.MAY) if of_sdk else (Level.MAY,)
        if all(map(shown_as_played, self.shows)):
            self.shows.sort(
                key=lambda one: (is_connecting(one) and not one.get("step"), not names_its_request(one), order[id(one)])
            )
        else:
            self.shows.sort(
                key=lambda one: (
                    "beside" in extra_of(one),
                    one["level"] in late,
                    of_sdk and not names_its_request(one),
                    of_sdk and not names_its_value(one),
                    "at_once" in extra_of(one),
                    -entries[one["blamed"]] if of_sdk else 0,
                    ends and not is_about_its_request(one),
                    size_of(one),
                )
            )
        self.follow.sort(key=size_of)


SEEN_ONCE = "; the first time: "
"""What precedes, in what a case got that should have been seen again, what came of it (`crashes.ended_early`)."""


def grouped(bad: Sequence[Record]) -> list[Group]:
    """Return groups of the records that neither passed nor are unsupported; each is in one of them."""
    groups = _Grouping(bad).made()
    order = {id(one): number for number, one in enumerate(bad)}
    for group in groups:
        group.sort(order)
    return groups


class _Grouping:
    """Records on their way into groups."""

    def __init__(self, bad: Sequence[Record]) -> None:
        self._bad = bad
        self._groups: list[Group] = []
        self._requests = {"", *(name for one in bad for name in asked_in(one))}
        """What was asked for in plays that did not pass."""

    def made(self) -> list[Group]:
        """Return the groups."""
        consequences = [one for one in self._bad if follows(one)]
        roots = [one for one in self._bad if not follows(one)]
        self._deaths([end for one in roots if process_of(one) is not None for end in ends_apart(one)])
        alone = [one for one in roots if process_of(one) is None]
        self._failures([one for one in alone if kind_of(one) in SHOWN])
        self._combinations()
        self._modelled()
        self._others([one for one in alone if kind_of(one) not in SHOWN])
        self._followed(consequences)
        self._unexplained()
        return self._groups

    def _deaths(self, records: Sequence[Record]) -> None:
        """Join ends of the process with the same end and words, or without words and with a request in common."""
        by_words: dict[tuple[str, ...], Group] = {}
        wordless: dict[tuple[str, ...], list[tuple[set[str], Group]]] = defaultdict(list)
        requests = self._requests
        for one in sorted(records, key=lambda one: (not asked_in(one), group_of(one) not in requests, size_of(one))):
            process = process_of(one) or {}
            hangs = extra_of(one).get("hang") or process.get("hang") or process.get("silent")
            kind = CauseKind.HANG if hangs else CauseKind.DEATH
            key = kind.value, *signature(process)
            if key[-1]:
                by_words.setdefault(key, Group(kind)).shows.append(one)
                continue
            asked = set(asked_in(one)) if group_of(one) in requests or not wordless[key] else set()
            for common, group in wordless[key]:
                if common & asked or not asked:
                    common &= asked or common
                    group.shows.append(one)
                    break
            else:
                wordless[key].append((asked, Group(kind, [one])))
        self._groups += [*by_words.values(), *(group for found in wordless.values() for _, group in found)]

    def _failures(self, records: Sequence[Record]) -> None:
        """Join failures by sentence and place, and by place and large number."""
        leads = {id(one): id(one) for one in records}

        def lead(key: int) -> int:
            while leads[key] != key:
                key = leads[key]
            return key

        held: dict[tuple[object, ...], int] = {}
        of_sdk = SdkKeys(records)
        for one in records:
            for key in (*of_sdk.of(one), *self._recommended(one)):
                leads[lead(id(one))] = lead(held.setdefault(key, id(one)))
        groups: dict[int, Group] = {}
        for one in sorted(records, key=lambda one: (kind_of(one) is not CauseKind.FAILURE, size_of(one))):
            groups.setdefault(lead(id(one)), Group(kind_of(one))).shows.append(one)
        self._groups += groups.values()

    def _recommended(self, record: Record) -> list[tuple[object, ...]]:
        """Return the clause that a server breaks, where it only recommends something and is about no request.

        What it asks for (all answers come, in order, after a half close too) shows with whatever is asked for.
        """
        group = str(record["blamed"]).rpartition("-")[0].partition("-")[2]
        if record.get("role") == "client" or record["level"] != Level.SHOULD or group in self._requests:
            return []
        return [("recommended", record["blamed"])]

    def _combinations(self) -> None:
        """Let combinations follow from what stopped at the same place, or from a request that is never answered."""
        for one in [group for group in self._groups if group.combined and group.kind is not CauseKind.DEATH]:
            found = self._at(one.shows, but=one)
            fails = one.kind is CauseKind.FAILURE
            if not (fails and found is not None and not found.combined):
                one.shows = [record for record in one.shows if not self._unanswered(record)]
            if fails and found is not None:
                found.take(one)
            if not one.shows or (fails and found is not None):
                self._groups.remove(one)

    def _modelled(self) -> None:
        """Let what the model alone judges follow from what steps show of the one clause that it names."""
        for one in [group for group in self._groups if group.modelled]:
            clauses = {record["blamed"] for record in one.shows}
            found = (other for other in self._groups if other.kind is CauseKind.FAILURE and not other.modelled)
            same = [other for other in found if clauses <= {record["blamed"] for record in other.shows}]
            if len(clauses) == 1 and same:
                max(same, key=lambda other: len(other.shows) + len(other.follow)).take(one)
                self._groups.remove(one)

    def _unanswered(self, record: Record) -> bool:
        """Let a play follow from a request that it uses and that another case finds unanswered; say whether."""
        asked = asked_in(record)
        for group in self._groups:
            silent = group.kind is CauseKind.HANG and not group.combined
            if silent and any((place_of(one) or ("", ""))[0] in asked for one in group.shows):
                group.follow.append(record)
                return True
        return False

    def _at(self, records: Sequence[Record], *, but: Group | None = None) -> Group | None:
        """Return the group that has a play which stopped where these did, those of one case before combinations.

        A place without a field meets all of that reply, and what was judged by many replies meets all; plays that let
        time pass meet each other. The same clause, the same time and the same place count before the number of plays.
        """
        places, late = {place_of(one) for one in records}, all(map(let_time_pass, records))
        clauses = {one["blamed"] for one in records}

        def meets(one: Group) -> bool:
            times = late and all(map(let_time_pass, one.shows))
            return times or any(meet(place_of(record), place) for record in one.shows for place in places)

        def rank(one: Group) -> tuple[bool, bool, bool, bool, int]:
            same = any(record["blamed"] in clauses for record in one.shows)
            times = late == all(map(let_time_pass, one.shows))
            exact = any(place_of(record) in places for record in one.shows)
            return not one.combined, same, times, exact, len(one.shows) + len(one.follow)

        kinds = (CauseKind.FAILURE, CauseKind.HANG)
        found = [one for one in self._groups if one is not but and one.kind in kinds and meets(one)]
        return max(found, key=rank, default=None)

    def _alike(self, record: Record) -> Group | None:
        """Return the group of a failure in which the same was expected and the same came, for the same clause first."""
        facts = ("expected", "got") if record.get("role") == "client" else ("blamed", "expected", "got")
        found = (one for one in self._groups if one.kind is CauseKind.FAILURE)
        return next((one for one in found if any(all(it[n] == record[n] for n in facts) for it in one.shows)), None)

    def _unread(self, record: Record) -> Group | None:
        """Return the group of what cannot be read for the same reason, or of waits in vain for the same message."""
        facts = {fact for fact in (unreadable(record), awaited_in_vain(record)) if fact}
        same = [one for one in self._groups if any(facts & {unreadable(it), awaited_in_vain(it)} for it in one.shows)]
        return max(same, key=lambda one: len(one.shows) + len(one.follow), default=None)

    def _others(self, records: Sequence[Record]) -> None:
        """Let what failed in a step that prepares follow, or stand by itself; all else by what came."""
        apart: dict[tuple[object, ...], Group] = {}
        for one in records:
            kind, place = kind_of(one), place_of(one)
            prepares = kind is CauseKind.PRECONDITION
            found = None
            if prepares:
                found = (self._alike(one) if place is None else self._at([one])) or self._unread(one)
            if found is not None:
                found.follow.append(one)
                continue
            if prepares and self._unanswered(one):
                continue
            words = str(one["got"]).partition(SEEN_ONCE)[0]
            key = (kind, place) if place is not None and prepares else (kind, plain(words))
            apart.setdefault(key, Group(kind)).shows.append(one)
        self._groups += apart.values()

    def _followed(self, records: Sequence[Record]) -> None:
        """Put each consequence where its cause is."""
        where, unknown = dict[str, Group](), dict[str, Group]()
        for group in self._groups:
            for one in (*group.follow, *group.shows):
                if one["case"] not in where or one["delivery"] == WHOLE.name:
                    where[one["case"]] = group
        for one in sorted(records, key=lambda one: "held_back" in extra_of(one)):
            cause = str(extra_of(one).get("rests_on") or extra_of(one).get("held_back"))
            group = where.get(cause) or unknown.setdefault(cause, Group(kind_of(one)))
            (group.follow if cause in where else group.shows).append(one)
            where.setdefault(one["case"], group)
        self._groups += unknown.values()

    def _unexplained(self) -> None:
        """Let what nothing explains follow from a cause that stops more plays at a request that all of them use.

        A step that prepares must stop in the same way. What fails in other segments alone may use a request that is
        always answered wrongly, among others that are then read at another place, so any way will do for it.
        """
        stopped: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        for at, group in enumerate(self._groups):
            for one in (*group.shows, *group.follow) if group.is_whole else ():
                if one["delivery"] == WHOLE.name and (place := place_of(one)):
                    stopped[place[0], manner_of(one)][at] += 1
                    stopped[place[0], ANY][at] += 1
        explained = []
        for group in [one for one in self._groups if one.prepares or (one.kind in SHOWN and not one.is_whole)]:
            manner = Counter(map(manner_of, group.shows)).most_common(1)[0][0] if group.prepares else ANY
            asked = frozenset.intersection(*map(asked_in, group.shows))
            counted = sum((stopped[name, manner] for name in asked if (name, manner) in stopped), Counter[int]())
            at, count = max(counted.items(), key=lambda pair: pair[1], default=(0, 0))
            if count > len(group.shows):
                self._groups[at].take(group)
                explained.append(group)
        self._groups = [one for one in self._groups if all(one is not other for other in explained)]
