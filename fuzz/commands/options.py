"""The values of a command's options, as click passes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Options"]

Options = Mapping[str, Any]
"""Option name -> value; each command declares the types of its options."""
