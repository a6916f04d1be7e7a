"""The model of the PSRT document names what a push breaks that is missing, differs, or comes although it must not."""

from __future__ import annotations

import pytest

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.psrt.replies import DataGreetingReply, GreetingReply, PushedMessage, Response, Token
from wireproof.protocols.psrt.requests import Attach, DataGreeting, Greeting, Login, Publish, Subscribe, Unsubscribe
from wireproof.reference_server.model import ServerModel, Window
from wireproof.reference_server.registry import server_model_of

NOW = Window(0, 0)
TOKEN = bytes(range(32))
OK, BAD = Response(0x01), Response(0xFF)
SUBSCRIBED = (Subscribe(b"t\0t/+"), OK)
PUBLISHED = (Publish(7, b"t", b"m"), OK)


def told(*asked: tuple[Request, Message]) -> ServerModel:
    """Return a model of a client a with its data socket d, after what a asked and was answered."""
    found = server_model_of("psrt", profile="1", variant="standard", tolerance_ns=0, shared=True)
    attached = ((DataGreeting(0), DataGreetingReply(1)), (Attach(TOKEN, 240), OK))
    opened: dict[str, tuple[tuple[Request, Message], ...]] = {
        "a": ((Greeting(0), GreetingReply(1)), (Login(b"", b""), Token(TOKEN))),
        "d": attached,
    }
    for name, link in (("a", "control"), ("d", "data")):
        found.connect(name, NOW, None, link)
        for request, reply in opened[name]:
            assert found.answered(name, request, reply, NOW) is None
    for request, reply in asked:
        assert found.answered("a", request, reply, NOW) is None
    return found


@pytest.mark.parametrize(
    ("before", "clause"),
    [
        ((), "PSRT-MESSAGE-8"),
        (((Unsubscribe(b"t/+"), OK),), "PSRT-UNSUBSCRIBE-11"),
        (((Subscribe(b"x\0a/a/a/a/" + b"a/" * 40), BAD),), "PSRT-SUBSCRIBE-14"),
        (((Unsubscribe(b"t"), OK), (Subscribe(b"t"), OK)), "PSRT-MESSAGE-8"),
    ],
)
def test_what_does_not_come_breaks_what_left_it_as_it_was(before: tuple[tuple[Request, Message]], clause: str) -> None:
    found = told(SUBSCRIBED, *before, PUBLISHED)

    assert (found.due_message("d") is not None, found.due_clause("d")) == (True, clause)


@pytest.mark.parametrize(
    ("came", "clause"),
    [
        (PushedMessage(8, b"t", b"m"), "PSRT-MESSAGE-2"),
        (PushedMessage(7, b"/t", b"m"), "PSRT-MESSAGE-6"),
        (PushedMessage(7, b"t", b"mm"), "PSRT-MESSAGE-5"),
        (PushedMessage(8, b"t", b"mm"), "PSRT-MESSAGE-8"),
    ],
)
def test_what_comes_otherwise_breaks_what_is_said_of_that_field(came: PushedMessage, clause: str) -> None:
    found = told(SUBSCRIBED, PUBLISHED)
    found.pushed("d", came)

    assert found.due_clause("d") == clause


@pytest.mark.parametrize(
    ("asked", "came", "clause"),
    [
        ((), PushedMessage(7, b"t", b"m"), "PSRT-MESSAGE-9"),
        ((SUBSCRIBED, (Unsubscribe(b"t"), OK), PUBLISHED), PushedMessage(7, b"t", b"m"), "PSRT-UNSUBSCRIBE-4"),
        (((Publish(7, b"a" + b"/a" * 40, b"m"), BAD),), PushedMessage(7, b"a" + b"/a" * 40, b"m"), "PSRT-PUBLISH-9"),
        (((Subscribe(b"b" + b"/b" * 40), BAD),), PushedMessage(7, b"b" + b"/b" * 40, b"m"), "PSRT-SUBSCRIBE-13"),
    ],
)
def test_what_nothing_asks_for_breaks_what_forbids_it(
    asked: tuple[tuple[Request, Message], ...], came: PushedMessage, clause: str
) -> None:
    found = told(*asked)
    found.pushed("d", came)

    wrong = found.unexpected(NOW)
    assert wrong is not None
    assert wrong.clause == clause


def test_what_comes_twice_is_one_copy_too_many() -> None:
    found = told(SUBSCRIBED, PUBLISHED)
    for _ in range(2):
        found.pushed("d", PushedMessage(7, b"t", b"m"))

    wrong = found.unexpected(NOW)
    assert wrong is not None
    assert wrong.clause == "PSRT-MESSAGE-7"
