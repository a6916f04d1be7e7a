"""What bytes draw is about what was done before, also about what a conversation of the vectors was about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.fuzz.planting import plant
from wireproof.fuzz.conversation_steps import conversation_steps
from wireproof.fuzz.drawn_requests import KEPT, RequestDrawing
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.replayed_conversations import OTHER_CASE
from wireproof.fuzz.store_input import RECORDED, check, contexts
from wireproof.fuzz.store_seeds import seeds
from wireproof.fuzz.store_steps import describe_step
from wireproof.protocols import Request
from wireproof.protocols.tmqp.frames import Header
from wireproof.protocols.tmqp.requests import Produce
from wireproof.reference_server.tmqp.messaging import Pulled


@pytest.mark.parametrize(("name", "field"), [("tmqp", "target"), ("psrt", "topics"), ("namechan", "topic")])
def test_names_of_a_conversation_are_drawn_after_it(name: str, field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known, told = list[list[bytes]](), list[bytes]()
    draw, note = RequestDrawing.draw, RequestDrawing.note

    def drawn(self: RequestDrawing, *args: Any) -> Request | None:
        known.append(list(self.names))
        return draw(self, *args)

    def noted(self: RequestDrawing, asked: Sequence[Request]) -> None:
        told.extend(filter(None, (getattr(one, field, b"") for one in asked)))
        note(self, asked)

    monkeypatch.setattr(RequestDrawing, "draw", drawn)
    monkeypatch.setattr(RequestDrawing, "note", noted)
    check(name, bytes([RECORDED, 90, 0]) + bytes(60) + bytes(range(1, 200, 3)))

    assert told[-1] in known[0]
    assert len(known[0]) <= KEPT


def test_a_header_is_also_drawn_in_the_other_case() -> None:
    asked = Produce(target=b"c", headers=(Header(b"Cc", b"x;1"), Header(b"Order", b"LIFO")))
    context = FuzzContext("tmqp", "doc", "standard")
    field = [name for name, _ in context.symbols.codec.layout(Produce).fields].index("headers")
    made = set()
    for which in range(40):
        given = iter((field, which))
        changed = RequestDrawing(context, lambda given=given: next(given, 0), {}).changed(asked)  # type: ignore[misc]
        made.update(changed.headers)  # type: ignore[attr-defined]

    assert {Header(b"cC", b"x;1"), Header(b"Cc", b"X;1"), Header(b"oRDER", b"LIFO"), Header(b"Order", b"lifo")} <= made


def test_conversations_are_also_played_with_headers_in_the_other_case(monkeypatch: pytest.MonkeyPatch) -> None:
    context = contexts("tmqp")[0]
    known = conversation_steps("tmqp", context.profile, context.variant)
    at = next(at for at, steps in enumerate(known) if any("LIFO" in describe_step(step) for step in steps[1:]))
    place = at.to_bytes(2, "little")
    some = [one for one in seeds("tmqp") if one[0] & RECORDED and one[1:3] == place and OTHER_CASE in one[3:]]

    check("tmqp", some[0])
    plant(monkeypatch, Pulled, "__init__", 'b"order") or b"").strip().upper()', 'b"order") or b"").strip()')
    with pytest.raises(InvariantError):
        check("tmqp", some[0])
