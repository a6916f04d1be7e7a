"""A server process: listens, says so, serves until it is told to stop. Knows transports and no protocol."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import signal
import socket
import stat
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from reference_server.clock import Clock, LoopClock
from reference_server.service import Limits, Service
from reference_server.streams import StreamConnections

__all__ = ["BindError", "Endpoints", "serve"]

log = logging.getLogger(__name__)

BACKLOG = 4096
SPARE_FILES = 64
"""Descriptors kept for everything that is not a connection."""


class BindError(Exception):
    """Raised when an address cannot be listened on; the message says which and why. Choose another one."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where to listen; port 0 = any free one."""

    host: str = "127.0.0.1"
    port: int = 0
    unix: Path | None = None


async def serve(
    make_service: Callable[[Clock], Service], endpoints: Endpoints, limits: Limits, ready: Callable[[str], object]
) -> None:
    """Serve until SIGTERM or SIGINT; `ready` is told each address once all are listened on. Raises `BindError`."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    files = raise_file_limit()
    service = make_service(LoopClock(loop))
    connections = StreamConnections(service, limits, limits.max_connections or max(files - SPARE_FILES, 1))
    async with AsyncExitStack() as listening:
        listening.callback(service.close)
        addresses = [await _listen_tcp(endpoints, connections, listening)]
        if endpoints.unix is not None:
            addresses.append(await _listen_unix(endpoints.unix, connections, listening))
        for address in addresses:
            ready(address)
        await _until(stop, connections, limits.idle_timeout)
    connections.cut()
    await asyncio.sleep(0)
    log.info("stopped")


def raise_file_limit() -> int:
    """Let this process open as many files as the system allows it; return how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = max(soft, 1 << 20)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


async def _until(stop: asyncio.Event, connections: StreamConnections, idle_timeout: float) -> None:
    """Wait for `stop`, looking for idle connections meanwhile where there is a timeout for them."""
    if not idle_timeout:
        await stop.wait()
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), idle_timeout / 4)
        connections.close_idle(asyncio.get_running_loop().time())


async def _listen_tcp(endpoints: Endpoints, connections: StreamConnections, listening: AsyncExitStack) -> str:
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(connections.protocol, endpoints.host, endpoints.port, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as error:
        raise BindError(f"cannot listen on tcp://{endpoints.host}:{endpoints.port}: {_reason(error)}") from error
    listening.callback(server.close)
    host, port = server.sockets[0].getsockname()[:2]
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"


async def _listen_unix(path: Path, connections: StreamConnections, listening: AsyncExitStack) -> str:
    loop = asyncio.get_running_loop()
    try:
        _remove_stale(path)
        server = await loop.create_unix_server(connections.protocol, str(path), backlog=BACKLOG)
    except (OSError, ValueError) as error:
        raise BindError(f"cannot listen on unix://{path}: {_reason(error)}") from error
    listening.callback(_remove_socket, path, path.stat().st_ino)
    listening.callback(server.close)
    return f"unix://{path}"


def _remove_stale(path: Path) -> None:
    """Remove a socket file that nobody listens on; anything else there stays, and listening fails."""
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
