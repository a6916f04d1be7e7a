"""Channels in the model: subscriptions and expected pushes; SUBSCRIBE, UNSUBSCRIBE, PUBLISH, CHANNELS, CHANNEL.

Two subscriptions may give one copy or two, and UNSUBSCRIBE may end one of them or both (T29). A publisher may get its
own message or not (T12).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wireproof.protocols.messages import Message
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr.replies import ChannelReply, ChannelsReply, PushedEvent
from wireproof.protocols.throttr.requests import Channel, Publish, Subscribe, Unsubscribe
from wireproof.reference_server.model import Disagreement, Window
from wireproof.reference_server.throttr.oracle.fragments import misnumbered, repeated
from wireproof.reference_server.throttr.oracle.peers import Peer, Peers, is_refused

__all__ = ["Channels"]

EVERYBODY = b"*"
HEX_ID = 32
"""Size in bytes of the name of a connection's own channel."""
UNLIMITED = 8000
"""Bytes of payload up to which no server is known to have a limit (ROBUSTNESS-14): a release ends at 8,096 a frame."""
Copies = Mapping[Peer, int]
"""Connection -> the number of its subscriptions."""


@dataclass
class Due:
    """How often a connection must get a message, may get it, and got it."""

    least: int = 0
    most: int = 0
    came: int = 0


@dataclass
class Held:
    """A subscription: how often it was requested, and the beginnings that the server reported."""

    times: int = 1
    since: set[int] = field(default_factory=set)


