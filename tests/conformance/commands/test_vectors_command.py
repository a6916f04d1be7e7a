"""`wireproof vectors`: building twice changes nothing, and checking finds what is stale, missing or not derived."""

import json
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from tests.conformance.scripted import CLAUSE, make_case, make_frame
from wireproof.conformance.commands import vectors as command_module
from wireproof.conformance.report import vector_archive, vector_store
from wireproof.conformance.report.derived_vectors import DeriveError, Deriver
from wireproof.conformance.report.vector_files import canonical
from wireproof.conformance.suite.cases import Frame, Suite, load_suite, vectors_root

REAL = load_suite("throttr")
REFUSED = {"send": {"QUERY": {"key": "$k"}}, "expect": "refused"}
Call = Callable[..., Result]


def suite(*cases: object, frames: tuple[Frame, ...] = ()) -> Suite:
    return Suite("throttr", REAL.clauses, cases, frames, REAL.probe)  # type: ignore[arg-type]


SMALL = suite(
    make_case(REFUSED, {"wait": 0.5}, {"half_close": "a"}, {"closed": "a"}, id="made/one"),
    make_case({"alive": True}, id="made/eight-bits", variants=("uint8",)),
    frames=(
        make_frame("made/query", message={"QUERY": {"key": "k"}}),
        make_frame("made/bad", hex="07", error="bad_status", reply_to={"QUERY": {"key": "k"}}),
    ),
)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a caller of the command over a copy of the folder with a small suite."""
    shutil.copytree(vectors_root() / "schema", tmp_path / "schema")
    shutil.copytree(vectors_root() / "examples", tmp_path / "examples")
    (tmp_path / "throttr").mkdir()
    shutil.copy(vectors_root() / "throttr" / "clauses.yaml", tmp_path / "throttr")
    for module in (command_module, vector_store, vector_archive):
        monkeypatch.setattr(module, "vectors_root", lambda: tmp_path)
    for module in (command_module, vector_store):
        monkeypatch.setattr(module, "load_suite", lambda name: SMALL)
    monkeypatch.setattr(command_module, "protocol_names", lambda: ["throttr"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def called(*arguments: str) -> Result:
        result = CliRunner().invoke(command_module.command, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return called


MADE = "throttr/derived/made.json"


def test_building_writes_one_file_of_each_topic(call: Call, tmp_path: Path) -> None:
    assert call("build", "throttr").stdout == "throttr: 1 file, 1 written, 0 removed\n"
    assert [*tmp_path.glob("throttr/**/*.json")] == [tmp_path / MADE]


def test_what_is_too_long_for_a_file_is_counted_and_shown_how_to_play(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = suite(
        make_case({"send": {"times": 900, "of": "LIST"}, "expect": {"times": 900, "of": "any"}}, id="made/long")
    )
    monkeypatch.setattr(command_module, "load_suite", lambda name: long)

    assert call("build").stdout == "throttr: 1 file, 1 written, 0 removed; 1 conversation too long for a file\n"
    shown = call("show", "made/long")
    assert (shown.exit_code, "'wireproof test throttr -k made/long' plays it" in shown.stderr) == (2, True)


def test_building_twice_changes_nothing(call: Call, tmp_path: Path) -> None:
    call("build")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}

    assert call("build", "throttr").stdout == "throttr: 1 file, 0 written, 0 removed\n"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before


def test_building_elsewhere_leaves_the_vectors_as_they_are(call: Call, tmp_path: Path) -> None:
    assert call("build", "--out", str(tmp_path / "out")).exit_code == 0
    assert (tmp_path / "out" / MADE).is_file()
    assert not (tmp_path / MADE).exists()


def test_what_is_built_is_right_by_the_published_schema(call: Call, tmp_path: Path) -> None:
    call("build")
    rules = json.loads((tmp_path / "schema" / "vectors.schema.json").read_text(encoding="utf-8"))
    document = json.loads((tmp_path / MADE).read_text(encoding="utf-8"))

    jsonschema_rs.Draft202012Validator(rules).validate(document)
    assert [(one["id"], one.get("in")) for one in document["conversations"]] == [
        ("made/one", None), ("made/eight-bits", "ae"),
    ]  # fmt: skip
    assert [step["do"] for step in document["conversations"][0]["steps"]] == [
        "connect", "send", "receive", "wait", "half_close", "closed",
    ]  # fmt: skip


def test_checking_fresh_files_passes(call: Call) -> None:
    call("build")

    assert (call("check").exit_code, call("check", "throttr").stdout) == (0, "throttr: 1 file\n")


def test_a_sample_of_fresh_files_passes_and_says_how_large_it_is(call: Call) -> None:
    call("build")

    found = call("check", "throttr", "--sample")

    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == "throttr: 4 of 26 vectors derived, of each id one\n"


@pytest.mark.parametrize("change", [{"title": "another"}, {"id": "made/two"}])
def test_a_sample_finds_a_vector_that_is_stale_everywhere(change: dict[str, Any], call: Call, tmp_path: Path) -> None:
    call("build")
    victim = tmp_path / "throttr" / "derived" / "made.json"
    document = json.loads(victim.read_text())
    document["conversations"] = [{**one, **change} for one in document["conversations"]]
    victim.write_text(canonical(document))

    found = call("check", "--sample")

    assert (found.exit_code, found.stderr.splitlines()[0]) == (1, "stale: vectors/throttr/derived/made.json")


def test_checking_an_installation_says_that_it_has_no_derived_files(call: Call) -> None:
    found = call("check")

    assert found.exit_code == 2
    assert "there are no derived files below" in found.stderr
    assert "wireproof vectors export" in found.stderr


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [("made", "{}", "stale"), ("made", None, "missing"), ("old", "{}", "not derived")],
)
@pytest.mark.parametrize("how", [(), ("--sample",)])
def test_checking_finds_what_is_stale_missing_and_left_over_and_building_mends_it(
    how: tuple[str, ...], file: str, text: str | None, complaint: str, call: Call, tmp_path: Path
) -> None:
    call("build")
    victim = tmp_path / "throttr" / "derived" / f"{file}.json"
    victim.unlink() if text is None else victim.write_text(text)
    result = call("check", *how)

    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"{complaint}: vectors/throttr/derived/{file}.json",
        "Error: run 'wireproof vectors build' and commit what it writes",
    ]
    assert call("build").exit_code == call("check").exit_code == 0


@pytest.mark.parametrize("built", [True, False])
def test_showing_a_vector_prints_it_with_its_file(built: bool, call: Call) -> None:
    if built:
        call("build")
    shown = call("show", "made/one", "--profile", "7.1.0", "--variant", "uint8").output

    assert shown.startswith("# vectors/throttr/derived/made.json: 7.1.0 uint8\n")
    assert json.loads(shown.partition("\n")[2])["id"] == "made/one"
    assert call("show", "made/query").output.count("# vectors/") == 8


@pytest.mark.parametrize("arguments", [("made/none",), ("made/one", "--profile", "9"), ("made/one", "--variant", "u1")])
def test_showing_what_is_not_there_is_reported(call: Call, arguments: tuple[str, ...]) -> None:
    result = call("show", *arguments)

    assert result.exit_code == 2
    assert "Error: no vector 'made/" in result.stderr


def test_an_archive_is_the_same_from_files_and_from_cases(call: Call, tmp_path: Path) -> None:
    wanted = ("export", "throttr", "--profile", "7.3.2", "--variant", "uint32", "--out")
    call(*wanted, str(tmp_path / "derived.zip"))
    call("build")
    shown = call(*wanted, str(tmp_path / "stored.zip")).output

    packed = tmp_path / "stored.zip"
    assert shown == f"{packed}: 7 files, {packed.stat().st_size} bytes\n"
    assert packed.read_bytes() == (tmp_path / "derived.zip").read_bytes()
    with zipfile.ZipFile(packed) as zipped:
        texts = {name.partition("/")[2]: zipped.read(name).decode() for name in zipped.namelist()}
    assert json.loads(texts["vectors/made.json"])["configurations"]["a"]["sizes"] == {"value": 4}
    assert CLAUSE in [one["id"] for one in json.loads(texts["clauses.json"])["clauses"]]
    assert "2 frames and 1 conversations" in texts["README.md"]
    call(*wanted, str(tmp_path / "stored.tar.gz"))
    with tarfile.open(tmp_path / "stored.tar.gz") as archive:
        files = [(one.name.partition("/")[2], archive.extractfile(one)) for one in archive.getmembers() if one.isfile()]
        assert {name: file.read().decode() for name, file in files if file is not None} == texts


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--profile", "9", "--out", "x.zip"), "7.1.0, 7.3.2"),
        (("--profile", "7.1.0", "--variant", "u1", "--out", "x.zip"), "uint8, uint16"),
        (("--profile", "7.1.0", "--out", "x.rar"), ".zip, .tar.gz, .tgz"),
    ],
)
def test_an_archive_of_nothing_known_is_refused(arguments: tuple[str, ...], complaint: str, call: Call) -> None:
    result = call("export", "throttr", *arguments)

    assert result.exit_code != 0
    assert complaint in result.stderr


def test_messages_are_listed_with_their_fields(call: Call) -> None:
    shown = call("messages", "throttr", "--profile", "7.1.0").output

    assert "throttr 7.1.0\n" in shown
    assert "  INSERT: quota, ttl_type, ttl, key\n" in shown
    assert "  LIST: no fields\n" in shown
    assert "7.3.2" not in shown


def test_messages_of_an_unknown_profile_are_reported(call: Call) -> None:
    result = call("messages", "throttr", "--profile", "9")

    assert result.exit_code != 0
    assert "7.1.0, 7.3.2" in result.stderr


WRONG = {
    "a case the reference does not pass": suite(make_case({**REFUSED, "expect": "ok"})),
    "a step that cannot be played": suite(make_case({"send": {"QUERY": {"key": "@never_saved"}}, "expect": "refused"})),
    "a frame our codec reads otherwise": suite(
        frames=(make_frame("m/x", hex="00", error="bad_status", reply_to="INFO"),)
    ),
    "a value that does not fit": suite(
        frames=(make_frame("m/x", message={"QUERY": {"key": {"fill": 1, "size": 256}}}),)
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_derived_is_an_error_with_its_id(
    wrong: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_module, "load_suite", lambda name: WRONG[wrong])
    result = call("build")

    assert result.exit_code == 1
    assert result.stderr.startswith(("Error: made/up under 7.1.0 uint8: ", "Error: m/x under 7.1.0 uint8: "))


def test_a_case_the_reference_does_not_pass_is_refused() -> None:
    with pytest.raises(DeriveError, match="does not pass"):
        Deriver(suite(), "7.1.0", "uint8").conversation(make_case({**REFUSED, "expect": "ok"}))
