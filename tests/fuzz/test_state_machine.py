"""The machine: the reference agrees, in process and live; mutants are found in few steps, kept and replayed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from tests.places import ROOT
from wireproof.conformance.model.actions import Write
from wireproof.fuzz import live_settings
from wireproof.fuzz.commands import machine as commands
from wireproof.fuzz.commands.group import command as fuzz
from wireproof.fuzz.commands.replay_finding import command as replay
from wireproof.fuzz.findings.findings_folder import load_all
from wireproof.fuzz.live.canaries import canaries_in
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.reproduction import smallest
from wireproof.fuzz.server_transports import InProcess, Transport
from wireproof.fuzz.state_machine import Preset, run
from wireproof.fuzz.step_failure import Setting
from wireproof.fuzz.store_input import contexts

SCHEMA = ROOT / "reports" / "schema" / "finding.schema.json"
SMALL = Preset(8, 20, derandomized=True)
SERVER = f"{sys.executable} -m wireproof.mutants throttr --profile 7.1.0 --width uint16 --port {{port}}"


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Examples are kept where nobody looks."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def transports(context: FuzzContext, mutant: str | None = None) -> Callable[[], Transport]:
    return lambda: InProcess(context.name, context.profile, context.variant, mutant=mutant)


@pytest.mark.parametrize("context", contexts("throttr"), ids=lambda one: f"{one.profile}-{one.variant}")
def test_the_reference_agrees(context: FuzzContext) -> None:
    setting = Setting(context, transports(context))

    assert run(setting, SMALL) is None
    assert setting.examples >= SMALL.examples
    assert setting.asked > 50


def test_a_server_that_others_use_agrees_and_every_example_has_names_of_its_own() -> None:
    context = contexts("throttr")[5]
    place = InProcess(context.name, context.profile, context.variant)
    scripts = list[bytes]()

    class Watched(InProcess):
        """One server for all examples."""

        def __init__(self) -> None:
            self.__dict__ = place.__dict__

        def perform(self, action: object, **given: object) -> object:  # type: ignore[override]
            if isinstance(action, Write):
                scripts.append(action.data)
            return super().perform(action, **given)  # type: ignore[arg-type]

        def close(self) -> None:
            for name in "abcd":
                place._simulation._wires.pop(name, None)

    setting = Setting(context, Watched, shared=True, longest_wait_ns=10**6)

    assert run(setting, SMALL) is None
    assert len({one for data in scripts for one in canaries_in(data)}) >= 2


def test_a_mutant_is_reported_in_few_steps() -> None:
    context = contexts("throttr")[1]
    setting = Setting(context, transports(context, "publish-always-accepted"), shrink_s=0.3)

    failure = run(setting, Preset(400, 20, derandomized=True))

    assert failure is not None
    setting.shrink_s = 60
    small = smallest(failure, setting)
    assert small.failure.violation.clause == "THR-PUBLISH-8"
    assert (len(small.failure.steps), small.seen, small.of) == (2, 3, 3)


def invoked(*arguments: str) -> Result:
    result = CliRunner().invoke(fuzz, ["machine", "throttr", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def replayed(place: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(replay, [str(place), *arguments])
    return result.exit_code, result.output.split()[0]


def test_what_is_found_is_kept_and_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = partial(InProcess, mutant="publish-always-accepted")
    monkeypatch.setattr(commands, "InProcess", wrong)
    monkeypatch.setattr(commands, "Setting", partial(Setting, shrink_s=0.1))
    one = ("--profile", "7.1.0", "--variant", "uint16", "--findings", str(tmp_path / "findings"))

    first, second = invoked(*one, "--examples", "400"), invoked(*one, "--examples", "400")

    (found,) = load_all(tmp_path / "findings")
    jsonschema_rs.validator_for(json.loads(SCHEMA.read_text())).validate(found.to_json())
    assert (first.exit_code, second.exit_code, found.engine, found.reproduced) == (1, 1, "machine", (3, 3))
    assert " connects\n" in first.output
    assert f"already known as {found.id}" in second.output
    place = tmp_path / "findings" / found.id
    assert (place / "replay.py").exists()
    assert replayed(place) == (0, "GONE")
    monkeypatch.setattr(live_settings, "InProcess", wrong)
    assert replayed(place) == (1, "REPRODUCED")


def test_a_live_server_agrees(tmp_path: Path) -> None:
    few = ("--examples", "4", "--steps", "12", "--findings", str(tmp_path), "--tolerance", "2000")
    fine = invoked("--target-command", SERVER, *few)

    assert fine.exit_code == 0, fine.output
    assert "throttr 7.1.0 uint16: nothing found, 4 examples" in fine.output


def test_a_mutant_that_is_live_is_found_and_played_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_settings, "Setting", partial(Setting, shrink_s=0.2))
    wrong = f"{SERVER} --mutant publish-always-accepted"
    found = invoked("--target-command", wrong, "--findings", str(tmp_path), "--examples", "200", "--steps", "12")

    assert found.exit_code == 1, found.output
    (one,) = load_all(tmp_path)
    assert one.clause == "THR-PUBLISH-8"
    assert replayed(tmp_path / one.id, "--target-command", wrong) == (1, "REPRODUCED")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tcp://127.0.0.1:1",), "nothing to fuzz at"),
        (("tcp://example.org:1",), "is no loopback address"),
        (("--profile", "9"), "--profile: expected auto, 7.1.0, 7.3.2"),
        (("--variant", "u"), "--variant: expected auto, uint8"),
    ],
)
def test_what_cannot_be_run_is_reported(arguments: tuple[str, ...], message: str) -> None:
    result = invoked(*arguments)

    assert result.exit_code == 2
    assert message in result.output


def test_a_deep_run_keeps_its_examples_where_it_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "InProcess", partial(InProcess, mutant="list-names-the-expired"))
    monkeypatch.setattr(commands, "Setting", partial(Setting, shrink_s=0.1))
    monkeypatch.setattr(commands, "MOST_FINDINGS", 1)
    where = ("--profile", "7.1.0", "--variant", "uint16", "--findings", str(tmp_path / "f"))

    monkeypatch.chdir(tmp_path)
    result = invoked(*where, "--effort", "deep", "--time", "120", "--database", str(tmp_path / "examples"))

    assert result.exit_code == 1, result.output
    assert sorted(one.name for one in tmp_path.iterdir()) == ["examples", "f"]
    assert any((tmp_path / "examples").rglob("*"))


def test_with_a_time_it_goes_on_after_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "InProcess", partial(InProcess, mutant="list-names-the-expired"))
    monkeypatch.setattr(commands, "Setting", partial(Setting, shrink_s=0.1))
    monkeypatch.setattr(commands, "MOST_FINDINGS", 2)
    where = ("--profile", "7.1.0", "--variant", "uint16", "--findings", str(tmp_path / "f"))

    result = invoked(*where, "--preset", "deep", "--time", "120", "--database", str(tmp_path / "examples"))

    assert result.exit_code == 1, result.output
    found = list(load_all(tmp_path / "f"))
    assert len({one.key for one in found}) == len(found) == 2