class Channels:
    """Every channel by name with its subscriptions, and every expected push."""

    def __init__(self, profile: Profile, variant: str, peers: Peers, *, tolerance_ns: int, shared: bool) -> None:
        self._peers, self._tolerance, self._shared = peers, tolerance_ns, shared
        self.automatic = profile.name != "7.1.0"
        """Whether connections are subscribed automatically (T35)."""
        self.most: int | None = None
        """Subscriptions that a connection may have; None where nobody has as many."""
        self.is_ours: Callable[[bytes], bool] = lambda _: True
        """Whether nobody else has ever used a channel."""
        self.is_our_payload: Callable[[bytes], bool] = lambda _: False
        """Whether nobody else can have published a payload, where others use the server."""
        self._names_channel = PushedEvent in profile.pushes
        self._max = (1 << (8 * profile.variants[variant].sizes["value"])) - 1
        self._held: dict[bytes, dict[Peer, Held]] = {}
        self._named: set[bytes] = set()
        self._left: set[tuple[Peer, bytes]] = set()
        """Unsubscribed before the subscription was known."""
        self._spare: dict[bytes, dict[Peer, int]] = {}
        """Channel -> who ended one of several subscriptions to it, and how many of them may be left."""
        self._due: dict[Peer, dict[tuple[bytes, bytes], Due]] = {}
        self._sent: dict[tuple[Peer, Peer, bytes], list[bytes]] = {}
        """(subscriber, publisher, channel) -> payloads in order."""
        self._came: dict[Peer, list[bytes]] = {}
        self._published = 0
        """The latest instant of the last PUBLISH, ns."""

    def connected(self, peer: Peer) -> None:
        """Add the automatic subscriptions of a new connection (T35)."""
        if self.automatic:
            self._held.setdefault(EVERYBODY, {})[peer] = Held()

    def named(self, peer: Peer) -> None:
        """Add the subscription to the channel of a connection's id once it is known, unless it unsubscribed."""
        if self.automatic and peer.id is not None:
            name = peer.id.hex().encode()
            self._named.add(name)
            if peer in self._held.get(name, {}):
                self._held[name][peer].times += 1
            elif (peer, name) not in self._left:
                self._held.setdefault(name, {})[peer] = Held()

    def subscribed(self, peer: Peer, request: Subscribe, reply: Message) -> Disagreement | None:
        """Judge the answer to SUBSCRIBE; an empty name (T31) and a repetition (T29) may be refused."""
        self._named.add(request.channel)
        channel = self._held.setdefault(request.channel, {})
        if is_refused(reply):
            is_repeated = peer in channel or peer in self._spare.get(request.channel, {})
            if is_repeated or not request.channel or self._is_full(peer, surely=False):
                return None
            detail = f"SUBSCRIBE to {request.channel.hex()}, not held, is refused"
            return Disagreement(detail, "SUBSCRIBE refused", "THR-SUBSCRIBE-5")
        if peer in channel:
            channel[peer].times += 1
        elif self._is_full(peer, surely=True):
            return Disagreement(f"SUBSCRIBE to {request.channel.hex()}, one too many: 01", "SUBSCRIBE too many", None)
        else:
            channel[peer] = Held(1 + self._spare.get(request.channel, {}).pop(peer, 0))
        return None

    def _is_full(self, peer: Peer, *, surely: bool) -> bool:
        """Say whether a connection has as many subscriptions as it may; repeated ones may count (T29)."""
        if self.most is None:
            return False
        held = [one[peer].times for one in self._held.values() if peer in one]
        spare = sum(one.get(peer, 0) for one in self._spare.values())
        return (len(held) if surely else sum(held) + spare + (peer.id is None)) >= self.most

    def unsubscribed(self, peer: Peer, request: Unsubscribe, reply: Message) -> Disagreement | None:
        """Judge the answer to UNSUBSCRIBE; open without a subscription (T29) and for automatic ones (UNSUBSCRIBE-9)."""
        channel = self._held.get(request.channel, {})
        own = (EVERYBODY, peer.id.hex().encode() if peer.id else b"")
        spare = self._spare.setdefault(request.channel, {})
        if not is_refused(reply):
            held = channel.pop(peer, None)
            if held is None and peer.id is None:
                self._left.add((peer, request.channel))
            spare[peer] = (held.times if held is not None else spare.get(peer, 0)) - 1
        elif peer in channel and not (self.automatic and request.channel in own):
            detail = f"UNSUBSCRIBE from {request.channel.hex()}, held, is refused"
            return Disagreement(detail, "UNSUBSCRIBE refused", "THR-UNSUBSCRIBE-5")
        if is_refused(reply) or spare[peer] <= 0:
            spare.pop(peer, None)
        return None

    def published(self, peer: Peer, request: Publish, reply: Message, at: Window) -> Disagreement | None:
        """Judge the answer to PUBLISH, and add the expected pushes."""
        sure, perhaps = self._holders(request.channel, at)
        others = [one for one in sure if one is not peer]
        refused, detail = is_refused(reply), f"PUBLISH to {request.channel.hex() or 'the empty channel'}"
        may_refuse = len(request.payload) in (0, self._max) or not request.channel or len(request.payload) > UNLIMITED
        if refused and not may_refuse:
            if others:
                return Disagreement(f"{detail}, held by {others[0].name}: 00", "PUBLISH refused", "THR-PUBLISH-7")
            if self.automatic and request.channel == EVERYBODY and sure:
                return Disagreement(f"{detail}, held by oneself: 00", "PUBLISH to * refused", "THR-PUBLISH-11")
        if not refused and not perhaps and not self._is_open_to_others(request.channel):
            return Disagreement(f"{detail}, held by nobody: 01", "PUBLISH to nobody accepted", "THR-PUBLISH-8")
        self._published = at.until
        for one, times in perhaps.items():
            must = one in others and not refused
            self._expect(one, request, least=int(must), most=times if not refused or one is peer else 0)
            self._sent.setdefault((one, peer, request.channel), []).append(request.payload)
        return None

    def _is_open_to_others(self, name: bytes) -> bool:
        """Return whether others may be subscribed to a channel, or publish to it."""
        return self._shared and (name == EVERYBODY or not self.is_ours(name))

    def _may_be_of_others(self, peer: Peer, name: bytes, payload: bytes) -> bool:
        """Return whether somebody else may have published a push, or it is about an id that may be that of `peer`."""
        if not self._names_channel or not self._is_open_to_others(name):
            return False
        return not self.is_our_payload(payload) or (peer.id is None and len(name) == HEX_ID)

    def _expect(self, peer: Peer, request: Publish, *, least: int, most: int) -> None:
        name = request.channel if self._names_channel else b""
        due = self._due.setdefault(peer, {}).setdefault((name, request.payload), Due())
        due.least += least
        due.most += most

    def _holders(self, name: bytes, at: Window) -> tuple[Copies, Copies]:
        """Return the connections that are certainly subscribed to a channel, and those that may be."""
        held = self._held.get(name, {})
        times = {**self._spare.get(name, {}), **{peer: one.times for peer, one in held.items()}}
        perhaps = {peer: most for peer, most in times.items() if self._peers.may_be_there(peer, at)}
        sure = {peer: most for peer, most in perhaps.items() if peer in held and self._peers.is_surely_there(peer, at)}
        if self.automatic and len(name) == HEX_ID:  # that of a connection which never asked for its id, maybe
            unknown = (peer for peer in self._peers if peer.id is None and self._peers.may_be_there(peer, at))
            perhaps = {**dict.fromkeys(unknown, 1), **perhaps}
        return sure, perhaps

    def pushed(self, peer: Peer, push: Message) -> None:
        """Count a push."""
        name: bytes = getattr(push, "channel", b"")
        payload: bytes = push.payload  # type: ignore[attr-defined]
        self._due.setdefault(peer, {}).setdefault((name, payload), Due()).came += 1
        self._came.setdefault(peer, []).append(payload)

    def due_message(self, peer: Peer) -> str | None:
        """Return a description of the first push that must still arrive; None if there is none."""
        for (name, payload), due in self._due.get(peer, {}).items():
            if due.came < due.least:
                return f"{_described(name, payload)} to {peer.name}"
        return None

    def due_clause(self, peer: Peer) -> str:
        """Return the clause that the first push breaks which must still arrive: it came with another name, or not."""
        dues = self._due.get(peer, {})
        late = next((payload for (_, payload), due in dues.items() if due.came < due.least), None)
        renamed = any(payload == late and due.came > due.most for (_, payload), due in dues.items())
        return "THR-PUSH-3" if renamed else "THR-PUSH-4"

    def forgive(self) -> None:
        """Expect nothing any more of what was published so far."""
        for settled in (self._due, self._sent, self._came):
            settled.clear()

    def unexpected(self, at: Window) -> Disagreement | None:
        """Judge the pushes that arrived; forget complete ones once nothing more of them can arrive."""
        for peer, dues in self._due.items():
            for (name, payload), due in dues.items():
                if due.came > due.most and not self._may_be_of_others(peer, name, payload):
                    detail = f"{peer.name} got {_described(name, payload)} {due.came} times, at most {due.most} are due"
                    return Disagreement(detail, "push not due", "THR-PUSH-6" if due.most else "THR-PUSH-5")
        wrong = self._out_of_order()
        if at.since >= self._published + self._tolerance and not any(map(self.due_message, self._due)):
            self.forgive()
        return wrong

    def _out_of_order(self) -> Disagreement | None:
        """Judge the order of what one connection published to one channel (PUSH-10), where payloads are unique."""
        everything = Counter((peer, one) for (peer, *_), payloads in self._sent.items() for one in payloads)
        for (peer, publisher, name), payloads in self._sent.items():
            came = [one for one in self._came.get(peer, ()) if one in payloads and everything[peer, one] == 1]
            once = [one for one in payloads if everything[peer, one] == 1 and came.count(one) == 1]
            if [one for one in came if one in once] != once:
                detail = f"{peer.name} got {[one.hex() for one in came]} of {publisher.name}, who published"
                words = f"{detail} {[one.hex() for one in payloads]} to {name.hex()}"
                return Disagreement(words, "pushes out of order", "THR-PUSH-10")
        return None

    def listed(self, reply: ChannelsReply, at: Window) -> Disagreement | None:
        """Judge the answer to CHANNELS; bytes are open (METRICS-11, METRICS-12)."""
        rows = {row.channel: row for fragment in reply.fragments for row in fragment.rows}
        names = [row.channel for fragment in reply.fragments for row in fragment.rows]
        wrong = misnumbered("CHANNELS", reply.fragments) or repeated("CHANNELS", names, "THR-CHANNELS-12")
        for name in self._held:
            least, most = self._number(name, at)
            got = rows[name].subscribed_connections if name in rows else 0
            if wrong is None and not (least <= got <= most or (self._is_open_to_others(name) and got >= least)):
                clause = "THR-CHANNELS-10" if self.automatic else "THR-CHANNELS-9"
                words = f"CHANNELS has {got} for {name.hex()}, expected {least} to {most}"
                wrong = Disagreement(words, "subscriptions of a channel", clause if got else "THR-CHANNELS-12")
        strange = [name for name in rows if name not in self._held and (name in self._named or not self._is_open(at))]
        if wrong is None and strange:
            wrong = Disagreement(f"CHANNELS lists {strange[0].hex()}", "channel of nobody listed", "THR-CHANNELS-13")
        return wrong

    def _is_open(self, at: Window) -> bool:
        """Return whether there may be channels that the model cannot know."""
        unknown = (peer for peer in self._peers if peer.id is None and self._peers.may_be_there(peer, at))
        return self._shared or (self.automatic and any(unknown))

    def _number(self, name: bytes, at: Window) -> tuple[int, int]:
        """Return the bounds of a channel's number: connections, or subscriptions (T7, T29)."""
        sure, perhaps = self._holders(name, at)
        return len(sure), sum(perhaps.values())

    def found(self, request: Channel, reply: Message, at: Window) -> Disagreement | None:
        """Judge the answer to CHANNEL: a row for every subscriber and nobody else."""
        sure, perhaps = self._holders(request.channel, at)
        detail = f"CHANNEL {request.channel.hex()}"
        if not isinstance(reply, ChannelReply):
            if sure:
                return Disagreement(f"{detail}: none, held by {len(sure)}", "channel not found", "THR-CHANNEL-12")
            return None
        ids = Counter(row.connection_id for row in reply.subscribers)
        if not ids and self.automatic:
            return Disagreement(f"{detail}: 01 without rows", "channel of nobody found", "THR-CHANNEL-15")
        missing = [peer.name for peer in sure if peer.id is not None and not ids[peer.id]]
        if missing:
            return Disagreement(f"{detail} lacks {missing[0]}", "subscriber missing", "THR-CHANNEL-12")
        known = {peer.id: times for peer, times in perhaps.items()}
        if request.channel in {one.hex().encode() for one in ids} and self._is_open(at):
            known.setdefault(bytes.fromhex(request.channel.decode()), 1)  # of a connection that never asked for its id
        if not self._is_open_to_others(request.channel) and None not in known:
            strange = [one for one, times in ids.items() if times > known.get(one, 0)]
            if strange:
                words = f"{detail} has {ids[strange[0]]} rows of {strange[0].hex()}"
                return Disagreement(words, "row of no subscriber", "THR-CHANNEL-13")
        return self._times_stand(request.channel, reply)

    def _times_stand(self, name: bytes, reply: ChannelReply) -> Disagreement | None:
        """Judge that the beginning of a subscription does not change (CHANNEL-8), in any unit (T42)."""
        by_id = {peer.id: held for peer, held in self._held.get(name, {}).items()}
        for row in reply.subscribers:
            held = by_id.get(row.connection_id)
            if held is None:
                continue
            if row.subscribed_at not in held.since and len(held.since) >= held.times:
                detail = f"a subscription to {name.hex()} began at {held.since}, now it is {row.subscribed_at}"
                return Disagreement(detail, "subscribed at changed", "THR-CHANNEL-8")
            held.since.add(row.subscribed_at)
        return None

    def counted(self, at: Window) -> dict[str, tuple[int, int]]:
        """Return field of INFO -> its bounds (INFO-26 to INFO-28)."""
        both = [self._holders(name, at) for name in self._held]
        most = sum(times for _, perhaps in both for times in perhaps.values())
        found = {"subscriptions": (sum(len(sure) for sure, _ in both), most)}
        if not self.automatic:
            found["channels"] = sum(bool(sure) for sure, _ in both), sum(bool(perhaps) for _, perhaps in both)
        return {} if self._is_open(at) and not self._shared else found


def _described(name: bytes, payload: bytes) -> str:
    return f"the message {payload.hex() or 'without bytes'}{f' of {name.hex()}' if name else ''}"
