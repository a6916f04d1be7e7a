"""`wireproof explain` and `--list`: what an id means, and which cases a selection has, without a target."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from wireproof.cli import command
from wireproof.conformance.commands import explanation
from wireproof.conformance.suite.cases import load_suite
from wireproof.protocols import protocol_names


def printed(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(command, list(words))
    assert done.exit_code == code, done.output
    return done.output


def test_a_clause_is_explained() -> None:
    text = printed("explain", "thr-query-6", "--profile", "7.3.2", "--variant", "uint8")

    assert load_suite("throttr").clauses["THR-QUERY-6"].text in text
    assert "source: QUERY / Response / QUOTA" in text
    assert "query/fields-of-the-answer" in text
    assert "quota-low-byte" in text
    assert "7.3.2 uint8:\n    0100043b00" in text or "QUERY_REPLY(" in text


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("query/fields-of-the-answer", ("THR-QUERY-8: ", "a > ", "INSERT(quota=1", "wireproof test throttr TARGET -k")),
        ("query/frame-found.0", ("frame query/frame-found.0", "QUERY_REPLY(quota=0")),
        ("sdk-query/keys.1", ("for SDKs", "wireproof test-sdk throttr --driver DRIVER -k sdk-query/keys.1")),
    ],
)
def test_a_case_or_a_frame_is_explained(identifier: str, parts: tuple[str, ...]) -> None:
    text = printed("explain", identifier)

    assert all(part in text for part in parts), text


def test_an_unknown_id_names_those_like_it() -> None:
    assert "like it: THR-QUERY-6" in printed("explain", "THR-QUERI-6", code=2)


def test_an_id_like_no_other_is_answered_with_the_commands_that_list_them() -> None:
    assert "wireproof clauses PROTOCOL" in printed("explain", "zzz", code=2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--profile", "9"), "--profile: expected 7.1.0, 7.3.2; got '9'"),
        (("--variant", "uint3"), "--variant: expected uint8, uint16, uint32, uint64; got 'uint3'"),
    ],
)
def test_a_profile_or_variant_that_there_is_none_of_is_named(words: tuple[str, ...], message: str) -> None:
    assert message in printed("explain", "THR-INSERT-3", *words, code=1)


def test_cases_are_listed_without_a_target() -> None:
    text = printed("test", "throttr", "--list", "-k", "THR-QUERY-9")

    assert "MUST   query/missing  " in text
    assert "THR-QUERY-90" not in text
    assert "cases of throttr" in text
    assert "names like it: query/missing" in printed("test", "throttr", "--list", "-k", "query/missin_", code=2)
    assert "sdk-query/keys.1" in printed("test-sdk", "throttr", "--driver", "x", "--list", "-k", "sdk-query")


@pytest.mark.parametrize(
    ("identifier", "protocols"),
    [
        ("thr-query-4", ["throttr"]),
        ("sealed/published.AES_256_GCM", ["psrt"]),
        ("robustness/stays-up", protocol_names()),
        ("THR-QERY-4", protocol_names()),
    ],
)
def test_only_the_protocols_that_may_have_an_id_are_loaded(identifier: str, protocols: list[str]) -> None:
    assert [one.suite.protocol for one in explanation._known(identifier)] == protocols
