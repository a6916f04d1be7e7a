"""The command line of the reference servers. What only a running server needs is imported when it runs."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from protocols.registry import protocol as codec_of
from reference_server.registry import create_service, served_protocols
from reference_server.service import Limits

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from reference_server.clock import Clock
    from reference_server.server import Endpoints
    from reference_server.service import Service

__all__ = ["main", "serve"]

DEFAULTS = Limits()
LIMITS = {
    "max_frame": (click.IntRange(1024), "Bytes of the largest request; after a larger one the connection is closed."),
    "high_water": (click.IntRange(1), "Unsent bytes beyond which a connection is not read from until they are taken."),
    "push_limit": (click.IntRange(1), "Pushed bytes that may wait for a slow subscriber; beyond, it is disconnected."),
    "max_subscriptions": (click.IntRange(0), "Subscriptions of one connection; beyond, they are refused."),
    "max_connections": (click.IntRange(0), "Open connections; beyond, new ones are turned away. 0: no limit."),
    "idle_timeout": (click.FloatRange(0), "Seconds of silence after which a connection is closed. 0: never."),
    "linger": (click.FloatRange(0.01), "Seconds a closing connection may take nothing before it is cut."),
}
"""Field of `Limits` -> its range and what it does."""


def _limit_options(command: Callable[..., None]) -> Callable[..., None]:
    for name, (kind, told) in reversed(LIMITS.items()):
        option = click.option(f"--{name.replace('_', '-')}", type=kind, default=getattr(DEFAULTS, name), help=told)
        command = option(command)
    return command


def main() -> None:
    """Run the command line."""
    serve.main(prog_name="python -m reference_server")


@click.command(context_settings={"show_default": True, "max_content_width": 110})
@click.argument("protocol", metavar="PROTOCOL", type=click.Choice(served_protocols()))
@click.option("--profile", help="Document or release to follow.  [default: the protocol's first]")
@click.option("--width", "--variant", "variant", help="Width of dynamic values.  [default: the protocol's usual one]")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="TCP port; 0 takes a free one.")
@click.option("--unix", type=click.Path(path_type=Path), help="Listen on a UNIX socket at this path too.")
@_limit_options
@click.option("--loop", type=click.Choice(["auto", "uvloop", "asyncio"]), default="auto", help="Event loop.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="warning")
@click.option("--fault", help="Be wrong on purpose, to see whether a suite notices; an unknown name lists them.")
@click.option("--trace", is_flag=True, help="Print each decoded request and answer to stderr.")
def serve(
    protocol: str,
    profile: str | None,
    variant: str | None,
    host: str,
    port: int,
    unix: Path | None,
    loop: str,
    log_level: str,
    fault: str | None,
    trace: bool,
    **limits: Any,
) -> None:
    """Serve PROTOCOL as its document says, until SIGTERM or SIGINT.

    The first line printed is `listening tcp://HOST:PORT`, once that is so; `listening unix://PATH` follows.

    \b
    throttr: profiles 7.1.0 (default), 7.3.2; widths uint8, uint16 (default), uint32, uint64
    python -m reference_server throttr --profile 7.3.2 --width uint32 --port 9000
    """
    from reference_server.clock import VirtualClock
    from reference_server.server import Endpoints

    logging.basicConfig(level=log_level.upper(), format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    given = Limits(**limits)
    tracer = _print_trace if trace else None

    spoken = codec_of(protocol)
    spoken_profile, spoken_variant = profile or spoken.default_profile, variant or spoken.default_variant

    def make(clock: Clock) -> Service:
        return create_service(
            protocol,
            profile=spoken_profile,
            variant=spoken_variant,
            clock=clock,
            limits=given,
            trace=tracer,
            fault=fault,
        )

    try:
        make(VirtualClock()).close()
    except ValueError as error:
        _fail(2, str(error))
    _run(make, Endpoints(host, port, unix), given, loop)


def _run(make: Callable[[Clock], Service], endpoints: Endpoints, limits: Limits, choice: str) -> None:
    import asyncio

    from reference_server.server import BindError, serve

    with asyncio.Runner(loop_factory=_loop_factory(choice)) as runner:
        try:
            runner.run(serve(make, endpoints, limits, ready=lambda address: print(f"listening {address}", flush=True)))
        except BindError as error:
            _fail(1, str(error))


def _loop_factory(choice: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if choice == "asyncio":
        return None
    try:
        import uvloop
    except ImportError:
        if choice == "uvloop":
            _fail(2, "--loop uvloop: uvloop is not installed")
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _print_trace(line: str) -> None:
    print(line, file=sys.stderr)


def _fail(status: int, message: str) -> NoReturn:
    print(f"reference_server: {message}", file=sys.stderr)
    sys.exit(status)
