"""Which cases are played under which other deliveries: those named, all, or a sample that covers much in little time.

The choice is a pure function of the cases, so two runs of one suite with one budget choose alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import takewhile

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Level, Verdict
from wireproof.conformance.suite.case_traits import applies, longest, patience, requests, sends_fields, waits
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.segmentation import GAP, SEGMENTATIONS, WHOLE, Segmentation
from wireproof.conformance.verdict.records import level_of
from wireproof.protocols import protocol

Rank = tuple[int, ...]
Play = tuple[Case, Segmentation]
SAMPLE, ALL = "sample", "all"
OTHERS = tuple(name for name in SEGMENTATIONS if name != WHOLE.name)
BUDGET = 2.5
"""Seconds that a sample may take."""
PLAY, PIECE, ALONE = 0.003, 0.00013, 0.002
"""Seconds that a play takes, each of its pieces more, and each of them when it is played alone."""
LARGE, LONG, PATIENT = (4, 8, 16, 50, 100), 64, 1.0
"""Requests, bytes of a field and seconds of waiting beyond which a case comes later in a sample."""


class ChoiceError(ValueError):
    """Raised when what is asked for is no delivery; it names those there are."""


@dataclass(frozen=True, slots=True)
class SegmentationChoice:
    """Segmentations to play cases under, besides whole."""

    names: tuple[str, ...] = ()
    budget: float | None = None
    """Seconds for a sample of them; None: every case under each."""


ONLY_WHOLE = SegmentationChoice()


@dataclass(slots=True)
class Tally:
    """What became of the plays under other deliveries."""

    recorded: int = 0
    same: int = 0
    """Passed without any cut, join or early end: they show no more than whole."""
    not_judged: int = 0
    """Undecided: begun too late, not begun for want of time, or the target was gone."""

    def keeps(self, outcome: Outcome) -> bool:
        """Count a play; say whether it adds to what is known."""
        if outcome.verdict is Verdict.PASS and not outcome.extra.get("cuts"):
            self.same += 1
        elif outcome.verdict is Verdict.UNTESTABLE:
            self.not_judged += 1
        else:
            self.recorded += 1
            return True
        return False


def choice_of(text: str, budget: float = BUDGET) -> SegmentationChoice:
    """Return what `sample`, `all` or names with commas between ask for; `ChoiceError` for anything else."""
    if text in (SAMPLE, ALL):
        return SegmentationChoice(OTHERS, budget if text == SAMPLE else None)
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in SEGMENTATIONS]
    if unknown:
        raise ChoiceError(f"expected {SAMPLE}, {ALL} or some of {', '.join(SEGMENTATIONS)}; got {unknown[0]!r}")
    return SegmentationChoice(tuple(name for name in OTHERS if name in names))


def chosen(cases: Sequence[Case], choice: SegmentationChoice, suite: Suite, profile: str) -> list[Case]:
    """Return the cases under the other deliveries of a choice, in the order to play them."""
    wanted = [SEGMENTATIONS[name] for name in choice.names]
    if choice.budget is None:
        spoken = protocol(suite.protocol)
        found = [(case, one) for one in wanted for case in cases if applies(case, one, spoken)]
    else:
        found, spent = [], 0.0
        for play in _covering(cases, wanted, suite, profile):
            spent += cost(*play)
            if spent > choice.budget:
                break
            found.append(play)
    asking = suite.segmentations
    return [replace(case, segmentation=one.name, asked_by=asking.get(one.name, "")) for case, one in found]


def _covering(
    cases: Sequence[Case], segmentations: Sequence[Segmentation], suite: Suite, profile: str
) -> Iterator[Play]:
    """Yield every case under every delivery it can have; each request type under each delivery before any again."""
    spoken = protocol(suite.protocol)
    groups: dict[str, list[tuple[Rank, Case]]] = {}
    for case in cases:
        ranked = _rank(case, level_of(case, suite, profile)), case
        groups.setdefault(suite.clauses[case.clauses[0]].group, []).append(ranked)
    cells = [
        (_cell(members, segmentation), segmentation)
        for first in range(len(segmentations))
        for number, members in enumerate(groups.values())
        for segmentation in [segmentations[(first + number) % len(segmentations)]]
    ]
    taken: set[str] = set()
    while any(members for members, _ in cells):
        for members, segmentation in cells:
            found = _take(members, taken, partial(applies, segmentation=segmentation, spoken=spoken))
            if found is not None:
                taken.add(found.id)
                yield found, segmentation


def _cell(members: Sequence[tuple[Rank, Case]], segmentation: Segmentation) -> list[tuple[Rank, Case]]:
    """Return the cases of a group for a delivery, best first; alike ones by chance, another one for each delivery."""

    def place(member: tuple[Rank, Case]) -> tuple[Rank, bytes]:
        rank, case = member
        return rank, sha256(f"{case.id}|{segmentation.name}".encode()).digest()

    return sorted(members, key=place)


def _take(members: list[tuple[Rank, Case]], taken: Collection[str], fits: Callable[[Case], bool]) -> Case | None:
    """Take the first case that fits, of alike ones one that no other delivery has; what does not fit goes, too."""
    while members and not fits(members[0][1]):
        del members[0]
    if not members:
        return None
    rank, best = members[0]
    alike = (case for other, case in takewhile(lambda one: one[0] == rank, members))
    found = next((case for case in alike if case.id not in taken and fits(case)), best)
    members.remove((rank, found))
    return found


def _rank(case: Case, level: Level) -> Rank:
    """Sort what finds more and takes less time first."""
    late = case.slow or case.heavy or not sends_fields(case)
    asked = requests(case)
    large = sum(asked > one for one in LARGE) + (longest(case) > LONG)
    return level is Level.MAY, late, case.exclusive or waits(case), patience(case) > PATIENT, large


def cost(case: Case, segmentation: Segmentation) -> float:
    """Return about how much of a sample's time a play takes, concurrently with others where it may be."""
    return PLAY + _pieces(case, segmentation) * (ALONE if case.exclusive else PIECE)


def duration(case: Case, segmentation: Segmentation) -> float:
    """Return about how many seconds a play takes from its beginning to its end."""
    return patience(case) + _pieces(case, segmentation) * (segmentation.gap + GAP)


def _pieces(case: Case, segmentation: Segmentation) -> int:
    asked = requests(case)
    each = {"bytes": 30, "fields": 6, "beside": 6, "dripped": 30}.get(segmentation.name, 1)
    return min(asked * each, segmentation.bounds[1]) if each > 1 else asked
