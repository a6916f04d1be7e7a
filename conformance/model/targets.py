"""Where a target is: `tcp://host:port`, `unix:///path`, or `simulation` (the reference server in this process)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Way:
    """What lies between wireproof and a target, as far as a play takes it into account."""

    round_trip: float = 0.0
    """Seconds; 0 where it is short."""
    direct: bool = True
    """The target sees our own address and port."""
    shorter: Mapping[str, float] = field(default_factory=dict)
    """Name of a request -> seconds in which its answer must come, where that is less than the deadline of the run."""

    def deadline(self, request: str, usual: float) -> tuple[float, str]:
        """Return the seconds in which an answer to a request must come, and the same in words; `usual`: of the run."""
        seconds = min(usual, self.shorter.get(request, usual))
        earlier = f", after {usual:g} s without an answer in earlier plays" if seconds < usual else ""
        return seconds, f"{seconds:g} s{earlier}"


DIRECTLY = Way()


class TargetError(ValueError):
    """Raised for an address that cannot be understood; it says which forms there are."""


@dataclass(frozen=True, slots=True)
class Address:
    """A stream address."""

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        if self.scheme == "unix":
            return f"unix://{self.path}"
        return f"tcp://[{self.host}]:{self.port}" if ":" in self.host else f"tcp://{self.host}:{self.port}"


def parse_address(text: str, *, any_port: bool = False) -> Address:
    """Return the address; `TargetError` names what was expected and what came.

    `any_port`: of a place to listen at, where port 0 stands for any that is free.
    """
    expected = f"expected tcp://HOST:PORT or unix:///PATH, got {text!r}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise TargetError(f"{expected}: {error}") from None
    if parts.scheme == "tcp" and parts.hostname and (port or (any_port and port == 0)) and not parts.path.strip("/"):
        return Address("tcp", parts.hostname, port)
    if parts.scheme == "unix" and parts.path and not parts.netloc:
        return Address("unix", path=parts.path)
    raise TargetError(expected)


def listeners_of_each(texts: Sequence[str], servers: int) -> list[dict[str, str]]:
    """Return name -> address for each of several servers, of texts NAME=ADDRESS.

    Each name is there once for all, or once for each in their order. Raises `TargetError` otherwise.
    """
    found: list[dict[str, str]] = [{} for _ in range(servers)]
    given: dict[str, list[str]] = {}
    for text in texts:
        name, sign, address = text.partition("=")
        if not (name and sign and address):
            raise TargetError(f"--listener: expected NAME=ADDRESS, got {text!r}")
        given.setdefault(name, []).append(address)
    for name, addresses in given.items():
        if len(addresses) not in (1, servers):
            wanted = f"once, or once for each of {servers} servers"
            raise TargetError(f"--listener: expected {name} {wanted}, got it {len(addresses)} times")
        for number, some in enumerate(found):
            some[name] = addresses[number % len(addresses)]
    return found
