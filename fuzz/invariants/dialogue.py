"""The invariants of both sides of a connection in use: what one side may send, the other reads, in any order of calls.

Streams are read by `codec_invariants`; here bytes draw calls: requests, replies of the right and of a wrong kind,
pushes, and the ends of both directions. Nothing is known of a protocol but which replies a request may have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wireproof.conformance.model.wording import describe
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, RemoteProtocolError, Request
from wireproof.protocols.links import Link

__all__ = ["Dialogue"]

MOST_CALLS = 24
GOING_ON = 0xD0
"""A byte from it on asks what something else may follow, where there is any such request."""


class Dialogue:
    """One client and one server, and what is on the way between them. `play` raises `InvariantError`."""

    def __init__(
        self,
        link: Link,
        codec: Any,
        sides: tuple[Any, Any],
        requests: Sequence[Request],
        messages: Mapping[type[Message], Sequence[Message]],
    ) -> None:
        """`sides`: client and server in the same state, with nothing pending; `messages`: examples of every kind."""
        self._link, self._codec, self._requests, self._messages = link, codec, requests, messages
        self._continued = [one for one in requests if type(one) in link.continued]
        self._client, self._server = sides
        self._replies: Mapping[type[Request], Sequence[type[Message]]] = codec.profile.replies
        self._on_the_way: deque[Request] = deque()
        """Requests that were sent and that the server has not read."""
        self._due: deque[Request] = deque()
        """Requests that were read and must have a reply, where these come in order."""
        self._is_over = self._has_ended = False

    def play(self, source: bytes) -> None:
        """Make the calls that `source` draws, two bytes each. Raises `InvariantError`."""
        calls = (
            self._ask, self._ask, self._ask, self._answer, self._answer, self._answer_wrongly, self._push,
            self._answer_all_and_one_more,
        )  # fmt: skip
        for what, which in zip(source[0 : 2 * MOST_CALLS : 2], source[1 : 2 * MOST_CALLS : 2], strict=False):
            if self._is_over:
                return
            call = self._end if what % 16 == 15 else calls[what % len(calls)]
            try:
                call(which)
            except RemoteProtocolError:
                return  # what the codec can write and the other side refuses is judged by the other checks
            except InvariantError:
                raise
            except Exception as error:
                detail = f"{type(error).__name__}: {error}, in {call.__name__}"
                raise InvariantError("only named errors", detail, type(error).__name__) from error

    def _ask(self, which: int) -> None:
        some = self._continued if self._continued and which >= GOING_ON else self._requests
        request = some[which % len(some)]
        pending = self._client.pending
        try:
            data = self._client.send(request)
        except LocalProtocolError as error:
            if self._client.pending != pending:
                self._broken("a refused message changes nothing", f"{describe(request)}: {error}", request)
            return
        if self._has_ended:
            self._broken("nothing is sent after the end", f"{describe(request)} after the end of the requests", request)
        self._on_the_way.append(request)
        if type(request) in self._link.continued and not self._due and len(self._on_the_way) == 1:
            self._go_on(request, data)
            return
        self._feed(self._server, data, which)
        self._read()

    def _go_on(self, request: Request, data: bytes) -> None:
        """Send a request and what follows one of its replies at once: that is read once the reply was sent."""
        kind, field, value = self._link.continued[type(request)]
        some = (one for reply in self._replies[type(request)] for one in self._messages.get(reply, ()))
        reply = next((one for one in some if getattr(one, field) == value), None)
        more = next(iter(self._messages.get(kind, ())), None)
        self._server.receive_data(data if reply is None or more is None else data + self._codec.encode(more))
        try:
            self._read()
        except RemoteProtocolError as error:
            self._broken("what is sent is read", f"{describe(request)} and what follows it: {error}", request)
        if reply is None or more is None or self._is_over:
            return
        self._on_the_way.append(more)  # type: ignore[arg-type]
        self._client.receive_data(self._server.send(reply))
        self._due.popleft()
        if self._client.next_event() != reply or self._client.send(more) != self._codec.encode(more):
            self._broken("what is sent is read", f"{describe(reply)} to {describe(request)}", reply)
        self._read()

    def _feed(self, side: Any, data: bytes, which: int) -> None:
        at = which % len(data) if data else 0
        for piece in (data[:at], data[at:]):
            if piece:
                side.receive_data(piece)

    def _read(self) -> None:
        """Let the server read what is there: the requests as they were sent."""
        while (event := self._server.next_event()) is not NEED_DATA:
            sent = self._on_the_way.popleft() if self._on_the_way else None
            if sent is not None and event != sent and self._codec.encode(event) == self._codec.encode(sent):
                self._is_over = True  # two requests of the same bytes, distinguished by what came before
                return
            if event != sent:
                self._broken(
                    "what is sent is read", f"{describe(sent) if sent else 'nothing'} is read as {event}", sent
                )
            if self._replies[type(event)]:
                self._due.append(event)

    def _answer(self, which: int) -> None:
        kinds = self._replies[type(self._due[0])] if self._due else ()
        some = [one for kind in kinds for one in self._messages.get(kind, ())]
        if not some:
            return
        reply = some[which % len(some)]
        if (data := self._sent(reply)) is None:
            return
        asked = self._due.popleft()
        self._feed(self._client, data, which)
        event = self._client.next_event()
        if not self._link.answers_in_order:
            self._is_over = event is NEED_DATA
        elif event != reply or self._client.answered != asked:
            detail = f"{describe(reply)} to {describe(asked)} is read as {event} to {self._client.answered}"
            self._broken("what is sent is read", detail, reply)
        self._read()

    def _sent(self, message: Message) -> bytes | None:
        """Return the bytes of what the server sends; None where it refuses."""
        try:
            data: bytes = self._server.send(message)
        except LocalProtocolError:
            return None
        return data

    def _answer_wrongly(self, which: int) -> None:
        """Send what answers other requests: it must be refused, and the right reply may still be sent."""
        right = self._replies[type(self._due[0])] if self._due else ()
        others = {kind for kinds in self._replies.values() for kind in kinds} - {*right}
        some = [one for kind, found in self._messages.items() if kind in others for one in found]
        if not some or not hasattr(self._server, "pending"):
            return  # this server may send any reply at any time
        reply = some[which % len(some)]
        if self._sent(reply) is not None:
            due = describe(self._due[0]) if self._due else "nothing"
            self._broken("a reply out of turn is refused", f"{describe(reply)} where {due} is due", reply)

    def _answer_all_and_one_more(self, which: int) -> None:
        """Send at once a reply for each request and another one: all of it is refused, and the same replies wait."""
        replies = [one for one in map(self._reply_to, self._due) if one is not None]
        if not hasattr(self._server, "send_all") or not replies or len(replies) < len(self._due):
            return
        waiting, one_more = self._server.pending, replies[which % len(replies)]
        try:
            self._server.send_all([*replies, one_more])
        except LocalProtocolError as error:
            if self._server.pending != waiting:
                detail = f"{len(replies) + 1} replies at once: {error}"
                self._broken("a refused message changes nothing", detail, one_more)
        else:
            self._broken("a reply out of turn is refused", f"{describe(one_more)} where nothing is due", one_more)

    def _reply_to(self, request: Request) -> Message | None:
        return next((one for kind in self._replies[type(request)] for one in self._messages.get(kind, ())), None)

    def _push(self, which: int) -> None:
        some = [one for kind in self._codec.profile.pushes for one in self._messages.get(kind, ())]
        if not some:
            return
        push = some[which % len(some)]
        if (data := self._sent(push)) is None:
            return
        if self._due or self._on_the_way:
            self._is_over = True  # it may be read as the reply that is due
            return
        first = data[: which % len(data)]
        if first:
            self._client.receive_data(first)
            if (event := self._client.next_event()) is not NEED_DATA:
                self._broken("what is sent is read", f"of {describe(push)} a part is read as {event}", push)
            if which % 2:
                self._ask(which // 2)  # what came before a request does not answer it
        self._client.receive_data(data[len(first) :])
        event = self._client.next_event()
        if event != push:
            self._broken("what is sent is read", f"{describe(push)} is read as {event}", push)

    def _end(self, which: int) -> None:
        """End one direction: nothing follows, and the other side learns once how many requests wait."""
        if which % 2 and not self._has_ended:
            if not self._may(self._client.end_requests):
                return
            self._has_ended = True
            self._server.receive_data(b"")
            if not self._on_the_way:
                self._expect_end(self._server)
        elif not which % 2 and self._may(self._server.end_replies):
            self._is_over = True
            self._client.receive_data(b"")
            self._expect_end(self._client)
            for message in (one for some in self._messages.values() for one in some if not isinstance(one, Request)):
                if self._sent(message) is not None:
                    detail = f"{describe(message)} after the end of the replies"
                    self._broken("nothing is sent after the end", detail, message)
            self._ask_after_the_end()

    def _ask_after_the_end(self) -> None:
        """Nobody is there to read what a client sends that has read the end: it is refused."""
        for request in self._requests:
            try:
                self._client.send(request)
            except LocalProtocolError:
                continue
            self._broken("nothing is sent after the end", f"{describe(request)} to who sends no more", request)

    def _may(self, end: Callable[[], object]) -> bool:
        try:
            end()
        except LocalProtocolError:
            self._is_over = True
            return False
        return True

    def _expect_end(self, side: Any) -> None:
        first, second = side.next_event(), side.next_event()
        if first is NEED_DATA and self._due:
            self._is_over = True  # nothing is read before that is answered
            return
        is_told = isinstance(first, EndOfStream) and second is NEED_DATA
        counts = self._link.answers_in_order and hasattr(self._server, "pending")
        if not is_told or (counts and first.pending != len(self._due) + len(self._on_the_way)):
            detail = f"{first}, then {second}, with {len(self._due)} requests that wait"
            self._broken("an end is reported once", detail, None)

    @staticmethod
    def _broken(oracle: str, detail: str, message: Message | None) -> None:
        raise InvariantError(oracle, detail[:400], message.NAME if message is not None else "end")
