"""JSON documents that are read: vectors, findings, cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["JsonObject"]

JsonObject = Mapping[str, Any]
"""Key -> value of any JSON type; readers check or convert what they use."""
