"""Writes fuzzers that run alone, for OSS-Fuzz and ClusterFuzzLite: `python -m wireproof.fuzz.targets.packaged FOLDER`.

For each target and protocol NAME.py, which runs under atheris, a folder NAME of seeds, and the dictionary NAME.dict.
"""

from __future__ import annotations

from pathlib import Path

import click

from wireproof.fuzz import corpus
from wireproof.fuzz.known_targets import TARGETS, dictionary, has_model
from wireproof.protocols import protocol_names

__all__ = ["write_fuzzers"]

MOST_SEEDS = 500
"""Seeds of one fuzzer: a service runs all of them before anything else."""
FUZZER = '''"""Fuzzes the target {target} of wireproof for {protocol}."""

import os

os.environ["WIREPROOF_PROTOCOL"] = "{protocol}"

from {module} import main

main()
'''


def write_fuzzers(folder: Path, protocols: list[str], targets: list[str]) -> list[str]:
    """Write a fuzzer for each target and protocol; return their names. Raises `OSError`.

    Targets that need a model of a whole server are left out where a protocol has none.
    """
    names: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    for protocol in protocols:
        for target in (TARGETS[one] for one in targets):
            if target.needs_model and not has_model(protocol):
                continue
            name = f"{target.name}_{protocol}"
            text = FUZZER.format(target=target.name, protocol=protocol, module=target.module)
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
            (folder / f"{name}.dict").write_text(dictionary(protocol), encoding="ascii")
            corpus.seed(folder / name, target.seeds(protocol), MOST_SEEDS)
            names.append(name)
    return names


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("protocols", nargs=-1, type=click.Choice(protocol_names()))
@click.option("--targets", default=" ".join(TARGETS), show_default=True, help="Names of targets, between blanks.")
def command(folder: Path, protocols: tuple[str, ...], targets: str) -> None:
    """Write fuzzers for PROTOCOLS, or for all, into FOLDER."""
    for name in write_fuzzers(folder, list(protocols) or protocol_names(), _known(targets)):
        click.echo(name)


def _known(text: str) -> list[str]:
    names = text.split()
    if unknown := [one for one in names if one not in TARGETS]:
        raise click.UsageError(f"--targets: expected {', '.join(TARGETS)}; got {unknown[0]!r}")
    return names


if __name__ == "__main__":
    command()
