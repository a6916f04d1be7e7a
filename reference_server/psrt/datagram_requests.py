"""Handlers of datagrams, in clear and encrypted (facts 1.9 and 1.10)."""

from __future__ import annotations

from dataclasses import dataclass

from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.psrt import Codec, ResponseCode, UnfinishedTopicError
from wireproof.protocols.psrt.enums import PROTOCOL_VERSION, DatagramOperation
from wireproof.protocols.psrt.replies import DatagramReply
from wireproof.protocols.psrt.requests import Content, Datagram, Sealed
from wireproof.protocols.psrt.sealing import OpeningError, open_sealed
from wireproof.reference_server.psrt.control_requests import text
from wireproof.reference_server.psrt.rights import Rights
from wireproof.reference_server.psrt.state import Answer, Handlers, RefusedError, State
from wireproof.reference_server.psrt.topics import depth, is_mask, normalised
from wireproof.reference_server.service import Peer

__all__ = ["DatagramRequests", "Sender"]

UNFINISHED = b"\xff"
"""Stands for a topic without 00 after it; it is not valid UTF-8."""


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a datagram."""

    peer: Peer
    size: int
    """Bytes of the datagram."""


class DatagramRequests:
    """The handlers of datagrams."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {Datagram: self.plain, Sealed: self.sealed}

    def plain(self, request: Datagram, sender: Sender, now: int) -> Answer:
        """Publish for a login with a password."""
        login, password = text(request.login, "login"), text(request.password, "password")
        content = Content(request.op, request.priority, request.topic, request.message)
        checked(content, self._state)
        return self._answered(content, self._publish(content, self._state.accounts.login(login, password), sender))

    def sealed(self, request: Sealed, sender: Sender, now: int) -> Answer:
        """Publish for a login with a key; a repeated datagram is another message (P30).

        Raises `RefusedError` for a datagram that is never answered.
        """
        found = self._state.accounts.sealed_by(text(request.login, "login"))
        if found is None:
            raise RefusedError("unknown login")
        key, rights = found
        try:
            opened = open_sealed(key=key, nonce=request.nonce, encryption=request.encryption, sealed=request.sealed)
            content = _content(self._state.codec, opened)
        except (OpeningError, MalformedFrameError) as error:
            raise RefusedError(str(error)) from None
        checked(content, self._state)
        return self._answered(content, self._publish(content, rights, sender))

    def _publish(self, content: Content, rights: Rights | None, sender: Sender) -> ResponseCode:
        if rights is None:
            return ResponseCode.ERR_ACCESS
        if sender.size > self._state.options["udp_frame_size"]:
            return ResponseCode.ERROR
        try:
            topic = normalised(content.topic.decode())
        except UnicodeDecodeError:
            return ResponseCode.ERROR
        if depth(topic) > self._state.max_depth or is_mask(topic):
            return ResponseCode.ERROR
        if not rights.may_publish(topic):
            return ResponseCode.ERR_ACCESS
        self._state.publish(topic, content.priority, content.message)
        self._state.flush()
        return ResponseCode.OK

    def _answered(self, content: Content, code: ResponseCode) -> Answer:
        """Return the answer if the operation asks for one (P21)."""
        return DatagramReply(PROTOCOL_VERSION, code) if content.op == DatagramOperation.PUBLISH else b""


def checked(content: Content, state: State) -> None:
    """Check a datagram's content. Raises RefusedError for content that is never answered."""
    if content.op not in list(DatagramOperation):
        raise RefusedError(f"unknown operation {content.op:02x}")
    if not content.topic:
        raise RefusedError("expected a topic, got none")
    if content.priority == 0 and state.rules.datagram_priority_ends_topic:
        raise RefusedError("priority 00")


def unfinished(error: UnfinishedTopicError) -> Datagram:
    """Return a datagram whose topic has no end as one with an invalid topic."""
    return Datagram(PROTOCOL_VERSION, 0, error.login, error.password, error.op, 1, UNFINISHED, b"")


def _content(codec: Codec, opened: bytes) -> Content:
    try:
        return codec.decode_content(opened)
    except UnfinishedTopicError as error:
        return Content(error.op, 1, UNFINISHED, b"")
