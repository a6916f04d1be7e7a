"""What `wireproof demo --sample` takes: of each protocol one server and one mutant."""

from __future__ import annotations

from collections import Counter

from wireproof.conformance.commands.demo import _contestants, _sampled
from wireproof.protocols import protocol_names


def test_each_protocol_has_one_server_and_one_mutant() -> None:
    found = _sampled(_contestants())

    assert Counter((one.protocol, one.mutant is not None) for one in found) == Counter(
        {(name, is_mutant): 1 for name in protocol_names() for is_mutant in (False, True)}
    )
