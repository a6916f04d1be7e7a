"""`wireproof vectors`: builds, checks and shows the byte-exact vectors, and lists a protocol's messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema_rs

from wireproof.conformance.report.derived_vectors import DeriveError, Deriver, canonical
from wireproof.conformance.suite.cases import CaseError, load_suite, vectors_root
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols.fields import Absent

Derived = dict[Path, str]


@click.group()
def command() -> None:
    """Byte-exact vectors for codecs and servers in any language (docs/using-the-vectors.md)."""


def _derive(name: str) -> Derived:
    """Return relative path -> text of every derived file, each checked against the published schema."""
    schema = json.loads((vectors_root() / "schema" / "vectors.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema_rs.validator_for(schema)
    suite = load_suite(name)
    derived: Derived = {}
    for profile in protocol(name).profiles.values():
        for variant in profile.variants:
            for topic, document in Deriver(suite, profile.name, variant).documents().items():
                try:
                    validator.validate(document)
                except jsonschema_rs.ValidationError as error:
                    where = f"{topic} under {profile.name} {variant}"
                    raise DeriveError(f"{where}: against the published schema: {error.message[:300]}") from None
                derived[Path(name, profile.name, variant, f"{topic}.json")] = canonical(document)
    return derived


def _present(name: str) -> dict[Path, Path]:
    folder = vectors_root() / name
    found = {}
    for profile in protocol(name).profiles.values():
        for variant in profile.variants:
            place = folder / profile.name / variant
            if place.is_dir():
                for file in place.iterdir():
                    found[Path(name, profile.name, variant, file.name)] = file
    return found


def _names(chosen: str | None) -> list[str]:
    return [chosen] if chosen else protocol_names()


def _fail(error: Exception) -> click.ClickException:
    return click.ClickException(str(error))


@command.command()
@click.argument("name", metavar="[PROTOCOL]", required=False, type=click.Choice(protocol_names()))
def build(name: str | None) -> None:
    """Derive every file under vectors/<protocol>/<profile>/<variant>/, and remove what no case gives any more."""
    root = vectors_root()
    for one in _names(name):
        try:
            derived, present = _derive(one), _present(one)
        except (CaseError, DeriveError) as error:
            raise _fail(error) from None
        written = 0
        for path, text in derived.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            if path not in present or present[path].read_text(encoding="utf-8") != text:
                (root / path).write_text(text, encoding="utf-8")
                written += 1
        for path in present.keys() - derived.keys():
            (root / path).unlink()
        click.echo(f"{one}: {len(derived)} files, {written} written, {len(present.keys() - derived.keys())} removed")


@command.command()
@click.argument("name", metavar="[PROTOCOL]", required=False, type=click.Choice(protocol_names()))
def check(name: str | None) -> None:
    """Say whether the derived files are what the cases give today; exit 1 when any is stale, missing or left over."""
    bad = []
    for one in _names(name):
        try:
            derived, present = _derive(one), _present(one)
        except (CaseError, DeriveError) as error:
            raise _fail(error) from None
        for path in sorted(derived.keys() | present.keys()):
            if path not in present:
                bad.append(f"missing: vectors/{path}")
            elif path not in derived:
                bad.append(f"left over: vectors/{path}")
            elif present[path].read_text(encoding="utf-8") != derived[path]:
                bad.append(f"stale: vectors/{path}")
        click.echo(f"{one}: {len(derived)} files")
    for line in bad:
        click.echo(line, err=True)
    if bad:
        raise click.ClickException("run 'wireproof vectors build' and commit what it writes")


@command.command()
@click.argument("identifier", metavar="ID")
@click.option("--profile", help="Only under this profile.")
@click.option("--variant", help="Only under this variant.")
def show(identifier: str, profile: str | None, variant: str | None) -> None:
    """Print the vector with this ID (and where its bytes are) under each profile and variant."""
    found = 0
    for path, vector in _vectors():
        _, its_profile, its_variant, _ = path.parts
        if vector["id"] == identifier and profile in (None, its_profile) and variant in (None, its_variant):
            click.echo(f"# vectors/{path}")
            click.echo(json.dumps(vector, indent=2))
            found += 1
    if not found:
        raise click.ClickException(f"no vector {identifier!r}; ids look like topic/name, with .value for each foreach")


def _vectors() -> Iterator[tuple[Path, dict[str, Any]]]:
    for one in protocol_names():
        for path, file in sorted(_present(one).items()):
            document = json.loads(file.read_text(encoding="utf-8"))
            for vector in (*document["frames"], *document["conversations"]):
                yield path, vector


@command.command()
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--profile", help="Only this profile.")
def messages(name: str, profile: str | None) -> None:
    """List the messages of PROTOCOL and their fields, as cases name them."""
    spoken = protocol(name)
    if profile is not None and profile not in spoken.profiles:
        raise click.UsageError(f"--profile: expected {', '.join(spoken.profiles)}; got {profile!r}")
    for one in spoken.profiles.values():
        if profile in (None, one.name):
            click.echo(f"{name} {one.name}")
            codec = spoken.codec(one, next(iter(one.variants)))
            for message, kind in sorted(one.messages.items()):
                fields = [field for field, how in codec.layout(kind).fields if not isinstance(how, Absent)]
                click.echo(f"  {message}: {', '.join(fields) or 'no fields'}")
