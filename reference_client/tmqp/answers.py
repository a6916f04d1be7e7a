"""What an answer says of its request: that it was done, or why not."""

from __future__ import annotations

from collections.abc import Iterable

from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp import Header, ResultCode
from wireproof.protocols.tmqp.replies import Confirmation, QueueMessage, Response
from wireproof.protocols.tmqp.requests import SendDirect
from wireproof.reference_client.errors import AccessError, RefusedError

__all__ = ["Answer", "accepted", "header"]

Answer = Response | Confirmation | QueueMessage
ENDS_OF_PULLS = (b"End", b"Empty")
"""What a pull ends with that went well."""


def header(headers: Iterable[Header], name: bytes) -> bytes | None:
    """Return the value of the first header of that name, whose case does not matter; None where there is none."""
    return next((one.value for one in headers if one.name.lower() == name.lower()), None)


def accepted(request: Message, answer: Message) -> Answer:
    """Return an answer that says that `request` was done.

    What another client responds is returned whatever it says. Raises AccessError for 401, RefusedError for any other
    failure; both have the answer.
    """
    match answer:
        case Response(content_type=ResultCode.OK):
            return answer
        case Response(source=source) if isinstance(request, SendDirect) and source:
            return answer
        case Response(content_type=code):
            kind = AccessError if code == ResultCode.UNAUTHORIZED else RefusedError
            raise kind(f"{request.NAME}: the server answered {_name(code)}", answer)
        case Confirmation(headers=headers):
            reason = header(headers, b"Nack-Reason")
            if reason is not None:
                raise RefusedError(f"{request.NAME}: a negative acknowledgement: {_text(reason)}", answer)
            return answer
    assert isinstance(answer, QueueMessage)
    end = header(answer.headers, b"No-Content") or b""
    if end not in ENDS_OF_PULLS:
        raise RefusedError(f"{request.NAME}: the server answered {_text(end) or 'a message with content'}", answer)  # type: ignore[arg-type]
    return answer


def _name(code: int) -> str:
    return f"{code} {ResultCode(code).name}" if code in list(ResultCode) else str(code)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
