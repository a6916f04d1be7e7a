"""Whatever comes in whatever pieces: nothing is raised, nothing is left behind, and cutting changes no answer."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference_server.psrt.simulated import (
    ANONYMOUS,
    HELLO,
    TIMEOUT,
    Server,
    publish,
    repl_data,
    replicate,
    sized,
    subscribe,
    unsubscribe,
)

WORDS = st.sampled_from(["a", "a/b", "a/+", "#", "//x", "a/#/z", "", "a/b/c/d/e", "\u00e4"])
OPERATIONS = st.one_of(
    st.just(b"\0"),
    st.builds(publish, WORDS, st.binary(max_size=4), st.integers(0, 255)),
    st.lists(WORDS, max_size=3).map(lambda words: subscribe(*words)),
    st.lists(WORDS, max_size=3).map(lambda words: unsubscribe(*words)),
    st.builds(lambda topic, message: replicate(topic) + repl_data(message), WORDS, st.binary(max_size=3)),
    st.binary(max_size=12),
)
STREAMS = st.one_of(
    st.lists(OPERATIONS, max_size=8).map(lambda ones: HELLO + ANONYMOUS + b"".join(ones)),
    st.binary(max_size=20).map(lambda body: HELLO + sized(body)),
    st.sampled_from([b"\xee\xab\0", b"\xee\xab\1", b""]).flatmap(
        lambda head: st.binary(max_size=60).map(lambda rest: head + rest)
    ),
)
PROFILES = st.sampled_from(["1", "psrtd-0.3"])


@settings(deadline=None)
@given(PROFILES, STREAMS, st.lists(st.integers(0, 80), max_size=6))
def test_where_a_stream_is_cut_changes_nothing(profile: str, stream: bytes, places: list[int]) -> None:
    detail = []
    for cuts in ([], sorted(places), range(len(stream))):
        server = Server(profile)
        listener = server.both("#")[1]
        line = server.line()
        for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            if stream[start:stop]:
                line.session.data_received(stream[start:stop])
        detail.append((line.take(), line.closed, listener.take()))
        line.session.eof_received()
        server.wait(TIMEOUT)
        assert line.closed
        server.service.close()
        assert server.clock.next_ns is None
        assert not server.service.state.clients
        assert not server.service.state.sessions

    assert detail[0] == detail[1] == detail[2]


@settings(deadline=None)
@given(PROFILES, st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(lambda rest: b"\xee\xaa\1\0" + rest)))
def test_any_datagram_is_answered_with_five_bytes_or_not_at_all(profile: str, data: bytes) -> None:
    answer = Server(profile).datagram(data)
    assert answer is None or (answer[:4], len(answer)) == (b"\xee\xaa\1\0", 5)
