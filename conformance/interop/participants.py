"""Who takes part: drivers of clients and servers, those of the project unless they are left out."""

from __future__ import annotations

from dataclasses import dataclass

from wireproof.conformance.model.targets import Address, TargetError, parse_address
from wireproof.conformance.run.processes import module_command
from wireproof.conformance.run.processes.modules import module_environment
from wireproof.conformance.run.processes.servers import ServerCommand, ServerProcess, parse_command
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.transports import ProcessTransport, parse_driver

__all__ = ["REFERENCE", "ClientParticipant", "ServerParticipant", "clients_of", "server_of", "servers_of"]

REFERENCE = "wireproof reference"
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
    protocol: str, texts: tuple[str, ...], profile: str, variant: str, *, reference: bool
) -> list[ServerParticipant]:
    """Return the servers; raises `TargetError` for what is neither a command nor an address."""
    words = module_command("wireproof.reference_server", protocol, "--profile", profile, "--variant", variant)
    own = ServerParticipant(REFERENCE, command=ServerCommand(tuple(words), filled=False), own=True)
    return [*([own] if reference else []), *map(server_of, texts)]


def server_of(text: str) -> ServerParticipant:
    """Return the server that an address or a command stands for; raises `TargetError`."""
    if text.startswith(SCHEMES):
        return ServerParticipant(text, address=parse_address(text))
    try:
        return ServerParticipant(text, command=parse_command(text))
    except TargetError as error:
        raise TargetError(str(error).replace("--target-command", "--server")) from None
