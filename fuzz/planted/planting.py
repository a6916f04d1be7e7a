"""Plants faults one after the other and lets the engines look for each until one finds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from wireproof.conformance.mutation.edit_score import EditPlace, Explanation, SurvivalReason, explanations
from wireproof.fuzz.planted.drawn_faults import PlantedFault, drawn_faults
from wireproof.fuzz.planted.engine_runs import EngineRun, EngineRuns, RunStatus, engines_for
from wireproof.fuzz.planted.listed_faults import listed_faults
from wireproof.fuzz.planted.workbench import Workbench

__all__ = ["FaultResult", "PlantingOptions", "control", "explanation_of", "planted", "share_found"]

TABLE = Path(__file__).with_name("explained-faults.yaml")
ANY = "*"
NOT_COUNTED = frozenset({SurvivalReason.EQUIVALENT, SurvivalReason.ELSEWHERE, SurvivalReason.CONFORMING})


@dataclass(frozen=True, slots=True)
class PlantingOptions:
    """What is planted and how long each engine looks for it."""

    protocols: Sequence[str]
    seed: int
    number: int
    seconds: int
    """Seconds of each engine on each fault."""
    part: str = ""
    """Only parts with this text in their name, and listed faults with it in theirs."""
    faults: Path | None = None
    """A file of faults that are planted instead of drawn ones."""
    by_all: bool = False
    """Whether all engines look for a fault, also after one has found it."""

    def chosen(self) -> Iterator[PlantedFault]:
        """Yield the faults to plant. Raises `ValueError` for a file that holds none."""
        some = drawn_faults(self.protocols, self.seed) if self.faults is None else iter(listed_faults(self.faults))
        mine = (one for one in some if not one.protocol or one.protocol in self.protocols)
        return (one for one in mine if self.part in one.part or (one.slip and self.part in one.slip.name))


@dataclass(frozen=True, slots=True)
class FaultResult:
    """One fault, and the runs of engines on it."""

    seed: int
    fault: PlantedFault
    runs: Sequence[EngineRun] = field(default_factory=list)
    starts: bool = True
    """False for an edit with which no server can be made: it is drawn, and not counted."""

    @property
    def found_by(self) -> EngineRun | None:
        """The first run that found it; None where none did."""
        return next((one for one in self.runs if one.status is RunStatus.FOUND), None)

    @property
    def counts(self) -> bool:
        """Whether the share is of this fault, too: not of one that changes nothing that anybody promised."""
        explained = explanation_of(self.fault)
        is_explained = explained is not None and explained.kind in NOT_COUNTED
        return self.starts and not (is_explained and self.found_by is None)


@cache
def _known() -> Mapping[EditPlace, Explanation]:
    return {**explanations(), **explanations(TABLE)}


def explanation_of(fault: PlantedFault) -> Explanation | None:
    """Return what was read about an edit that nothing found; None for a mutant and for one that nobody read."""
    if fault.slip is not None:
        return fault.slip.explained
    if fault.edit is None:
        return None
    edit = fault.edit.edit
    place = EditPlace(fault.edit.file, edit.function, edit.text, edit.statement)
    wider = (place, place._replace(edit=ANY), place._replace(edit=ANY, statement=ANY))
    return next((_known()[one] for one in wider if one in _known()), None)


def planted(options: PlantingOptions) -> Iterator[FaultResult]:
    """Plant faults until `options.number` of them were looked for; yield each, also those that make no server.

    Raises `OSError` if the copy cannot be written.
    """
    with TemporaryDirectory(prefix="wireproof-workbench-") as folder:
        bench = Workbench(Path(folder, "copy"))
        runs = EngineRuns(bench, options.seconds, options.seed)
        done = 0
        for fault in options.chosen():
            if done == options.number and options.faults is None:
                return
            bench.plant(fault)
            if not bench.makes_servers(options.protocols):
                yield FaultResult(options.seed, fault, starts=False)
                continue
            done += 1
            yield FaultResult(options.seed, fault, list(_runs_on(fault, runs, options)))


def _runs_on(fault: PlantedFault, runs: EngineRuns, options: PlantingOptions) -> Iterator[EngineRun]:
    for engine in engines_for(fault, options.protocols, every=options.by_all):
        found = runs.run(engine)
        yield found
        if found.status is RunStatus.FOUND and not options.by_all:
            return


def control(options: PlantingOptions) -> Iterator[EngineRun]:
    """Run every engine that any part uses, without a fault; nothing may be found."""
    with TemporaryDirectory(prefix="wireproof-workbench-") as folder:
        runs = EngineRuns(Workbench(Path(folder, "copy")), options.seconds, options.seed)
        first = {(fault.part, fault.protocol): fault for fault in options.chosen()}
        looking = (engines_for(fault, options.protocols, every=options.by_all) for fault in first.values())
        engines = dict.fromkeys(engine for some in looking for engine in some)
        yield from map(runs.run, engines)


def share_found(results: Sequence[FaultResult]) -> float:
    """Return the percentage of the counted faults that were found; 100 when none is counted."""
    counted = [one for one in results if one.counts]
    found = sum(one.found_by is not None for one in counted)
    return 100.0 * found / len(counted) if counted else 100.0
