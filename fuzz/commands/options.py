"""What commands share: the type of their options, and the end of their help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wireproof.protocols.registry import protocol_names

__all__ = ["PROTOCOLS", "Options"]

Options = Mapping[str, Any]
"""Option name -> value; each command declares the types of its options."""
PROTOCOLS = f"PROTOCOL is one of: {', '.join(protocol_names())}."
"""The end of the help of commands that take a protocol."""
