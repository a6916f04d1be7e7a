"""Whatever bytes come, in whatever pieces, from however slow a peer: others are served, answers keep their order."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference_server.throttr.simulated import COMBINATIONS, Server
from wireproof.protocols.throttr import RequestType

STARTS = st.sampled_from([bytes([kind]) for kind in RequestType])
PIECES = st.one_of(STARTS, st.binary(max_size=40), st.just(b"\x18"), st.just(b"\x13\x00\x00\x00"))
PAUSE, RESUME = "pause", "resume"
COUNTS_BYTES = bytes.maketrans(b"\x08\x14\x15", b"\x18\x18\x18")
"""INFO, CONNECTIONS and CONNECTION tell how many bytes came so far, so pieces do change their answers."""
MOVES = st.lists(st.one_of(PIECES, st.sampled_from([PAUSE, RESUME, RESUME])), max_size=30)


@settings(max_examples=300, deadline=None)
@given(combination=st.sampled_from(COMBINATIONS), moves=MOVES)
def test_no_bytes_harm_the_server_or_anybody_else(combination: tuple[str, str], moves: list[bytes | str]) -> None:
    server = Server(*combination, max_frame=1024)
    other, rude = server.client(), server.client()
    for move in moves:
        if move == PAUSE:
            rude.session.pause_writing()
        elif move == RESUME:
            rude.session.resume_writing()
        elif isinstance(move, bytes) and move:
            rude.session.data_received(move)
    rude.session.resume_writing()
    rude.session.eof_received()

    assert rude.closed
    other.take()
    assert other.send(b"\x18").endswith(other.session.id)
    assert list(server.service.state.sessions) == [other.session.id]


@settings(max_examples=200, deadline=None)
@given(combination=st.sampled_from(COMBINATIONS), data=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200)))
def test_pieces_and_pauses_change_no_answer(combination: tuple[str, str], data: bytes, cuts: list[int]) -> None:
    data = data.translate(COUNTS_BYTES) or b"\x18"
    whole = Server(*combination).client().send(data)
    client = Server(*combination).client()
    edges = sorted({0, len(data), *[cut for cut in cuts if cut < len(data)]})
    for number, (start, stop) in enumerate(pairwise(edges)):
        if number % 3 == 0:
            client.session.pause_writing()
        client.session.data_received(data[start:stop])
        if number % 2:
            client.session.resume_writing()
    client.session.resume_writing()

    assert client.take() == whole
