"""The vectors are language-neutral: a program that knows nothing but the JSON checks a codec function of its own."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from wireproof.conformance.report.vector_archive import archive
from wireproof.conformance.report.vector_files import canonical, configurations, merged
from wireproof.conformance.report.vector_store import vectors_of
from wireproof.protocols import protocol

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node.js on this machine: the example in Node cannot run")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that an exported archive holds."""
    folder = tmp_path_factory.mktemp("archive")
    archive("throttr", "7.1.0", "uint16", folder / "throttr.zip")
    with zipfile.ZipFile(folder / "throttr.zip") as packed:
        packed.extractall(folder)
    return folder / "throttr-7.1.0-uint16"


def check(top: Path, vectors: Path) -> subprocess.CompletedProcess[str]:
    command = [NODE or "node", top / "examples" / "node" / "check.mjs", vectors]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_codec_in_node_agrees_with_every_insert_vector_of_an_archive(unpacked: Path) -> None:
    done = check(unpacked, unpacked / "vectors")

    assert done.returncode == 0, done.stderr
    assert not done.stdout.startswith("0 vectors")


def test_a_codec_in_node_reads_the_file_that_all_widths_share(unpacked: Path, tmp_path: Path) -> None:
    documents = {
        letter: document
        for letter, place in configurations(protocol("throttr")).items()
        for document in vectors_of("throttr", *place)
        if document["topic"] == "insert"
    }
    order = {frame["id"]: at for at, frame in enumerate(documents["a"]["frames"])}
    (tmp_path / "insert.json").write_text(canonical(merged(documents, order)), encoding="utf-8")

    done = check(unpacked, tmp_path)

    assert (done.returncode, len(documents)) == (0, 8), done.stderr
    assert int(done.stdout.split()[0]) == sum(
        frame["result"] == "valid" and frame["direction"] == "request" and frame["message"]["name"] == "INSERT"
        for document in documents.values()
        for frame in document["frames"]
    )


def test_the_example_notices_a_wrong_vector(unpacked: Path, tmp_path: Path) -> None:
    text = (unpacked / "vectors" / "insert.json").read_text(encoding="utf-8")
    (tmp_path / "insert.json").write_text(text.replace('"quota":1,', '"quota":2,'), encoding="utf-8")

    done = check(unpacked, tmp_path)

    assert done.returncode == 1
