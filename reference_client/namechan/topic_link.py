"""One connection to a namechan server: it answers pings, and knows the topics of the ids that the server gave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from wireproof.protocols.connection import Client
from wireproof.protocols.messages import Message, Push, Reply
from wireproof.protocols.namechan.enums import VERSION
from wireproof.protocols.namechan.replies import Error, Ping, Subscribed, Unsubscribed, VersionReply
from wireproof.protocols.namechan.requests import Ack, Connect, Version
from wireproof.reference_client.errors import BadReplyError
from wireproof.reference_client.link import OnEnd, OnPush
from wireproof.reference_client.matched_link import MatchedLink
from wireproof.reference_client.silence import WatchedLink

__all__ = ["TopicLink", "error_text"]

SECOND = 1_000_000
"""The microseconds of a second: a Ping has seconds, an Ack microseconds."""
LONGEST_TEXT = 1000
"""Characters of the text of an Error that are reported."""


class TopicLink(WatchedLink, MatchedLink):
    """A link whose answers are looked at as they are read: messages of a topic may come in the same segment."""

    def __init__(self, codec: Client, on_push: OnPush, on_end: OnEnd) -> None:
        super().__init__(codec, on_push, on_end)
        self.names: dict[int, bytes] = {}
        """Topic id -> the topic, of what is subscribed."""
        self.on_error: Callable[[Error], object] = _nothing
        """Called with each Error that answers no request."""
        self._last_words = ""
        self._first_line: Connect | None = None

    def greet(self, client_id: bytes) -> asyncio.Future[Reply]:
        """Say the version, and who connects as soon as the server speaks it: a Ping may come after its answer.

        Return a future of that answer. Raises ClosedError if the connection has ended.
        """
        self._first_line = Connect(id=client_id)
        (answer,) = self.ask([Version()])
        return answer

    def _answer(self, reply: Message) -> None:
        match reply:
            case Error() if self._codec.answered is None:
                self._last_words = error_text(reply)
                self.on_error(reply)
                return
            case VersionReply(version=version) if version == VERSION and self._first_line is not None:
                self.send_unanswered([self._first_line])
            case Subscribed() | Unsubscribed():
                self._named(reply)
        super()._answer(reply)

    def _named(self, reply: Subscribed | Unsubscribed) -> None:
        """Note which topic has an id; fail where it is not the one that was asked for."""
        request = self._codec.answered
        asked = getattr(request, "topic", b"")
        if request is None or reply.topic != asked:
            self.fail(BadReplyError(f"{reply.NAME}: expected the topic {asked!r}, got {reply.topic!r}"))
        elif isinstance(reply, Subscribed):
            self.names[reply.id] = reply.topic
        else:
            self.names.pop(reply.id, None)

    def _pushed(self, push: Push) -> None:
        if isinstance(push, Ping):
            self.send_unanswered([Ack(push.time * SECOND)])
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
