"""The command line of the reference servers. What only a running server needs is imported when it runs."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from reference_server.clock import Clock
    from reference_server.server import Endpoints
    from reference_server.service import Limits, Service

__all__ = ["app", "main", "serve"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class LoopChoice(StrEnum):
    """Which event loop runs the server."""

    AUTO = "auto"
    UVLOOP = "uvloop"
    ASYNCIO = "asyncio"


class LogLevel(StrEnum):
    """What is logged to stderr."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def main() -> None:
    """Run the command line."""
    app(prog_name="python -m reference_server")


@app.command()
def serve(
    protocol: Annotated[str, typer.Argument(help="What to speak: throttr.")],
    profile: Annotated[str, typer.Option(help="Document or release to follow: 7.1.0 or 7.3.2.")] = "7.1.0",
    variant: Annotated[
        str, typer.Option("--width", "--variant", help="Value width: uint8, uint16, uint32 or uint64.")
    ] = "uint16",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="TCP port; 0 takes a free one.")] = 0,
    unix: Annotated[Path | None, typer.Option(help="Listen on a UNIX socket at this path too.")] = None,
    max_frame: Annotated[
        int, typer.Option(min=1024, help="Bytes of the largest request; after a larger one the connection is closed.")
    ] = 1 << 20,
    high_water: Annotated[
        int, typer.Option(min=1, help="Unsent bytes beyond which a connection is not read from until they are taken.")
    ] = 1 << 16,
    push_limit: Annotated[
        int, typer.Option(min=1, help="Pushed bytes that may wait for a slow subscriber; beyond, it is disconnected.")
    ] = 8 << 20,
    max_subscriptions: Annotated[
        int, typer.Option(min=0, help="Subscriptions of one connection; beyond, they are refused.")
    ] = 10_000,
    max_connections: Annotated[
        int,
        typer.Option(min=0, help="Open connections; beyond, new ones are turned away. 0: all the system allows."),
    ] = 0,
    idle_timeout: Annotated[
        float, typer.Option(min=0, help="Seconds of silence after which a connection is closed. 0: never.")
    ] = 0,
    linger: Annotated[
        float, typer.Option(min=0.01, help="Seconds a closing connection may take nothing before it is cut.")
    ] = 2,
    loop: Annotated[LoopChoice, typer.Option(help="Event loop; auto takes uvloop where it is installed.")] = (
        LoopChoice.AUTO
    ),
    log_level: Annotated[LogLevel, typer.Option(help="What is logged to stderr.")] = LogLevel.WARNING,
    fault: Annotated[
        str | None, typer.Option(help="Be wrong on purpose, to see whether a suite notices: quota-low-byte, ...")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print each decoded request and answer to stderr.")] = False,
) -> None:
    """Serve a protocol as its document says, until SIGTERM or SIGINT.

    The first line printed is `listening tcp://HOST:PORT`, once that is so; `listening unix://PATH` follows.
    """
    from reference_server.clock import VirtualClock
    from reference_server.registry import create_service
    from reference_server.server import Endpoints
    from reference_server.service import Limits

    logging.basicConfig(level=log_level.upper(), format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    limits = Limits(max_frame, high_water, push_limit, max_subscriptions, max_connections, idle_timeout, linger)

    def make(clock: Clock) -> Service:
        tracer = _print_trace if trace else None
        return create_service(
            protocol, profile=profile, variant=variant, clock=clock, limits=limits, trace=tracer, fault=fault
        )

    try:
        make(VirtualClock()).close()
    except ValueError as error:
        _fail(2, str(error))
    _run(make, Endpoints(host, port, unix), limits, loop)


def _run(make: Callable[[Clock], Service], endpoints: Endpoints, limits: Limits, choice: LoopChoice) -> None:
    import asyncio

    from reference_server.server import BindError, serve

    with asyncio.Runner(loop_factory=_loop_factory(choice)) as runner:
        try:
            runner.run(serve(make, endpoints, limits, ready=lambda address: print(f"listening {address}", flush=True)))
        except BindError as error:
            _fail(1, str(error))


def _loop_factory(choice: LoopChoice) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if choice is LoopChoice.ASYNCIO:
        return None
    try:
        import uvloop
    except ImportError:
        if choice is LoopChoice.UVLOOP:
            _fail(2, "--loop uvloop: uvloop is not installed")
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _print_trace(line: str) -> None:
    print(line, file=sys.stderr)


def _fail(status: int, message: str) -> NoReturn:
    print(f"reference_server: {message}", file=sys.stderr)
    raise typer.Exit(status)
