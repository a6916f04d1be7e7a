"""A server process: listens, reports its addresses, serves until a signal. Knows transports and no protocol."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import signal
import socket
import ssl
import stat
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wireproof.reference_server.clock import Clock, LoopClock
from wireproof.reference_server.datagrams import DatagramProtocol
from wireproof.reference_server.log_limiter import LogLimiter
from wireproof.reference_server.service import DIALLED, Limits, Service
from wireproof.reference_server.streams import StreamConnections
from wireproof.reference_server.tls import CertificateError, reload_certificate, server_context

__all__ = ["BindError", "Endpoints", "serve"]

log = logging.getLogger(__name__)

BACKLOG = 4096
REDIAL, LOOK = 1.0, 0.2
"""Seconds between attempts to connect, and between looks whether a connection that the server made is still there."""
PORTS_TRIED = 16
"""The most free ports tried to find one that is free for both TCP and UDP."""
NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
SPARE_FILES = 64
"""Descriptors reserved for everything but connections."""


class BindError(Exception):
    """Raised if an address cannot be listened on; the message says which and why. Choose another address."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where to listen; port 0 is any free one."""

    host: str = "127.0.0.1"
    port: int = 0
    unix: Path | None = None
    udp: bool = False
    """Whether datagrams are accepted, too, on the same host and port as TCP."""
    tls: tuple[Path, Path] | None = None
    """Certificate and key, for sessions that switch to TLS."""


async def serve(
    make_service: Callable[[Clock], Service],
    endpoints: Endpoints,
    limits: Limits,
    ready: Callable[[Sequence[str]], object],
) -> None:
    """Serve until SIGTERM or SIGINT; call `ready` with the addresses once all of them listen.

    SIGHUP makes the server read its certificate and the service's files again. Raises BindError if an address cannot
    be used, and CertificateError if the certificate cannot.
    """
    context = server_context(*endpoints.tls) if endpoints.tls is not None else None
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(AcceptErrors())
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    files = raise_file_limit()
    clock = LoopClock(loop)
    service = make_service(clock)
    if service.can_reload or context is not None:
        loop.add_signal_handler(signal.SIGHUP, _reload, service, context, endpoints.tls)
    connections = StreamConnections(service, limits, limits.max_connections or max(files - SPARE_FILES, 1), context)
    async with AsyncExitStack() as listening:
        listening.callback(clock.close)
        listening.callback(service.close)
        addresses = await _listen_inet(endpoints, connections, listening)
        if endpoints.unix is not None:
            addresses.append(await _listen_unix(endpoints.unix, connections, listening))
        addresses += [await _listen_beside(one, endpoints, connections, listening) for one in service.listeners.items()]
        ready(addresses)
        for host, port in service.dials:
            dialling = asyncio.create_task(_dial(host, port, connections))
            listening.callback(dialling.cancel)
        await _until(stop, connections, limits.idle_timeout)
    connections.cut()
    await asyncio.sleep(0)
    log.info("stopped")


def _reload(service: Service, context: ssl.SSLContext | None, files: tuple[Path, Path] | None) -> None:
    if context is not None and files is not None:
        try:
            reload_certificate(context, *files)
        except CertificateError as error:
            log.error("the certificate is not reloaded: %s", error)
    if service.can_reload:
        service.reload()


class AcceptErrors:
    """Takes what goes wrong in the loop: that no descriptor is left is logged once in a while, all else as ever.

    asyncio reports it for each connection that it could not accept, thousands of times a second.
    """

    def __init__(self) -> None:
        self._limiter = LogLimiter(log)

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle one error, as `loop.set_exception_handler` says."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in NO_ROOM and "accept" in str(context.get("message")):
            self._limiter.warn(f"no connection can be accepted now: {os.strerror(error.errno or 0)}")
        else:
            loop.default_exception_handler(context)


