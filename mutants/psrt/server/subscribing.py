"""Faults of SUBSCRIBE and UNSUBSCRIBE: lists, answers, and what is subscribed after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wireproof.mutants.psrt.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    client_of,
    encoded,
    field_kind,
    instead_of_closing,
    lead,
    miscounted,
    taking,
    with_answer,
    with_handler,
)
from wireproof.mutants.psrt.server.steps import subscribing, too_deep, unsubscribing
from wireproof.protocols.fields import U16, Blob
from wireproof.protocols.psrt.requests import Subscribe, Unsubscribe
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.control_requests import text as read
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import DENIED, ERROR, OK, Answer, Handler, RefusedError, State
from wireproof.reference_server.psrt.topics import is_mask, levels, matches, normalised

__all__ = ["MUTANTS"]

LISTS = (Subscribe, Unsubscribe)


def _one_each(answer: Answer, ask: Ask) -> Answer:
    """Answer a byte for each item."""
    items = list(filter(None, ask.request.topics.split(b"\0")))
    return encoded(answer, ask) * max(len(items), 1)


def _closing(kinds: Any, where: Answer) -> HandlerPatch:
    def change(answer: Answer, ask: Ask) -> Answer:
        if answer == where:
            raise RefusedError("bad topic")
        return answer

    return with_answer(kinds, change)


def _told(kinds: Any, where: Answer, tell: Answer) -> HandlerPatch:
    return with_answer(kinds, lambda answer, ask: tell if answer == where else answer)


def _with_empty(topics: bytes) -> Iterable[str]:
    """Give empty items, too: a 00 at the end is followed by one."""
    return read(topics, "topics").split("\0") if topics else []


def _needs_item(answer: Answer, ask: Ask) -> Answer:
    return answer if ask.request.topics else ERROR


def _no_empty_items(answer: Answer, ask: Ask) -> Answer:
    topics = ask.request.topics
    return ERROR if topics and b"" in topics.split(b"\0") else answer


def _anew(correct: Handler, state: State) -> Handler:
    """Forget what was subscribed before."""

    def handle(request: Any, session: PsrtSession, now: int) -> Answer:
        assert session.client is not None
        state.subscriptions.leave(session.client)
        return correct(request, session, now)

    return handle


def _of_the_account(client: Client, mask: str, state: State) -> None:
    for one in state.clients.values():
        if one.login == client.login:
            state.subscriptions.add(one, mask)


def _taken_back(choose: Callable[[str, str], bool]) -> HandlerPatch:
    """Take back each subscription of the session where `choose(subscribed, named)`."""

    def act(client: Client, mask: str, state: State) -> None:
        for text in state.subscriptions.of(client):
            if choose(text, mask):
                state.subscriptions.remove(client, text)

    return unsubscribing(act=act)


def _meant(text: str, mask: str) -> bool:
    return text == mask or matches(levels(mask), tuple(text.split("/")))


def _covered(text: str, mask: str) -> bool:
    return text == mask or matches(levels(text), tuple(mask.split("/")))


def _everybodys(client: Client, mask: str, state: State) -> None:
    for one in state.clients.values():
        state.subscriptions.remove(one, mask)


def _topics_only(client: Client, mask: str, state: State) -> None:
    if not is_mask(mask):
        state.subscriptions.remove(client, mask)


def _not_subscribed(mask: str, ask: Ask) -> Answer | None:
    return None if mask in ask.state.subscriptions.of(client_of(ask)) else ERROR


def _may_not_unsubscribe(mask: str, ask: Ask) -> Answer | None:
    return None if client_of(ask).rights.may_subscribe(mask) else DENIED


def _nothing(client: Client, mask: str, state: State) -> None:
    """Do nothing."""


def _all_for_none(correct: Handler, state: State) -> Handler:
    def handle(request: Unsubscribe, session: PsrtSession, now: int) -> Answer:
        if not request.topics:
            assert session.client is not None
            state.subscriptions.leave(session.client)
        return correct(request, session, now)

    return handle


class _Counts(State):
    """Counts how often a topic was subscribed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.counts: dict[tuple[Client, str], int] = {}


def _count(client: Client, mask: str, state: State) -> None:
    assert isinstance(state, _Counts)
    state.counts[client, mask] = state.counts.get((client, mask), 0) + 1
    state.subscriptions.add(client, mask)


def _count_down(client: Client, mask: str, state: State) -> None:
    assert isinstance(state, _Counts)
    left = state.counts[client, mask] = state.counts.get((client, mask), 0) - 1
    if left <= 0:
        state.counts[client, mask] = 0
        state.subscriptions.remove(client, mask)


