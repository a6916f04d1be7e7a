"""What a target declares: features that the protocol knows, limits and timeouts with a default."""

from pathlib import Path

import pytest

from wireproof.conformance.suite.declared import (
    FeatureError,
    Parameter,
    answer_time,
    declared,
    load_features,
    load_parameters,
    reached,
)
from wireproof.conformance.suite.documents import CaseError

KNOWN = {"tls": "TLS can be begun.", "udp": "Datagrams are answered."}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_features_are_named_one_by_one_or_with_commas() -> None:
    assert declared((), KNOWN) == frozenset()
    assert declared(("tls, udp",), KNOWN) == declared(("udp", "tls,"), KNOWN) == {"tls", "udp"}


def test_a_feature_that_is_none_is_reported_with_those_there_are() -> None:
    with pytest.raises(FeatureError, match="expected tls, udp; got 'quic'"):
        declared(("tls,quic",), KNOWN)
    with pytest.raises(FeatureError, match="none: this protocol has no features; got 'tls'"):
        declared(("tls",), {})


def test_features_and_parameters_are_read_where_there_are_files(tmp_path: Path) -> None:
    path = tmp_path / "parameters.yaml"
    assert load_parameters(path) == {}
    assert load_features(path) == {}

    path.write_text("TIMEOUT: {value: 5, text: Seconds until a silent client is gone., option: timeout}\n")
    assert load_parameters(path) == {"TIMEOUT": Parameter(5, "Seconds until a silent client is gone.", "timeout")}

    path.write_text("tls: TLS can be begun.\n")
    assert load_features(path) == {"tls": "TLS can be begun."}
    with pytest.raises(CaseError, match=r"parameters\.yaml"):
        load_parameters(path)


def test_an_address_declares_its_scheme_where_cases_ask_for_it() -> None:
    assert reached("unix", {"tls": "", "tcp": "", "unix": ""}) == {"unix"}
    assert reached("tcp", {"tls": ""}) == frozenset()


@pytest.mark.parametrize(
    ("values", "seconds"), [(None, 5.0), ({"INTERVAL": 4}, 5.0), ({"INTERVAL": 1}, 1.5), ({"OTHER": 0}, 5.0)]
)
def test_an_answer_is_waited_for_less_than_the_silence_after_which_another_one_comes(
    values: dict[str, int] | None, seconds: float
) -> None:
    declared = {"INTERVAL": Parameter(4, "Seconds between two pings.", answers_within=1.5), "OTHER": Parameter(1, "x")}

    assert answer_time(5.0, declared, values) == seconds
    assert answer_time(0.5, declared, values) == 0.5
