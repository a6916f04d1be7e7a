"""`wireproof vectors`: building twice changes nothing, and checking finds what is stale, missing or left over."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from tests.conformance.scripted import CLAUSE, make_case
from wireproof.conformance.commands import vectors as command_module
from wireproof.conformance.model.outcome import Note
from wireproof.conformance.report.derived_vectors import DeriveError, Deriver, canonical
from wireproof.conformance.suite.cases import Frame, Suite, load_suite, vectors_root

REAL = load_suite("throttr")
REFUSED = {"send": {"QUERY": {"key": "$k"}}, "expect": "refused"}
Call = Callable[..., Result]


def frame(name: str, **body: object) -> Frame:
    return Frame(name, "A frame", "made", (CLAUSE,), ("7.1.0", "7.3.2"), (), body, {})


def suite(*cases: object, frames: tuple[Frame, ...] = ()) -> Suite:
    return Suite("throttr", REAL.clauses, cases, frames, REAL.probe)  # type: ignore[arg-type]


SMALL = suite(
    make_case(REFUSED, {"wait": 0.5}, {"half_close": "a"}, {"closed": "a"}, id="made/one"),
    make_case({"alive": True}, id="made/eight-bits", variants=("uint8",)),
    frames=(
        frame("made/query", message={"QUERY": {"key": "k"}}),
        frame("made/bad", hex="07", error="bad_status", reply_to={"QUERY": {"key": "k"}}),
    ),
)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a caller of the command over a copy of the folder with a small suite."""
    shutil.copytree(vectors_root() / "schema", tmp_path / "schema")
    (tmp_path / "throttr").mkdir()
    monkeypatch.setattr(command_module, "vectors_root", lambda: tmp_path)
    monkeypatch.setattr(command_module, "load_suite", lambda name: SMALL)

    def called(*arguments: str) -> Result:
        result = CliRunner().invoke(command_module.command, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return called


def test_building_writes_a_file_of_each_topic_profile_and_variant(call: Call, tmp_path: Path) -> None:
    assert call("build", "throttr").output == "throttr: 8 files, 8 written, 0 removed\n"
    assert len(list(tmp_path.glob("throttr/*/*/made.json"))) == 8


def test_building_twice_changes_nothing(call: Call, tmp_path: Path) -> None:
    call("build")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}

    assert call("build", "throttr").output == "throttr: 8 files, 0 written, 0 removed\n"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before


def test_what_is_built_is_right_by_the_published_schema(call: Call, tmp_path: Path) -> None:
    call("build")
    rules = json.loads((tmp_path / "schema" / "vectors.schema.json").read_text(encoding="utf-8"))
    document = json.loads((tmp_path / "throttr/7.1.0/uint8/made.json").read_text(encoding="utf-8"))

    jsonschema_rs.Draft202012Validator(rules).validate(document)
    assert [one["id"] for one in document["conversations"]] == ["made/one", "made/eight-bits"]
    assert [step["do"] for step in document["conversations"][0]["steps"]] == [
        "connect", "send", "receive", "wait", "half_close", "closed",
    ]  # fmt: skip


def test_checking_fresh_files_passes(call: Call) -> None:
    call("build")

    assert (call("check").exit_code, call("check", "throttr").output) == (0, "throttr: 8 files\n")


def test_checking_finds_what_is_stale_missing_and_left_over(call: Call, tmp_path: Path) -> None:
    call("build")
    (tmp_path / "throttr/7.1.0/uint8/made.json").write_text("{}")
    (tmp_path / "throttr/7.1.0/uint16/made.json").unlink()
    (tmp_path / "throttr/7.3.2/uint8/old.json").write_text("{}")
    result = call("check")

    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "missing: vectors/throttr/7.1.0/uint16/made.json",
        "stale: vectors/throttr/7.1.0/uint8/made.json",
        "left over: vectors/throttr/7.3.2/uint8/old.json",
        "Error: run 'wireproof vectors build' and commit what it writes",
    ]


def test_building_mends_what_checking_found(call: Call, tmp_path: Path) -> None:
    call("build")
    (tmp_path / "throttr/7.1.0/uint8/made.json").write_text("{}")
    (tmp_path / "throttr/7.3.2/uint8/old.json").write_text("{}")

    assert call("build", "throttr").output == "throttr: 8 files, 1 written, 1 removed\n"
    assert call("check").exit_code == 0


def test_showing_a_vector_prints_it_with_its_file(call: Call) -> None:
    call("build")
    shown = call("show", "made/one", "--profile", "7.1.0", "--variant", "uint8").output

    assert shown.startswith("# vectors/throttr/7.1.0/uint8/made.json\n")
    assert json.loads(shown.partition("\n")[2])["id"] == "made/one"
    assert call("show", "made/query").output.count("# vectors/") == 8


@pytest.mark.parametrize("arguments", [("made/none",), ("made/one", "--profile", "9"), ("made/one", "--variant", "u1")])
def test_showing_what_is_not_there_is_told(call: Call, arguments: tuple[str, ...]) -> None:
    call("build")
    result = call("show", *arguments)

    assert result.exit_code == 1
    assert "Error: no vector 'made/" in result.stderr


def test_messages_are_listed_with_their_fields(call: Call) -> None:
    shown = call("messages", "throttr", "--profile", "7.1.0").output

    assert "throttr 7.1.0\n" in shown
    assert "  INSERT: quota, ttl_type, ttl, key\n" in shown
    assert "  LIST: no fields\n" in shown
    assert "7.3.2" not in shown


def test_messages_of_an_unknown_profile_are_told(call: Call) -> None:
    result = call("messages", "throttr", "--profile", "9")

    assert result.exit_code != 0
    assert "7.1.0, 7.3.2" in result.stderr


WRONG = {
    "a case the reference does not pass": suite(make_case({**REFUSED, "expect": "ok"})),
    "a step that cannot be played": suite(make_case({"sned": 1})),
    "a frame our codec reads otherwise": suite(frames=(frame("m/x", hex="00", error="bad_status", reply_to="INFO"),)),
    "a frame of an unknown message": suite(frames=(frame("m/x", message="NOTHING"),)),
    "a value that does not fit": suite(frames=(frame("m/x", message={"QUERY": {"key": {"fill": 1, "size": 256}}}),)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_derived_is_told_with_its_id(wrong: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_module, "load_suite", lambda name: WRONG[wrong])
    result = call("build")

    assert result.exit_code == 1
    assert result.stderr.startswith(("Error: made/up under 7.1.0 uint8: ", "Error: m/x under 7.1.0 uint8: "))


def test_deriving_is_the_same_each_time() -> None:
    first, second = (Deriver(SMALL, "7.3.2", "uint32").documents() for _ in range(2))

    assert canonical(first["made"]) == canonical(second["made"])
    with pytest.raises(DeriveError, match="does not pass"):
        Deriver(suite(), "7.1.0", "uint8").conversation(make_case({**REFUSED, "expect": "ok"}))


def test_a_canonical_file_has_one_step_a_line() -> None:
    text = canonical(Deriver(SMALL, "7.1.0", "uint16").documents()["made"])

    assert json.loads(text)["topic"] == "made"
    assert sum(line.startswith('{"do": ') for line in text.splitlines()) == 6
    assert Note("send", "a").data == b""
