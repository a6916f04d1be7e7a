"""What wire mutants do to handlers: requests are changed before they are handled, replies before they are written.

Handlers are those of any protocol's reference server: (request, who asks, now) -> a reply, its bytes, or several of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from wireproof.mutants.wire_operators import Operator, fitted
from wireproof.protocols.fields import Nested, Repeated, Rows
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.messages import Message, Request

__all__ = [
    "bytes_changed",
    "replies_changed",
    "requests_changed",
    "sizes_changed",
    "status_inverted",
    "written_otherwise",
]

Handler = Callable[[Any, Any, int], Any]
HandlerPatch = Callable[[Mapping[type[Request], Handler], Any], dict[type[Request], Handler]]
"""(correct handlers, state of the server) -> the handlers to replace; as in `Patch` of each reference server."""
NO_LIMIT = 1 << 62


def requests_changed(request: type[Request], field: str, operator: Operator) -> HandlerPatch:
    """Handle each `request` with another value in `field`."""

    def patch(correct: Mapping[type[Request], Handler], state: Any) -> dict[type[Request], Handler]:
        if request not in correct:
            return {}
        fields = state.codec.layout(request).fields
        return {request: lambda asked, *rest: correct[request](operator.changed(asked, field, fields), *rest)}

    return patch


def replies_changed(message: type[Message], field: str, operator: Operator) -> HandlerPatch:
    """Answer each `message`, also where it is part of a reply, with another value in `field`."""

    def edit(codec: Any, reply: Message) -> bytes:
        fields = codec.layout(message).fields
        return _encoded(codec, _each(codec, reply, message, lambda one: operator.changed(one, field, fields)))

    return _replying(message, edit)


def sizes_changed(message: type[Message], field: str, operator: Operator) -> HandlerPatch:
    """Answer the first `message` of a reply with another size or count before `field`, and what follows as it is.

    Both answers are the same up to that number: it is where they differ first, low byte first.
    """

    def edit(codec: Any, reply: Message) -> bytes:
        fields, right = codec.layout(message).fields, _encoded(codec, reply)
        size = getattr(kind := dict(fields)[field], "size", None) or kind.count
        found: list[Message] = []

        def first(one: Any) -> Any:
            wrong = operator.changed(one, field, fields)
            if found or len(getattr(wrong, field)) > size.maximum:
                return one
            found.append(wrong)
            return wrong

        other = _encoded(codec, _each(codec, reply, message, first))
        at = next((at for at, pair in enumerate(zip(right, other, strict=False)) if len(set(pair)) > 1), len(right))
        return right[:at] + other[at : at + size.width] + right[at + size.width :]

    return _replying(message, edit)


def written_otherwise(message: type[Message], field: str, operator: Operator) -> HandlerPatch:
    """Answer each `message`, also where it is part of a reply, with another kind of `field` in its layout."""

    def edit(codec: Any, reply: Message) -> bytes:
        other = _another_codec(codec.of, operator, codec.profile, codec.variant.name, message, field)
        fields = other.layout(message).fields
        return _encoded(other, _each(codec, reply, message, lambda one: fitted(one, fields)))

    return _replying(message, edit)


def status_inverted(request: type[Request]) -> HandlerPatch:
    """Answer the opposite of the status byte that `request` gets."""

    def patch(correct: Mapping[type[Request], Handler], state: Any) -> dict[type[Request], Handler]:
        def handle(asked: Any, asker: Any, now: int) -> bytes:
            answer = correct[request](asked, asker, now)
            data: bytes = answer if isinstance(answer, bytes) else state.codec.encode(answer)
            return bytes([data[0] ^ 1]) + data[1:]

        return {request: handle} if request in correct else {}

    return patch


def bytes_changed(message: type[Message], change: Callable[[bytes], bytes]) -> HandlerPatch:
    """Answer `change(bytes)` where a reply is a `message`."""

    def edit(codec: Any, reply: Message) -> bytes:
        data = _encoded(codec, reply)
        return change(data) if type(reply) is message else data

    return _replying(message, edit)


@cache
def _another_codec(codec_of: Any, operator: Operator, profile: Any, variant: str, message: Any, field: str) -> Any:
    return codec_of(operator.derived(profile, message, field), variant)


def _encoded(codec: Any, message: Message) -> bytes:
    data: bytes = codec.encode(message)
    return data


def _replying(message: type[Message], edit: Callable[[Any, Message], bytes]) -> HandlerPatch:
    """Answer `edit(codec, reply)` where a reply is, or holds, a `message`."""

    def patch(correct: Mapping[type[Request], Handler], state: Any) -> dict[type[Request], Handler]:
        codec = state.codec

        def answering(request: type[Request]) -> Handler:
            def edited(asked: Any, answer: Any) -> Any:
                reply = _reply(codec, asked, answer)
                return answer if reply is None or not _holds(codec, type(reply), message) else edit(codec, reply)

            def handle(asked: Any, asker: Any, now: int) -> Any:
                answer = correct[request](asked, asker, now)
                if isinstance(answer, tuple):
                    return tuple(edited(asked, one) for one in answer)
                return edited(asked, answer)

            return handle

        replies = codec.profile.replies
        return {
            one: answering(one) for one in correct if any(_holds(codec, it, message) for it in replies.get(one, ()))
        }

    return patch


def _reply(codec: Any, asked: Request, answer: Any) -> Message | None:
    """Return an answer as a message; None for what is no single reply."""
    if isinstance(answer, Message):
        return answer
    if not answer or not hasattr(codec, "decode_answer"):
        return None
    reply, _ = codec.decode_answer(answer, 0, len(answer), FrameContext(NO_LIMIT, request=asked))
    return reply  # type: ignore[no-any-return]


def _holds(codec: Any, whole: type[Message], message: type[Message]) -> bool:
    """Say whether `whole` is `message` or has it in a table; what is nested whole is changed where it is answered."""
    if whole is message:
        return True
    parts = [kind for _, kind in codec.layout(whole).fields if not isinstance(kind, Nested)]
    return any(
        _holds(codec, kind.row if isinstance(kind, Rows) else kind.part, message)
        for kind in parts
        if isinstance(kind, Rows | Repeated)
    )


def _each(codec: Any, whole: Any, message: type[Message], change: Callable[[Any], Any]) -> Any:
    """Return `whole` with every `message` in it changed."""
    if type(whole) is message:
        return change(whole)
    tables = [name for name, kind in codec.layout(type(whole)).fields if isinstance(kind, Rows | Repeated)]
    values = {name: tuple(_each(codec, one, message, change) for one in getattr(whole, name)) for name in tables}
    return msgspec.structs.replace(whole, **values)
