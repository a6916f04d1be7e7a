"""Handlers of the server operations about channels, clients and nodes."""

from __future__ import annotations

from collections.abc import Iterable

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.tmqp import ResultCode
from wireproof.protocols.tmqp.bodies import (
    ChannelInformation,
    ChannelList,
    ChannelOptions,
    ClientInformation,
    ClientList,
    NodeInformation,
    NodeList,
)
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.requests import (
    ChannelInfo,
    CreateChannel,
    DeleteChannel,
    Join,
    Leave,
    ListChannels,
    ListClients,
    ListConsumers,
    ListNodes,
    Operation,
)
from wireproof.reference_server.tmqp.channel import Channel
from wireproof.reference_server.tmqp.channels import Channels
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.headers import ANY, filtered, header, is_channel_name, text
from wireproof.reference_server.tmqp.session import TmqpSession
from wireproof.reference_server.tmqp.settings import SettingsError
from wireproof.reference_server.tmqp.state import Answer, Handlers, RefusedError, State

__all__ = ["Operations", "wrong"]

MS = 1_000_000


def wrong(state: State, request: RequestFrame, client: Client, code: int, why: object) -> Answer:
    """Answer what cannot be done. Raises `RefusedError` where released servers close instead (E27)."""
    if not state.rules.answers_bad_requests:
        raise RefusedError(str(why))
    return state.answer(request, client, code)


