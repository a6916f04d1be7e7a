"""`wireproof features` lists what a server may have, and writes the files that say how one is set up."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from wireproof.conformance.commands.features import command
from wireproof.conformance.suite.cases import load_suite
from wireproof.protocols import protocol_names


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize("name", protocol_names())
def test_every_feature_and_parameter_is_listed_with_its_sentence(name: str) -> None:
    suite, text = load_suite(name), printed(name)

    for feature, sentence in suite.features.items():
        assert f"{feature} {' '.join(sentence.split())}" in text
    for parameter, one in suite.parameters.items():
        assert f"{parameter}={one.value:g} {one.text}" in text


def test_what_holds_for_every_server_comes_first() -> None:
    assert printed("tmqp").startswith("Every server, whatever it declares: A channel or queue that is named and absent")


def test_the_files_are_those_that_the_reference_server_has(tmp_path: Path) -> None:
    assert printed("psrt", "--out", str(tmp_path)).endswith(f"3 files written into {tmp_path}")
    assert printed("tmqp", "--out", str(tmp_path)).endswith(f"1 file written into {tmp_path}")

    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert files == ["accounts/acl", "accounts/keys", "accounts/users", "config.yaml"]
    assert set(yaml.safe_load((tmp_path / "accounts/acl").read_text())) >= {"_", "user1", "lim"}


def test_the_password_of_the_accounts_is_the_one_that_the_feature_names(tmp_path: Path) -> None:
    bcrypt = pytest.importorskip("bcrypt")
    printed("psrt", "--out", str(tmp_path))

    assert "secret" in load_suite("psrt").features["accounts"]
    for line in (tmp_path / "accounts/users").read_text().splitlines():
        name, _, hashed = line.partition(":")
        assert bcrypt.checkpw(b"secret", hashed.encode()), name


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = CliRunner().invoke(command, ["psrt", "--out", str(tmp_path / "file" / "below")])

    assert result.exit_code == 2
    assert f"cannot write to {tmp_path / 'file' / 'below'}" in result.output
