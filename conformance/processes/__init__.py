"""Processes that wireproof starts: servers under test, and modules of this installation."""

from __future__ import annotations

from conformance.processes.family import Usage
from conformance.processes.modules import module_command, module_environment
from conformance.processes.servers import ServerProcess, StartError, parse_command, running_server

__all__ = [
    "ServerProcess",
    "StartError",
    "Usage",
    "module_command",
    "module_environment",
    "parse_command",
    "running_server",
]
