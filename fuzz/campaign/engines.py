"""Runs each engine for its share of the time and keeps its corpus and its findings."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from wireproof.fuzz import corpus as corpora
from wireproof.fuzz import coverage_guided, property_based
from wireproof.fuzz.campaign.board import Board, EngineRow
from wireproof.fuzz.coverage_guided import FuzzerProgress
from wireproof.fuzz.findings.finding import FuzzFinding
from wireproof.fuzz.findings.of_own_code import finding_of
from wireproof.fuzz.known_targets import CodeTarget
from wireproof.fuzz.live.fuzz_target import LiveTarget
from wireproof.fuzz.live.live_campaign import Campaign, CampaignFinding, CampaignLimits, CampaignProgress
from wireproof.fuzz.reached import minimal
from wireproof.fuzz.script import Script, ScriptError, from_json, to_json
from wireproof.fuzz.seed_replay import REPLAY_S, replayed_seeds

__all__ = ["EngineOptions", "fuzz_own_code", "fuzz_server", "seeds_in", "shares", "time_left"]

FEWEST_SEEDS, MOST_SEEDS = 50, 2000
SLOWER = 20
"""Times that an execution is slower when its lines are instrumented, at most."""
SEEDS_SHARE = 3
"""The replay of seeds may take one such part of the time."""
SERVER = "server"
SAVED_S = 10.0
"""Seconds after which the new scripts of a server are written, so that a campaign that is killed loses few."""


@dataclass(frozen=True)
class EngineOptions:
    """Options that all engines share."""

    protocol: str
    corpus: Path
    seed: int
    runs: int = 0
    """Executions of each engine, instead of a time; 0 for none."""
    minimise: bool = False
    """Whether inputs that reach nothing of their own leave the corpus at the end."""


def shares(engines: list[str], seconds: int) -> list[tuple[str, int]]:
    """Return (engine, seconds) pairs: half for a server, the rest split evenly, at least one second each."""
    own = [one for one in engines if one != SERVER]
    for_server = seconds // 2 if SERVER in engines and own else seconds if SERVER in engines else 0
    each, left = divmod(seconds - for_server, len(own)) if own else (0, 0)
    found = [(engine, each + (number < left)) for number, engine in enumerate(own)]
    found += [(SERVER, for_server)] if SERVER in engines else []
    return [(engine, max(1, share) if seconds else 0) for engine, share in found]


def seeds_in(seconds: int, per_second: float) -> int:
    """Return how many seeds fill half of SECONDS; libFuzzer runs all of them before it looks at its time."""
    if not seconds:
        return MOST_SEEDS
    return min(MOST_SEEDS, max(FEWEST_SEEDS, int(per_second * seconds / SLOWER / 2)))


def time_left(share: int, spent: float) -> int:
    """Return the seconds that an engine fuzzes once seeds took `spent`: at least half of its share; 0 for no limit."""
    return max(share - round(spent), (share + 1) // 2)


def fuzz_own_code(
    target: CodeTarget, engine_options: EngineOptions, board: Board, row: EngineRow
) -> FuzzFinding | None:
    """Fuzz one target of our own code and grow its corpus; return its first finding, None without any.

    Raises `OSError` if the corpus cannot be written.
    """
    began, corpus = time.monotonic(), engine_options.corpus / target.name
    protocol, seed = engine_options.protocol, engine_options.seed

    def report(progress: FuzzerProgress) -> None:
        row.seconds, row.executions, row.per_second = time.monotonic() - began, progress.executions, progress.per_second
        row.coverage, row.corpus = progress.coverage, progress.corpus
        board.changed(row)

    board.entered(row, "replays its seeds")
    spell = min(max(REPLAY_S, row.share / SEEDS_SHARE), row.share or 1)
    replayed = replayed_seeds(target, protocol, seed, seconds=spell)
    left = time_left(row.share, time.monotonic() - began)
    row.state = "running"
    if replayed.broken is not None:
        result = replayed.broken
    elif coverage_guided.is_available():
        corpora.seed(corpus, replayed.seeds, seeds_in(left, replayed.per_second), seed)
        result = coverage_guided.run(
            target, protocol, corpus, seconds=left, executions=engine_options.runs, seed=seed, report=report
        )
    else:
        result = property_based.run(
            target, protocol, seconds=left, executions=engine_options.runs, seed=seed, report=report
        )
    report(result.progress)
    if engine_options.minimise and corpus.is_dir():
        board.entered(row, "minimises its corpus")
        check = partial(target.check, protocol)
        corpora.keep_only(corpus, minimal(corpora.inputs(corpus).values(), check))
        row.corpus = len(corpora.inputs(corpus))
    row.end()
    if not result.found:
        return None
    row.findings += 1
    return finding_of(target, protocol, result, seed)


def fuzz_server(
    live: LiveTarget,
    engine_options: EngineOptions,
    board: Board,
    row: EngineRow,
    keep: Callable[[CampaignFinding], None],
    restarts: int,
    known: Iterable[FuzzFinding] = (),
) -> str:
    """Fuzz a live server, beginning with the scripts of its corpus; return why it ended early, "" if it did not.

    `keep` is called with each finding; `known` ones are not reported again, and their deaths are steered around.
    Raises `StartError`, `OSError`.
    """
    began, folder = time.monotonic(), engine_options.corpus / SERVER / f"{live.context.profile}-{live.context.variant}"

    def report(progress: CampaignProgress) -> None:
        row.seconds, row.executions = time.monotonic() - began, progress.executions
        row.per_second, row.states = round(progress.per_second), progress.states
        row.coverage = progress.edges or 0
        row.corpus, row.findings = len(campaign.novel), progress.findings
        saving.changed(campaign)
        board.changed(row)

    row.state = "running"
    limits = CampaignLimits(row.share, engine_options.runs, restarts=restarts)
    campaign = Campaign(live, seed=engine_options.seed, limits=limits, report=report)
    campaign.steer_around(known)
    given = _scripts(folder)
    campaign.begin_with(given)
    saving = _Saving(folder)
    try:
        for one in campaign.run():
            keep(one)
    finally:
        saving.save(campaign)
    if engine_options.minimise and campaign.progress.executions >= len(given):
        corpora.keep_only(folder, map(_as_input, campaign.novel))
    row.end()
    return campaign.stopped


class _Saving:
    """Writes the scripts of a server that showed something new, while the campaign goes on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        self._last = time.monotonic()

    def changed(self, campaign: Campaign) -> None:
        """Write what is new if that was not done for `SAVED_S`. Raises `OSError`."""
        if time.monotonic() - self._last >= SAVED_S:
            self.save(campaign)

    def save(self, campaign: Campaign) -> None:
        """Write what is new. Raises `OSError`."""
        novel = campaign.novel
        corpora.merge(self._folder, map(_as_input, novel[self._number :]))
        self._number, self._last = len(novel), time.monotonic()


def _scripts(folder: Path) -> list[Script]:
    """Return the scripts of a corpus; files that hold no valid script are skipped."""
    found: list[Script] = []
    if folder.is_dir():
        for data in corpora.inputs(folder).values():
            try:
                found.append(from_json(json.loads(data)))
            except (ScriptError, ValueError, TypeError):
                continue
    return found


def _as_input(script: Script) -> bytes:
    return json.dumps(to_json(script), separators=(",", ":")).encode()