def raise_file_limit() -> int:
    """Raise the limit of open files to the hard limit; return the limit that now holds."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = max(soft, 1 << 20)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


async def _until(stop: asyncio.Event, connections: StreamConnections, idle_timeout: float) -> None:
    """Wait for `stop`; if there is an idle timeout, close idle connections meanwhile."""
    if not idle_timeout:
        await stop.wait()
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), idle_timeout / 4)
        connections.close_idle(asyncio.get_running_loop().time())


async def _listen_inet(endpoints: Endpoints, connections: StreamConnections, listening: AsyncExitStack) -> list[str]:
    """Listen on TCP and, if requested, on UDP at the same port; try another free port if UDP cannot have the first."""
    for tries_left in range(PORTS_TRIED - 1, -1, -1):
        async with AsyncExitStack() as tried:
            server = await _listen_tcp(endpoints, connections)
            tried.callback(server.close)
            names = [one.getsockname()[:2] for one in server.sockets]
            try:
                for name in names if endpoints.udp else ():
                    tried.callback((await _listen_udp(name, connections.service)).close)
            except BindError:
                if endpoints.port or not tries_left:
                    raise
                continue
            listening.push_async_exit(tried.pop_all())
            break
    return [_address(scheme, *names[0]) for scheme in (("tcp", "udp") if endpoints.udp else ("tcp",))]


async def _listen_beside(
    named: tuple[str, int | Path], endpoints: Endpoints, connections: StreamConnections, listening: AsyncExitStack
) -> str:
    """Listen for the peers of one of the service's own listeners; return its name and address."""
    name, port = named
    if isinstance(port, Path):
        return f"{name} {await _listen_unix(port, connections, listening, name)}"
    server = await _listen_tcp(Endpoints(endpoints.host, port), connections, name)
    listening.callback(server.close)
    return f"{name} {_address('tcp', *server.sockets[0].getsockname()[:2])}"


async def _dial(host: str, port: int, connections: StreamConnections) -> None:
    """Keep a connection to an address, until cancelled."""
    loop, limiter = asyncio.get_running_loop(), LogLimiter(log)
    while True:
        try:
            async with asyncio.timeout(REDIAL):
                _, made = await loop.create_connection(lambda: connections.protocol(DIALLED), host, port)
            while made in connections.open:
                await asyncio.sleep(LOOK)
        except OSError as error:
            limiter.warn(f"cannot connect to {_address('tcp', host, port)}: {_reason(error)}")
        await asyncio.sleep(REDIAL)


def _address(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


async def _listen_tcp(endpoints: Endpoints, connections: StreamConnections, name: str = "") -> asyncio.Server:
    loop = asyncio.get_running_loop()
    try:
        return await loop.create_server(
            lambda: connections.protocol(name), endpoints.host, endpoints.port, backlog=BACKLOG
        )
    except (OSError, OverflowError, UnicodeError) as error:
        raise BindError(f"cannot listen on tcp://{endpoints.host}:{endpoints.port}: {_reason(error)}") from error


async def _listen_udp(name: tuple[str, int], service: Service) -> asyncio.DatagramTransport:
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.create_datagram_endpoint(lambda: DatagramProtocol(service), local_addr=name)
    except OSError as error:
        raise BindError(f"cannot listen on {_address('udp', *name)}: {_reason(error)}") from error
    return transport


async def _listen_unix(path: Path, connections: StreamConnections, listening: AsyncExitStack, name: str = "") -> str:
    loop = asyncio.get_running_loop()
    try:
        _remove_stale(path)
        server = await loop.create_unix_server(lambda: connections.protocol(name), str(path), backlog=BACKLOG)
    except (OSError, ValueError) as error:
        raise BindError(f"cannot listen on unix://{path}: {_reason(error)}") from error
    listening.callback(_remove_socket, path, path.stat().st_ino)
    listening.callback(server.close)
    return f"unix://{path}"


def _remove_stale(path: Path) -> None:
    """Remove a socket file on which nobody listens. Raises OSError for anything else at that path."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise FileExistsError(errno.EEXIST, "")
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
            else:
                raise OSError(errno.EADDRINUSE, "")


def _remove_socket(path: Path, inode: int) -> None:
    with suppress(OSError):
        if path.stat().st_ino == inode:
            path.unlink()


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None) or 0
    return os.strerror(number) if number > 0 else getattr(error, "strerror", "") or str(error)
