"""Whatever the layouts allow is read back as it was written, by both roles, however it is delivered."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocols.segmentations import client_waiting, deliver, every_delivery, server
from tests.protocols.throttr.combos import every_codec, every_request
from wireproof.fuzz.strategies import chunked, exchanges, messages
from wireproof.protocols import EndOfStream, Request
from wireproof.protocols.throttr import V710, ClientConnection, Codec, ServerConnection
from wireproof.protocols.throttr.requests import Query


@every_request
@given(data=st.data())
@settings(max_examples=3)
def test_every_request_and_reply_is_read_as_written(
    codec: Codec, request_type: type[Request], data: st.DataObject
) -> None:
    request, reply = data.draw(exchanges(codec, request_type))
    asking, answering = ClientConnection(codec), ServerConnection(codec)
    asked = deliver(answering, data.draw(chunked(asking.send(request))), end=False)
    answered = deliver(asking, data.draw(chunked(answering.send(reply))), end=False)

    assert asked.messages == [request]
    assert answered.messages == [reply]
    assert asking.answered == request
    assert asking.pending == answering.pending == ()


@every_codec
@given(data=st.data())
@settings(max_examples=5)
def test_a_stream_of_requests_is_the_same_in_every_delivery(codec: Codec, data: st.DataObject) -> None:
    kinds = st.sampled_from(list(codec.profile.replies))
    requests = data.draw(st.lists(kinds.flatmap(lambda kind: messages(codec, kind)), max_size=4))
    stream = ClientConnection(codec).send_all(requests)
    outcome = every_delivery(server(codec), stream)

    assert outcome.messages == requests
    assert outcome.events[-1][0] == EndOfStream(len(requests))
    assert outcome.error is None


@every_codec
@given(data=st.data())
@settings(max_examples=5)
def test_a_stream_of_replies_is_the_same_in_every_delivery(codec: Codec, data: st.DataObject) -> None:
    kinds = st.sampled_from(list(codec.profile.replies))
    pairs = data.draw(st.lists(kinds.flatmap(lambda kind: exchanges(codec, kind)), max_size=3))
    answering = ServerConnection(codec)
    for request, _ in pairs:
        answering.receive_data(codec.encode(request))
    answering.next_requests()
    stream = answering.send_all([reply for _, reply in pairs])
    outcome = every_delivery(client_waiting(codec, *[request for request, _ in pairs]), stream)

    assert outcome.messages == [reply for _, reply in pairs]
    assert outcome.events[-1][0] == EndOfStream(0)
    assert outcome.error is None


@every_codec
@given(data=st.data())
@settings(max_examples=10)
def test_every_push_is_read_as_written(codec: Codec, data: st.DataObject) -> None:
    (kind,) = codec.profile.pushes
    push = data.draw(messages(codec, kind))
    stream = ServerConnection(codec).send(push)

    assert every_delivery(client_waiting(codec), stream).messages == [push]


@every_codec
@given(data=st.data())
@settings(max_examples=5)
def test_spans_cover_the_stream_without_gap_or_overlap(codec: Codec, data: st.DataObject) -> None:
    kinds = st.sampled_from(list(codec.profile.replies))
    requests = data.draw(st.lists(kinds.flatmap(lambda kind: messages(codec, kind)), min_size=1, max_size=4))
    sizes = [len(codec.encode(request)) for request in requests]
    spans = [span for _, span in deliver(ServerConnection(codec), [ClientConnection(codec).send_all(requests)]).events]

    assert [stop - start for start, stop in spans[:-1]] == sizes
    assert [start for start, _ in spans[1:-1]] == [stop for _, stop in spans[:-2]]


def test_nothing_but_the_form_of_the_document_is_read_as_a_request() -> None:
    assert Codec.of(V710, "uint16").other_forms(Query(b"k")) == {}
