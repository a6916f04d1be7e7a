"""A client that is logged in; it outlives its data sockets and ends with its control socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wireproof.reference_server.psrt.rights import Rights

if TYPE_CHECKING:
    from wireproof.reference_server.psrt.session import PsrtSession

__all__ = ["Client"]


class Client:
    """One login, with the rights of the moment at which it was made."""

    __slots__ = ("data", "is_spent", "login", "rights", "token", "waiting_for")

    def __init__(self, login: str, rights: Rights, token: bytes) -> None:
        self.login, self.rights, self.token = login, rights, token
        self.data: PsrtSession | None = None
        """The data socket with its token; without one, messages are dropped."""
        self.is_spent = False
        """Whether the token can never be attached again."""
        self.waiting_for = ""
        """The topic of a replication whose message has not arrived yet."""

    def deliver(self, frame: bytes) -> None:
        """Send an encoded push to the data socket, if there is one."""
        if self.data is not None and self.data.feed is not None:
            self.data.feed.push(frame)
