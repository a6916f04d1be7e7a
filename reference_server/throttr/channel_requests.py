"""Handlers of SUBSCRIBE, UNSUBSCRIBE, PUBLISH, CHANNELS and CHANNEL.

A message is pushed to every subscription at once: to other connections after their current answers, and to the
publisher itself, if the profile delivers to it (T12), before its status byte.
"""

from __future__ import annotations

from collections.abc import Iterator

from wireproof.protocols.throttr.replies import (
    ChannelReply,
    ChannelsFragment,
    ChannelsReply,
    ChannelsRow,
    PushedEvent,
    Subscriber,
)
from wireproof.protocols.throttr.requests import Channel, Channels, Publish, Subscribe, Unsubscribe
from wireproof.reference_server.throttr.fragments import cut
from wireproof.reference_server.throttr.listings import row_size
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handlers, State

__all__ = ["ChannelRequests"]


class ChannelRequests:
    """The handlers of requests about channels."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._channels = state.channels
        self._rules = state.rules
        self._row_size = row_size(state, ChannelsRow)
        (push,) = state.codec.profile.pushes
        self._names_channel = push is PushedEvent
        self._pack_push = state.packer(push)

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {
            Subscribe: self.subscribe,
            Unsubscribe: self.unsubscribe,
            Publish: self.publish,
            Channels: self.channels,
            Channel: self.channel,
        }

    def subscribe(self, request: Subscribe, session: ThrottrSession, now: int) -> bytes:
        """Add a subscription; accept a repeated one (T29), refuse one beyond the limit of a connection."""
        if request.channel in session.subscriptions and not self._rules.duplicate_subscriptions:
            return ACCEPTED
        if session.subscribed >= self._state.limits.max_subscriptions:
            return DENIED
        self._channels.add(request.channel, session, self._state.wall(now))
        return ACCEPTED

    def unsubscribe(self, request: Unsubscribe, session: ThrottrSession, now: int) -> bytes:
        """End every subscription of the connection to the channel."""
        return ACCEPTED if self._channels.remove(request.channel, session) else DENIED

    def publish(self, request: Publish, session: ThrottrSession, now: int) -> bytes:
        """Push to the subscribers; answer 01 if there is one (T10)."""
        payload, size = request.payload, len(request.payload)
        if session.subscriptions.get(request.channel) or self._rules.published_counted == "always":
            session.published_bytes += size
        subscriptions = self._channels.of(request.channel)
        if not subscriptions:
            return DENIED
        frame = self._frame(request.channel, payload)
        delivered, own = 0, 0
        for subscription in subscriptions:
            if subscription.session is not session:
                subscription.session.push(frame, size)
            else:
                if self._rules.channel_writes_counted:
                    subscription.write_bytes += size
                if not self._rules.deliver_to_publisher:
                    continue
                own += 1
            subscription.read_bytes += size
            delivered += 1
        if own:
            session.push_to_itself(frame, own, size)
        return ACCEPTED if delivered else DENIED

    def _frame(self, channel: bytes, payload: bytes) -> bytes:
        if self._names_channel:
            return self._pack_push(len(channel), len(payload)) + channel + payload
        return self._pack_push(len(payload)) + payload

    def channels(self, request: Channels, session: ThrottrSession, now: int) -> bytes:
        """Answer a row for each channel."""
        fragments = tuple(ChannelsFragment(*part) for part in cut(self._rows()))
        return self._state.codec.encode(ChannelsReply(fragments))

    def _rows(self) -> Iterator[tuple[int, ChannelsRow]]:
        for name, subscriptions in self._channels:
            read = sum(subscription.read_bytes for subscription in subscriptions)
            written = sum(subscription.write_bytes for subscription in subscriptions)
            weight = self._row_size + (len(name) if self._rules.channel_names_weigh else 0)
            yield weight, ChannelsRow(name, read, written, len(subscriptions))

    def channel(self, request: Channel, session: ThrottrSession, now: int) -> bytes:
        """Answer a row for each subscription of one channel; 00 if it has none."""
        subscriptions = self._channels.of(request.channel)
        if not subscriptions:
            return DENIED
        rows = tuple(Subscriber(one.session.id, one.since, one.read_bytes, one.write_bytes) for one in subscriptions)
        return self._state.codec.encode(ChannelReply(rows))
