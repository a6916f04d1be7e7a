"""Faults of limits: where they lie, what they count, and when they are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import miscounted, with_handler
from wireproof.protocols.messages import Request
from wireproof.protocols.psrt.requests import Login, Publish, PublishRepl, ReplData, Subscribe, Unsubscribe
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import Answer, Handler, RefusedError, State

__all__ = ["MUTANTS"]

NO_LIMIT, SIGN = 1 << 40, 1 << 31
LISTS = (Subscribe, Unsubscribe)


def _moved(changes: Mapping[type[Request], int]) -> type[PsrtSession]:
    """Return sessions that take so many bytes more, or less, of each request."""

    class Moved(PsrtSession):
        """Has other limits."""

        def met(self, first: bytes) -> Any:
            """See `PsrtSession`."""
            found = super().met(first)
            for kind, more in changes.items():
                found._most[kind] += more
            found._max_frame += NO_LIMIT
            return found

    return Moved


def _later(kinds: tuple[type[Request], ...]) -> type[PsrtSession]:
    """Return sessions that look at limits once a request is whole."""

    class Later(_moved(dict.fromkeys(kinds, NO_LIMIT))):  # type: ignore[misc]
        """Waits for the body."""

        def take(self, request: Any) -> None:
            """See `PsrtSession`."""
            if _is_too_long(request, self.state):
                self.refuse("too long")
            else:
                super().take(request)

    return Later


def _is_too_long(request: Any, state: State) -> bool:
    topics, message = state.options["max_topic_length"], state.options["max_pub_size"]
    match request:
        case Login(login, password):
            return len(login) + len(password) + 1 > 1024
        case Subscribe(listed) | Unsubscribe(listed) | PublishRepl(listed):
            return bool(len(listed) > topics)
        case Publish(_, topic, text):
            return bool(len(topic) + 1 + len(text) > message)
        case ReplData(_, _, text):
            return bool(len(text) > message)
    return False


def _by_item(correct: Handler, state: State) -> Handler:
    """Look at the length of each topic, not of the list."""

    def handle(request: Any, session: PsrtSession, now: int) -> Answer:
        if any(len(item) > state.options["max_topic_length"] for item in request.topics.split(b"\0")):
            raise RefusedError("too long")
        return correct(request, session, now)

    return handle


def _by_message(correct: Handler, state: State) -> Handler:
    """Look at the length of the message, without its topic."""

    def handle(request: Any, session: PsrtSession, now: int) -> Answer:
        if len(request.message) > state.options["max_pub_size"]:
            raise RefusedError("too long")
        return correct(request, session, now)

    return handle


class _PublishesFirst(PsrtSession):
    """Publishes what is too long and closes then."""

    def met(self, first: bytes) -> Any:
        """See `PsrtSession`."""
        found = super().met(first)
        found._most[Publish] += NO_LIMIT
        found._max_frame += NO_LIMIT
        return found

    def take(self, request: Any) -> None:
        """See `PsrtSession`."""
        is_too_long = isinstance(request, Publish) and _is_too_long(request, self.state)
        super().take(request)
        if is_too_long:
            self._out.clear()
            self.refuse("too long")


class _Error(_later((Publish, Subscribe, Unsubscribe, PublishRepl, ReplData))):  # type: ignore[misc]
    """Answers FF to what is too long, and goes on."""

    def take(self, request: Any) -> None:
        """See `PsrtSession`."""
        if _is_too_long(request, self.state) and not isinstance(request, Login):
            self.answer(request, b"\xff")
        else:
            super().take(request)


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("limit-of-subscribe-one-less", "A SUBSCRIBE of the largest topic length is refused.", "LIMIT-1",
          "SUBSCRIBE-5", session=_moved({Subscribe: -1})),
    mutant("limit-of-subscribe-one-more", "A SUBSCRIBE may be one byte longer than the largest topic length.",
          "LIMIT-2", session=_moved({Subscribe: 1})),
    mutant("limit-of-unsubscribe-one-less", "An UNSUBSCRIBE of the largest topic length is refused.", "LIMIT-3",
          "UNSUBSCRIBE-3", session=_moved({Unsubscribe: -1})),
    mutant("limit-of-unsubscribe-one-more", "An UNSUBSCRIBE may be one byte longer than the largest topic length.",
          "LIMIT-3", session=_moved({Unsubscribe: 1})),
    mutant("limit-of-publish-one-less", "A PUBLISH of the largest size is refused.", "LIMIT-4", "MESSAGE-17",
          session=_moved({Publish: -1})),
    mutant("limit-of-publish-one-more", "A PUBLISH may be one byte longer than the largest size.", "LIMIT-5",
          session=_moved({Publish: 1})),
    mutant("limit-of-replication-one-less", "PUBLISH_REPL and its message may be one byte less long.", "LIMIT-6",
          "LIMIT-7", session=_moved({PublishRepl: -1, ReplData: -1})),
    mutant("limit-of-replicated-topic-one-more", "A PUBLISH_REPL may be one byte longer than the largest topic length.",
          "LIMIT-6", session=_moved({PublishRepl: 1})),
    mutant("limit-of-replicated-message-one-more", "A replicated message may be one byte longer than the largest size.",
          "LIMIT-7", session=_moved({ReplData: 1})),
    mutant("limit-of-lists-none", "SUBSCRIBE and UNSUBSCRIBE have no limit.", "LIMIT-2", "LIMIT-3", "ATTACH-15",
          "FRAMING-1", session=_moved(dict.fromkeys(LISTS, NO_LIMIT))),
    mutant("limit-of-publish-none", "PUBLISH has no limit.", "LIMIT-5",
          session=_moved({Publish: NO_LIMIT})),
    mutant("limit-of-signed-lengths", "A LEN above 7FFFFFFF counts as 0.", "LIMIT-2", "LIMIT-3", "LIMIT-5", "LOGIN-15",
          "FRAMING-2", "ATTACH-15", "STARTTLS-4", "LOGIN-9", "PUBLISH-13",
          session=miscounted((Login, *LISTS, Publish), lambda size: size if size < SIGN else 0)),
    mutant("limit-for-each-topic", "The largest topic length bounds each topic of a list.", "LIMIT-2", "LIMIT-3",
          "ATTACH-15", "FRAMING-1", session=_moved(dict.fromkeys(LISTS, NO_LIMIT)),
          handlers=with_handler(LISTS, _by_item)),
    mutant("limit-of-the-message", "The largest publish size bounds the message without its topic.", "LIMIT-5",
          session=_moved({Publish: NO_LIMIT}), handlers=with_handler(Publish, _by_message)),
    mutant("limit-looked-at-late", "Limits are looked at once the request is whole.", "LIMIT-2", "LIMIT-3", "LIMIT-5",
          "LIMIT-6", "LIMIT-7", "LOGIN-15", "ATTACH-15", "ROBUSTNESS-3",
          session=_later((Login, Publish, Subscribe, Unsubscribe, PublishRepl, ReplData))),
    mutant("limit-answered-ff", "What is longer than a limit is answered FF once it is whole.", "LIMIT-2", "LIMIT-3",
          "LIMIT-5", "LIMIT-6", "LIMIT-7", "ATTACH-15", "FRAMING-1", session=_Error),
    mutant("limit-passed-is-published", "A PUBLISH that is too long is published before the connection is closed.",
          "LIMIT-5", session=_PublishesFirst),
)  # fmt: skip
