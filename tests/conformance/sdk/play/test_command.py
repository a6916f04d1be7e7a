"""`wireproof test-sdk` against the reference client and against drivers that are of no use."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from tests.places import ROOT
from wireproof.conformance.commands.sdk import command
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.sdk.play.sdk_suite import in_order, load_sdk_suite
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import protocol

REFERENCE = f"{shlex.quote(sys.executable)} -m reference_client throttr --driver"
TOY = f"{shlex.quote(sys.executable)} -I {shlex.quote(str(ROOT / 'tests/conformance/sdk/toy_driver.py'))}"


def run(*arguments: str, driver: str = REFERENCE) -> Result:
    return CliRunner().invoke(command, ["throttr", "--driver", driver, *arguments])


def records(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("profile", "variant"), [("7.1.0", "uint8"), ("7.3.2", "uint64")])
def test_the_reference_client_passes_and_its_records_keep_to_their_schema(
    tmp_path: Path, profile: str, variant: str
) -> None:
    chosen = "sdk-query or sdk-refused or sdk-push/before or sdk-closed/in-mid or sdk-wrong or sdk-batch/mixed.whole"
    result = run("--profile", profile, "--variant", variant, "-k", chosen, "--out", str(tmp_path))

    assert result.exit_code == 0, result.output
    found = records(tmp_path)
    schema = json.loads((ROOT / "reports/schema/record.schema.json").read_text(encoding="utf-8"))
    for one in found:
        jsonschema_rs.validate(schema, one)
    assert {(one["role"], one["verdict"]) for one in found} == {("client", "pass")}
    detail = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    jsonschema_rs.validate(json.loads((ROOT / "reports/schema/run.schema.json").read_text(encoding="utf-8")), detail)
    assert (detail["role"], detail["implementation"]) == ("client", "wireproof reference client (Python)")


@pytest.mark.parametrize(
    ("driver", "detail"),
    [
        ("no-such-program-here", "cannot start"),
        (f"{sys.executable} -c 1", "ended"),
        ("", "expected a program"),
        (TOY, "speaks 'toy'"),
    ],
)
def test_a_driver_that_cannot_be_talked_to_is_a_usage_error(driver: str, detail: str) -> None:
    result = run(driver=driver)

    assert result.exit_code == 2
    assert detail in result.output


@pytest.mark.parametrize(
    ("option", "value", "detail"),
    [("--profile", "9.9", "the driver speaks"), ("-k", "no-such-case", "no case left"), ("-k", "(", "expected a word")],
)
def test_what_cannot_be_chosen_is_a_usage_error(option: str, value: str, detail: str) -> None:
    result = run(option, value)

    assert result.exit_code == 2
    assert detail in result.output


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
def test_every_request_has_a_case_that_asks_for_it(profile: str) -> None:
    suite = load_sdk_suite("throttr")
    asked = json.dumps([as_written(one.script) for one in applicable(suite, profile, "uint16")])

    missing = [one.NAME for one in protocol("throttr").profiles[profile].replies if f'"{one.NAME}"' not in asked]

    assert missing == []


def test_what_asks_for_little_and_what_is_required_is_played_first_in_each_topic() -> None:
    suite = load_sdk_suite("throttr")
    cases = list(applicable(suite, "7.3.2", "uint16"))
    order = [one.id for one in in_order(cases, suite, "7.3.2")]

    assert sorted(order) == sorted(one.id for one in cases)
    assert (
        order.index("sdk-get/reply.whole") < order.index("sdk-get/unknown-ttl-type.0") < order.index("sdk-leave/idle")
    )
    assert order.index("sdk-channel/channels.1") < order.index("sdk-subscribe/binary-channel.00")
