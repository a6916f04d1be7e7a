"""Values that do not fit their fields are refused with the field, what fits and what came."""

from __future__ import annotations

from typing import Annotated, ClassVar

import pytest

from wireproof.protocols.fields import U8, Atom, Blob, Raw, Rest, Split, Terminated, Word
from wireproof.protocols.messages import Request
from wireproof.protocols.profile import Profile, Variant
from wireproof.reference_client.checks import check
from wireproof.reference_client.errors import BadRequestError, TooLongError, TooWideError


class Sized(Request, frozen=True):
    """Sizes of one byte, to be exceeded."""

    NAME: ClassVar[str] = "SIZED"
    number: Annotated[int, U8] = 0
    fixed: Annotated[bytes, Raw(2)] = b"ab"
    blob: Annotated[bytes, Blob(U8)] = b""
    topic: Annotated[bytes, Split(U8)] = b""
    rest: Annotated[bytes, Rest()] = b""


class Ended(Request, frozen=True):
    """As datagrams have it."""

    NAME: ClassVar[str] = "ENDED"
    login: Annotated[bytes, Terminated()] = b""
    rest: Annotated[bytes, Rest()] = b""


class ScriptedMessage(Request, frozen=True):
    """As s-expressions have it."""

    NAME: ClassVar[str] = "SAID"
    text: Annotated[bytes, Atom("text")] = b"\0"
    word: Annotated[int, Word(("One", "Two"))] = 0
    number: Annotated[int, Atom("number", minimum=-1, maximum=9)] = 0


VARIANT = Variant("only", {})
PROFILE = Profile(
    name="1",
    byte_order="<",
    variants={"only": VARIANT},
    leads={Sized: b"\x01", Ended: b"\x02", ScriptedMessage: b"Said"},
    replies={Sized: (), Ended: (), ScriptedMessage: ()},
    pushes=(),
)


def checked(request: Request) -> None:
    check(request, PROFILE.layout(type(request), VARIANT))


@pytest.mark.parametrize(
    "request_",
    [
        Sized(),
        Sized(255, b"\0\0", bytes(255), b"t" * 100, bytes(154)),
        Ended(b"l" * 1000, bytes(1000)),
        ScriptedMessage(),
        ScriptedMessage(bytes(100_000), 1, -1),
    ],
)
def test_what_fits_is_let_through(request_: Request) -> None:
    checked(request_)


@pytest.mark.parametrize(
    ("request_", "error", "detail"),
    [
        (Sized(256), TooWideError, "SIZED.number: expected at most 255, got 256"),
        (Sized(-1), BadRequestError, "SIZED.number: expected an integer from 0 to 255, got -1"),
        (Sized(fixed=b"abc"), BadRequestError, "SIZED.fixed: expected 2 bytes, got 3 bytes"),
        (Sized(blob=bytes(256)), TooLongError, "SIZED.blob: expected at most 255 bytes, got 256"),
        (Sized(topic=b"t" * 100, rest=bytes(155)), TooLongError, "SIZED.topic and rest: expected at most 255"),
        (Sized(topic=b"a\0b"), BadRequestError, "SIZED.topic: expected bytes without 00, got one at 1"),
        (Ended(b"\0"), BadRequestError, "ENDED.login: expected bytes without 00, got one at 0"),
        (ScriptedMessage("text"), BadRequestError, "SAID.text: expected bytes, got a value of type str"),  # type: ignore[arg-type]
        (ScriptedMessage(word=2), TooWideError, "SAID.word: expected at most 1, got 2"),
        (ScriptedMessage(number=-2), BadRequestError, "SAID.number: expected an integer from -1 to 9, got -2"),
        (ScriptedMessage(number=10), TooWideError, "SAID.number: expected at most 9, got 10"),
        (Ended(rest="text"), BadRequestError, "ENDED.rest: expected bytes, got a value of type str"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_is_refused(request_: Request, error: type[Exception], detail: str) -> None:
    with pytest.raises(error) as refused:
        checked(request_)

    assert type(refused.value) is error
    assert str(refused.value).startswith(detail)
