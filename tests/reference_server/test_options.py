"""What a protocol's server can be told, as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.options import Option, chosen
from wireproof.reference_server.registry import create_service, limits_of, options_of, served_protocols
from wireproof.reference_server.service import Limits

KNOWN = (
    Option("depth", "whole", 32, "How deep.", least=1),
    Option("timeout", "seconds", 5.0, "How long.", least=0.1),
    Option("open", "switch", True, "Whether."),
    Option("users", "file", None, "Who."),
)


def test_what_is_not_given_has_its_default() -> None:
    assert chosen("p", KNOWN, {"depth": 3, "users": Path("u")}) == {
        "depth": 3,
        "timeout": 5.0,
        "open": True,
        "users": Path("u"),
    }


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({"deep": 1}, "unknown option 'deep' of a p server: expected one of: depth, timeout, open, users"),
        ({"depth": 0}, "option depth: expected at least 1, got 0"),
        ({"depth": True}, "option depth: expected a whole number, got True"),
        ({"depth": 1.5}, "option depth: expected a whole number, got 1.5"),
        ({"timeout": 0}, "option timeout: expected at least 0.1, got 0"),
        ({"timeout": float("nan")}, "option timeout: expected at least 0.1, got nan"),
        ({"open": 1}, "option open: expected True or False, got 1"),
        ({"users": 7}, "option users: expected a path, got 7"),
    ],
)
def test_what_is_wrong_is_named_beside_what_was_expected(given: dict[str, Any], detail: str) -> None:
    with pytest.raises(ValueError, match=detail.replace(".", r"\.")):
        chosen("p", KNOWN, given)


@pytest.mark.parametrize("protocol", served_protocols())
def test_every_server_has_defaults_it_allows_and_heeds_limits_there_are(protocol: str) -> None:
    options = options_of(protocol)

    defaults = {option.name: option.default for option in options}
    assert chosen(protocol, options, defaults) == defaults
    assert set(limits_of(protocol)) <= set(Limits.__dataclass_fields__)


def test_a_service_refuses_options_it_does_not_have() -> None:
    with pytest.raises(ValueError, match="unknown option 'depth' of a throttr server: expected one of: none"):
        create_service("throttr", profile="7.1.0", variant="uint8", clock=VirtualClock(), options={"depth": 1})
