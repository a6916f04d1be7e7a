"""`wireproof vectors`: builds, checks and shows the byte-exact vectors, and lists a protocol's messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from wireproof.conformance.model.wording import number_of
from wireproof.conformance.report.derived_vectors import DeriveError
from wireproof.conformance.report.vector_archive import archive
from wireproof.conformance.report.vector_check import derived_files, differing_files, differing_sample
from wireproof.conformance.report.vector_files import Document, configurations
from wireproof.conformance.report.vector_store import FOLDER, vectors_of
from wireproof.conformance.suite.cases import CaseError, load_suite, vectors_root
from wireproof.conformance.suite.names import near
from wireproof.conformance.suite.walks import read_walks, walks_path
from wireproof.protocols import protocol, protocol_names
from wireproof.protocols.fields import Absent


@click.group()
def command() -> None:
    """Byte-exact vectors for codecs and servers in any language (docs/using-the-vectors.md)."""


MANY = 100
"""Cases that take longer than a person waits in silence."""


def _announce(name: str) -> None:
    """Say what is done, where it takes more than two seconds."""
    if len(load_suite(name).cases) > MANY:
        click.echo(f"wireproof: deriving the vectors of {name}", err=True)


def _present(name: str, root: Path) -> dict[Path, Path]:
    folder = root / name / FOLDER
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return {Path(name, FOLDER, file.name): file for file in files}


def _names(chosen: str | None) -> list[str]:
    return [chosen] if chosen else protocol_names()


def _fail(error: Exception) -> click.ClickException:
    return click.ClickException(str(error))


@command.command()
@click.argument("name", metavar="[PROTOCOL]", required=False, type=click.Choice(protocol_names()))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write into this folder instead.")
def build(name: str | None, out: Path | None) -> None:
    """Derive every file under vectors/<protocol>/derived/, and remove what no case gives any more."""
    root = out or vectors_root()
    for one in _names(name):
        try:
            _announce(one)
            derived, present = derived_files(load_suite(one)), _present(one, root)
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
        removed = len(present.keys() - derived.keys())
        left_out = {row["id"] for text in derived.values() for row in json.loads(text)["left_out"]}
        too_long = f"; {number_of(len(left_out), 'conversation')} too long for a file" if left_out else ""
        click.echo(f"{one}: {number_of(len(derived), 'file')}, {written} written, {removed} removed{too_long}")


@command.command()
@click.argument("name", metavar="[PROTOCOL]", required=False, type=click.Choice(protocol_names()))
@click.option("--sample", is_flag=True, help="Derive each case once, not under every profile and variant.")
def check(name: str | None, sample: bool) -> None:
    """Say whether the derived files are what the cases give today; exit 1 when any is stale, missing or not derived."""
    bad = []
    root = vectors_root()
    for one in _names(name):
        if not (root / one / FOLDER).is_dir():
            hint = "an installation has none; 'wireproof vectors export' makes them, in a checkout 'vectors build' does"
            raise click.UsageError(f"there are no derived files below {root / one}: {hint}")
        try:
            _announce(one)
            compare = differing_sample if sample else differing_files
            lines, said = compare(load_suite(one), _present(one, root))
        except (CaseError, DeriveError) as error:
            raise _fail(error) from None
        bad += lines
        click.echo(f"{one}: {said}")
    for line in bad:
        click.echo(line, err=True)
    if bad:
        raise click.ClickException("run 'wireproof vectors build' and commit what it writes")


@command.command()
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--candidates", default=3000, show_default=True, help="Walks that are drawn.", type=click.IntRange(min=1))
@click.option("--keep", default=90, show_default=True, help="Walks of a set.", type=click.IntRange(min=1))
@click.option("--set", "only", metavar="SET", help="Only this set.")
@click.option("--anew", is_flag=True, help="Choose without the existing ones: ids of cases disappear.")
def walks(name: str, candidates: int, keep: int, only: str | None, anew: bool) -> None:
    """Choose walks of PROTOCOL, in addition to the existing ones (docs/writing-cases.md); takes minutes."""
    from wireproof.conformance.run.walk_choice import WalkError, choose

    path = vectors_root() / name / "walks.yaml"
    try:
        file, context = read_walks(path), load_suite(name).context
        sets = file.sets if file is not None else {}
        if only not in (None, *sets):
            raise click.UsageError(f"{name} has no set of walks {only}{near(str(only), sets)}")
        for one, of in sets.items() if only is None else [(only, sets[only])]:
            kept = walks_path(path, one)
            first = kept.read_text(encoding="utf-8").splitlines() if kept.is_file() and not anew else []
            found = choose(one, of, context, first=first, candidates=candidates, keep=keep)
            kept.parent.mkdir(exist_ok=True)
            kept.write_text("".join(f"{walk}\n" for walk in found.walks), encoding="utf-8")
            share = f"{100 * found.shown / found.of:.1f} % of what {number_of(candidates, 'candidate')} show"
            click.echo(f"{name}: {one}: {number_of(len(found.walks), 'walk')}, {share}")
    except (CaseError, WalkError) as error:
        raise _fail(error) from None
    if file is None:
        raise click.UsageError(f"{name} has no walks: there is no {path.name}")


@command.command()
@click.argument("identifier", metavar="ID")
@click.option("--profile", help="Only under this profile.")
@click.option("--variant", "--width", help="Only under this variant.")
def show(identifier: str, profile: str | None, variant: str | None) -> None:
    """Print the vector with this ID (and where its bytes are) under each profile and variant."""
    found, long = 0, ""
    for name in protocol_names():
        for its_profile, its_variant in configurations(protocol(name)).values():
            if profile in (None, its_profile) and variant in (None, its_variant):
                documents = vectors_of(name, its_profile, its_variant)
                long = name if any(identifier in document["left_out"] for document in documents) else long
                for path, vector in _vectors(name, documents, identifier):
                    click.echo(f"# {path}: {its_profile} {its_variant}")
                    click.echo(json.dumps(vector, indent=2))
                    found += 1
    if not found and long:
        raise click.UsageError(f"{identifier} is too long for a file; 'wireproof test {long} -k {identifier}' plays it")
    if not found:
        raise click.UsageError(f"no vector {identifier!r}; ids look like topic/name, with .value for each foreach")


def _vectors(name: str, documents: Iterable[Document], identifier: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for document in documents:
        for vector in (*document["frames"], *document["conversations"]):
            if vector["id"] == identifier:
                yield f"vectors/{name}/{FOLDER}/{document['topic']}.json", vector


@command.command()
@click.argument("name", metavar="PROTOCOL", type=click.Choice(protocol_names()))
@click.option("--profile", required=True, help="The profile whose vectors are wanted.")
@click.option("--variant", "--width", help="The variant; the first one when left out.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="A .zip, .tar.gz or .tgz to write.")
def export(name: str, profile: str, variant: str | None, out: Path) -> None:
    """Write the vectors of one profile and variant as an archive, with schemas, clauses and an example.

    \b
    wireproof vectors export throttr --profile 7.3.2 --variant uint16 --out throttr.zip
    """
    profiles = protocol(name).profiles
    if profile not in profiles:
        raise click.UsageError(f"--profile: expected {', '.join(profiles)}; got {profile!r}")
    variants = profiles[profile].variants
    if (variant or next(iter(variants))) not in variants:
        raise click.UsageError(f"--variant: expected {', '.join(variants)}; got {variant!r}")
    try:
        files = archive(name, profile, variant or next(iter(variants)), out)
    except (CaseError, DeriveError, ValueError, OSError) as error:
        raise _fail(error) from None
    click.echo(f"{out}: {number_of(files, 'file')}, {number_of(out.stat().st_size, 'byte')}")


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
