"""Processes that wireproof starts: servers under test, and modules of this installation."""

from __future__ import annotations

from wireproof.conformance.run.processes.modules import module_command, module_environment
from wireproof.conformance.run.processes.process_tree import Usage
from wireproof.conformance.run.processes.servers import ServerProcess, StartError, parse_command, running_server

__all__ = [
    "ServerProcess",
    "StartError",
    "Usage",
    "module_command",
    "module_environment",
    "parse_command",
    "running_server",
]
