"""Renders the pages of reference: every command with its options, and every field of records and of run.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

__all__ = ["options_page", "records_page"]

SCHEMAS = Path(__file__).resolve().parents[2] / "reports" / "schema"
DOCUMENTS = {"record.schema.json": "A record: one line of records.jsonl", "run.schema.json": "A run: run.json"}


def records_page() -> str:
    """Return the page of the fields of records and runs as Markdown."""
    lines = [
        "# Records and runs",
        "",
        "Rendered from `reports/schema/` by `wireproof docs`; docs/reading-a-report.md explains the words.",
    ]
    for name, title in DOCUMENTS.items():
        schema = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
        lines += ["", f"## {title}", "", schema.get("description", "")]
        lines += ["", "| field | type | always there | what it says |", "|---|---|---|---|"]
        lines += [_field_row(path, one, there) for path, one, there in _fields(schema)]
    return "\n".join(lines) + "\n"


def _fields(schema: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Yield path, schema and whether it is required, of each field and those inside it."""
    for name, one in schema.get("properties", {}).items():
        yield f"{before}{name}", one, name in schema.get("required", ())
        inner = one.get("items", {}) if one.get("type") == "array" else one
        mark = "[]." if inner is not one else "."
        yield from _fields(inner, f"{before}{name}{mark}")


def _field_row(path: str, one: Mapping[str, Any], there: bool) -> str:
    kind = one.get("type", "")
    shown = " or ".join(kind) if isinstance(kind, list) else kind
    if "enum" in one:
        shown = ", ".join(str(each) for each in one["enum"])
    if "const" in one:
        shown = str(one["const"])
    return f"| `{path}` | {shown} | {'yes' if there else ''} | {_cell(one.get('description', ''))} |"


def options_page(commands: Mapping[str, tuple[str, str]], found: Callable[[str], click.Command]) -> str:
    """Return the page of all commands as Markdown. `commands`: name -> (module, line of help); `found`: by name."""
    lines = ["# Commands and options", "", "Rendered from the commands by `wireproof docs`; `--help` says the same."]
    for name in commands:
        lines += _command(f"wireproof {name}", found(name))
    return "\n".join(lines) + "\n"


def _command(words: str, command: click.Command) -> Iterator[str]:
    """Yield the lines of a command, and of those below it."""
    arguments = [_argument(one) for one in command.params if isinstance(one, click.Argument)]
    if isinstance(command, click.Group):
        arguments.append("COMMAND")
    lines = (command.help or "").split("\b")[0].strip().splitlines()
    yield from (
        "",
        f"## {words}",
        "",
        f"`{' '.join([words, *arguments])}`",
        "",
        *(_text(line.strip()) for line in lines),
    )
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    if options:
        yield from ("", "| option | what it does |", "|---|---|")
        yield from (_option_row(one) for one in options)
    if isinstance(command, click.Group):
        context = click.Context(command)
        inner = {name: command.get_command(context, name) for name in command.list_commands(context)}
        for name, one in inner.items():
            if one is not None:
                yield from _command(f"{words} {name}", one)


def _argument(argument: click.Argument) -> str:
    """Return an argument as the line of usage has it."""
    name = argument.metavar or (argument.name or "").upper()
    name = name if argument.required or name.startswith("[") else f"[{name}]"
    return f"{name}..." if argument.nargs == -1 else name


def _option_row(option: click.Option) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    choices = "\\|".join(map(str, getattr(option.type, "choices", ())))
    value = (
        ""
        if option.is_flag or option.count
        else option.metavar or choices or option.type.name.upper().removesuffix(" RANGE")
    )
    default, plain = (
        option.default,
        isinstance(option.default, str | int | float) and not isinstance(option.default, bool),
    )
    shown = f" [default: {default}]" if plain and default != "" and not option.is_flag else ""
    return f"| `{f'{names} {value}'.strip()}` | {_cell(str(option.help or '') + shown)} |"


def _cell(text: str) -> str:
    return _text(" ".join(text.split()).replace("|", "\\|"))


def _text(text: str) -> str:
    """Return a text without what Markdown or HTML would take for markup."""
    return text.replace("<", "&lt;").replace("*", "\\*")
