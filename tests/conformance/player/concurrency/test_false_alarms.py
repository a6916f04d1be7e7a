"""A server that acts on each request at one instant between sending and answer is never accused, whatever is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference_server.throttr.simulated import Server
from tests.reference_server.throttr.test_model import requests
from wireproof.conformance.player.concurrency.history import NEVER, Operation
from wireproof.conformance.player.concurrency.judging import Word, judge
from wireproof.protocols import protocol
from wireproof.reference_server.registry import model_of

CONNECTIONS = "abcd"


@st.composite
def histories(draw: st.DrawFn, profile: str, variant: str) -> list[Operation]:
    """Requests in any order of acting, each sent some time before and answered some time after; the reference answers.

    Those of one connection are sent, act and are answered in the same order.
    """
    server = Server(profile, variant)
    clients = {name: server.client() for name in CONNECTIONS}
    acting = draw(st.lists(st.sampled_from(CONNECTIONS), max_size=14))
    sent, answered = dict.fromkeys(CONNECTIONS, 0), dict.fromkeys(CONNECTIONS, 0)
    operations = []
    for number, name in enumerate(acting):
        at = 100 * number + 50
        request = draw(requests(server.maximum))
        sent[name] = max(sent[name] + 1, at - draw(st.integers(1, 400)))
        answered[name] = max(answered[name] + 1, at + draw(st.integers(1, 400)))
        invoked, returned = 2 * min(sent[name], at), 2 * answered[name] + 1
        operations.append(Operation(number, name, request, invoked, clients[name].ask(request), returned))
    lost = draw(st.sets(st.sampled_from(CONNECTIONS), max_size=1))
    cut = draw(st.integers(0, 100 * len(acting)))
    return [
        replace(one, reply=None, returned=NEVER) if one.connection in lost and one.returned > 2 * cut else one
        for one in operations
    ]


@pytest.mark.parametrize(
    ("profile", "variant"),
    [("7.1.0", "uint8"), pytest.param("7.3.2", "uint8", marks=pytest.mark.nightly), ("7.3.2", "uint64")],
)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_what_acts_one_after_another_is_linearizable(profile: str, variant: str, data: st.DataObject) -> None:
    operations = data.draw(histories(profile, variant))
    model = model_of("throttr", profile=profile, variant=variant)
    judgement = judge(operations, model, protocol("throttr").names)

    assert judgement.word in (Word.LINEARIZABLE, Word.VACUOUS), "\n".join(judgement.drawing)
