"""`wireproof requirements`: lists requirement sets, says what has changed since one, and freezes another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from wireproof.conformance.commands.requirement_options import asked_beside
from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.outputs import OutputError, reporting_file_errors
from wireproof.conformance.sdk.play.sdk_suite import sdk_cases
from wireproof.conformance.suite.cases import Case, CaseError, load_suite
from wireproof.conformance.suite.documents import vectors_root
from wireproof.conformance.suite.requirement_sets import (
    RequirementSet,
    RequirementSetError,
    frozen,
    newest,
    read_set,
    set_names,
    text_of,
)
from wireproof.conformance.verdict.records import level_of, wireproof_version
from wireproof.protocols import protocol, protocol_names


@click.group()
def command() -> None:
    """Requirement sets: what decides the exit code, so that an upgrade of wireproof turns no green build red.

    \b
    wireproof requirements list
    wireproof test throttr tcp://127.0.0.1:9000 --requirements throttr-7.3.2@1
    """


@command.command("list")
@click.argument("name", metavar="[PROTOCOL]", required=False, type=click.Choice(protocol_names()))
def list_sets(name: str | None) -> None:
    """List the sets, of PROTOCOL or of all: name, cases for servers and for SDKs, the version that froze it."""
    with _errors():
        for each in set_names([name] if name else protocol_names()):
            found = read_set(each, protocol_names())
            counted = ", ".join(f"{len(cases)} for {role}s" for role, cases in found.cases.items())
            click.echo(f"{each:24} {counted}; wireproof {found.wireproof}")


@command.command()
@click.argument("name", metavar="SET")
@click.option("--all", "everything", is_flag=True, help="Name each case that decides nothing, with the reason.")
def show(name: str, *, everything: bool) -> None:
    """Say what decides under SET, and what of today's suite decides nothing: newer, or changed since."""
    with _errors():
        found = read_set(name, protocol_names())
        suite = load_suite(found.protocol)
        for role, cases in _cases(found.protocol).items():
            if not (asked := asked_beside(found, role, replace(suite, cases=cases))).cases:
                continue
            reasons = {one: asked.why_not(one) for one in asked.cases}
            counted = Counter(why for why in reasons.values() if why)
            shown = [f"{number} {why}" for why, number in counted.items()]
            shown += [f"{len(asked.gone)} of it no longer exist"] if asked.gone else []
            deciding = sum(not why for why in reasons.values())
            click.echo(f"{role}: {deciding} of {len(reasons)} cases decide" + "".join(f"; {one}" for one in shown))
            for one, why in reasons.items() if everything else ():
                if why:
                    click.echo(f"  {one}: {why}")


@command.command()
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--profile", help="Of this profile alone.  [default: of each]")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder.  [default: that of the protocol's vectors]"
)
def freeze(name: str, profile: str | None, out: Path | None) -> None:
    """Freeze today's cases of PROTOCOL as the next set of each profile in which something changed (for maintainers).

    Commit the files. A set is never edited: other people's builds depend on it.
    """
    profiles = protocol(name).profiles
    if profile is not None and profile not in profiles:
        raise click.UsageError(f"--profile: expected {', '.join(profiles)}; got {profile!r}")
    with _errors():
        for each in [profile] if profile else profiles:
            made, last = _frozen(name, each), newest(name, each)
            if last and (made.cases, made.segmentations) == (last.cases, last.segmentations):
                click.echo(f"nothing changed since {last.name}")
                continue
            path = (out or vectors_root() / name / "requirements") / f"{each}@{made.number}.txt"
            with reporting_file_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text_of(made), encoding="utf-8")
            click.echo(f"{made.name}: {number_of(sum(map(len, made.cases.values())), 'case')} in {path}")


def _frozen(name: str, profile: str) -> RequirementSet:
    suite = load_suite(name)
    return frozen(name, profile, _cases(name), lambda case: level_of(case, suite, profile), wireproof_version())


def _cases(name: str) -> dict[str, tuple[Case, ...]]:
    return {"server": load_suite(name).cases, "client": sdk_cases(name)}


@contextmanager
def _errors() -> Iterator[None]:
    """Turn what cannot be read or written into a line and exit code 2."""
    try:
        yield
    except (RequirementSetError, CaseError, OutputError) as error:
        raise click.UsageError(str(error)) from None
