"""The target of `wireproof test`: an address, the simulation, or a server started for the run and ended with it."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from wireproof.conformance.commands.segmentation_options import segmentations_of
from wireproof.conformance.drivers.tls import client_context
from wireproof.conformance.model.expressions import Number
from wireproof.conformance.model.targets import Address, TargetError, parse_address
from wireproof.conformance.report.outputs import OutputError
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.plan import Settings
from wireproof.conformance.run.processes import ServerProcess, ended_by_signals, parse_command
from wireproof.conformance.run.runner import DEFAULT_RESTARTS
from wireproof.conformance.suite.case_traits import parameters_in
from wireproof.conformance.suite.cases import Suite
from wireproof.conformance.suite.declared import DEFAULT_PARAMETERS, UNSUPPORTED, FeatureError, declared, reached

SIMULATION = "simulation"
LOG = "target.log"
LIMITS = {name: value for name, value in DEFAULT_PARAMETERS.items() if name != "TOLERANCE"}
OPTIONS = (
    click.option(
        "--target-command",
        help="Start this server for the run. '{port}' and '{host}' are replaced, '{data}' by a folder that it has for "
        "itself; without '{port}' the server must print a line 'listening ADDRESS'.",
    ),
    click.option(
        "--ready-timeout", type=click.FloatRange(0.1), default=15.0, help="Seconds the server may take to listen."
    ),
    click.option(
        "--restarts",
        type=click.IntRange(0),
        default=DEFAULT_RESTARTS,
        help="How often the server is restarted after it died.",
    ),
    click.option(
        "--resource-limits",
        "--budgets",
        "budgets",
        is_flag=True,
        help="Also measure the server's memory, descriptors and CPU (half a minute more).  [--budgets: deprecated]",
    ),
    click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="NAME=NUMBER",
        help="Another value of a resource limit, or of a protocol parameter that the target sets differently "
        f"(wireproof features PROTOCOL): {', '.join(f'{name}={value}' for name, value in LIMITS.items())}.",
    ),
    click.option(
        "--feature",
        "features",
        multiple=True,
        metavar="NAME",
        help="A feature of the target (wireproof features PROTOCOL); repeat it, or separate with commas. Cases "
        "that need another feature are unsupported. Where none is named, the target is asked for those that can be "
        "found out. The simulation has all features.",
    ),
    click.option(
        "--listener",
        "listeners",
        multiple=True,
        metavar="NAME=ADDRESS",
        help="Where the target listens beside its usual address, as tcp://HOST:PORT or unix:///PATH, {data} as in "
        "its command; it declares the feature of that name, too. A started target may print it instead: listening "
        "NAME ADDRESS.",
    ),
    click.option(
        "--tls-ca",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Verify the target's TLS certificate with this authority (PEM); without it no certificate is verified.",
    ),
)


@dataclass(frozen=True, slots=True)
class Target:
    """What is tested."""

    label: str
    """Its name in records."""
    address: Address | None
    """None: the simulation. A server that is restarted gets another address each time."""
    server: ServerProcess | None = None


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that describe the target."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@contextmanager
def target_of(text: str | None, options: Mapping[str, Any]) -> Iterator[Target]:
    """Yield the target; end a server that was started for it, however the block ends.

    Raises `TargetError`, `StartError` when the server does not become ready, `OutputError` when its log cannot be kept.
    """
    command: str | None = options["target_command"]
    if (text is None) == (command is None):
        both = "neither" if text is None else "both"
        raise TargetError(
            f"expected a TARGET (tcp://HOST:PORT, unix:///PATH, simulation) or --target-command; got {both}"
        )
    if command is None and options["budgets"]:
        raise TargetError("--resource-limits: only a server that wireproof starts can be measured (--target-command)")
    if command is None:
        address = None if text == SIMULATION else parse_address(str(text))
        with ended_by_signals():
            yield Target(str(text), address)
        return
    with ended_by_signals(), ExitStack() as stack:
        server = _server(command, options)
        yield Target(command, stack.enter_context(server).address, server)


def _server(command: str, options: Mapping[str, Any]) -> ServerProcess:
    folder: Path | None = options["out"]
    parsed = parse_command(command)
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        return ServerProcess(parsed, log=folder / LOG if folder else None, ready_timeout=options["ready_timeout"])
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}") from None


def settings_of(options: Mapping[str, Any], suite: Suite, target: Target) -> Settings:
    """Return how cases are played on `target`, as `options` say; raises `TargetError` for bad limits and listeners."""
    real = target.address is not None
    return Settings(
        jobs=options["jobs"],
        timeout=options["timeout"],
        segmentations=segmentations_of(options),
        parameters=parameters_of(options, suite, real=real),
        features=features_of(options, suite, target.address),
        tls=tls_of(options),
        alone=real,
        listeners=listeners_of(options),
        undeclared=frozenset(assumed_limits(suite, options["limits"]) if real else ()),
        unknown=unknown_limits(options["limits"], suite) if real else frozenset(),
    )


def assumed_limits(suite: Suite, declared: Iterable[str]) -> dict[str, Number]:
    """Return the protocol's own limits that `declared`, the texts of `--limit`, do not name, with their defaults."""
    named = {text.partition("=")[0] for text in declared}
    return {name: one.value for name, one in suite.parameters.items() if name not in named}