def _counting(correct: Any, state: State) -> Any:
    return subscribing(act=_count)(correct, state) | unsubscribing(act=_count_down)(correct, state)


class _Inherited(State):
    """Gives the subscriptions of a session that ended to the next one of its account."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.left: dict[str, frozenset[str]] = {}

    def forget(self, client: Client) -> None:
        """See `State`."""
        self.left[client.login] = self.subscriptions.of(client)
        super().forget(client)


class _Heir(PsrtSession):
    """Begins with the subscriptions of the session before."""

    def answer(self, request: Any, answer: Answer) -> None:
        """See `PsrtSession`."""
        if self.client is not None and request.NAME == "LOGIN":
            assert isinstance(self.state, _Inherited)
            for text in self.state.left.pop(self.client.login, ()):
                self.state.subscriptions.add(self.client, text)
        super().answer(request, answer)


def _with_data_socket(client: Client, mask: str, state: State) -> None:
    if client.data is not None:
        state.subscriptions.add(client, mask)


def _last_only(topics: bytes) -> bytes:
    return topics.rstrip(b"\0").rpartition(b"\0")[2]


BAD = ("SUBSCRIBE-11", "SUBSCRIBE-12", "SUBSCRIBE-13", "SUBSCRIBE-14")
RIGHTS = ("SUBSCRIBE-9", "ACL-1", "ACL-3", "ACL-4", "ACL-5", "ACL-6", "ACL-9", "ACL-12", "ACL-13", "ACL-16",
          "ACCOUNT-3")  # fmt: skip
_LISTS: tuple[ServerMutant, ...] = (
    mutant("subscribe-len-of-2-bytes", "The LEN of SUBSCRIBE has 2 bytes.", "SUBSCRIBE-2", "FRAMING-2", "SUBSCRIBE-8",
          "SUBSCRIBE-5", "SUBSCRIBE-6", "LIMIT-2", "FRAMING-1", "ATTACH-15",
          "SUBSCRIBE-3", profile=field_kind(Subscribe, "topics", Blob(U16))),
    mutant("unsubscribe-len-of-2-bytes", "The LEN of UNSUBSCRIBE has 2 bytes.", "UNSUBSCRIBE-2", "FRAMING-2",
          "UNSUBSCRIBE-14", "UNSUBSCRIBE-3", "UNSUBSCRIBE-4", "LIMIT-3", "FRAMING-1",
          profile=field_kind(Unsubscribe, "topics", Blob(U16))),
    mutant("subscribe-len-without-00", "The LEN of SUBSCRIBE leaves out one byte, a 00 at the end.", "SUBSCRIBE-2",
          "SUBSCRIBE-8", "LIMIT-1", "SUBSCRIBE-5", "ATTACH-15", session=miscounted(Subscribe, lambda size: size + 1)),
    mutant("unsubscribe-starts-with-04", "UNSUBSCRIBE starts with byte 04.",
          "UNSUBSCRIBE-1", "FRAMING-5", "UNSUBSCRIBE-3", "UNSUBSCRIBE-5", profile=lead(Unsubscribe, 0x04)),
    mutant("subscribe-answered-for-each", "SUBSCRIBE is answered with a byte for each of its topics.", "SUBSCRIBE-4",
          "SUBSCRIBE-5", "ORDER-1", "ROBUSTNESS-10", "SUBSCRIBE-7", "SUBSCRIBE-3", "SUBSCRIBE-11", "SUBSCRIBE-13",
          "SUBSCRIBE-12", handlers=with_answer(Subscribe, _one_each)),
    mutant("unsubscribe-answered-for-each", "UNSUBSCRIBE is answered with a byte for each of its topics.",
          "UNSUBSCRIBE-3", "ORDER-1", "ROBUSTNESS-10", "UNSUBSCRIBE-2", "UNSUBSCRIBE-5", "UNSUBSCRIBE-16",
          "UNSUBSCRIBE-7", handlers=with_answer(Unsubscribe, _one_each)),
    mutant("subscribe-first-only", "SUBSCRIBE takes the first topic of its list only.", "SUBSCRIBE-3", "SUBSCRIBE-6",
          "SUBSCRIBE-7", "MESSAGE-8", "SUBSCRIBE-9", "SUBSCRIBE-10", "SUBSCRIBE-11",
          "SUBSCRIBE-13", "SUBSCRIBE-15", handlers=taking(Subscribe, topics=lambda topics: topics.partition(b"\0")[0])),
    mutant("subscribe-last-only", "SUBSCRIBE takes the last topic of its list only.", "SUBSCRIBE-3", "SUBSCRIBE-6",
          *BAD, "MESSAGE-8", "SUBSCRIBE-7", "SUBSCRIBE-15", handlers=taking(Subscribe, topics=_last_only)),
    mutant("unsubscribe-first-only", "UNSUBSCRIBE takes the first topic of its list only.", "UNSUBSCRIBE-2",
          "UNSUBSCRIBE-4", "UNSUBSCRIBE-6", "UNSUBSCRIBE-7",
          "UNSUBSCRIBE-3", "UNSUBSCRIBE-13", "UNSUBSCRIBE-16",
          handlers=taking(Unsubscribe, topics=lambda topics: topics.partition(b"\0")[0])),
    mutant("lists-split-at-commas", "Topics are separated by commas, not by 00.", "SUBSCRIBE-3", "UNSUBSCRIBE-2",
          "SUBSCRIBE-7", "TOPIC-22", *BAD, "SUBSCRIBE-9", "SUBSCRIBE-10", "UNSUBSCRIBE-6", "UNSUBSCRIBE-7",
          "SUBSCRIBE-6", "SUBSCRIBE-16", "MESSAGE-8", "MESSAGE-7", "UNSUBSCRIBE-4", "UNSUBSCRIBE-11",
          handlers=taking(LISTS, topics=lambda topics: topics.replace(b"\0", b"").replace(b",", b"\0"))),
    mutant("subscribe-empty-item-subscribed", "An empty item of SUBSCRIBE subscribes to the empty topic.",
          "SUBSCRIBE-7", handlers=subscribing(items=_with_empty)),
    mutant("subscribe-empty-item-refused", "SUBSCRIBE with an empty item is answered FF.", "SUBSCRIBE-7",
          handlers=with_answer(Subscribe, _no_empty_items)),
    mutant("unsubscribe-empty-item-refused", "UNSUBSCRIBE with an empty item is answered FF.", "UNSUBSCRIBE-2",
          handlers=with_answer(Unsubscribe, _no_empty_items)),
    mutant("subscribe-nothing-refused", "SUBSCRIBE with LEN 0 is answered FF.", "SUBSCRIBE-8", "TIMEOUT-3",
          handlers=with_answer(Subscribe, _needs_item)),
    mutant("unsubscribe-nothing-refused", "UNSUBSCRIBE with LEN 0 is answered FF.", "UNSUBSCRIBE-14", "TIMEOUT-3",
          handlers=with_answer(Unsubscribe, _needs_item)),
    mutant("unsubscribe-nothing-means-all", "UNSUBSCRIBE with LEN 0 takes all subscriptions back.", "UNSUBSCRIBE-14",
          "UNSUBSCRIBE-11", handlers=with_handler(Unsubscribe, _all_for_none)),
    mutant("subscribe-no-utf-8-answered-ff", "SUBSCRIBE to what is no UTF-8 is answered FF.", "SUBSCRIBE-15",
          "FRAMING-9", "ATTACH-15", handlers=instead_of_closing(Subscribe, lambda ask: ERROR)),
    mutant("unsubscribe-no-utf-8-answered-ff", "UNSUBSCRIBE of what is no UTF-8 is answered FF.", "UNSUBSCRIBE-13",
          "FRAMING-9", handlers=instead_of_closing(Unsubscribe, lambda ask: ERROR)),
    mutant("subscribe-no-utf-8-taken", "Bytes of a list that are no UTF-8 are left out.", "SUBSCRIBE-15",
          "UNSUBSCRIBE-13", "ATTACH-15",
          handlers=taking(LISTS, topics=lambda topics: topics.decode(errors="ignore").encode())),
)  # fmt: skip
_BAD: tuple[ServerMutant, ...] = (
    mutant("subscribe-goes-on-behind-a-bad-one", "SUBSCRIBE skips a bad topic and subscribes those behind it.",
          "SUBSCRIBE-12", "SUBSCRIBE-11", handlers=subscribing(at_bad="skip")),
    mutant("subscribe-rolls-back", "SUBSCRIBE with a bad topic subscribes nothing.", "SUBSCRIBE-11",
          handlers=subscribing(at_bad="back")),
    mutant("subscribe-takes-the-bad-one", "SUBSCRIBE answers an error for a bad topic and subscribes it.",
          "SUBSCRIBE-13", "ACL-16", "ACL-9", "SUBSCRIBE-12", handlers=subscribing(at_bad="take")),
    mutant("subscribe-denied-closes", "SUBSCRIBE without the right to closes the connection.", *RIGHTS,
          "SUBSCRIBE-14", "SUBSCRIBE-11", "SUBSCRIBE-12", "SUBSCRIBE-13", "TIMEOUT-11",
          handlers=_closing(Subscribe, DENIED)),
    mutant("subscribe-denied-answered-ff", "SUBSCRIBE without the right to is answered FF.", *RIGHTS, "SUBSCRIBE-11",
          "SUBSCRIBE-12", "SUBSCRIBE-13", "SUBSCRIBE-14", "TIMEOUT-11", handlers=_told(Subscribe, DENIED, ERROR)),
    mutant("subscribe-denied-answered-ok", "SUBSCRIBE without the right to is answered 01.", *RIGHTS, "SUBSCRIBE-11",
          "SUBSCRIBE-12", "SUBSCRIBE-13", "SUBSCRIBE-14", "TIMEOUT-11", handlers=_told(Subscribe, DENIED, OK)),
    mutant("subscribe-too-deep-closes", "SUBSCRIBE to a topic that is too deep closes the connection.",
          "SUBSCRIBE-10", "TOPIC-9", *BAD, "TIMEOUT-11", "TOPIC-7", handlers=_closing(Subscribe, ERROR)),
    mutant("subscribe-too-deep-answered-fe", "SUBSCRIBE to a topic that is too deep is answered FE.", "SUBSCRIBE-10",
          "TOPIC-9", *BAD, "TOPIC-7", "TIMEOUT-11", handlers=_told(Subscribe, ERROR, DENIED)),
    mutant("subscribe-of-any-depth", "SUBSCRIBE takes topics of any depth.", "SUBSCRIBE-10", "TOPIC-9", *BAD,
          "TOPIC-7", "TIMEOUT-11", handlers=subscribing(tests=(lambda mask, ask: None if client_of(
              ask).rights.may_subscribe(mask) else DENIED,))),
    mutant("unsubscribe-too-deep-closes", "UNSUBSCRIBE of a topic that is too deep closes the connection.",
          "UNSUBSCRIBE-6", "UNSUBSCRIBE-7", "TOPIC-9", "TIMEOUT-11", "UNSUBSCRIBE-16",
          handlers=_closing(Unsubscribe, ERROR)),
    mutant("unsubscribe-of-any-depth", "UNSUBSCRIBE takes topics of any depth.", "UNSUBSCRIBE-6", "TOPIC-9",
          "UNSUBSCRIBE-7", "TIMEOUT-11", "UNSUBSCRIBE-16", handlers=unsubscribing(tests=())),
    mutant("unsubscribe-rolls-back", "UNSUBSCRIBE with a topic that is too deep takes nothing back.", "UNSUBSCRIBE-7",
          "UNSUBSCRIBE-6", handlers=unsubscribing(at_bad="back")),
)  # fmt: skip
_KEPT: tuple[ServerMutant, ...] = (
    mutant("subscribe-forgets-the-others", "SUBSCRIBE takes back what was subscribed before.", "SUBSCRIBE-6",
          "MESSAGE-8", "SUBSCRIBE-16", "ORDER-4", "MESSAGE-7", "SUBSCRIBE-7", "SUBSCRIBE-11", "SUBSCRIBE-14",
          "SUBSCRIBE-12", handlers=with_handler(Subscribe, _anew)),
    mutant("subscribe-does-nothing", "SUBSCRIBE is answered and subscribes nothing.", "SUBSCRIBE-6", "SUBSCRIBE-3",
          "SUBSCRIBE-17", "MESSAGE-8", "PUBLISH_REPL-4", "PUBLISH_REPL-5", handlers=subscribing(act=_nothing)),
    mutant("subscribe-needs-data-socket", "SUBSCRIBE without a data socket is answered 01 and subscribes nothing.",
          "SUBSCRIBE-17", "PUBLISH_REPL-5", "ATTACH-11", handlers=subscribing(act=_with_data_socket)),
    mutant("subscribe-for-the-account", "SUBSCRIBE subscribes all sessions of the account.", "SUBSCRIBE-18",
          "ATTACH-16", "LOGIN-16", "MESSAGE-9", "ROBUSTNESS-13", handlers=subscribing(act=_of_the_account)),
    mutant("subscriptions-are-inherited", "A session begins with the subscriptions that the last one of its account "
          "had.", "SUBSCRIBE-19", "ROBUSTNESS-12", state=_Inherited, session=_Heir),
    mutant("subscriptions-are-counted", "A topic subscribed twice must be unsubscribed twice.", "UNSUBSCRIBE-8",
          "SUBSCRIBE-16", state=_Counts, handlers=_counting),
    mutant("unsubscribe-does-nothing", "UNSUBSCRIBE is answered and takes nothing back.", "UNSUBSCRIBE-4",
          "UNSUBSCRIBE-8", "UNSUBSCRIBE-10", "PUBLISH_REPL-3", "UNSUBSCRIBE-7", "UNSUBSCRIBE-2",
          handlers=unsubscribing(act=_nothing)),
    mutant("unsubscribe-takes-all", "UNSUBSCRIBE takes all subscriptions of the session back.", "UNSUBSCRIBE-11",
          "UNSUBSCRIBE-9", "UNSUBSCRIBE-15", handlers=_taken_back(lambda text, mask: True)),
    mutant("unsubscribe-takes-what-a-mask-means", "UNSUBSCRIBE of a mask takes back what it matches.",
          "UNSUBSCRIBE-9", "UNSUBSCRIBE-11", "UNSUBSCRIBE-15", handlers=_taken_back(_meant)),
    mutant("unsubscribe-takes-masks-that-match", "UNSUBSCRIBE takes back the masks that match its topic.",
          "UNSUBSCRIBE-9", "UNSUBSCRIBE-11", "UNSUBSCRIBE-15", handlers=_taken_back(_covered)),
    mutant("unsubscribe-takes-what-begins-so", "UNSUBSCRIBE takes back what begins with its text.", "UNSUBSCRIBE-9",
          "UNSUBSCRIBE-11", "UNSUBSCRIBE-15", handlers=_taken_back(lambda text, mask: text.startswith(mask))),
    mutant("unsubscribe-of-masks-does-nothing", "UNSUBSCRIBE of a mask is answered and takes nothing back.",
          "UNSUBSCRIBE-4", "UNSUBSCRIBE-9", "UNSUBSCRIBE-10", handlers=unsubscribing(act=_topics_only)),
    mutant("unsubscribe-for-everybody", "UNSUBSCRIBE takes the topic from all sessions.", "UNSUBSCRIBE-12",
          handlers=unsubscribing(act=_everybodys)),
    mutant("unsubscribe-unknown-refused", "UNSUBSCRIBE of what is not subscribed is answered FF.", "UNSUBSCRIBE-5",
          "ACL-14", "UNSUBSCRIBE-3", "UNSUBSCRIBE-8", "TOPIC-8", handlers=unsubscribing(
              tests=(too_deep, _not_subscribed))),
    mutant("unsubscribe-needs-the-right", "UNSUBSCRIBE of what may not be subscribed is answered FE.", "ACL-14",
          "UNSUBSCRIBE-5", handlers=unsubscribing(tests=(too_deep, _may_not_unsubscribe))),
    mutant("unsubscribe-silences-equal-masks", "Of two masks that mean the same, taking one back silences both.",
          "UNSUBSCRIBE-15", rules={"keeps_equal_masks": False}, profiles=("1",)),
)  # fmt: skip
_NAMED: tuple[ServerMutant, ...] = (
    mutant("subscribe-not-normalised", "SUBSCRIBE takes topics as they are written.", "TOPIC-4", "ACL-10", "TOPIC-7",
          handlers=subscribing(name=str)),
    mutant("subscribe-runs-kept", "SUBSCRIBE takes a leading / away and keeps runs of /.", "TOPIC-4", "ACL-10",
          handlers=subscribing(name=lambda text: text.removeprefix("/"))),
    mutant("unsubscribe-not-normalised", "UNSUBSCRIBE takes topics as they are written.", "UNSUBSCRIBE-10", "TOPIC-7",
          "TOPIC-9", handlers=unsubscribing(name=str)),
    mutant("subscribe-drops-the-last-slash", "SUBSCRIBE takes a / at the end away.", "TOPIC-5",
          "ACL-1", "ACL-5", "UNSUBSCRIBE-9", "TOPIC-7",
          handlers=subscribing(name=lambda text: normalised(text).removesuffix("/"))),
    mutant("unsubscribe-drops-the-last-slash", "UNSUBSCRIBE takes a / at the end away.", "TOPIC-5", "UNSUBSCRIBE-9",
          handlers=unsubscribing(name=lambda text: normalised(text).removesuffix("/"))),
    mutant("unsubscribe-goes-on", "UNSUBSCRIBE skips a topic that is too deep and goes on.", "UNSUBSCRIBE-16",
          handlers=unsubscribing(at_bad="skip")),
)  # fmt: skip
MUTANTS = _LISTS + _BAD + _KEPT + _NAMED
