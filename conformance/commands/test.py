"""`wireproof test`: plays the suite against a server and writes records, reports and an exit code."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from wireproof.conformance.commands.closing_report import HARNESS, INTERRUPTED, USAGE, closing_report, exit_code
from wireproof.conformance.commands.measuring import Measuring
from wireproof.conformance.commands.output_options import open_page, output_options, recorded_options
from wireproof.conformance.commands.requirement_options import asked_of, known_cases, with_profile_of_set
from wireproof.conformance.commands.resumed import earlier_results, go_on, on_full_disk, resumed, with_options_of_run
from wireproof.conformance.commands.segmentation_options import add_segmentation_options
from wireproof.conformance.commands.selection_options import (
    EFFORTS,
    effort_option,
    list_cases,
    of_effort,
    selection_options,
    with_effort,
)
from wireproof.conformance.commands.target_options import (
    Target,
    declared_limits,
    settings_of,
    target_of,
    target_options,
    undeclared_limits,
)
from wireproof.conformance.drivers.simulation import ServiceFactory
from wireproof.conformance.model.targets import TargetError
from wireproof.conformance.model.verdict import Level
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.baseline import NOTHING, BaselineError, Comparison, compare, read_baseline
from wireproof.conformance.report.ci_files import write_ci_files
from wireproof.conformance.report.claim import claimed, replace_older
from wireproof.conformance.report.console import LiveProgress, console_of, show_causes
from wireproof.conformance.report.outputs import INTERRUPTED as WAS_INTERRUPTED
from wireproof.conformance.report.outputs import KeptEvidence, OutputError, RunFolder
from wireproof.conformance.report.work_progress import waiting
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.collector import collecting_seldom
from wireproof.conformance.run.plan import Plan
from wireproof.conformance.run.probe import ProbeError, Spoken, ask_spoken, is_fresh_server, no_connection, version_of
from wireproof.conformance.run.processes import StartError, run_until_ended, signals_ignored
from wireproof.conformance.run.runner import play_all, simulate
from wireproof.conformance.run.selection import SelectionError, ids_of, left_out_by, parse, select
from wireproof.conformance.suite.cases import Case, CaseError, Suite, load_suite
from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.pipeline import Verdicts
from wireproof.conformance.verdict.records import Record, Run, wireproof_version
from wireproof.protocols import protocol, protocol_names
from wireproof.reference_server.server import raise_file_limit

LONG = 30.0
"""Seconds of a run from which its expected length is printed."""
MANY = 9
"""Failed cases up to which nothing is said about the profile: one case that is played again says nothing of it."""


@click.command(context_settings={"show_default": True})
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.argument("target", required=False)
@click.option("--profile", default="auto", help="Document or release the target speaks; auto asks the target.")
@click.option("--variant", "--width", default="auto", help="Layout variant (a width, say); auto asks the target.")
@selection_options
@effort_option
@click.option("--jobs", type=click.IntRange(1, 1000), default=32, help="Cases that run at the same time.")
@click.option("--timeout", type=click.FloatRange(0.05), default=5.0, help="Seconds to wait for any one answer.")
@click.option("--tolerance", type=click.FloatRange(0.0), default=0.25, help="Seconds an expiry may be late.")
@add_segmentation_options
@click.option("--slow", is_flag=True, help="Also play the cases that take a minute or send megabytes.")
@output_options
@click.option(
    "--resume",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Go on with the incomplete run in this folder: play what is left, in place of --out.",
)
@click.option("--implementation", "--name", help="Name of the implementation in records and matrix.")
@click.option(
    "--implementation-version", help="Its version; asked from the target where the protocol has a request for it."
)
@click.option(
    "--max-time",
    type=click.FloatRange(1.0),
    metavar="SECONDS",
    help="End the run after so many seconds, as partial.  [default: after 20 in which next to nothing passes]",
)
@click.option("--quiet", "-q", is_flag=True, help="Print the last line only.")
@target_options
@click.pass_context
def command(context: click.Context, /, name: str, target: str | None, **options: Any) -> None:
    """Play every case of PROTOCOL against TARGET (tcp://HOST:PORT, unix:///PATH, or simulation), or against a server
    that wireproof starts (--target-command).

    Exit codes: 0 every MUST and SHOULD passes, 1 some do not, 2 usage or nothing tested, 3 only wireproof's own fault,
    4 the baseline lists cases that no longer fail, 130 interrupted. DIR/records.jsonl holds one JSON line a play.

    \b
    wireproof test throttr tcp://127.0.0.1:9000 --out runs/mine
    wireproof test throttr tcp://127.0.0.1:9000 --profile 7.3.2 --variant uint16 -k "insert and not ttl"
    wireproof test throttr --target-command "my-server --port {port}" --out runs/mine
    """
    began, options = time.monotonic(), with_effort(context, with_options_of_run(context, options))
    if options["effort"]:
        _announce(f"--effort {options['effort']}: {EFFORTS[options['effort']].description}")
    try:
        options = with_profile_of_set(name, options)
        list_cases(context, load_suite(name), options)
        options["out"] = options["resume"] or options["out"]
        with claimed(options["out"]) as working:
            if not options["resume"] and (earlier := earlier_results(options["out"])):
                _announce(earlier)
            with target_of(target, {**options, "out": working}) as found:
                code = _Test(name, found, options, working, began).run()
    except (TargetError, StartError, SelectionError, ProbeError, OutputError, BaselineError) as error:
        click.echo(f"wireproof: {error}{on_full_disk(error, options['out'])}", err=True)
        code = USAGE
    except CaseError as error:
        click.echo(f"wireproof: error in the suite: {error}", err=True)
        code = HARNESS
    except KeyboardInterrupt:
        click.echo("wireproof: interrupted before the first case", err=True)
        code = INTERRUPTED
    context.exit(code)


class _Test:
    """One call of the command."""

    def __init__(self, name: str, target: Target, options: dict[str, Any], working: Path | None, began: float) -> None:
        """`working`: where the files of the run are written; `began`: when the command was called (monotonic)."""
        self.protocol = protocol(name)
        self.target = target
        self.options = options
        self.working = working
        self.began = began
        self.console: Console = console_of(quiet=options["quiet"])
        self.address = target.address
        self.suite: Suite = load_suite(name)
        if options["slow"]:
            self.suite = load_suite(name, triples=True)
            raise_file_limit()  # some of its cases open thousands of connections
        self.settings = settings_of(options, self.suite, target)

    def run(self) -> int:
        """Play, write the files, report; return the exit code."""
        level, expression = Level(self.options["level"].upper()), self.options["expression"]
        if expression.strip():
            parse(expression, ids_of(self.suite))
        baseline = read_baseline(self.options["baseline"]) if self.options["baseline"] else NOTHING
        with waiting("asking the target what it speaks, and for its limits and features", quiet=self.console.quiet):
            run = self._who()
            run.asked = asked_of(self.options, run.role, self.suite)
            if self.address is not None:
                measuring = Measuring(self.suite, self.target, options=self.options, announce=_announce)
                self.settings = measuring.settings(run, self.address, self.settings)
        plan = Plan(run, self.suite, (), self.settings)
        plan.notify = _announce
        plan.cases = of_effort(self._selected(run, expression, level), self.options["effort"])
        left_out = self._leave_out(plan)
        self._bound(plan, expression, level, left_out)
        if self.settings.route.round_trip and (seconds := plan.seconds()) > LONG:
            _announce(f"so this run takes about {seconds / 60:.1f} minutes, on a machine that is not busy")
        where = self.working
        earlier = resumed(where, run) if self.options["resume"] else []
        done = {one["case"] for one in earlier}
        plan.cases = [case for case in plan.cases if case.id not in done]
        with ExitStack() as stack:
            kept = KeptEvidence(self.options["evidence"])
            folder = stack.enter_context(RunFolder(where, evidence=kept)) if where else None
            verdicts = Verdicts(self.suite, plan.cases, folder.add if folder else _unwritten)
            plan.journal = folder.note if folder else _unwritten
            plan.keeps_passes = kept is KeptEvidence.ALL
            if folder:
                folder.begin(run.summary((), INTERRUPTED))
                for one in earlier:
                    folder.add(one)
            try:
                with collecting_seldom():
                    self._play(plan, verdicts)
            except KeyboardInterrupt:
                with signals_ignored():
                    return self._interrupted(len(done) + len(plan.cases), run, [*earlier, *verdicts.finish()], folder)
            records = [*earlier, *verdicts.finish()]
            comparison = compare(baseline, records, known_cases(self.suite, run.asked), self.suite.clauses)
            code = exit_code(records, comparison)
            if folder:
                folder.finish(run.summary(records, code), records)
        return self._report(plan, records, comparison, code, left_out)

    def _report(self, plan: Plan, records: list[Record], comparison: Comparison, code: int, left_out: int) -> int:
        """Put the finished run where it belongs, write the files for CI, print the closing report; return `code`."""
        where = replace_older(self.options["out"], self.working) if self.working else None
        if left_out:
            message = f"{number_of(left_out, 'case')} not played: they require a fresh server (restart it to play them)"
            self.console.print(message, soft_wrap=True)
        write_ci_files(self.options, plan.run, records)  # first: whoever reads what is printed may stop reading
        closing_report(self.console, plan, records, comparison, code, where, self._hint)
        open_page(where, opens=self.options["opens"])
        return code

    def _selected(self, run: Run, expression: str = "", level: Level = Level.MAY) -> list[Case]:
        everything = self.options["slow"]
        return select(
            self.suite,
            run.profile,
            run.variant,
            expression=expression,
            level=level,
            slow=everything or self.address is None,
            heavy=everything,
            budget=self.options["budgets"],
            declared=declared_limits(self.options["limits"], self.suite),
        )

    def _bound(self, plan: Plan, expression: str, level: Level, left_out: int) -> None:
        """Say what the run leaves out, how long it may take, and who is notified when the target is lost."""
        run, most = plan.run, self.options["max_time"]
        run.partial += left_out_by(expression, level)
        if self.options["effort"] == "smoke":
            run.partial.append("--effort smoke")
        run.cases = len(self._selected(run)) if run.partial else len(plan.cases)
        if most is not None:
            plan.bounds.until, plan.bounds.max_time = self.began + most, most
        plan.announce = partial(self._lost, plan)

    def _lost(self, plan: Plan, why: str) -> None:
        """Say at once that the target is gone: since when, after what, and how to go on."""
        bounds = plan.bounds
        after = f", after {number_of(bounds.ended, 'play')}, {bounds.last} the last that passed" if bounds.last else ""
        clock, spent = time.strftime("%H:%M:%S"), time.monotonic() - bounds.began
        message = f"the target {why}: {clock}, {spent:.1f} s after the first case began{after}"
        if self.target.server is None:
            message += "; start it again and run again, or let wireproof start it (--target-command)"
        click.echo(f"wireproof: {message}; the cases that are left are untestable", err=True)

    def _leave_out(self, plan: Plan) -> int:
        """Drop the cases that require a fresh server when this one already holds records; return how many."""
        needy = [case for case in plan.cases if case.fresh_server]
        if not needy or self.address is None:
            return 0
        spoken = Spoken(plan.run.profile, plan.run.variant)
        if asyncio.run(is_fresh_server(self.suite, self.address, spoken, self.settings.timeout)):
            return 0
        plan.holds_records = True
        plan.cases = [case for case in plan.cases if not case.fresh_server]
        if not plan.cases:
            raise SelectionError("no case left: those selected require a fresh server; restart it to play them")
        return len(needy)

    def _interrupted(self, cases: int, run: Run, records: list[Record], folder: RunFolder | None) -> int:
        run.partial.append(WAS_INTERRUPTED)
        if folder:
            folder.finish(run.summary(records, INTERRUPTED, complete=False), records)
        where = f"; records in {self.working}; {go_on(self.options['out'])}" if folder else ""
        played = len({one["case"] for one in records})
        show_causes(self.console, causes_of(records), self.working)
        click.echo(f"wireproof: interrupted: {played} of {cases} cases played{where}", err=True)
        return INTERRUPTED

    def _who(self) -> Run:
        """Return the run: what the user named, completed by what the target reports."""
        profile, variant = self.options["profile"], self.options["variant"]
        profiles = self.protocol.profiles
        if profile != "auto" and profile not in profiles:
            raise SelectionError(f"--profile: expected auto, {', '.join(profiles)}; got {profile!r}")
        possible = profiles.values() if profile == "auto" else [profiles[profile]]
        variants = dict.fromkeys(name for one in possible for name in one.variants)
        if variant != "auto" and variant not in variants:
            raise SelectionError(f"--variant: expected auto, {', '.join(variants)}; got {variant!r}")
        only = profile != "auto" and len(variants) == 1
        spoken = self._ask(profile, *variants) if only else self._ask(profile, variant)
        version = self.options["implementation_version"] or self._version(spoken)
        return Run(
            self.protocol.name,
            spoken.profile,
            spoken.variant,
            self.target.label,
            self.options["implementation"] or ("wireproof reference" if self.address is None else self.target.label),
            version,
            options=recorded_options(self.options),
        )

    def _ask(self, profile: str, variant: str) -> Spoken:
        if self.address is None:
            default = (self.protocol.default_profile, self.protocol.default_variant)
            pairs = zip((profile, variant), default, strict=True)
            return Spoken(*(fallback if given == "auto" else given for given, fallback in pairs))
        try:
            asking = ask_spoken(self.suite, self.address, self.settings.timeout, profile, variant)
            found, warning = asyncio.run(asking)
        except OSError as error:
            raise TargetError(f"nothing to test at {self.address}: {no_connection(error)}") from None
        if warning:
            click.echo(f"wireproof: {warning}", err=True)
        return found

    def _version(self, spoken: Spoken) -> str:
        if self.address is None:
            return wireproof_version()
        return asyncio.run(version_of(self.suite, self.address, spoken, self.settings.timeout))

    def _play(self, plan: Plan, verdicts: Verdicts) -> None:
        with LiveProgress(self.console, plan.plays, under_way=plan.under_way) as progress:

            def report(record: Record) -> None:
                progress(record)
                verdicts.add(record)

            if self.address is None:
                simulate(plan, self._service(plan.run), report)
            else:
                target = self.target.server or self.address
                _run_loop(play_all(plan, target, report, restarts=self.options["restarts"]))

    def _service(self, run: Run) -> ServiceFactory:
        return lambda clock: reference_target.service(
            run.protocol, profile=run.profile, variant=run.variant, clock=clock, parameters=self.settings.parameters
        )

    def _hint(self, run: Run, bad: set[str], played: set[str]) -> list[str]:
        """Return what may explain many failures, a line each."""
        if self.address is None:
            return []
        most = [f"most cases fail as {run.profile} {run.variant}"] if len(bad) > max(len(played) // 2, MANY) else []
        hint = undeclared_limits(self.suite, self.options["limits"], bad)
        return [*most, *([hint] if hint else [])]


def _announce(note: str) -> None:
    """Say what the user should know while the run goes on."""
    click.echo(f"wireproof: {note}", err=True)


def _unwritten(record: Record) -> None:
    """Keep no file of a record."""


def _run_loop(main: Any) -> None:
    """Run on uvloop where it is installed."""
    try:
        factory: Any = import_module("uvloop").new_event_loop
    except ImportError:
        factory = None
    run_until_ended(main, factory)
