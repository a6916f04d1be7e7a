"""`wireproof features`: what a protocol's servers may have, what each must be set up with, and the files for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.outputs import OutputError, reporting_file_errors
from wireproof.conformance.run.asked_features import can_be_asked
from wireproof.conformance.suite.cases import CaseError, Suite, load_suite
from wireproof.conformance.suite.declared import server_document, server_files
from wireproof.protocols import protocol_names

__all__ = ["command", "listed", "write_files"]

WIDTH = 100


def listed(suite: Suite) -> Iterator[str]:
    """Yield the paragraphs: what holds for every server, the features, the parameters and the files."""
    document = server_document(suite.protocol)
    listeners = [
        f"{name} has an address of its own: --listener {name}=ADDRESS." for name in document.get("listeners", ())
    ]
    if every := document.get("every", ()):
        yield _paragraph("Every server, whatever it declares", texts=every)
    if suite.features:
        asked = ", ".join(name for name in suite.features if name in can_be_asked(suite))
        found = [f"Found out by asking, where no --feature is given: {asked}."] if asked else []
        yield _paragraph("What a server may have (--feature NAME)", suite.features.items(), [*listeners, *found])
    if suite.parameters:
        values = [(f"{name}={one.value:g}", one.text) for name, one in suite.parameters.items()]
        yield _paragraph("What the cases count on, unless it is declared otherwise (--limit NAME=VALUE)", values)
    if files := server_files(suite.protocol):
        yield _paragraph("Files that say how it is set up (--out DIR writes them)", texts=map(str, files))


def _paragraph(title: str, rows: Iterable[tuple[str, str]] = (), texts: Iterable[str] = ()) -> str:
    """Return a title, then names and what they mean in two columns, then texts."""
    formatter = click.HelpFormatter(width=WIDTH)
    with formatter.section(title):
        if found := list(rows):
            formatter.write_dl(found)
        for text in texts:
            formatter.write_text(text)
    return formatter.getvalue()


def write_files(protocol: str, folder: Path) -> list[Path]:
    """Write the files of a protocol's servers under a folder; return where each is. Raises `OutputError`."""
    written = []
    with reporting_file_errors(folder):
        for relative, source in server_files(protocol).items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source.read_bytes())
            written.append(path)
    return written


@click.command()
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write the files into this folder.")
def command(name: str, *, out: Path | None) -> None:
    """List what a server of PROTOCOL may have and must be set up with, so that its cases can be played.

    Cases that need what the server does not declare are unsupported, never failed.
    Where nothing is declared, `wireproof test` asks for the features that can be found out.

    \b
    wireproof features psrt --out setup
    wireproof test psrt tcp://127.0.0.1:2873 --feature accounts,udp --limit TIMEOUT=3
    """
    try:
        for paragraph in listed(load_suite(name)):
            click.echo(paragraph)
        if out is not None:
            click.echo(f"{number_of(len(write_files(name, out)), 'file')} written into {out}")
    except (CaseError, OutputError) as error:
        raise click.UsageError(str(error)) from None
