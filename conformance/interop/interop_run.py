"""Plays every client against every server, one pair after the other."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from wireproof.conformance.drivers.sockets import connect
from wireproof.conformance.interop.blamed_clauses import Clauses
from wireproof.conformance.interop.harness import Harness
from wireproof.conformance.interop.paired_client import PairedClient
from wireproof.conformance.interop.pairing import Pairing
from wireproof.conformance.interop.participants import ClientParticipant, ServerParticipant
from wireproof.conformance.interop.proxy import Ways, proxied
from wireproof.conformance.interop.results import Side, StepResult
from wireproof.conformance.interop.results_page import Column, PairingResult
from wireproof.conformance.interop.written_pairing import WrittenPairing
from wireproof.conformance.model.targets import Address, TargetError
from wireproof.conformance.monitor.monitor import Monitor
from wireproof.conformance.run.probe import Spoken, version_of
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.driver_protocol import Hello
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.interop_scenes import written_scenes
from wireproof.conformance.verdict.records import Run, now_text, wireproof_version
from wireproof.protocols import protocol
from wireproof.protocols.plain import Plain

__all__ = ["Interop"]


@dataclass(frozen=True, slots=True)
class ServerAddresses:
    """Where one server is reached."""

    address: Address
    listeners: Mapping[str, Address]


@dataclass(slots=True)
class Interop:
    """One call of the command."""

    suite: Suite
    spoken: Spoken
    timeout: float
    results: list[PairingResult] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    run_id: str = field(default_factory=lambda: secrets.token_hex(8))
    """Of every column, so that what a client and a server say of their pair can be put together."""
    started_at: str = field(default_factory=now_text)

    async def run(
        self,
        clients: Sequence[ClientParticipant],
        servers: Sequence[ServerParticipant],
        report: Callable[[PairingResult, StepResult], object],
    ) -> None:
        """Play all pairs; raises `StartError`, `TargetError`, and what a driver's hello raises."""
        clauses = Clauses(self.suite, self.spoken.profile)
        async with AsyncExitStack() as stack:
            places = [_started(stack, one) for one in servers]
            both = zip(servers, places, strict=True)
            about = [await self._server_column(server, place.address, clauses) for server, place in both]
            for client in clients:
                driver = await stack.enter_async_context(client.driver(self.timeout))
                hello = await driver.start()
                column = self._client_column(client, hello, clauses)
                for place, of_server in zip(places, about, strict=True):
                    await self._pair(driver, hello, place, (column, of_server), report)
                await driver.end()
            self.columns += about

    async def _pair(
        self,
        driver: DriverProcess,
        hello: Hello,
        place: ServerAddresses,
        columns: tuple[Column, Column],
        report: Callable[[PairingResult, StepResult], object],
    ) -> None:
        client, server = columns
        result = PairingResult(client.name, server.name)
        self.results.append(result)
        if self.suite.protocol != hello.protocol or not self._is_spoken(hello):
            result.note = f"the client speaks {', '.join(hello.profiles)} under {', '.join(hello.variants)}"
            return
        profile, variant = self.spoken.profile, self.spoken.variant
        known = protocol(self.suite.protocol)
        if client not in self.columns:
            self.columns.append(client)
        plain, codec = Plain(known, profile, variant), known.codec(known.profiles[profile], variant)
        paired, mark = PairedClient(driver, self.timeout), secrets.token_hex(3)
        harness = Harness(plain, place.listeners, self.timeout)
        ways = Ways(known, codec)
        async with proxied(place.address, lambda: Monitor(known, profile, variant), ways) as proxy, harness:
            pair: Pairing | WrittenPairing
            if scenes := written_scenes(known.name):
                pair = WrittenPairing(paired, proxy, plain, client.clauses, mark, self.timeout, scenes)
            else:
                pair = Pairing(paired, proxy, harness, plain, client.clauses, mark, self.timeout)
            async for one in pair.play():
                result.played.append(one)
                client.add(one, server)
                server.add(one, client)
                report(result, one)

    def _is_spoken(self, hello: Hello) -> bool:
        return self.spoken.profile in hello.profiles and self.spoken.variant in hello.variants

    def _client_column(self, client: ClientParticipant, hello: Hello, clauses: Clauses) -> Column:
        name = client.label if client.own else f"{hello.sdk.name} ({hello.sdk.language})"
        return Column(Side.CLIENT, name, self._run(client.label, name, hello.sdk.version, "client"), clauses)

    async def _server_column(self, server: ServerParticipant, address: Address, clauses: Clauses) -> Column:
        try:
            await (await connect(address, self.timeout)).close()
        except OSError as error:
            raise TargetError(f"nothing to test at {address}: {error.strerror or error}") from None
        version = wireproof_version()
        if not server.own:
            version = await version_of(self.suite, address, self.spoken, self.timeout)
        return Column(Side.SERVER, server.label, self._run(server.label, server.label, version, "server"), clauses)

    def _run(self, target: str, name: str, version: str, role: str) -> Run:
        protocol, profile, variant = self.suite.protocol, self.spoken.profile, self.spoken.variant
        named = f"{name}, interop"  # a column of its own: only the latest run of a name counts in the matrix
        run = Run(protocol, profile, variant, target, named, version, role, {"command": "interop"})
        return replace(run, run_id=self.run_id, started_at=self.started_at)


def _started(stack: AsyncExitStack, server: ServerParticipant) -> ServerAddresses:
    """Return where a server listens; one that is started for this is ended with the stack."""
    if server.address is not None:
        return ServerAddresses(server.address, server.listening(None))
    process = server.process()
    assert process is not None
    stack.enter_context(process)
    return ServerAddresses(process.address, server.listening(process))