def undeclared_limits(suite: Suite, declared: Iterable[str], failed: Collection[str]) -> str:
    """Return a line about limits of the target that failed cases read and nobody declared; "" where there are none.

    `declared` are the texts of `--limit`, `failed` the ids of the cases.
    """
    own = assumed_limits(suite, declared)
    read = [parameters_in(case, own) for case in suite.cases if case.id in failed]
    if not any(read):
        return ""
    used = ", ".join(f"{name}={own[name]}" for name in own if any(name in names for names in read))
    count = sum(map(bool, read))
    return (
        f"{count} of the cases that did not pass read limits that were not declared: {used}; --limit NAME=N says others"
    )


def parameters_of(options: Mapping[str, Any], suite: Suite, *, real: bool = True) -> Mapping[str, Number]:
    """Return the parameters of cases; raises `TargetError` for an unknown limit or a value that is not a number.

    Slow cases give a `real` target that declares nothing as long as the document allows.
    """
    own = {name: one.value for name, one in suite.parameters.items()}
    known = {**LIMITS, **own}
    found: dict[str, Number] = {**known, "TOLERANCE": options["tolerance"]}
    if real and options.get("slow"):
        wide = {name: one.undeclared for name, one in suite.parameters.items()}
        found |= {name: value for name, value in wide.items() if isinstance(value, int | float)}
    return found | _declared(options["limits"], known)


def _declared(texts: Iterable[str], known: Collection[str]) -> dict[str, Number]:
    found: dict[str, Number] = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            if name not in known or not 0 <= float(number) < float("inf"):
                raise ValueError
        except ValueError:
            raise TargetError(f"--limit: expected NAME=NUMBER with one of {', '.join(known)}; got {text!r}") from None
        found[name] = int(number) if number.isdecimal() else float(number)
    return found


def unknown_limits(texts: Iterable[str], suite: Suite) -> frozenset[str]:
    """Return the limits that the texts of `--limit` do not name, that no document bounds and that nobody looks for."""
    left = assumed_limits(suite, texts).keys() - suite.probe.get("timeouts", {}).keys()
    return frozenset(name for name in left if suite.parameters[name].undeclared == UNSUPPORTED)


def declared_limits(texts: Iterable[str], suite: Suite) -> Mapping[str, Number]:
    """Return the protocol's own limits that the texts of `--limit` name; raises `TargetError` as `parameters_of`."""
    found = _declared(texts, {**LIMITS, **suite.parameters})
    return {name: value for name, value in found.items() if name in suite.parameters}


def listeners_of(options: Mapping[str, Any]) -> Mapping[str, Address]:
    """Return the addresses of listeners by name; raises `TargetError` for what is none."""
    pairs = [text.partition("=") for text in options.get("listeners", ())]
    if wrong := [name for name, sign, _ in pairs if not (name and sign)]:
        raise TargetError(f"--listener: expected NAME=ADDRESS, got {wrong[0]!r}")
    found = {name: parse_address(address.replace("unix://{data}", "unix:///{data}")) for name, _, address in pairs}
    if "{data}" not in str(options.get("target_command")):
        for name, address in found.items():
            if "{data}" in address.path:
                raise TargetError(f"--listener {name}: expected {{data}} in --target-command, too, got none")
    return found


def features_of(options: Mapping[str, Any], suite: Suite, address: Address | None) -> frozenset[str]:
    """Return the features that the target declares; raises `TargetError` for one that the protocol does not have."""
    try:
        found = declared(options["features"], suite.features)
    except FeatureError as error:
        raise TargetError(f"--feature: {error}") from None
    found |= {name for name in listeners_of(options) if name in suite.features}
    if address is not None:
        return found | reached(address.scheme, suite.features)
    return found or reference_target.features(suite.protocol)


def tls_of(options: Mapping[str, Any]) -> ssl.SSLContext:
    """Return the TLS context of the run; raises `TargetError` for a file that holds no certificates."""
    path: Path | None = options["tls_ca"]
    try:
        return client_context(path)
    except OSError as error:
        raise TargetError(f"--tls-ca: expected certificates (PEM) in {path}: {error.strerror or error}") from None
