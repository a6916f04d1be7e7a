"""The tables of planted faults: part x engine, and each fault; as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from wireproof.fuzz.planted.engine_runs import EngineRun, RunStatus
from wireproof.fuzz.planted.planting import FaultResult, explanation_of, share_found

__all__ = ["PLANTED_SCHEMA", "PlantedTable"]

PLANTED_SCHEMA = "wireproof.planted-faults/2"
DRAWN = "drawn by a seed"
EXPLAINED = "fuzz/planted/explained-faults.yaml"
SHOWN = 110
"""Characters of a fault or finding in a cell."""


@dataclass(frozen=True)
class PlantedTable:
    """All results of some seeds, and the control runs."""

    results: Sequence[FaultResult]
    control: Sequence[EngineRun]
    about: Mapping[str, object]
    """`command`, `version`, `seconds`, `minimum_share`."""

    @property
    def counted(self) -> list[FaultResult]:
        """The faults that the share is of."""
        return [one for one in self.results if one.counts]

    @property
    def found(self) -> list[FaultResult]:
        """The counted faults that an engine found."""
        return [one for one in self.counted if one.found_by is not None]

    @property
    def false_alarms(self) -> list[EngineRun]:
        """The control runs that found something."""
        return [one for one in self.control if one.status is not RunStatus.QUIET]

    @property
    def summary(self) -> str:
        """The result in one line."""
        stillborn = sum(not one.starts for one in self.results)
        unread = sum(one.starts and not one.counts for one in self.results)
        return (
            f"{len(self.found)} of {len(self.counted)} faults found, {share_found(self.results):.1f} %; "
            f"not counted: {unread} that break no promise, {stillborn} that make no server"
        )

    @property
    def is_enough(self) -> bool:
        """Whether the share that was asked for is found."""
        return 100 * len(self.found) >= self._minimum * len(self.counted)

    @property
    def _minimum(self) -> float:
        return float(str(self.about.get("minimum_share", 0)))

    def to_json(self) -> dict[str, object]:
        """Return the table as JSON values."""
        return {
            "schema": PLANTED_SCHEMA,
            **self.about,
            "found": len(self.found),
            "counted": len(self.counted),
            "faults": [_fault(one) for one in self.results],
            "control": [_run(one) for one in self.control],
        }

    def to_markdown(self) -> str:
        """Return the page."""
        lines = [
            f"# {'Listed' if 'origin' in self.about else 'Planted'} faults",
            "",
            f"Produced by `{self.about['command']}`, wireproof {self.about['version']}; not edited.",
            "",
            f"{self.summary}.",
            *self._by_seed(),
            *(
                [f"At least {self._minimum:g} % must be: {'they are' if self.is_enough else 'they are not'}."]
                * (self._minimum > 0)
            ),
            f"Each fault is {self.about.get('origin', DRAWN)} and planted alone in a copy of the project.",
            "Then the commands of the fuzzers run there, each for "
            f"{self.about['seconds']} s{'' if self._by_all else ', until one finds something'}.",
            f"`{self.about.get('explained', EXPLAINED)}` explains the faults that are not counted.",
            "",
            *(["## By fault and engine", "", *self._by_fault(), ""] if "origin" in self.about else []),
            "## By part and engine",
            "",
            *self._by_part(),
            "",
            "A cell is how many faults the engine found of those that it looked for, "
            "and the median of the executions it needed.",
            "",
            "## Not found",
            "",
            "| seed | part | fault | engines | read |",
            "|---|---|---|---|---|",
            *(_missed(one) for one in self.results if one.starts and one.found_by is None),
            "",
            "## Found",
            "",
            "| seed | part | fault | engine | executions | s | what was found |",
            "|---|---|---|---|---:|---:|---|",
            *(_found(one, one.found_by) for one in self.results if one.found_by is not None),
            "",
            "## Without a fault",
            "",
            *(f"- {one.engine}: {one.status} {cell(one.detail)}" for one in self.control),
            *([] if self.control else ["The engines were not run on the code without a fault."]),
        ]
        return "\n".join(lines).rstrip() + "\n"

    @property
    def _by_all(self) -> bool:
        return bool(self.about.get("by_all"))

    def _by_seed(self) -> Iterable[str]:
        """Yield a line with the share of each seed, where there are several."""
        seeds = dict.fromkeys(one.seed for one in self.results)
        if len(seeds) > 1:
            shares = []
            for seed in seeds:
                found, counted = (sum(one.seed == seed for one in some) for some in (self.found, self.counted))
                shares.append(f"{found} of {counted} (seed {seed})")
            yield f"By seed: {', '.join(shares)}."

    def _by_fault(self) -> Iterable[str]:
        engines = list(dict.fromkeys(run.engine.name for one in self.results for run in one.runs))
        yield f"| fault | part | {' | '.join(engines)} |"
        yield f"|---|---|{'---:|' * len(engines)}"
        for one in self.results:
            cells = [_executions([run for run in one.runs if run.engine.name == name]) for name in engines]
            yield f"| {cell(one.fault.name)} | {one.fault.part} | {' | '.join(cells)} |"
        yield ""
        asked = "" if self._by_all else "; an engine that was not asked any more has none"
        yield f"A cell is the executions until the engine found the fault, *no* where it found nothing{asked}."

    def _by_part(self) -> Iterable[str]:
        runs = [(one, run) for one in self.counted for run in one.runs]
        engines = list(dict.fromkeys(run.engine.name for _, run in runs))
        yield f"| part | found | {' | '.join(engines)} |"
        yield f"|---|---|{'---|' * len(engines)}"
        for part in sorted({one.fault.part for one in self.counted}):
            mine = [one for one in self.counted if one.fault.part == part]
            found = sum(one.found_by is not None for one in mine)
            cells = [
                _cell_of([run for one, run in runs if one in mine and run.engine.name == name]) for name in engines
            ]
            yield f"| {part} | {found} of {len(mine)} | {' | '.join(cells)} |"
        cells = [_cell_of([run for _, run in runs if run.engine.name == name]) for name in engines]
        yield f"| **all** | {len(self.found)} of {len(self.counted)} | {' | '.join(cells)} |"


def cell(text: str) -> str:
    """Return text for a cell of a table: printable, short, without bars."""
    shown = "".join(one if one.isprintable() else "?" for one in text)[:SHOWN]
    return shown.replace("|", "\\|")


def _executions(runs: Sequence[EngineRun]) -> str:
    found = [one.executions for one in runs if one.status is RunStatus.FOUND]
    others = {one.status for one in runs} - {RunStatus.FOUND, RunStatus.QUIET}
    return f"{min(found):,}" if found else ", ".join(sorted(others)) if others else "no" if runs else ""


def _cell_of(runs: Sequence[EngineRun]) -> str:
    found = [one.executions for one in runs if one.status is RunStatus.FOUND]
    if not runs:
        return ""
    return f"{len(found)} of {len(runs)}" + (f" ({median(found):,.0f})" if found else "")


def _missed(one: FaultResult) -> str:
    explained = explanation_of(one.fault)
    engines = ", ".join(f"{run.engine}" + _unless_quiet(run) for run in one.runs)
    read = f"{explained.kind}: {explained.reason}" if explained else ""
    return f"| {one.seed} | {one.fault.part} | {cell(str(one.fault))} | {engines} | {cell(read)} |"


def _unless_quiet(run: EngineRun) -> str:
    return "" if run.status is RunStatus.QUIET else f" ({run.status})"


def _found(one: FaultResult, run: EngineRun) -> str:
    return (
        f"| {one.seed} | {one.fault.part} | {cell(str(one.fault))} | {run.engine} | {run.executions:,} | "
        f"{run.seconds:.0f} | {cell(run.detail)} |"
    )


def _fault(one: FaultResult) -> dict[str, object]:
    explained = explanation_of(one.fault)
    return {
        "seed": one.seed,
        "part": one.fault.part,
        "fault": str(one.fault),
        "file": one.fault.edit.file if one.fault.edit else "",
        "function": one.fault.edit.edit.function if one.fault.edit else "",
        "edit": one.fault.edit.edit.text if one.fault.edit else one.fault.name,
        "in": one.fault.edit.edit.statement if one.fault.edit else "",
        "starts": one.starts,
        "counts": one.counts,
        "read": f"{explained.kind}: {explained.reason}" if explained else "",
        "runs": [_run(run) for run in one.runs],
    }


def _run(run: EngineRun) -> dict[str, object]:
    return {
        "engine": run.engine.name,
        "protocol": run.engine.protocol,
        "status": str(run.status),
        "executions": run.executions,
        "seconds": round(run.seconds, 1),
        "detail": run.detail,
    }
