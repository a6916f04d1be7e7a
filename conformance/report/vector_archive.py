"""One profile and variant as an archive for test suites in any language: vectors, schemas, clauses, an example."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from wireproof.conformance.report.vector_files import canonical, merged
from wireproof.conformance.report.vector_store import checked, vectors_of
from wireproof.conformance.suite.documents import read_document, vectors_root

README = """\
# {title}

Byte-exact vectors of {protocol}, profile {profile}, variant {variant}:
{frames} frames and {conversations} conversations; {left_out} longer ones are named in `left_out`.

- `vectors/<topic>.json`: frames (bytes beside the decoded message) and conversations with a server, by
  `schema/vectors.schema.json`.
- `clauses.json`: the sentences of the protocol that the vectors cite by id, by `schema/clauses.schema.json`.
- `examples/node/vectors.mjs` reads the files in a few lines of JavaScript; `examples/node/check.mjs` checks one codec
  function of Throttr with it: `node examples/node/check.mjs vectors`.

{guide}"""
SCHEMAS = ("vectors.schema.json", "clauses.schema.json")
COUNTED = ("frames", "conversations", "left_out")
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of each file in an archive, so that the same vectors give the same archive."""


def archive(name: str, profile: str, variant: str, path: Path) -> int:
    """Write the archive at `path`, by its ending (.zip, .tar.gz or .tgz), and return how many files it holds.

    Raises `ValueError` for another ending, `OSError` if it cannot be written, and what `vectors_of` raises.
    """
    write = next((write for ending, write in WRITERS.items() if path.name.endswith(ending)), None)
    if write is None:
        raise ValueError(f"{path.name}: expected a name that ends in {', '.join(WRITERS)}")
    top = f"{name}-{profile}-{variant}"
    files = {f"{top}/{inner}": text.encode() for inner, text in contents(name, profile, variant)}
    write(path, files)
    return len(files)


def contents(name: str, profile: str, variant: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file in the archive; raises what `vectors_of` raises."""
    root = vectors_root()
    documents = vectors_of(name, profile, variant)
    words = {"protocol": name, "profile": profile, "variant": variant, "title": f"{name} {profile} {variant}"}
    counts = {kind: sum(len(document[kind]) for document in documents) for kind in COUNTED}
    guide = (root / "examples" / "GUIDE.md").read_text(encoding="utf-8")
    yield "README.md", README.format(guide=guide, **words, **counts)
    for document in documents:
        yield f"vectors/{document['topic']}.json", canonical(checked(merged({"a": document})))
    clauses = read_document(root / name / "clauses.yaml", "clauses.schema.json")
    yield "clauses.json", json.dumps(clauses, indent=1) + "\n"
    for schema in SCHEMAS:
        yield f"schema/{schema}", (root / "schema" / schema).read_text(encoding="utf-8")
    for example in sorted((root / "examples" / "node").glob("*.mjs")):
        yield f"examples/node/{example.name}", example.read_text(encoding="utf-8")


def _zip(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as into:
        for name, data in files.items():
            into.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_DEFLATED)


def _tar(path: Path, files: dict[str, bytes]) -> None:
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as into,
    ):
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            into.addfile(entry, io.BytesIO(data))


WRITERS: dict[str, Callable[[Path, dict[str, bytes]], None]] = {".zip": _zip, ".tar.gz": _tar, ".tgz": _tar}
