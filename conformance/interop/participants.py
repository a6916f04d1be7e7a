"""Who takes part: drivers of clients and servers, those of the project unless they are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from wireproof.conformance.model.targets import Address, TargetError, listeners_of_each, parse_address
from wireproof.conformance.run.processes import module_command
from wireproof.conformance.run.processes.modules import module_environment
from wireproof.conformance.run.processes.servers import ServerCommand, ServerProcess, parse_command
from wireproof.conformance.run.reference_target import datagram_arguments, listener_arguments
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.transports import ProcessTransport, parse_driver

__all__ = ["REFERENCE", "ClientParticipant", "ServerParticipant", "clients_of", "server_of", "servers_of"]

REFERENCE = "wireproof reference"
DATA = Path("{data}")
SCHEMES = ("tcp://", "unix://")


@dataclass(frozen=True, slots=True)
class ClientParticipant:
    """A client by the command of its driver."""

    label: str
    words: tuple[str, ...]
    own: bool = False

    def driver(self, timeout: float) -> DriverProcess:
        """Return the driver, not started."""
        wires = ProcessTransport(self.words, environment=module_environment() if self.own else None)
        return DriverProcess(wires, deadline=timeout)


@dataclass(frozen=True, slots=True)
class ServerParticipant:
    """A server by its command or its address."""

    label: str
    address: Address | None = None
    command: ServerCommand | None = None
    own: bool = False
    listeners: Mapping[str, str] = field(default_factory=dict)
    """Name -> address of a listener beside the usual one; `{data}` in it stands for the folder of the process."""

    def listening(self, process: ServerProcess | None) -> dict[str, Address]:
        """Return where its listeners are, as they were given, or else as its process prints them.

        Raises `TargetError` for what is no address.
        """
        given, printed = dict(self.listeners), dict[str, str]()
        if process is not None:
            given, printed = {name: process.filled(text) for name, text in given.items()}, process.announced_listeners()
        return {name: parse_address(text) for name, text in {**printed, **given}.items()}

    def process(self) -> ServerProcess | None:
        """Return the process to start; None for a server that runs already."""
        if self.command is None:
            return None
        return ServerProcess(self.command, environment=module_environment() if self.own else None)


def clients_of(protocol: str, commands: tuple[str, ...], *, reference: bool) -> list[ClientParticipant]:
    """Return the clients; raises `StartError` for a command that has no words."""
    own = ClientParticipant(
        REFERENCE, tuple(module_command("wireproof.reference_client", protocol, "--driver")), own=True
    )
    return [*([own] if reference else []), *(ClientParticipant(one, parse_driver(one)) for one in commands)]


def servers_of(
    protocol: str,
    texts: tuple[str, ...],
    profile: str,
    variant: str,
    *,
    reference: bool,
    listeners: Sequence[str] = (),
) -> list[ServerParticipant]:
    """Return the servers; raises `TargetError` for what is neither a command nor an address.

    `listeners`: NAME=ADDRESS, once for all servers, or once for each of `texts`, in their order.
    """
    words = module_command("wireproof.reference_server", protocol, "--profile", profile, "--variant", variant)
    more = listener_arguments(protocol, DATA)
    every = (*words, *more, *datagram_arguments(protocol))
    own = ServerParticipant(REFERENCE, None, ServerCommand(every, filled=bool(more)), own=True)
    there = listeners_of_each(listeners, len(texts))
    found = [replace(server_of(text), listeners=some) for text, some in zip(texts, there, strict=True)]
    return [*([own] if reference else []), *found]


def server_of(text: str) -> ServerParticipant:
    """Return the server that an address or a command stands for; raises `TargetError`."""
    if text.startswith(SCHEMES):
        return ServerParticipant(text, address=parse_address(text))
    try:
        return ServerParticipant(text, command=parse_command(text))
    except TargetError as error:
        raise TargetError(str(error).replace("--target-command", "--server")) from None
