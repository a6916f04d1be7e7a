"""Strategies out of layouts: all they draw can be written, every kind is drawn, and names meet."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wireproof.fuzz import strategies
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.state_machine import with_canary
from wireproof.fuzz.store_input import contexts

POOL = [b"a", b"b", b"", b"k" * 255]
every_context = pytest.mark.parametrize("context", contexts("throttr"), ids=lambda one: f"{one.profile}-{one.variant}")


def drawn(context: FuzzContext) -> tuple[Any, Any]:
    return context.symbols.codec, context.symbols.protocol.names


@every_context
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_all_that_is_drawn_can_be_written(context: FuzzContext, data: st.DataObject) -> None:
    codec, names = drawn(context)
    request = data.draw(strategies.requests(codec, names, POOL))

    assert context.requests(context.encode(request)) == ([request], True)


@every_context
def test_every_request_is_drawn_and_some_carry_another(context: FuzzContext) -> None:
    codec, names = drawn(context)
    seen = set[str]()

    @given(st.lists(strategies.requests(codec, names, POOL), min_size=20, max_size=20))
    @settings(max_examples=15, deadline=None, derandomize=True, database=None)
    def draw(asked: list[Any]) -> None:
        seen.update(one.NAME for one in asked)
        seen.update("carried" for one in asked if hasattr(one, "payload") and context.requests(one.payload)[0])

    draw()
    assert seen - {"carried"} == {kind.NAME for kind in codec.profile.replies}
    assert ("carried" in seen) >= (context.profile != "7.1.0")


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_a_dialogue_is_about_one_name_mostly(data: st.DataObject) -> None:
    context = contexts("throttr")[1]
    asked = data.draw(strategies.dialogues(*drawn(context), [b"name"]))

    assert 4 <= len(asked) <= 16
    assert len({hasattr(one, "channel") for one in asked if hasattr(one, "channel") or hasattr(one, "key")}) <= 1


def test_marks_are_put_before_every_name_that_of_a_carried_request_too() -> None:
    context = contexts("throttr")[5]
    get, event = (context.symbols.protocol.message(context.profile, one) for one in ("GET", "EVENT"))

    made = with_canary(event(b"c", context.encode(get(b"k"))), context, b"~~")  # type: ignore[call-arg]

    assert made == event(b"~~c", context.encode(get(b"~~k")))  # type: ignore[call-arg]


@pytest.mark.parametrize("module", ["wireproof.fuzz.strategies", "wireproof.fuzz.state_machine"])
def test_without_hypothesis_the_extra_is_named(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.split(".")[0] == "hypothesis"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "wireproof.fuzz.strategies")
    monkeypatch.delitem(sys.modules, "wireproof.fuzz.state_machine")

    with pytest.raises(ImportError, match=r"Hypothesis is not installed: python -m pip install 'wireproof\[fuzz\]'"):
        importlib.import_module(module)
