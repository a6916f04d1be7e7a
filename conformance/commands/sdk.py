"""`wireproof test-sdk`: plays the server to an SDK, commands it through its driver, and judges both sides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from wireproof.conformance.commands.closing_report import HARNESS, INTERRUPTED, RESULTS, USAGE, exit_code
from wireproof.conformance.commands.output_options import open_page, output_options, recorded_options
from wireproof.conformance.commands.requirement_options import asked_of, known_cases, with_profile_of_set
from wireproof.conformance.commands.selection_options import list_cases, selection_options
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import Level
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.baseline import NOTHING, BaselineError, Comparison, compare, read_baseline
from wireproof.conformance.report.ci_files import write_ci_files
from wireproof.conformance.report.claim import claimed, replace_older
from wireproof.conformance.report.console import LiveProgress, closing_line, console_of, show_causes, show_table
from wireproof.conformance.report.outputs import INTERRUPTED as WAS_INTERRUPTED
from wireproof.conformance.report.outputs import KeptEvidence, OutputError, RunFolder
from wireproof.conformance.run.bounds import time_is_over
from wireproof.conformance.run.processes import ended_by_signals, run_until_ended, signals_ignored
from wireproof.conformance.run.selection import SelectionError, left_out_by, select
from wireproof.conformance.sdk.driver_process import DriverEndedError, DriverProcess, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import DriverMessageError, Hello
from wireproof.conformance.sdk.play.sdk_run import RESTARTS, SdkPlan, play_cases
from wireproof.conformance.sdk.play.sdk_suite import in_order, load_sdk_suite
from wireproof.conformance.sdk.transports import DriverStartError, ProcessTransport, parse_driver
from wireproof.conformance.suite.cases import Case, CaseError
from wireproof.conformance.verdict.causes import causes_of
from wireproof.conformance.verdict.crashes import ended_early
from wireproof.conformance.verdict.records import Record, Run, record
from wireproof.protocols import protocol, protocol_names

Report = Callable[[Record, Outcome], object]
LOG = "driver.log"


@click.command(context_settings={"show_default": True})
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--driver", required=True, metavar="COMMAND", help="Starts the SDK's driver (docs/writing-a-driver.md).")
@click.option("--profile", default="auto", help="Document or release to speak; auto: the usual one, or the driver's.")
@click.option(
    "--variant", "--width", default="auto", help="Layout variant to speak; auto: the usual one, or the driver's."
)
@selection_options
@click.option(
    "--timeout",
    type=click.FloatRange(0.05),
    default=5.0,
    help="Seconds for each answer of the driver and each message of the SDK: more than the SDK's own deadline.",
)
@click.option(
    "--restarts",
    type=click.IntRange(0),
    default=RESTARTS,
    help="How often the driver is started again after it ended or hung; then the rest is untestable.",
)
@click.option("--slow", is_flag=True, help="Also play the cases that wait for many seconds.")
@output_options
@click.option("--implementation", "--name", help="Name of the SDK in records and matrix.  [default: what hello says]")
@click.option("--implementation-version", help="Its version.  [default: what hello says]")
@click.option(
    "--max-time", type=click.FloatRange(1.0), metavar="SECONDS", help="End the run after so many seconds, as partial."
)
@click.option("--quiet", "-q", is_flag=True, help="Print the last line only.")
@click.pass_context
def command(context: click.Context, /, name: str, **options: Any) -> None:
    """Play every case for SDKs of PROTOCOL: listen, command the driver, judge what the SDK sends and reports.

    Exit codes: 0 every MUST and SHOULD passes, 1 some do not, 2 usage or a driver that does not answer, 3
    only wireproof's own fault, 4 the baseline lists cases that no longer fail, 130 interrupted.

    \b
    wireproof test-sdk throttr --driver 'node driver.js' --profile 7.3.2 --variant uint16 --out runs/mine
    """
    began = time.monotonic()
    try:
        options = with_profile_of_set(name, options)
        list_cases(context, load_sdk_suite(name), options)
        with claimed(options["out"]) as working, ended_by_signals():
            code = _SdkTest(name, options, working, began).run()
    except (DriverStartError, SelectionError, OutputError, BaselineError, NoAnswerError, DriverEndedError) as error:
        click.echo(f"wireproof: {error}", err=True)
        code = USAGE
    except DriverMessageError as error:
        click.echo(f"wireproof: the driver's hello: {error}; `wireproof driver check` shows the details", err=True)
        code = USAGE
    except CaseError as error:
        click.echo(f"wireproof: error in the suite: {error}", err=True)
        code = HARNESS
    context.exit(code)


class _SdkTest:
    """One call of the command."""

    def __init__(self, name: str, options: dict[str, Any], working: Path | None, began: float) -> None:
        """`working`: where the files of the run are written; `began`: when the command was called (monotonic)."""
        self.protocol = protocol(name)
        self.options = options
        self.working = working
        self.began = began
        self.console: Console = console_of(quiet=options["quiet"])
        self.suite = load_sdk_suite(name)
        self.records: list[Record] = []
        self._run: Run | None = None
        self._folder: RunFolder | None = None

    def run(self) -> int:
        """Play, write the files, report; return the exit code."""
        path = self.options["baseline"]
        baseline = read_baseline(path) if path else NOTHING
        with ExitStack() as stack:
            try:
                run = run_until_ended(self._play(stack))
            except KeyboardInterrupt:
                with signals_ignored():
                    return self._interrupted()
            comparison = compare(baseline, self.records, known_cases(self.suite, run.asked), self.suite.clauses)
            code = exit_code(self.records, comparison)
            if self._folder:
                self._folder.finish(run.summary(self.records, code), self.records)
        where = replace_older(self.options["out"], self.working) if self.working else None
        self._report(run, comparison, code, where)
        open_page(where, opens=self.options["opens"])
        return code

    def _interrupted(self) -> int:
        where = ""
        if self._run and self._folder:
            self._run.partial.append(WAS_INTERRUPTED)
            self._folder.finish(self._run.summary(self.records, INTERRUPTED, complete=False), self.records)
            where = f"; records in {self.working}"
        show_causes(self.console, causes_of(self.records), self.working)
        click.echo(f"wireproof: interrupted: {number_of(len(self.records), 'case')} played{where}", err=True)
        return INTERRUPTED

    async def _play(self, stack: ExitStack) -> Run:
        words, timeout = parse_driver(self.options["driver"]), self.options["timeout"]
        async with DriverProcess(ProcessTransport(words, log=self._log()), deadline=timeout) as driver:
            hello = await driver.start()
            run = self._run = self._who(hello)
            run.asked = asked_of(self.options, run.role, self.suite)
            cases = in_order(self._selected(run), self.suite, run.profile)
            cases = run.asked.in_order(cases) if run.asked else cases
            evidence = KeptEvidence(self.options["evidence"])
            folder = stack.enter_context(RunFolder(self.working, evidence=evidence)) if self.working else None
            self._folder = folder
            if folder:
                folder.begin(run.summary((), INTERRUPTED))
            with LiveProgress(self.console, len(cases)) as progress:

                def report(record: Record, outcome: Outcome) -> None:
                    self.records.append(record)
                    progress(record)
                    if folder:
                        folder.add(record)

                await self._play_in_time(SdkPlan(run, self.suite, cases, timeout), driver, report)
        return run

    async def _play_in_time(self, plan: SdkPlan, driver: DriverProcess, report: Report) -> None:
        """Play until all is played or the time is over; what is left then is recorded as untestable."""
        most = self.options["max_time"]
        left = None if most is None else max(0.0, self.began + most - time.monotonic())
        try:
            async with asyncio.timeout(left) as timer:
                await play_cases(plan, driver, report, restarts=self.options["restarts"])
        except TimeoutError:
            if not timer.expired():
                raise
            why = time_is_over(most)
            plan.run.partial.append(why)
            played = {one["case"] for one in self.records}
            for case in (unplayed := [case for case in plan.cases if case.id not in played]):
                outcome = ended_early(why)
                report(record(plan.run, plan.suite, case, outcome, duration_us=0), outcome)
            click.echo(f"wireproof: the run ended: {why}; {number_of(len(unplayed), 'case')} not played", err=True)

    def _selected(self, run: Run) -> list[Case]:
        """Return the cases to play, and note in the run what they leave out."""
        expression, level, slow = self.options["expression"], Level(self.options["level"].upper()), self.options["slow"]
        cases = select(self.suite, run.profile, run.variant, expression=expression, level=level, slow=slow)
        run.partial += left_out_by(expression, level)
        run.cases = len(select(self.suite, run.profile, run.variant, slow=slow)) if run.partial else len(cases)
        return cases

    def _log(self) -> Path | None:
        """Return where the driver's stderr is kept. Raises `OutputError` when it cannot be."""
        folder = self.working
        if folder is None:
            return None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / LOG).open("wb").close()
        except OSError as error:
            raise OutputError(f"cannot write to {folder}: {error.strerror or error}") from None
        return folder / LOG

    def _who(self, hello: Hello) -> Run:
        """Return the run: what the user named, completed by what the driver reports."""
        if hello.protocol != self.protocol.name:
            raise SelectionError(f"the driver speaks {hello.protocol!r}, expected {self.protocol.name!r}")
        chosen = {}
        for what, usual, spoken in (
            ("profile", self.protocol.default_profile, hello.profiles),
            ("variant", self.protocol.default_variant, hello.variants),
        ):
            given = self.options[what]
            chosen[what] = (usual if usual in spoken else spoken[0]) if given == "auto" else given
            if chosen[what] not in spoken:
                raise SelectionError(f"--{what}: the driver speaks {', '.join(spoken)}; got {given!r}")
        profiles = self.protocol.profiles
        if chosen["profile"] not in profiles or chosen["variant"] not in profiles[chosen["profile"]].variants:
            raise SelectionError(f"there is no profile {chosen['profile']} with a variant {chosen['variant']}")
        return Run(
            self.protocol.name,
            chosen["profile"],
            chosen["variant"],
            self.options["driver"],
            self.options["implementation"] or f"{hello.sdk.name} ({hello.sdk.language})",
            self.options["implementation_version"] or hello.sdk.version,
            role="client",
            options=recorded_options(self.options),
        )

    def _report(self, run: Run, comparison: Comparison, code: int, where: Path | None) -> None:
        records = self.records
        write_ci_files(self.options, run, records)  # first: whoever reads what is printed may stop reading
        show_causes(self.console, causes_of(records), where)
        show_table(self.console, run, records)
        for line in comparison.lines:
            click.echo(line, err=True)
        click.echo(closing_line(RESULTS[code], records, run, where))
