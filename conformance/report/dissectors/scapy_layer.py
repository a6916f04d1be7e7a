"""A layer for scapy: a Python module with a packet class for each message, of the plan of a protocol."""

from __future__ import annotations

import json
import re
from pathlib import Path

from wireproof.conformance.report.dissectors.dissector_plan import Plan

__all__ = ["scapy_layer"]

TEMPLATE = Path(__file__).resolve().parents[3] / "reports" / "templates" / "scapy_layer.py.txt"


def scapy_layer(plan: Plan) -> str:
    """Return the text of the module."""
    prefix = str(plan["protocol"]).capitalize()
    first = next(iter(plan["links"].values()))
    example = [*(one[0] for one in first["opening"]), *first["requests"]][0]
    parts = {
        "title": f"{plan['protocol']} {plan['profile']} {plan['variant']}",
        "module": f"{plan['protocol']}_layer",
        "prefix": prefix,
        "example": prefix + "".join(word.capitalize() for word in example.split("_")),
        "left_out": "\n".join(f"Not read: {one}." for one in plan["left_out"]),
        "plan": json.dumps(plan, indent=1),
    }
    return re.sub(r"\{(\w+)\}", lambda found: parts.get(found[1], found[0]), TEMPLATE.read_text(encoding="utf-8"))
