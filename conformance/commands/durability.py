"""`wireproof durability`: kills a server under load, starts it again, and compares what it kept with its promises."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.clause_sentences import sentence_of
from wireproof.conformance.report.durability_records import durability_records, durability_run
from wireproof.conformance.report.outputs import OutputError, RunFolder
from wireproof.conformance.run.durability.conversation import conversation
from wireproof.conformance.run.durability.durability_run import DurabilityRun
from wireproof.conformance.run.durability.lives import ProcessLives
from wireproof.conformance.run.durability.load import under_threads
from wireproof.conformance.run.durability.promises import counted
from wireproof.conformance.run.durability.scenarios import SCENARIOS, ScenarioResult, carried_out
from wireproof.conformance.run.processes import ServerProcess, StartError, ended_by_signals, parse_command
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.suite.documents import CaseError
from wireproof.conformance.verdict.records import now_text
from wireproof.protocols import protocol, protocol_names

KEPT, BROKEN, USAGE = 0, 1, 2
SHOWN = 3
"""Breaches of one promise that are printed of a scenario."""


@click.command(context_settings={"show_default": True})
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--target-command", required=True, help="Starts the server; {port}, {host} and {data} are replaced.")
@click.option("--listener", required=True, help="Where queues are made and messages published; {data} is replaced.")
@click.option("--profile", help="Profile the server speaks.  [default: the protocol's first]")
@click.option("--kills", type=click.IntRange(1), default=10, help="How often it is killed under load.")
@click.option("--only", multiple=True, type=click.Choice(list(SCENARIOS)), help="Only these scenarios. Repeatable.")
@click.option("--seed", type=int, default=1, help="Which moments and bodies.")
@click.option("--first", is_flag=True, help="Stop at the first promise that is not kept.")
@click.option("--ready-timeout", type=click.FloatRange(0.1), default=15.0, help="Seconds it may take to listen.")
@click.option(
    "--implementation", "--name", help="Name of the implementation in records and matrix.  [default: its command]"
)
@click.option("--implementation-version", default="unknown", help="Its version.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for records, page, durability.json, target.log.",
)
@click.pass_context
def command(context: click.Context, /, name: str, profile: str | None, **given: Any) -> None:
    """Kill a server of PROTOCOL with SIGKILL under load, start it again, replay, and compare with what was promised.

    Then fill its disk, cut its file within the last message, and flip a bit of a message. It is not for a server that
    runs: what {data} stands for is damaged. Exits 0 when every promise is kept, 1 when not, 2 for wrong usage.

    With --out, each promise of each scenario is a record, in a run called 'NAME, durability': `wireproof matrix` shows
    it in a column beside that of `wireproof test`.

    \b
    wireproof durability namechan --listener 'unix://{data}/hook' --kills 50 --target-command
      'wireproof serve namechan --port {port} --data {data} --publish-command-socket {data}/hook'
    """
    console, began = Console(highlight=False, soft_wrap=True), now_text()
    spoken = protocol(name)
    try:
        talk = conversation(name, profile or spoken.default_profile, spoken.default_variant)
        parsed = parse_command(given["target_command"])
        if not parsed.wants_data:
            raise TargetError("--target-command: expected {data}, the folder of what the server keeps")
        log = _log(given["out"])
        with ended_by_signals(), ServerProcess(parsed, log=log, ready_timeout=given["ready_timeout"]) as server:
            run = DurabilityRun(talk, ProcessLives(server, given["listener"]), given["seed"], under_threads)
            findings = _found(run, given, console)
    except (CaseError, TargetError, StartError, OSError) as error:
        raise click.UsageError(str(error)) from None
    results = [one for one, _ in findings]
    broken = counted([breach for one in results for breach in one.breaches])
    if given["out"] is not None:
        _write(run, findings, {**given, "began": began}, BROKEN if broken else KEPT)
    console.print(
        f"durability {name} {talk.profile}: {number_of(run.kills, 'kill')}, {number_of(len(results), 'comparison')}, "
        f"{len(talk.promises) - len(broken)} of {len(talk.promises)} promises kept"
    )
    for promise in broken:
        clause = talk.promises[promise]
        console.print(f"  {promise}: {sentence_of(name, clause)} [{clause}]", markup=False)
    context.exit(BROKEN if broken else KEPT)


def _log(folder: Path | None) -> Path | None:
    if folder is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "target.log"


def _write(run: DurabilityRun, findings: list[tuple[ScenarioResult, int]], given: dict[str, Any], code: int) -> None:
    """Write records, run.json, the page and durability.json. Raises `click.UsageError` where that is not possible."""
    talk, folder = run.talk, given["out"]
    name = given["implementation"] or given["target_command"]
    about = durability_run(
        talk,
        given["target_command"],
        name,
        given["implementation_version"],
        only=given["only"],
        kills=given["kills"],
        seed=run.seed,
    )
    about.started_at = given["began"]
    chosen = [one for one in SCENARIOS if not given["only"] or one in given["only"]]
    try:
        with RunFolder(folder) as files:
            records = list(durability_records(about, load_suite(talk.spoken.name), talk, findings, chosen))
            for one in records:
                files.add(one)
            files.finish(about.summary(records, code), records)
        document = _document(talk.spoken.name, talk.profile, run, [one for one, _ in findings])
        (folder / "durability.json").write_text(document, encoding="utf-8")
    except (OutputError, OSError) as error:
        raise click.UsageError(str(error)) from None


def _found(run: DurabilityRun, given: dict[str, Any], console: Console) -> list[tuple[ScenarioResult, int]]:
    """Return what each scenario found, with the microseconds that it took."""
    found: list[tuple[ScenarioResult, int]] = []
    since = time.monotonic()
    first = run.begin()
    if first:
        raise TargetError(first[0].detail)
    for name in SCENARIOS:
        if given["only"] and name not in given["only"]:
            continue
        for one in carried_out(name, run, given["kills"]):
            found.append((one, round((time.monotonic() - since) * 1e6)))
            since = time.monotonic()
            _print(console, one)
            if one.breaches and given["first"]:
                return found
        if any(breach.promise == "starts" for one, _ in found for breach in one.breaches):
            console.print("the server does not start any more; the other scenarios are left out")
            break
    return found


def _print(console: Console, one: ScenarioResult) -> None:
    console.print(
        f"{one.scenario}: {'broken' if one.breaches else 'kept'}{one.note and f' ({one.note})'}", markup=False
    )
    for promise, breaches in counted(one.breaches).items():
        for breach in breaches[:SHOWN]:
            console.print(f"    {promise}: {breach.detail}", markup=False)
        if len(breaches) > SHOWN:
            console.print(f"    {promise}: {len(breaches) - SHOWN} more")


def _document(name: str, profile: str, run: DurabilityRun, findings: Iterable[ScenarioResult]) -> str:
    found = [
        {
            "scenario": one.scenario,
            "note": one.note,
            "breaches": [{"promise": breach.promise, "detail": breach.detail} for breach in one.breaches],
        }
        for one in findings
    ]
    document = {"schema": "wireproof.durability/1", "protocol": name, "profile": profile, "kills": run.kills}
    return json.dumps({**document, "seed": run.seed, "findings": found}, indent=2) + "\n"
