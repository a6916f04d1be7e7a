"""Addresses: TCP by host and port, UNIX by path, and nothing else."""

import pytest

from wireproof.conformance.model.targets import Address, TargetError, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("tcp://127.0.0.1:9000", Address("tcp", "127.0.0.1", 9000)), ("tcp://h:1/", Address("tcp", "h", 1)),
        ("tcp://[::1]:9000", Address("tcp", "::1", 9000)), ("unix:///a/b", Address("unix", path="/a/b")),
    ],
)  # fmt: skip
def test_addresses_are_read_and_written_alike(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert parse_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    ["", "h:1", "tcp://", "tcp://h", "tcp://h:x", "tcp://h:0", "tcp://h:65536", "tcp://:1", "unix://", "unix://h/p"],
)
def test_anything_else_is_reported_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(TargetError, match=r"expected tcp://HOST:PORT or unix:///PATH, got"):
        parse_address(text)
