"""The bytes of the requests that may be sent on a connection now: all of them, or those up to an illegal one."""

from __future__ import annotations

from wireproof.fuzz.invariants.spelling import spelled
from wireproof.fuzz.live.context import FuzzContext
from wireproof.protocols import LocalProtocolError, Request
from wireproof.protocols.connection import Client
from wireproof.reference_server.model import ServerModel

__all__ = ["RequestWriter", "Written"]

Written = list[tuple[Request, bytes]]


class RequestWriter:
    """Writes requests on our side of connections; with `is_shared` none that begin TLS."""

    def __init__(self, context: FuzzContext, model: ServerModel, *, is_shared: bool) -> None:
        self._context, self._model, self._is_shared = context, model, is_shared

    def written(self, client: Client, link: str, requests: tuple[Request, ...], number: int) -> tuple[Written, bool]:
        """Return the requests that may be sent now, with their bytes, and whether TLS begins after them.

        Where requests depend on earlier ones, those up to an illegal one or to TLS; elsewhere all or none. `number` is
        that of the step: some requests are spelled in several ways.
        """
        found = Written()
        try:
            if not self._context.by_state:
                found = [(one, self._context.encode(one)) for one in requests]
                for one in requests:
                    client.await_reply(one)
                return found, False
            kind = self._context.symbols.protocol.link_of(link)
            for one in requests:
                if self._may_be_misread(link, [asked for asked, _ in found], one):
                    return found, False
                found.append((one, spelled(self._context.symbols.codec, kind, one, client.send(one), number)))
                if kind.tls and _begins_tls(client):
                    return (found, True) if not self._is_shared else ([], False)
        except LocalProtocolError:
            return found if self._context.by_state else [], False
        return found, False

    def _may_be_misread(self, link: str, before: list[Request], request: Request) -> bool:
        """Say whether what comes of earlier requests, which are not answered unless they fail, could answer this."""
        replies = self._context.symbols.codec.profile.replies
        is_open = self._model.expects_answers and self._context.symbols.protocol.link_of(link).answers_in_order
        return is_open and bool(replies[type(request)]) and not all(replies[type(one)] for one in before)


def _begins_tls(client: Client) -> bool:
    """Go on inside TLS on our side, if the last request asked for it."""
    try:
        client.start_tls()
    except LocalProtocolError:
        return False
    return True
