"""Turns the response code of an answer into a result or an error."""

from __future__ import annotations

from wireproof.protocols.messages import Reply
from wireproof.protocols.psrt import ResponseCode
from wireproof.protocols.psrt.replies import DatagramReply, Response
from wireproof.reference_client.errors import AccessError, BadReplyError, RefusedError

__all__ = ["accepted"]


def accepted(what: str, reply: Reply, *also: ResponseCode) -> ResponseCode:
    """Return the code if it is OK or one of `also`; `what` names the request in messages.

    Raises AccessError for ERR_ACCESS, RefusedError for other codes, and BadReplyError for an unknown one.
    """
    assert isinstance(reply, Response | DatagramReply)
    if reply.code not in list(ResponseCode):
        raise BadReplyError(f"{what}: expected a response code, got {reply.code:02x}")
    code = ResponseCode(reply.code)
    if code is ResponseCode.OK or code in also:
        return code
    if code is ResponseCode.ERR_ACCESS:
        raise AccessError(f"{what}: access denied", reply)
    raise RefusedError(f"{what}: the server answered {code.name}", reply)
