"""How a module of this installation is run as a process of its own, whatever the current folder holds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import wireproof

HERE = Path(wireproof.__file__).resolve().parents[1]


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this installation, whatever the current folder holds."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment() -> dict[str, str]:
    """Return an environment in which `module_command` finds the modules beside this one."""
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{path}" if path else str(HERE)}
