"""One connection to a namechan server: it answers pings, and knows the topics of the ids that the server gave."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.protocols.connection import Client
from wireproof.protocols.messages import Message, Push
from wireproof.protocols.namechan.replies import Error, Ping, Subscribed, Unsubscribed
from wireproof.protocols.namechan.requests import Ack
from wireproof.reference_client.errors import BadReplyError
from wireproof.reference_client.link import OnEnd, OnPush
from wireproof.reference_client.matched_link import MatchedLink
from wireproof.reference_client.silence import WatchedLink

__all__ = ["TopicLink", "error_text"]

SECOND = 1_000_000
"""The microseconds of a second: a Ping has seconds, an Ack microseconds."""
LONGEST_TEXT = 1000
"""Characters of the text of an Error that are told."""


class TopicLink(WatchedLink, MatchedLink):
    """A link whose answers are looked at as they are read: messages of a topic may come in the same segment."""

    def __init__(self, codec: Client, on_push: OnPush, on_end: OnEnd) -> None:
        super().__init__(codec, on_push, on_end)
        self.names: dict[int, bytes] = {}
        """Topic id -> the topic, of what is subscribed."""
        self.on_error: Callable[[Error], object] = _nothing
        """Called with each Error that answers no request."""
        self._last_words = ""

    def _answer(self, reply: Message) -> None:
        request = self._codec.answered
        if request is None:
            assert isinstance(reply, Error)
            self._last_words = error_text(reply)
            self.on_error(reply)
            return
        if isinstance(reply, Subscribed | Unsubscribed):
            asked: bytes = request.topic  # type: ignore[attr-defined]
            if reply.topic != asked:
                self.fail(BadReplyError(f"{request.NAME} of {asked!r}: the server answered for {reply.topic!r}"))
                return
            if isinstance(reply, Subscribed):
                self.names[reply.id] = reply.topic
            else:
                self.names.pop(reply.id, None)
        super()._answer(reply)

    def _pushed(self, push: Push) -> None:
        if isinstance(push, Ping):
            self.tell([Ack(push.time * SECOND)])
        else:
            super()._pushed(push)

    def _unanswered(self) -> str:
        why = f": {self._last_words}" if self._last_words else ""
        return super()._unanswered() + why


def error_text(error: Error) -> str:
    """Return what an Error says, bytes that are no UTF-8 replaced, long ones cut."""
    text = error.text[: 4 * LONGEST_TEXT].decode("utf-8", "replace")
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _nothing(error: Error) -> None:
    pass
