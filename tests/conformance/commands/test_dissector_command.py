"""`wireproof dissector`: prints a file, says what it does not read, and refuses what there is not."""

from __future__ import annotations

import ast

import pytest
from click.testing import CliRunner

from wireproof.cli import command
from wireproof.protocols import protocol_names


@pytest.mark.parametrize("name", protocol_names())
def test_it_prints_a_layer_and_a_dissector(name: str) -> None:
    layer = CliRunner().invoke(command, ["dissector", "scapy", name])
    lua = CliRunner().invoke(command, ["dissector", "lua", name])

    ast.parse(layer.stdout)
    assert (layer.exit_code, lua.exit_code) == (0, 0)
    assert f'Proto(PLAN.protocol, "{name} ' in lua.stdout
    assert layer.stderr == lua.stderr
    assert all(line.removeprefix("wireproof: ") in layer.stdout for line in layer.stderr.splitlines())
    assert "wireproof import" not in layer.stdout


@pytest.mark.parametrize(
    ("words", "reported"), [(("--profile", "9"), "7.1.0, 7.3.2"), (("--variant", "u9"), "uint8, uint16")]
)
def test_what_there_is_not_exits_2(words: tuple[str, ...], reported: str) -> None:
    done = CliRunner().invoke(command, ["dissector", "lua", "throttr", *words])

    assert (done.exit_code, reported in done.stderr) == (2, True)
