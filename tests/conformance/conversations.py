"""Hypothesis strategies of whole conversations that keep to the protocol, in any possible order of time."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import strategies as st

from tests.conformance.traced_conversation import TracedConversation
from wireproof.conformance.model.intended import IntendedFrame
from wireproof.conformance.model.trace import Kind
from wireproof.fuzz.strategies import chunked, exchanges, messages
from wireproof.protocols import Message, Request
from wireproof.protocols.throttr import Codec

ENDINGS: tuple[tuple[Kind, ...], ...] = (
    (),
    (Kind.SILENT,),
    (Kind.CLOSED,),
    (Kind.HALF_CLOSED, Kind.ENDED, Kind.CLOSED),
    (Kind.ENDED,),
    (Kind.RESET, Kind.CLOSED),
)


def pushes(codec: Codec) -> st.SearchStrategy[Any]:
    """Return the pushes of a profile."""
    return st.one_of([messages(codec, push) for push in codec.profile.pushes])


@st.composite
def exchanged(draw: st.DrawFn, codec: Codec) -> tuple[Request, Message | None]:
    """Draw any request of the profile, and a reply to it."""
    return draw(exchanges(codec, draw(st.sampled_from(list(codec.profile.replies))), 1))


class ConversationBuilder:
    """One connection as it is told: what was asked, and what the target has ready to send."""

    def __init__(self, draw: st.DrawFn, conversation: TracedConversation, name: str) -> None:
        self._draw, self._tale, self._name = draw, conversation, name
        self._ready = b""
        self._asked: deque[tuple[int, Message | None]] = deque()
        """Where, in the stream of the harness, each request ends, and its reply."""
        self._due = self._crossed = 0
        conversation.intended_on(name)

    def ask(self) -> None:
        """Tell of one write of some requests, cut anyhow."""
        asked = self._draw(st.lists(exchanged(self._tale.codec), min_size=1, max_size=3))
        intended = self._tale.intended_on(self._name)
        data = b""
        for request, reply in asked:
            frame = self._tale.codec.encode(request)
            intended.frames.append(IntendedFrame(len(self._tale.trace), frame, request))
            data += frame
            self._asked.append((self._due + len(data), reply))
        self._due += len(data)
        for chunk in self._draw(chunked(data)):
            self._tale.happens(Kind.SENT, self._name, chunk)
            self._crossed += len(chunk)
        while self._asked and self._asked[0][0] <= self._crossed:
            self._answer(self._asked.popleft()[1])

    def _answer(self, reply: Message | None) -> None:
        encode = self._tale.codec.encode
        before = self._draw(st.lists(pushes(self._tale.codec), max_size=2))
        self._ready += b"".join(map(encode, before)) + (b"" if reply is None else encode(reply))

    def receive(self, *, whole: bool = False) -> None:
        """Tell of some of the bytes that the target has ready."""
        if not self._ready and not whole and self._draw(st.booleans()):
            self._ready = self._tale.codec.encode(self._draw(pushes(self._tale.codec)))
        stop = len(self._ready) if whole else self._draw(st.integers(0, len(self._ready)))
        for chunk in self._draw(chunked(self._ready[:stop])):
            self._tale.comes(chunk, name=self._name)
        self._ready = self._ready[stop:]

    def end(self) -> None:
        """Tell how it ended, after all that was ready came; or that nothing more came, which nobody forbids."""
        kinds = self._draw(st.sampled_from(ENDINGS))
        self.receive(whole=Kind.ENDED in kinds or Kind.RESET in kinds)
        for kind in kinds:
            self._tale.happens(kind, self._name)


@st.composite
def conversations(draw: st.DrawFn, codec: Codec, *, accounted: bool = True) -> TracedConversation:
    """Draw a conversation on one or two connections in which nobody breaks the protocol."""
    conversation = TracedConversation(codec.profile.name, codec.variant.name, accounted=accounted)
    lines = [ConversationBuilder(draw, conversation, name) for name in draw(st.sampled_from([["a"], ["a", "b"]]))]
    for _ in range(draw(st.integers(1, 5))):
        line = draw(st.sampled_from(lines))
        if draw(st.booleans()):
            line.ask()
        else:
            line.receive()
    for line in lines:
        line.end()
    return conversation
