"""`wireproof docs`: renders the pages that repeat the data, or checks that the committed ones are up to date."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from wireproof.command_table import COMMANDS, MAINTAINING
from wireproof.conformance.report.docs_pages import clauses_page, layouts_page
from wireproof.conformance.report.reference_pages import options_page, records_page
from wireproof.conformance.sdk.operation_fields import fields_page
from wireproof.conformance.suite.case_schema import schemas
from wireproof.conformance.suite.cases import CaseError, load_suite, vectors_root
from wireproof.protocols import protocol, protocol_names


def rendered() -> dict[str, str]:
    """Return file name -> text of every rendered page."""
    pages = {}
    for name in protocol_names():
        pages[f"{name}-clauses.md"] = clauses_page(load_suite(name))
        pages[f"{name}-layouts.md"] = layouts_page(protocol(name))
        pages[f"{name}-driver-fields.md"] = fields_page(protocol(name))
    pages["commands.md"] = options_page({**COMMANDS, **MAINTAINING}, _command)
    pages["records.md"] = records_page()
    return pages


def _command(name: str) -> click.Command:
    module, _ = {**COMMANDS, **MAINTAINING}[name]
    found: click.Command = import_module(module).command
    return found


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a page is not what the data says.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), default=Path("docs"), show_default=True)
@click.pass_context
def command(context: click.Context, /, check: bool, folder: Path) -> None:
    """Render clauses, layouts, driver fields, commands and records into FOLDER, and schemas into vectors/schema."""
    try:
        stale = _written(folder, check)
    except CaseError as error:
        raise click.ClickException(str(error)) from None
    context.exit(1 if check and stale else 0)


def _written(folder: Path, check: bool) -> int:
    """Write the pages that are not what the data says, or name them; return their number. Raises `CaseError`."""
    stale = 0
    found = {folder / name: text for name, text in rendered().items()}
    found |= {vectors_root() / "schema" / name: text for name, text in schemas().items()}
    for path, text in found.items():
        current = path.read_text(encoding="utf-8") if path.exists() else None
        if current == text:
            continue
        stale += 1
        if check:
            click.echo(f"stale: {path}", err=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            click.echo(f"wrote {path}")
    return stale
