"""The model of the whole server: follows connections and time, and hands each request to the part that knows it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml
from msgspec.structs import replace

from wireproof.protocols.errors import LocalProtocolError, MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Push, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.tmqp import Codec
from wireproof.protocols.tmqp.enums import OLD_VERSION, VERSION, ResultCode
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import Notification, Pong, ProtocolReply, Welcome
from wireproof.protocols.tmqp.requests import (
    CreateChannel,
    CreateQueue,
    Hello,
    Ping,
    Protocol,
    Pull,
    Terminate,
)
from wireproof.reference_server.model import Disagreement, Window
from wireproof.reference_server.options import chosen
from wireproof.reference_server.tmqp.options import OPTIONS
from wireproof.reference_server.tmqp.oracle.broken import (
    asked_clause,
    broken_clause,
    is_altered_from,
    is_no_member,
    is_refused,
    missing_clause,
    repeated_clause,
    shown_by,
)
from wireproof.reference_server.tmqp.oracle.deliveries import Deliveries
from wireproof.reference_server.tmqp.oracle.expected import Expected, Made, Shape
from wireproof.reference_server.tmqp.oracle.notices import OF_SERVERS, Notices
from wireproof.reference_server.tmqp.oracle.operations import ModelOperations
from wireproof.reference_server.tmqp.oracle.reading import first_tells
from wireproof.reference_server.tmqp.oracle.routing import Routers, routers_of
from wireproof.reference_server.tmqp.oracle.timed import Times
from wireproof.reference_server.tmqp.oracle.traffic import Traffic
from wireproof.reference_server.tmqp.oracle.world import Line, ModelClient, Options, World
from wireproof.reference_server.tmqp.rules import RULES

__all__ = ["DocumentModel"]

UNFOLLOWED = ("auto_channels", "auto_queues", "client_limit")
"""Options under which the model does not know what a server does."""
GREETED_IDS = (b"a", b"b", b"ab", b"ba", b"a/", b"b/a", b"aa", b"bb")
LONGEST_ID = 255


class DocumentModel:
    """The model of a whole server (`wireproof.reference_server.model.ServerModel`).

    Times are compared within `tolerance_ns`. With `shared`, others may use the server, its defaults are unknown, and
    what the document only recommends is not required; profiles beside `doc` are followed in such a server alone.
    """

    expects_answers = True
    settles_by_request = False
    settings_of_cases = frozenset({"config"})
    """What every server for the cases has: its routers, and who may do what."""

    def __init__(
        self,
        profile: Profile,
        variant: str,
        *,
        tolerance_ns: int,
        shared: bool,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`options` are those of the server.

        Raises ValueError for bad ones, and for profiles and options that the model does not follow.
        """
        if profile.name != "doc" and not shared:
            raise ValueError(f"the model of a whole TMQP server is of the profile doc, not of {profile.name}")
        given = chosen("tmqp", OPTIONS, options or {})
        if unfollowed := [name for name in UNFOLLOWED if given[name]]:
            raise ValueError(f"the model of a whole TMQP server does not follow the option {unfollowed[0]}")
        self._codec = Codec.of(profile, variant)
        config = _config(given["config"])
        self._denied = {one.encode() for one in config.get("denied", ())}
        is_known = given["config"] is not None or not shared
        refused = {*map(str.encode, config.get("refused_tokens", ()))}
        self._tokens = None if not is_known or config.get("tokens") else refused
        defaults: Options = {
            "SendOnlyFirstAcquirer": False,
            "RequestAcknowledge": False,
            "AcknowledgeTimeout": round(given["acknowledge_timeout"] * 1000),
            "MessageTimeout": 0,
            "UseMessageId": True,
            "WaitForAcknowledge": False,
            "HideClientNames": False,
            "Status": 0,
            "MessageDeliveryHandler": config.get("delivery", "after-received"),
            "MessageLimit": 0,
        }
        is_admin = bool(given["admin"]) and config.get("admins") is None
        self._world = World(not shared, tolerance_ns, defaults, given["put_back_limit"], RULES[profile.name])
        self._world.is_lost = not is_admin
        self._world.end = lambda client, why: self._end(client.line, why)
        self._notices = Notices(self._world)
        deliveries = Deliveries(self._world)
        self._operations = ModelOperations(self._world, self._codec, deliveries, self._notices)
        routers = _routers(given["config"]) if is_known else None
        size_limit: int = given["message_size_limit"]
        traffic = Traffic(self._world, deliveries, self._notices, size_limit=size_limit, routers=routers)
        self._handlers = {**self._operations.handlers, **traffic.handlers}
        self._lines: dict[str, Line] = {}
        self._times = Times(self._world, deliveries, self._lines, self._gone, given)

    def limited(self, subscriptions: int) -> None:
        """Report how many subscriptions to events a client may have."""
        self._world.most_subscriptions = subscriptions

    def greeting(self, link: str = "") -> tuple[Request, ...]:
        """Return the first requests of a connection: a client with a short id, where nobody else can have it."""
        taken = {one.id.value for one in self._world.clients}
        free = next((one for one in GREETED_IDS if one not in taken), b"")
        lines = b"Client-Id: %s\r\nClient-Name: n%s\r\nClient-Type: t\r\n" % (free, free[:1])
        return Protocol(), Hello(payload=b"CONNECT /\r\n" + (lines if self._world.is_strict else b""))

    def connect(self, connection: str, at: Window, port: int | None, link: str = "") -> None:
        """Report a new connection."""
        self.passed(at)
        self._lines[connection] = Line(connection, at.until)

    def disconnect(self, connection: str, at: Window) -> None:
        """Report that either side ended a connection."""
        self.passed(at)
        self._gone(self._lines.pop(connection))

    def _gone(self, line: Line) -> None:
        """Follow that a client is gone: what it joined, and was subscribed to, ends."""
        client, world = line.client, self._world
        if client is None or client.is_gone:
            return
        client.is_gone = True
        world.clients.remove(client)
        world.former_ids.add(client.id.value or b"")
        world.subscriptions = [one for one in world.subscriptions if one[1] is not client]
        for channel in list(world.channels.values()):
            if client in channel.members:
                self._operations.leave(channel, client)
        self._notices.client(b"ClientDisconnected", client)

    def sent(self, connection: str, request: Request) -> None:
        """Report a request when it is written: what it causes is expected from now on."""
        line, world = self._lines[connection], self._world
        if line.ending or line.stage == "spoiled" or world.is_lost:
            return
        if line.client is not None:
            line.last_input, line.is_pinged = world.now, False
        world.ids.add(getattr(request, "id", b""))
        if isinstance(request, Protocol):
            self._protocol(line, request)
            return
        read = self._as_read(request, is_first=line.stage == "greeted")
        if line.owed:
            self._greet(line)
        if isinstance(read, Ping) and line.stage == "open":
            self._expect(line, line.asked or "TMQP-PING-2", Pong)
            line.asked = ""
        elif isinstance(read, Hello):
            self._hello(line, read)
        elif line.stage != "open" and self._world.is_strict and isinstance(read, RequestFrame) and read.ttl:
            self._end(line, "its first frame is no hello")
        elif line.stage != "open":
            line.stage = "spoiled"
        elif isinstance(read, RequestFrame) and read.ttl:
            self._asked(line, read)

    def _protocol(self, line: Line, request: Protocol) -> None:
        """Follow the first eight bytes."""
        rules = self._world.rules
        spoken = (VERSION, OLD_VERSION) if rules.takes_old_version else (VERSION,)
        if line.stage != "new" or request.version not in spoken:
            self._end(line, "it did not begin with the eight bytes")
            return
        line.stage, line.owed = "greeted", request.version
        if rules.answers_protocol_at_once:
            self._greet(line)

    def _greet(self, line: Line) -> None:
        """Expect the eight bytes of the server (E6)."""
        self._expect(line, "TMQP-PROTOCOL-1", ProtocolReply, version=line.owed)
        line.owed = b""

    def _as_read(self, request: Request, *, is_first: bool) -> Message | None:
        """Return what a server reads: where a frame stands, and its type, say what it is."""
        try:
            data = self._codec.encode(request)
            is_hello = is_first and first_tells(data) == first_tells(self._codec.encode(Hello()))
            decode = self._codec.decoders[Hello] if is_hello else self._codec.decode_asked
            return decode(data, 0, len(data), FrameContext(len(data)))[0]
        except (LocalProtocolError, MalformedFrameError):
            self._world.is_lost = True
            return None

    def _asked(self, line: Line, request: RequestFrame) -> None:
        client, world = line.client, self._world
        assert client is not None
        if request.source and request.source != client.id.value:
            self._end(line, "it named a source that is not its own")
        elif isinstance(request, Terminate):
            self._end(line, "it terminated")
        elif type(request) in self._handlers:
            line.asked = asked_clause(request, world.rules.keeps_after_options)
            line.requests[request.id] = request
            if isinstance(request, CreateChannel | CreateQueue):
                world.spelled.add(request.target)
            if not request.id and world.rules.gives_ids:
                world.is_lost |= isinstance(request, Pull)  # its id would be within headers
                request = replace(request, id=Made(taken=world.ids), pending_response=0)
            self._handlers[type(request)](client, request)

    def _hello(self, line: Line, request: Hello) -> None:
        found: dict[bytes, bytes] = {}
        given = [text.partition(b":") for text in request.payload.split(b"\n")]
        for name, _, value in (one for one in given if one[1]):
            found.setdefault(name.strip().lower(), value.strip())
        id_, world = found.get(b"client-id", b""), self._world
        is_repeated = len(found) < sum(1 for one in given if one[1])
        if (is_repeated and not world.rules.takes_repeated_properties) or not (
            request.payload or world.rules.takes_empty_hello
        ):
            self._end(line, "its hello repeats a property, or has no text")
            return
        is_admin = found.get(b"client-type", b"") not in self._denied
        token = found.get(b"client-token")
        if token is not None and self._tokens is None:
            world.is_lost = True
            return
        line.stage = "open"
        if token is not None and token in (self._tokens or ()):
            self._expect(line, "TMQP-HELLO-12", Welcome, content_type=ResultCode.UNAUTHORIZED)
            self._end(line, "its token is refused")
            return
        if len(id_) > LONGEST_ID or (id_ and world.client(id_) is not None):
            if not world.rules.reports_duplicate_clients:
                world.is_lost = True
                return
            code = ResultCode.BAD_REQUEST if len(id_) > LONGEST_ID else ResultCode.BUSY
            self._expect(line, "TMQP-HELLO-7", Welcome, content_type=code)
            self._end(line, "its hello is refused")
            return
        name, type_ = found.get(b"client-name", b""), found.get(b"client-type", b"")
        client = ModelClient(line, Made(id_ or None), name, type_, is_admin)
        world.clients.append(client)
        line.client, line.last_input = client, world.now
        self._notices.client(b"ClientConnected", client)
        clause = "TMQP-HELLO-2" if id_ else "TMQP-HELLO-3"
        self._expect(line, clause, Welcome, content_type=ResultCode.ACCEPTED, target=client.id, source=b"")

    def _expect(self, line: Line, clause: str, kind: type[Message], **fields: object) -> None:
        line.expect(Expected((Shape(kind, fields),), clause, is_certain=not self._world.is_lost))

    def _end(self, line: Line, why: str) -> None:
        line.ending = why
        self._gone(line)

    def passed(self, at: Window) -> None:
        """Report that time has passed: what is stored expires, acknowledgements are missed, clients are pinged."""
        self._times.passed(at.until)

    def answered(self, connection: str, request: Request, reply: Message | None, at: Window) -> Disagreement | None:
        """Judge nothing: replies are reported as pushes are."""
        return None

    def pushed(self, connection: str, push: Message) -> None:
        """Report a message."""
        line = self._lines[connection]
        found = line.came(push)
        if found is not None:
            self._world.proven |= shown_by(self._world, line, found, push)
        if line.surplus and self._is_free(line, line.surplus[-1]):
            line.surplus.pop()

    def _is_free(self, line: Line, message: Message) -> bool:
        others = isinstance(message, Notification) and message.source in OF_SERVERS and not self._world.is_strict
        return others or self._world.is_free(line, message)

    def _next(self, connection: str) -> Expected | None:
        line = self._lines[connection]
        if self._world.is_lost or line.stage == "spoiled":
            return None
        return next((one for one in line.due if one.is_certain), None)

    def due_message(self, connection: str) -> str | None:
        """Return a description of the first message that must still arrive; None if there is none."""
        found = self._next(connection)
        return None if found is None else repr(found)[:400]

    def due_clause(self, connection: str) -> str:
        """Return the clause of the first message that must still arrive."""
        found = self._next(connection)
        if found is None:
            return "TMQP-MESSAGE-1"
        for line in self._lines.values():
            for message in line.surplus:  # what came instead says more than that it does not come
                if again := repeated_clause(self._world, line, message):
                    return again
                is_altered = line.name == connection and is_altered_from(found, message)
                if (is_altered or is_refused(found, message)) and (clause := broken_clause(self._world, line, message)):
                    return clause
        return missing_clause(self._world, self._lines[connection], found)

    def unexpected(self, at: Window) -> Disagreement | None:
        """Judge what came: return a message that nothing explains."""
        if self._world.is_lost:
            return None
        wrong = [(line, line.surplus[0]) for line in self._lines.values() if line.surplus]
        if not wrong:
            return None
        line, message = next((one for one in wrong if is_no_member(self._world, *one)), wrong[0])
        due = self.due_message(line.name)
        wanted = f"; expected {due}" if due else ""
        clause = broken_clause(self._world, line, message)
        return Disagreement(f"{line.name} gets {message!r}{wanted}", f"surplus {message.NAME}", clause)

    def ended(self, connection: str, request: Request | None, at: Window) -> Disagreement | None:
        """Judge that the server ended a connection."""
        self.passed(at)
        line, world = self._lines[connection], self._world
        if line.ending or line.stage == "spoiled" or world.is_lost or self._times.may_end(line):
            return None
        return Disagreement(f"{connection} is ended", "ended", "TMQP-ROBUSTNESS-3")

    def must_end(self, connection: str, at: Window) -> Disagreement | None:
        """Return what is wrong with a connection that is still open; None if nothing is."""
        line = self._lines[connection]
        if not line.ending or self._world.is_lost:
            return None
        return Disagreement(f"{connection} is open although {line.ending}", f"open, {line.ending}", "TMQP-TERMINATE-1")

    def ends_when_half_closed(self, connection: str) -> bool:
        """Return that the server ends a connection whose client has ended its side."""
        return True

    def half_closed(self, connection: str) -> None:
        """Expect answers and what was pulled, and nothing else for certain."""
        for one in self._lines[connection].due:
            is_push = any(issubclass(shape.kind, Push) for shape in one.shapes)
            one.is_certain = one.is_certain and (not is_push or one.clause.startswith("TMQP-PULL"))

    def instants(self) -> list[int]:
        """Return the instants, in ns and ascending, beside which something is due."""
        return self._times.instants()


@cache
def _routers(path: object) -> Routers:
    return routers_of(_config(path))


@cache
def _config(path: object) -> dict[str, Any]:
    """Return what a configuration file says, cached: each case has a model.

    Raises ValueError for one that cannot be used.
    """
    if path is None:
        return {}
    try:
        with open(str(path), encoding="utf-8") as file:
            found = yaml.safe_load(file)
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"config {path}: {error}") from None
    return found if isinstance(found, dict) else {}
