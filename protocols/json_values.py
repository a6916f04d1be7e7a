"""JSON documents as they are read and made: vectors, records, findings, what drivers say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["JsonDict", "JsonObject"]

JsonObject = Mapping[str, Any]
"""Key -> value of any JSON type; readers check or convert what they use."""
JsonDict = dict[str, Any]
"""The same while it is made."""