class Operations:
    """The handlers of channels, clients and nodes."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._channels = Channels(state)

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {
            CreateChannel: self.create_channel,
            DeleteChannel: self.delete_channel,
            ListChannels: self.list_channels,
            ChannelInfo: self.channel_info,
            ListConsumers: self.list_consumers,
            Join: self.join,
            Leave: self.leave,
            ListNodes: self.list_nodes,
            ListClients: self.list_clients,
            Operation: self.unknown,
        }

    def create_channel(self, request: CreateChannel, session: TmqpSession, now: int) -> Answer:
        """Create a channel, with options if there are any (E28).

        Raises `RefusedError` for what released servers close on.
        """
        state, client = self._state, session.known
        if not is_channel_name(request.target):
            return wrong(state, request, client, ResultCode.UNACCEPTABLE, "a name that no channel may have")
        if state.channel(request.target) is not None:
            return state.answer(request, client, ResultCode.DUPLICATE) if state.rules.answers_duplicates else None
        settings = state.settings
        if request.payload:
            try:
                options = state.codec.decode(ChannelOptions, request.payload)
                assert isinstance(options, ChannelOptions)
                settings = settings.changed(options, has_limits=state.rules.has_limits)
            except (MalformedFrameError, SettingsError) as error:
                return wrong(state, request, client, ResultCode.BAD_REQUEST, error)
        if self._channels.create(request.target, settings) is None:
            return state.answer(request, client, ResultCode.LIMIT_EXCEEDED)
        if request.payload and not state.rules.keeps_after_options:
            session.finish("a channel was created with options")
        return state.answer(request, client, ResultCode.OK)

    def delete_channel(self, request: DeleteChannel, session: TmqpSession, now: int) -> Answer:
        """Delete a channel with its queues."""
        refused, channel = self._found(request, session)
        if channel is None:
            return refused
        self._channels.remove(channel)
        return self._state.answer(request, session.known, ResultCode.OK)

    def list_channels(self, request: ListChannels, session: TmqpSession, now: int) -> Answer:
        """Describe the channels that pass the filter (E30). Raises `RefusedError` as `_check`."""
        state, client = self._state, session.known
        if not client.is_admin:
            return state.answer(request, client, ResultCode.UNAUTHORIZED)
        wanted = header(request.headers, b"channel-name") or b""
        if state.rules.filters_by_target:
            wanted = request.target or wanted
        self._check(wanted, [one.name for one in state.channels.values()])
        rows = tuple(_channel(one) for one in state.channels.values() if filtered(wanted, one.name))
        return state.answer(request, client, ResultCode.OK, state.codec.encode(ChannelList(rows)))

    def channel_info(self, request: ChannelInfo, session: TmqpSession, now: int) -> Answer:
        """Describe a channel."""
        refused, channel = self._found(request, session)
        if channel is None:
            return refused
        payload = self._state.codec.encode(_channel(channel))
        return self._state.answer(request, session.known, ResultCode.OK, payload)

    def list_consumers(self, request: ListConsumers, session: TmqpSession, now: int) -> Answer:
        """Describe the members of a channel."""
        refused, channel = self._found(request, session, always=False)
        if channel is None:
            return refused
        rows = tuple(_client(one, now) for one in channel.members)
        return self._state.answer(request, session.known, ResultCode.OK, self._state.codec.encode(ClientList(rows)))

    def join(self, request: Join, session: TmqpSession, now: int) -> Answer:
        """Join a channel; what is stored there may come before the answer."""
        state, client = self._state, session.known
        channel = state.channel(request.target)
        if channel is None and state.options["auto_channels"] and is_channel_name(request.target):
            channel = self._channels.create(request.target, state.settings)
        if channel is None:
            return state.answer(request, client, ResultCode.NOT_FOUND)
        limit = channel.settings.client_limit
        if client not in channel.members:
            if limit and len(channel.members) >= limit:
                return state.answer(request, client, ResultCode.LIMIT_EXCEEDED)
            self._channels.join(channel, client)
        return state.answer(request, client, ResultCode.OK)

    def leave(self, request: Leave, session: TmqpSession, now: int) -> Answer:
        """Leave a channel."""
        state, client = self._state, session.known
        channel = state.channel(request.target)
        if channel is None or client not in channel.members:
            return state.answer(request, client, ResultCode.NOT_FOUND)
        self._channels.leave(channel, client)
        return state.answer(request, client, ResultCode.OK)

    def list_nodes(self, request: ListNodes, session: TmqpSession, now: int) -> Answer:
        """Describe the nodes that are linked."""
        state, client = self._state, session.known
        if not client.is_admin:
            return state.answer(request, client, ResultCode.UNAUTHORIZED)
        rows = tuple(
            NodeInformation(
                text(node.id), text(node.name), text(node.host), node.is_slave, True, (now - node.since_ns) // MS
            )
            for node in state.nodes
        )
        return state.answer(request, client, ResultCode.OK, state.codec.encode(NodeList(rows)))

    def list_clients(self, request: ListClients, session: TmqpSession, now: int) -> Answer:
        """Describe the clients whose type passes the filter. Raises `RefusedError` as `_check`."""
        state, client = self._state, session.known
        if not client.is_admin:
            return state.answer(request, client, ResultCode.UNAUTHORIZED)
        self._check(request.target, [one.type for one in state.clients.values()])
        rows = tuple(_client(one, now) for one in state.clients.values() if filtered(request.target, one.type))
        return state.answer(request, client, ResultCode.OK, state.codec.encode(ClientList(rows)))

    def _check(self, wanted: bytes, names: Iterable[bytes]) -> None:
        """Raise `RefusedError` for a filter that a release closes on, where there is a name to pass it (E30)."""
        if wanted == ANY and any(names) and not self._state.rules.takes_star_filter:
            raise RefusedError("a filter of nothing")

    def unknown(self, request: Operation, session: TmqpSession, now: int) -> Answer:
        """Answer that there is no such operation; released servers say nothing."""
        if not self._state.rules.answers_bad_requests:
            return None
        return self._state.answer(request, session.known, ResultCode.BAD_REQUEST)

    def _found(
        self, request: RequestFrame, session: TmqpSession, *, always: bool = True
    ) -> tuple[Answer, Channel | None]:
        """Return the channel in target, or the answer where there is none or the client is no administrator."""
        state, client = self._state, session.known
        if not client.is_admin:
            return state.answer(request, client, ResultCode.UNAUTHORIZED), None
        channel = state.channel(request.target)
        if channel is None:
            return state.answer(request, client, ResultCode.NOT_FOUND, always=always), None
        return None, channel


def _channel(channel: Channel) -> ChannelInformation:
    settings, queues = channel.settings, channel.settings.queues
    return ChannelInformation(
        Name=text(channel.name),
        Queues=tuple(channel.queues),
        AllowMultipleQueues=settings.many_queues,
        AllowedQueues=tuple(sorted(settings.allowed)) or None,
        OnlyFirstAcquirer=queues.only_first,
        RequestAcknowledge=queues.request_ack,
        AcknowledgeTimeout=queues.ack_timeout,
        MessageTimeout=queues.message_timeout,
        UseMessageId=queues.use_id,
        WaitForAcknowledge=queues.wait_ack,
        HideClientNames=queues.hide_names,
        ActiveClients=len(channel.members),
        ClientLimit=settings.client_limit,
        QueueLimit=settings.queue_limit,
        DestroyWhenEmpty=settings.destroy_empty,
    )


def _client(client: Client, now: int) -> ClientInformation:
    return ClientInformation(text(client.id), text(client.name), text(client.type), (now - client.since_ns) // MS, True)
