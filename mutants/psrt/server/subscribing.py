"""Mutants of SUBSCRIBE and UNSUBSCRIBE: lists, answers, and what is subscribed after them."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    changed,
    counted,
    encoded,
    instead_of_closing,
    refusing,
    taking,
    with_answer,
    with_handler,
)
from wireproof.protocols.psrt.requests import Subscribe, Unsubscribe
from wireproof.reference_server.psrt.state import DENIED, ERROR, OK, Answer, Handler, State

__all__ = ["MUTANTS"]

LISTS = (Subscribe, Unsubscribe)


def _one_each(answer: Answer, ask: Ask) -> Answer:
    """Answer a byte for each item."""
    items = list(filter(None, ask.request.topics.split(b"\0")))
    return encoded(answer, ask) * max(len(items), 1)


def _no_empty_items(answer: Answer, ask: Ask) -> Answer:
    topics = ask.request.topics
    return ERROR if topics and b"" in topics.split(b"\0") else answer


BAD = "SUBSCRIBE-11 SUBSCRIBE-12 SUBSCRIBE-13 SUBSCRIBE-14"
RIGHTS = "SUBSCRIBE-9 ACL-1 ACL-3 ACL-4 ACL-5 ACL-6 ACL-9 ACL-12 ACL-13 ACL-16 ACCOUNT-3"


def _each_by_itself(correct: Handler, state: State) -> Handler:
    """Carry each item out whatever became of those before; answer the last error."""

    def handle(request: Any, session: Any, now: int) -> Answer:
        answers = [correct(changed(request, topics=one), session, now) for one in request.topics.split(b"\0")]
        return next((one for one in answers[::-1] if one != OK), OK)

    return handle


def _all_or_nothing(correct: Handler, state: State) -> Handler:
    """Take back what was carried out when an item is bad."""

    def handle(request: Any, session: Any, now: int) -> Answer:
        subscriptions, client = state.subscriptions, session.client
        before, answer = subscriptions.of(client), correct(request, session, now)
        after = subscriptions.of(client) if answer != OK else before
        for one in before ^ after:
            (subscriptions.add if one in before else subscriptions.remove)(client, one)
        return answer

    return handle


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("subscribe-len-without-00", "The LEN of SUBSCRIBE leaves out one byte, a 00 at the end.",
           "SUBSCRIBE-2 SUBSCRIBE-8 LIMIT-1 SUBSCRIBE-5 ATTACH-15", counted("LEN + 1", "SUBSCRIBE")),
    mutant("subscribe-answered-for-each", "SUBSCRIBE is answered with a byte for each of its topics.",
           "SUBSCRIBE-4 SUBSCRIBE-5 ORDER-1 ROBUSTNESS-10 SUBSCRIBE-7 SUBSCRIBE-3 SUBSCRIBE-11 SUBSCRIBE-13 ROBUSTNESS-5 "
           "SUBSCRIBE-12",
           handlers=with_answer(Subscribe, _one_each)),
    mutant("unsubscribe-answered-for-each", "UNSUBSCRIBE is answered with a byte for each of its topics.",
           "UNSUBSCRIBE-3 ORDER-1 ROBUSTNESS-10 UNSUBSCRIBE-2 UNSUBSCRIBE-5 UNSUBSCRIBE-16 UNSUBSCRIBE-7",
           handlers=with_answer(Unsubscribe, _one_each)),
    mutant("lists-split-at-commas", "Topics are separated by commas, not by 00.",
           f"SUBSCRIBE-3 UNSUBSCRIBE-2 SUBSCRIBE-7 TOPIC-22 {BAD} SUBSCRIBE-9 SUBSCRIBE-10 UNSUBSCRIBE-6 "
           "UNSUBSCRIBE-7 SUBSCRIBE-6 SUBSCRIBE-16 MESSAGE-8 MESSAGE-7 UNSUBSCRIBE-4 UNSUBSCRIBE-11",
           handlers=taking(LISTS, topics=lambda topics: topics.replace(b"\0", b"").replace(b",", b"\0"))),
    mutant("subscribe-empty-item-subscribed", "An empty item of SUBSCRIBE subscribes to the empty topic.",
           "SUBSCRIBE-7",
           edit("ControlRequests.subscribe", r'filter(None, text(request.topics, "topics").split("\0"))',
                r'text(request.topics, "topics").split("\0") if request.topics else ()')),
    mutant("subscribe-empty-list-subscribed", "SUBSCRIBE of LEN 0 subscribes to the empty topic.", "SUBSCRIBE-7",
           edit("ControlRequests.subscribe", r'filter(None, text(request.topics, "topics").split("\0"))',
                r'filter(None, text(request.topics, "topics").split("\0")) if request.topics else [""]')),
    mutant("subscribe-empty-item-refused", "SUBSCRIBE with an empty item is answered FF.", "SUBSCRIBE-7",
           handlers=with_answer(Subscribe, _no_empty_items)),
    mutant("unsubscribe-empty-item-refused", "UNSUBSCRIBE with an empty item is answered FF.", "UNSUBSCRIBE-2",
           handlers=with_answer(Unsubscribe, _no_empty_items)),
    mutant("subscribe-nothing-refused", "SUBSCRIBE with LEN 0 is answered FF.", "SUBSCRIBE-8 TIMEOUT-3",
           handlers=with_answer(Subscribe, lambda answer, ask: answer if ask.request.topics else ERROR)),
    mutant("unsubscribe-nothing-refused", "UNSUBSCRIBE with LEN 0 is answered FF.", "UNSUBSCRIBE-14 TIMEOUT-3",
           handlers=with_answer(Unsubscribe, lambda answer, ask: answer if ask.request.topics else ERROR)),
    mutant("subscribe-no-utf-8-answered-ff", "SUBSCRIBE to what is no UTF-8 is answered FF.",
           "SUBSCRIBE-15 FRAMING-9 ATTACH-15", handlers=instead_of_closing(Subscribe, lambda ask: ERROR)),
    mutant("unsubscribe-no-utf-8-answered-ff", "UNSUBSCRIBE of what is no UTF-8 is answered FF.",
           "UNSUBSCRIBE-13 FRAMING-9", handlers=instead_of_closing(Unsubscribe, lambda ask: ERROR)),
    mutant("subscribe-goes-on-behind-a-bad-one", "SUBSCRIBE skips a bad topic and subscribes those after it.",
           "SUBSCRIBE-12 SUBSCRIBE-11", handlers=with_handler(Subscribe, _each_by_itself)),
    mutant("subscribe-rolls-back", "SUBSCRIBE with a bad topic subscribes nothing.", "SUBSCRIBE-11",
           handlers=with_handler(Subscribe, _all_or_nothing)),
    mutant("subscribe-takes-the-bad-one", "SUBSCRIBE answers an error for a bad topic and subscribes it.",
           "SUBSCRIBE-13 ACL-16 ACL-9 SUBSCRIBE-12",
           after("ControlRequests.subscribe", "mask = normalised(item)", "subscriptions.add(client, mask)")),
    mutant("subscribe-denied-closes", "SUBSCRIBE without the right to closes the connection.",
           f"{RIGHTS} SUBSCRIBE-14 SUBSCRIBE-11 SUBSCRIBE-12 SUBSCRIBE-13 TIMEOUT-11",
           handlers=refusing(Subscribe, DENIED)),
    mutant("subscribe-too-deep-closes", "SUBSCRIBE to a topic that is too deep closes the connection.",
           f"SUBSCRIBE-10 TOPIC-9 {BAD} TIMEOUT-11 TOPIC-7", handlers=refusing(Subscribe, ERROR)),
    mutant("unsubscribe-too-deep-closes", "UNSUBSCRIBE of a topic that is too deep closes the connection.",
           "UNSUBSCRIBE-6 UNSUBSCRIBE-7 TOPIC-9 TIMEOUT-11 UNSUBSCRIBE-16", handlers=refusing(Unsubscribe, ERROR)),
    mutant("unsubscribe-rolls-back", "UNSUBSCRIBE with a topic that is too deep takes nothing back.",
           "UNSUBSCRIBE-7 UNSUBSCRIBE-6", handlers=with_handler(Unsubscribe, _all_or_nothing)),
    mutant("subscribe-forgets-the-others", "SUBSCRIBE takes back what was subscribed before.",
           "SUBSCRIBE-6 MESSAGE-8 SUBSCRIBE-16 ORDER-4 MESSAGE-7 SUBSCRIBE-7 SUBSCRIBE-11 SUBSCRIBE-14 SUBSCRIBE-12",
           first("ControlRequests.subscribe", "self._state.subscriptions.leave(_client(session))")),
    mutant("subscribe-needs-data-socket", "SUBSCRIBE without a data socket is answered 01 and subscribes nothing.",
           "SUBSCRIBE-17 PUBLISH_REPL-5 ATTACH-11 ATTACH-9 ATTACH-13",
           edit("ControlRequests.subscribe", "subscriptions.add(client, mask)",
                "client.data and subscriptions.add(client, mask)")),
    mutant("subscribe-for-the-account", "SUBSCRIBE subscribes all sessions of the account.",
           "SUBSCRIBE-18 ATTACH-16 LOGIN-16 MESSAGE-9 ROBUSTNESS-13",
           edit("ControlRequests.subscribe", "subscriptions.add(client, mask)",
                "[subscriptions.add(one, mask) for one in self._state.clients.values() if one.login == client.login]")),
    mutant("subscriptions-are-inherited",
           "A session begins with the subscriptions that the last one of its account had.",
           "SUBSCRIBE-19 ROBUSTNESS-12",
           first("state.State.forget",
                 'vars(self).setdefault("left", {})[client.login] = self.subscriptions.of(client)'),
           before("ControlRequests.login", "return Token(client.token)",
                  '[self._state.subscriptions.add(client, one) for one in vars(self._state).get("left", '
                  "{}).pop(login, ())]")),
    mutant("subscriptions-are-counted", "A topic subscribed twice must be unsubscribed twice.",
           "UNSUBSCRIBE-8 SUBSCRIBE-16",
           first("Subscriptions.add",
                 'counts = vars(self).setdefault("counts", {}); counts[who, text] = counts.get((who, text), 0) + 1'),
           first("Subscriptions.remove",
                 'counts = vars(self).setdefault("counts", {}); left = counts[who, text] = max(0, counts.get((who, '
                 "text), 0) - 1)", "if left: return")),
    mutant("unsubscribe-takes-all", "UNSUBSCRIBE takes all subscriptions of the session back.",
           "UNSUBSCRIBE-11 UNSUBSCRIBE-9 UNSUBSCRIBE-15",
           first("ControlRequests.unsubscribe", "from wireproof.reference_server.psrt.topics import levels, matches"),
           edit("ControlRequests.unsubscribe", "self._state.subscriptions.remove(_client(session), mask)",
                "[self._state.subscriptions.remove(_client(session), one) for one in "
                "self._state.subscriptions.of(_client(session)) if True]")),
    mutant("unsubscribe-takes-what-a-mask-means", "UNSUBSCRIBE of a mask takes back what it matches.",
           "UNSUBSCRIBE-9 UNSUBSCRIBE-11 UNSUBSCRIBE-15",
           first("ControlRequests.unsubscribe", "from wireproof.reference_server.psrt.topics import levels, matches"),
           edit("ControlRequests.unsubscribe", "self._state.subscriptions.remove(_client(session), mask)",
                "[self._state.subscriptions.remove(_client(session), one) for one in "
                "self._state.subscriptions.of(_client(session)) if one == mask or matches(levels(mask), "
                'tuple(one.split("/")))]')),
    mutant("unsubscribe-takes-what-begins-so", "UNSUBSCRIBE takes back what begins with its text.",
           "UNSUBSCRIBE-9 UNSUBSCRIBE-11 UNSUBSCRIBE-15",
           first("ControlRequests.unsubscribe", "from wireproof.reference_server.psrt.topics import levels, matches"),
           edit("ControlRequests.unsubscribe", "self._state.subscriptions.remove(_client(session), mask)",
                "[self._state.subscriptions.remove(_client(session), one) for one in "
                "self._state.subscriptions.of(_client(session)) if one.startswith(mask)]")),
    mutant("unsubscribe-not-from-everything", "The mask # alone stays subscribed when it is unsubscribed.",
           "UNSUBSCRIBE-4 SUBSCRIBE-19", first("Subscriptions._unlink", 'if mask == ("#",): return')),
    mutant("unsubscribe-of-masks-does-nothing", "UNSUBSCRIBE of a mask is answered and takes nothing back.",
           "UNSUBSCRIBE-4 UNSUBSCRIBE-9 UNSUBSCRIBE-10",
           edit("ControlRequests.unsubscribe", "self._state.subscriptions.remove(_client(session), mask)",
                "is_mask(mask) or self._state.subscriptions.remove(_client(session), mask)")),
    mutant("unsubscribe-for-everybody", "UNSUBSCRIBE takes the topic from all sessions.",
           "UNSUBSCRIBE-12 LOGIN-16 MESSAGE-8",
           edit("ControlRequests.unsubscribe", "self._state.subscriptions.remove(_client(session), mask)",
                "[self._state.subscriptions.remove(one, mask) for one in self._state.clients.values()]")),
    mutant("unsubscribe-unknown-refused", "UNSUBSCRIBE of what is not subscribed is answered FF.",
           "UNSUBSCRIBE-5 ACL-14 UNSUBSCRIBE-3 UNSUBSCRIBE-8 TOPIC-8",
           before("ControlRequests.unsubscribe", "self._state.subscriptions.remove(_client(session), mask)",
                  "if mask not in self._state.subscriptions.of(_client(session)): return ERROR")),
    mutant("unsubscribe-needs-the-right", "UNSUBSCRIBE of what may not be subscribed is answered FE.",
           "ACL-14 UNSUBSCRIBE-5",
           before("ControlRequests.unsubscribe", "self._state.subscriptions.remove(_client(session), mask)",
                  "if not _client(session).rights.may_subscribe(mask): return DENIED")),
    mutant("unsubscribe-silences-equal-masks", "Of two masks that mean the same, taking one back silences both.",
           "UNSUBSCRIBE-15", rules={"keeps_equal_masks": False}, profiles=("1",)),
    mutant("subscribe-runs-kept", "SUBSCRIBE takes a leading / away and keeps runs of /.", "TOPIC-4 ACL-10 TOPIC-7",
           edit("ControlRequests.subscribe", "normalised(item)", 'item.removeprefix("/")')),
    mutant("unsubscribe-not-normalised", "UNSUBSCRIBE takes topics as they are written.",
           "UNSUBSCRIBE-10 TOPIC-7 TOPIC-9", edit("ControlRequests.unsubscribe", "normalised(item)", "item")),
    mutant("subscribe-drops-the-last-slash", "SUBSCRIBE takes a / at the end away.",
           "TOPIC-5 ACL-1 ACL-5 UNSUBSCRIBE-9 TOPIC-7",
           edit("ControlRequests.subscribe", "normalised(item)", 'normalised(item).removesuffix("/")')),
    mutant("unsubscribe-drops-the-last-slash", "UNSUBSCRIBE takes a / at the end away.", "TOPIC-5 UNSUBSCRIBE-9",
           edit("ControlRequests.unsubscribe", "normalised(item)", 'normalised(item).removesuffix("/")')),
    mutant("unsubscribe-goes-on", "UNSUBSCRIBE skips a topic that is too deep and goes on.", "UNSUBSCRIBE-16",
           handlers=with_handler(Unsubscribe, _each_by_itself)),
    mutant("subscribe-leaves-out-the-covered", "A mask that another one of the session covers is not kept.",
           "UNSUBSCRIBE-11 SUBSCRIBE-6 UNSUBSCRIBE-15",
           first("ControlRequests.subscribe", "from wireproof.reference_server.psrt.topics import covers, levels"),
           edit("ControlRequests.subscribe", "subscriptions.add(client, mask)",
                "if not any(covers(levels(one), levels(mask)) for one in subscriptions.of(client)):",
                "    subscriptions.add(client, mask)")),
    mutant("unsubscribe-of-another", "UNSUBSCRIBE of what the session has not takes it from another session.",
           "UNSUBSCRIBE-12 MESSAGE-8",
           edit("ControlRequests.unsubscribe", "self._state.subscriptions.remove(_client(session), mask)",
                "who = _client(session)",
                "others = [one for one in self._state.clients.values() if self._state.subscriptions.has(one, mask)]",
                "self._state.subscriptions.remove(who if who in others or not others else others[-1], mask)")),
)  # fmt: skip
