"""Processes that wireproof starts: servers under test, modules of this installation; and signals of its own."""

from __future__ import annotations

from wireproof.conformance.run.processes.modules import module_command, module_environment
from wireproof.conformance.run.processes.process_tree import Usage
from wireproof.conformance.run.processes.servers import ServerProcess, StartError, parse_command, placed, running_server
from wireproof.conformance.run.processes.signals import (
    ended_by_signals,
    run_until_ended,
    signals_handled,
    signals_ignored,
)

__all__ = [
    "ServerProcess",
    "StartError",
    "Usage",
    "ended_by_signals",
    "module_command",
    "module_environment",
    "parse_command",
    "placed",
    "run_until_ended",
    "running_server",
    "signals_handled",
    "signals_ignored",
]
