"""What the document allows a server to do about each request; nothing here writes to the state of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.psrt.replies import DataGreetingReply, GreetingReply, PushedMessage, Response, Token
from wireproof.protocols.psrt.requests import (
    Attach,
    Bye,
    DataGreeting,
    Greeting,
    Login,
    Nop,
    Publish,
    PublishRepl,
    ReplData,
    Subscribe,
    Unsubscribe,
)
from wireproof.reference_server.psrt.oracle.accounts import AccountBook, GrantedRights
from wireproof.reference_server.psrt.oracle.lines import Allowed, Line, LoggedIn
from wireproof.reference_server.psrt.oracle.topics import holds_wildcard, means_the_same, plain

__all__ = ["ANY_TOKEN", "Requests"]

OK, WAITING, UNWANTED, DENIED, BAD = (Response(code) for code in (0x01, 0x02, 0xE0, 0xFE, 0xFF))
ANY_TOKEN = Token(bytes(32))
"""Stands for a token that no client has had before."""
LONGEST_LOGIN = 1024
CLOSE = None
HALF_SECOND = 500_000_000
MOST_REFUSED = 256


@dataclass(eq=False)
class Requests:
    """The clients of one server, and what may be answered to their requests."""

    options: Mapping[str, Any]
    accounts: AccountBook
    is_released: bool
    """Whether the profile is that of the released server, which leaves more open."""
    is_strict: bool
    """Whether what the document only recommends is required."""
    clients: dict[bytes, LoggedIn] = field(default_factory=dict)
    """Token -> client, while it is logged in."""
    now: int = 0
    """The present instant, ns."""
    refused: dict[tuple[bytes, bytes], str] = field(default_factory=dict)
    """Topic and message of what was refused -> the clause that says so."""

    def allowed(self, line: Line, request: Request) -> list[Allowed]:
        """Return what the server may do about a request on a stream."""
        steps: Mapping[type[Request], Callable[[Line, Any], list[Allowed]]] = {
            Greeting: self._greeted,
            DataGreeting: self._greeted,
            Login: self._login,
            Nop: lambda line, request: [Allowed(OK, clause="PSRT-NOP-2")],
            Publish: self._publish,
            Subscribe: self._subscribe,
            Unsubscribe: self._unsubscribe,
            PublishRepl: self._publish_repl,
            ReplData: self._repl_data,
            Bye: self._bye,
            Attach: self._attach,
        }
        return steps[type(request)](line, request)

    def close_client(self, client: LoggedIn) -> None:
        """End a client: its token, its subscriptions and its data socket (P26)."""
        self.clients.pop(client.token, None)
        if client.data is not None:
            client.data.ending = "its control socket has ended (P26)"
            client.data = None

    def deliver(self, topic: list[str], priority: int, message: bytes, way: str = "") -> None:
        """Expect a message on the data sockets of all that are subscribed to its topic; `way`: see `ExpectedPush`."""
        push = PushedMessage(priority, "/".join(topic).encode(), message)
        self.refused.pop((push.topic, message), None)
        for client in self.clients.values():
            wants = client.wants(topic)
            if wants is not False and client.data is not None:
                broken = client.clause_of(topic)
                client.data.expect(push, self.now, is_certain=wants is True, clause=broken, way=way)

    def refuse(self, topic: str, message: bytes, clause: str) -> None:
        """Note a message that is refused: nobody gets it; the last ones are remembered."""
        if len(self.refused) >= MOST_REFUSED:
            self.refused.pop(next(iter(self.refused)))
        self.refused[topic.encode(), message] = clause

    def clause_against(self, client: LoggedIn | None, push: PushedMessage) -> str:
        """Return what is broken if a push comes that nothing asks for."""
        if (refused := self.refused.get((push.topic, push.message))) is not None:
            return refused
        if client is None:
            return "PSRT-MESSAGE-9"
        if client.data is not None and push in client.data.seen:
            return "PSRT-MESSAGE-7"
        return client.clause_against(push.topic.decode(errors="replace").split("/"))

    def clause_of_answer(self, request: Request, reply: Message | None, clause: str | None) -> str | None:
        """Return what a wrong answer breaks: TOPIC-7 for FF where only slashes that do not count are too many."""
        text = _text(getattr(request, "topic", getattr(request, "topics", b"")))
        if reply != BAD or text is None:
            return clause
        most = self.options["max_topic_depth"]
        wrong = any(one.count("/") > most >= plain(one).count("/") for one in text.split("\0"))
        return "PSRT-TOPIC-7" if wrong else clause

    def _greeted(self, line: Line, request: Greeting | DataGreeting) -> list[Allowed]:
        if request.mode > 1:
            return [Allowed(CLOSE, clause="PSRT-GREETING-6")]
        reply = GreetingReply(1) if isinstance(request, Greeting) else DataGreetingReply(1)
        return [Allowed(reply, clause="PSRT-GREETING-3")]

    def _login(self, line: Line, request: Login) -> list[Allowed]:
        size = len(request.login) + 1 + len(request.password)
        rights = self.accounts.rights(request.login, request.password) if size <= LONGEST_LOGIN else None
        if rights is None:
            return [Allowed(CLOSE, clause="PSRT-LOGIN-6")]
        granted = rights
        return [Allowed(ANY_TOKEN, lambda: self._logged_in(line, granted), "PSRT-LOGIN-5")]

    def _logged_in(self, line: Line, rights: GrantedRights) -> None:
        """Note a client; its token is set by the caller, who saw it."""
        line.client = LoggedIn(line, rights, b"")

    def _publish(self, line: Line, request: Publish) -> list[Allowed]:
        if len(request.topic) + 1 + len(request.message) > self.options["max_pub_size"] or not request.topic:
            return [Allowed(CLOSE, clause="PSRT-LIMIT-5")]
        topic = _text(request.topic)
        if topic is None:
            return [Allowed(CLOSE, clause="PSRT-PUBLISH-14")]
        topic = plain(topic)
        if topic.count("/") > self.options["max_topic_depth"]:
            return [self._not_published(BAD, topic, request.message, "PSRT-PUBLISH-9")]
        if holds_wildcard(topic):
            return [Allowed(CLOSE, clause="PSRT-PUBLISH-15")]
        assert line.client is not None
        if not line.client.rights.may_publish(topic):
            return [self._not_published(DENIED, topic, request.message, "PSRT-PUBLISH-8")]
        levels = topic.split("/")
        return [Allowed(OK, lambda: self.deliver(levels, request.priority, request.message), "PSRT-PUBLISH-6")]

    def _not_published(self, reply: Response, topic: str, message: bytes, clause: str) -> Allowed:
        return Allowed(reply, lambda: self.refuse(topic, message, clause), clause)

    def _items(self, topics: bytes) -> list[str] | None:
        """Return the normalised items of a list; None if the list closes the connection."""
        text = _text(topics) if len(topics) <= self.options["max_topic_length"] else None
        return None if text is None else [plain(one) for one in text.split("\0") if one]

    def _subscribe(self, line: Line, request: Subscribe) -> list[Allowed]:
        items, client = self._items(request.topics), line.client
        if items is None:
            return [Allowed(CLOSE, clause="PSRT-LIMIT-2")]
        assert client is not None
        masks, reply, clause = dict(client.masks), OK, "PSRT-SUBSCRIBE-5"
        ended: dict[str, str] = {}
        for mask in items:
            if mask.count("/") > self.options["max_topic_depth"]:
                reply, clause = BAD, "PSRT-SUBSCRIBE-10"
            elif not client.rights.may_subscribe(mask):
                reply, clause = DENIED, "PSRT-SUBSCRIBE-9"
            elif mask not in masks and self._is_full(masks, mask):
                reply, clause = BAD, "PSRT-LIMIT-1"
            else:
                masks[mask] = True
                continue
            ended = {mask: "PSRT-ACL-16" if reply is DENIED else "PSRT-SUBSCRIBE-13"}
            break
        effect = partial(client.subscribed, masks, ended, "" if reply is OK else "PSRT-SUBSCRIBE-14")
        found = [Allowed(reply, effect, clause)]
        if reply is BAD and not self.is_strict and not client.rights.may_subscribe(mask):
            found.append(Allowed(DENIED, effect, "PSRT-SUBSCRIBE-9"))  # which refusal comes first is open
        return found

    def _is_full(self, masks: Mapping[str, bool], mask: str) -> bool:
        """Say whether a client with these subscriptions may have no other one."""
        patterns = sum("+" in one or "#" in one for one in masks) if "+" in mask or "#" in mask else -1
        return bool(len(masks) >= self.options["max_topics"] or patterns >= self.options["max_masks"])

    def _unsubscribe(self, line: Line, request: Unsubscribe) -> list[Allowed]:
        items, client = self._items(request.topics), line.client
        if items is None:
            return [Allowed(CLOSE, clause="PSRT-LIMIT-3")]
        assert client is not None
        masks, reply = dict(client.masks), OK
        for mask in items:
            if mask.count("/") > self.options["max_topic_depth"]:
                reply = BAD
                break
            if masks.pop(mask, None) is not None and self.is_released:
                masks |= {one: False for one in masks if means_the_same(one, mask)}
        ended = dict.fromkeys((one for one in client.masks if one not in masks), "PSRT-UNSUBSCRIBE-4")
        effect = partial(self._unsubscribed, client, masks, ended)
        return [Allowed(reply, effect, "PSRT-UNSUBSCRIBE-3")]

    def _unsubscribed(self, client: LoggedIn, masks: dict[str, bool], ended: dict[str, str]) -> None:
        """Note what a client has still; what others have of the same is left to them."""
        client.subscribed(masks, ended, "PSRT-UNSUBSCRIBE-11")
        for other in self.clients.values():
            if other is not client:
                other.left |= dict.fromkeys(ended.keys() & other.masks.keys(), "PSRT-UNSUBSCRIBE-12")

    def _publish_repl(self, line: Line, request: PublishRepl) -> list[Allowed]:
        topic = _text(request.topic) if len(request.topic) <= self.options["max_topic_length"] else None
        if topic is None or not self.options["replication"]:
            return [Allowed(CLOSE, clause="PSRT-LIMIT-6")]
        assert line.client is not None
        if not line.client.rights.replicates:
            return [Allowed(DENIED, clause="PSRT-PUBLISH_REPL-2")]
        levels = topic.split("/")
        wanted = {client.wants(levels) for client in self.clients.values()}
        wait = Allowed(WAITING, lambda: setattr(line, "waiting_for", levels), "PSRT-PUBLISH_REPL-4")
        drop = Allowed(UNWANTED, clause="PSRT-PUBLISH_REPL-3")
        if not self.is_strict and (plain(topic) != topic or holds_wildcard(topic)):
            return [wait, drop]  # P34
        return [wait] if True in wanted else [wait, drop] if None in wanted else [drop]

    def _repl_data(self, line: Line, request: ReplData) -> list[Allowed]:
        if len(request.message) > self.options["max_pub_size"]:
            return [Allowed(CLOSE, clause="PSRT-LIMIT-7")]

        def deliver() -> None:
            assert line.waiting_for is not None
            self.deliver(line.waiting_for, request.priority, request.message, "PSRT-REPL_DATA-3")

        return [Allowed(OK, deliver, "PSRT-REPL_DATA-2")]

    def _bye(self, line: Line, request: Bye) -> list[Allowed]:
        def end() -> None:
            assert line.client is not None
            self.close_client(line.client)
            line.client, line.ending = None, "BYE"

        answered = Allowed(OK, end, "PSRT-BYE-3")
        return [answered] if self.is_strict else [answered, Allowed(CLOSE)]

    def _attach(self, line: Line, request: Attach) -> list[Allowed]:
        client = self.clients.get(request.token)
        refuse = Allowed(BAD, lambda: setattr(line, "ending", "its token was refused"), "PSRT-ATTACH-3")
        if client is None or client.data is not None:
            return [refuse, Allowed(CLOSE)]

        def attach() -> None:
            line.client, client.data = client, line
            line.interval = max(request.timeout, 1) * HALF_SECOND
            line.attached = line.spoken = self.now
            if client.was_attached and not self.is_released:
                client.is_left("PSRT-ATTACH-11")
            client.was_attached = True

        accept = Allowed(OK, attach, "PSRT-ATTACH-2")
        return [accept, refuse, Allowed(CLOSE)] if client.may_be_spent else [accept]


def _text(data: bytes) -> str | None:
    """Return UTF-8 as text; None for anything else."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
