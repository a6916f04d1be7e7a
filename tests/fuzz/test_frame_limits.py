"""Limits of frames on connections with states: kept to the byte, and a limit that is off by one is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.fuzz.planting import plant
from wireproof.fuzz.invariants.frame_limits import check_limit_here, enlarged
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.parser_input import Endpoint, combinations
from wireproof.protocols import Connection, Request
from wireproof.protocols.namechan.codec import Codec
from wireproof.protocols.psrt.connection import PsrtServer


def _endpoints(name: str) -> list[Endpoint]:
    return [one for one in combinations(name) if one.is_stream and not (one.is_client or one.stands_alone)]


def _asked(endpoint: Endpoint) -> list[Request]:
    some = (enlarged(endpoint.codec, one, source) for one in endpoint.known[:40] for source in (b"\1\2\3", b"\1\0\0"))
    return [one for one in some if one is not None]


@pytest.mark.parametrize("name", ["psrt", "tmqp", "namechan"])
def test_limits_are_kept_to_the_byte(name: str) -> None:
    asked = 0
    for endpoint in _endpoints(name):
        for request in _asked(endpoint):
            check_limit_here(endpoint._under, request, endpoint.codec.encode(request))
            asked += 1
    assert asked


@pytest.mark.parametrize(("off", "oracle"), [(1, "beyond the limit is refused"), (-1, "of the limit is taken")])
@pytest.mark.parametrize("name", ["psrt", "tmqp", "namechan"])
def test_a_limit_that_is_off_by_one_is_found(name: str, off: int, oracle: str) -> None:
    found = 0
    for endpoint in _endpoints(name):

        def under(limit: int, endpoint: Endpoint = endpoint) -> Connection:
            return endpoint._under(limit + off)

        broken = [str(one) for asked in _asked(endpoint) if (one := _broken(under, asked, endpoint))]
        assert all(oracle in one for one in broken)
        found += len(broken)
    assert found


def test_a_request_with_a_limit_of_its_own_that_is_larger_than_a_frame_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch, PsrtServer, "_decode_next", "min(self._max_frame, self._most.get(request, self._max_frame))",
          "self._most.get(request, self._max_frame)")  # fmt: skip
    endpoint = next(one for one in _endpoints("psrt") if any(asked.NAME == "LOGIN" for asked in _asked(one)))

    broken = [_broken(endpoint._under, one, endpoint) for one in _asked(endpoint)]

    assert any("LOGIN of 1025 bytes, 1024 are allowed" in str(one) for one in broken)


@pytest.mark.parametrize("name", ["psrt", "tmqp", "namechan"])
def test_limits_of_clients_are_kept_to_the_byte(name: str) -> None:
    _try_limits(name)


def test_a_limit_of_clients_that_does_not_count_the_length_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, Codec, "decode_frame", "stop - at > context.limit", "size > context.limit")

    with pytest.raises(InvariantError, match=r"a frame beyond the limit is refused: .*of 1025 bytes, 1024 are allowed"):
        _try_limits("namechan")


def _try_limits(name: str) -> None:
    for endpoint in combinations(name):
        if endpoint.is_stream and endpoint.is_client and not endpoint.stands_alone:
            for at in range(min(len(endpoint._coming), 256)):
                endpoint.check_limit(bytes([0, 0, at, 1, 0, 0]))


def _broken(under: Callable[[int], Connection], request: Request, endpoint: Endpoint) -> InvariantError | None:
    try:
        check_limit_here(under, request, endpoint.codec.encode(request))
    except InvariantError as broken:
        return broken
    return None
