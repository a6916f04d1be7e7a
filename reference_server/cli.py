"""The command line of the reference servers: a subcommand for each protocol, built when it is called.

Modules that only a running server needs are imported when it starts.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import click

from wireproof.protocols.registry import MissingExtraError
from wireproof.protocols.registry import protocol as codec_of
from wireproof.reference_server.registry import create_service, limits_of, options_of, served_protocols
from wireproof.reference_server.service import Limits

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Sequence

    from wireproof.protocols.registry import Protocol
    from wireproof.reference_server.clock import Clock
    from wireproof.reference_server.options import Option
    from wireproof.reference_server.server import Endpoints
    from wireproof.reference_server.service import Service

__all__ = ["Servers", "command", "main", "serve"]

DEFAULTS = Limits()
LIMITS: dict[str, tuple[click.IntRange | click.FloatRange, str]] = {
    "max_frame": (click.IntRange(1024), "Bytes of the largest request; after a larger one the connection is closed."),
    "high_water": (click.IntRange(1), "Unsent bytes of a connection beyond which reading from it pauses."),
    "push_limit": (click.IntRange(1), "Pushed bytes that may wait for a slow subscriber; beyond, it is disconnected."),
    "max_subscriptions": (click.IntRange(0), "Subscriptions of one connection; beyond, they are refused."),
    "max_connections": (click.IntRange(0), "Open connections; beyond, new ones are rejected. 0: no limit."),
    "idle_timeout": (click.FloatRange(0), "Seconds of silence after which a connection is closed. 0: never."),
    "linger": (click.FloatRange(0.01), "Seconds without progress after which a closing connection is aborted."),
    "handshake": (click.FloatRange(0.01), "Seconds after which an unfinished TLS handshake is aborted."),
}
"""Field of `Limits` -> its range and what it does."""
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


class Servers(click.Group):
    """A subcommand for each protocol that has a server."""

    patches: ClassVar[staticmethod[[str, str | None], object] | None] = None
    """(protocol, name of a mutant) -> its patch; None if only the correct servers are served."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the protocols, sorted."""
        return served_protocols()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the subcommand of a protocol; None if the protocol has no server."""
        return _command(cmd_name, type(self).patches) if cmd_name in served_protocols() else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the profiles and variants of each protocol, without importing its server."""
        with formatter.section("Protocols"):
            formatter.write_dl([(name, _summary(name)) for name in served_protocols()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand and its arguments; for an unknown protocol, fail and list the known ones."""
        if args and not args[0].startswith("-") and args[0] not in served_protocols():
            ctx.fail(f"unknown protocol: {args[0]!r} is not {' or '.join(map(repr, served_protocols()))}")
        return super().resolve_command(ctx, args)


def main() -> None:
    """Run the command line."""
    try:
        serve.main(prog_name="python -m reference_server")
    except MissingExtraError as error:
        _fail(2, str(error))


@click.group(cls=Servers, context_settings={"show_default": True, "max_content_width": 110}, no_args_is_help=True)
def serve() -> None:
    """Serve a protocol with its reference server, until SIGTERM or SIGINT.

    Once it listens it prints `listening tcp://HOST:PORT`, and then `listening udp://HOST:PORT` and
    `listening unix://PATH` if they were requested.

    \b
    wireproof serve throttr --profile 7.3.2 --width uint32 --port 9000
    wireproof serve PROTOCOL --help
    """


def _summary(name: str) -> str:
    try:
        return _spoken(name)
    except MissingExtraError as error:
        return str(error)


def _spoken(name: str) -> str:
    """Return a line with the profiles and variants of a protocol, the default ones marked."""
    spoken = codec_of(name)
    profiles = f"profiles {_marked(spoken.profiles, spoken.default_profile)}"
    variants = spoken.profiles[spoken.default_profile].variants
    return profiles if len(variants) == 1 else f"{profiles}; widths {_marked(variants, spoken.default_variant)}"


def _marked(names: Iterable[str], usual: str) -> str:
    return ", ".join(f"{name} (default)" if name == usual else name for name in names)


def _command(name: str, patches: Callable[[str, str | None], object] | None) -> click.Command:
    """Return the subcommand of one protocol; with `patches` it has the option `--mutant`."""
    spoken = codec_of(name)
    datagrams = any(link.transport == "datagram" for link in spoken.links.values())
    tls = any(link.tls for link in spoken.links.values())

    def run(host: str, port: int, unix: Path | None, **given: Any) -> None:
        from wireproof.reference_server.server import Endpoints

        endpoints = Endpoints(host, port, unix, given.pop("udp", False), _certificate(given))
        _serve(name, endpoints, given, patches)

    return click.Command(
        name,
        callback=run,
        params=[
            *_common(spoken),
            *(_udp() if datagrams else ()),
            *(_tls() if tls else ()),
            *(_own(option) for option in options_of(name)),
            *(_limit(limit) for limit in (*limits_of(name), *(("handshake",) if tls else ()))),
            *_output(),
            _mutant(name) if patches else _former_fault(),
        ],
        help=f"Serve {name} until SIGTERM or SIGINT: {_spoken(name)}.",
        short_help=_spoken(name),
        context_settings={"show_default": True, "max_content_width": 110},
    )


def _common(spoken: Protocol) -> list[click.Option]:
    is_one = len(spoken.profiles[spoken.default_profile].variants) == 1
    return [
        click.Option(["--profile"], default=spoken.default_profile, help="Document or release to follow."),
        click.Option(
            ["--width", "--variant", "variant"],
            default=spoken.default_variant,
            hidden=is_one,
            help="Width of dynamic values.",
        ),
        click.Option(["--host"], default="127.0.0.1", help="Address to listen on."),
        click.Option(["--port"], type=click.IntRange(0, 65535), default=0, help="TCP port; 0 takes a free one."),
        click.Option(["--unix"], type=click.Path(path_type=Path), help="Listen on a UNIX socket at this path too."),
    ]


def _udp() -> list[click.Option]:
    return [click.Option(["--udp"], is_flag=True, help="Accept datagrams, too, on the same host and port.")]


def _tls() -> list[click.Option]:
    return [
        click.Option(["--tls-cert"], type=FILE, help="Certificate chain (PEM), for connections that request TLS."),
        click.Option(["--tls-key"], type=FILE, help="Its private key (PEM)."),
    ]


def _own(option: Option) -> click.Option:
    """Return the click option for an option of the protocol."""
    flag = f"--{option.name.replace('_', '-')}"
    if option.kind == "switch":
        negative = f"--no-{option.name.replace('_', '-')}"
        return click.Option([f"{flag}/{negative}"], default=option.default, help=option.help)
    if option.kind == "texts":
        return click.Option([flag], multiple=True, default=option.default, help=option.help)
    kind: dict[str, Any] = {
        "whole": click.IntRange(int(option.least)),
        "seconds": click.FloatRange(option.least),
        "file": FILE,
        "folder": FOLDER,
    }
    return click.Option([flag], type=kind[option.kind], default=option.default, help=option.help)


def _limit(name: str) -> click.Option:
    kind, text = LIMITS[name]
    return click.Option([f"--{name.replace('_', '-')}"], type=kind, default=getattr(DEFAULTS, name), help=text)


def _output() -> list[click.Option]:
    return [
        click.Option(["--loop"], type=click.Choice(["auto", "uvloop", "asyncio"]), default="auto", help="Event loop."),
        click.Option(
            ["--log-level"],
            type=click.Choice(["debug", "info", "warning", "error"]),
            default="warning",
            help="Least severe level to log.",
        ),
        click.Option(["--trace"], is_flag=True, help="Print each decoded request and answer to stderr."),
    ]


def _mutant(name: str) -> click.Option:
    return click.Option(
        ["--mutant", "--fault", "mutant"], help=f"Mutant to serve; see `wireproof mutant {name} --list`."
    )


def _former_fault() -> click.Option:
    """Return the deprecated option for mutants, which starts the program that serves them."""

    def start(context: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is None or context.resilient_parsing:
            return
        print(
            "reference_server: --fault is deprecated: use 'wireproof mutant PROTOCOL NAME'", file=sys.stderr, flush=True
        )
        given = sys.argv[2:] if sys.argv[1:2] == ["serve"] else sys.argv[1:]
        os.execv(sys.executable, [sys.executable, "-m", "wireproof.mutants", *given])

    return click.Option(["--fault"], hidden=True, expose_value=False, callback=start)


def _certificate(given: dict[str, Any]) -> tuple[Path, Path] | None:
    """Return the paths of certificate and key, or None without both. Raises click.UsageError if one is missing."""
    certificate, key = given.pop("tls_cert", None), given.pop("tls_key", None)
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key: expected both or none")
    return None if certificate is None else (certificate, key)


def _serve(
    name: str,
    endpoints: Endpoints,
    given: dict[str, Any],
    patches: Callable[[str, str | None], object] | None,
) -> None:
    from wireproof.reference_server.clock import VirtualClock

    level = given.pop("log_level").upper()
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    limits = Limits(**{limit: given.pop(limit) for limit in LIMITS if limit in given})
    loop, tracer, mutant = given.pop("loop"), _print_trace if given.pop("trace") else None, given.pop("mutant", None)
    profile, variant = given.pop("profile"), given.pop("variant")

    def make(clock: Clock) -> Service:
        return create_service(
            name,
            profile=profile,
            variant=variant,
            clock=clock,
            limits=limits,
            trace=tracer,
            patch=patches(name, mutant) if patches else None,
            options=given,
        )

    try:
        make(VirtualClock()).close()
    except ValueError as error:
        _fail(2, str(error))
    _run(make, endpoints, limits, loop)


def _run(make: Callable[[Clock], Service], endpoints: Endpoints, limits: Limits, choice: str) -> None:
    import asyncio

    from wireproof.reference_server.server import BindError, serve
    from wireproof.reference_server.tls import CertificateError

    with asyncio.Runner(loop_factory=_loop_factory(choice)) as runner:
        try:
            runner.run(serve(make, endpoints, limits, ready=_print_addresses))
        except (BindError, CertificateError) as error:
            _fail(1, str(error))


def _print_addresses(addresses: Sequence[str]) -> None:
    """Print a line for each, all in one write: who has read the first can read the others."""
    sys.stdout.write("".join(f"listening {one}\n" for one in addresses))
    sys.stdout.flush()


def _loop_factory(choice: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if choice == "asyncio":
        return None
    try:
        import uvloop
    except ImportError:
        if choice == "uvloop":
            _fail(2, "--loop uvloop: uvloop is not installed: python -m pip install 'wireproof[server]'")
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _print_trace(line: str) -> None:
    print(line, file=sys.stderr)


def _fail(status: int, message: str) -> NoReturn:
    print(f"reference_server: {message}", file=sys.stderr)
    sys.exit(status)


command = serve
"""The command `wireproof serve`."""
