"""A bug in our own code exists inside the context only, and is refused when its place has moved."""

from __future__ import annotations

import pytest

from wireproof.fuzz.seeded_bugs.catalogue import own_bugs
from wireproof.fuzz.seeded_bugs.function_edits import Edit, applied
from wireproof.protocols import buffer, frames
from wireproof.protocols.buffer import Buffer
from wireproof.protocols.errors import MalformedFrameError


def test_the_code_of_a_function_is_exchanged_and_put_back() -> None:
    want, code = Buffer.want, Buffer.want.__code__
    with applied((Edit(buffer, "Buffer.want", "self.need = need", "self.need = need + 5"),)) as functions:
        found = Buffer()
        want(found, 2)

    assert functions == [want]
    assert found.need == 7
    assert want.__code__ is code


def test_it_is_put_back_after_an_exception() -> None:
    code = frames.too_large.__code__
    with pytest.raises(ZeroDivisionError), applied((Edit(frames, "too_large", "MalformedFrameError(", "0 / 0, ("),)):
        frames.too_large(0, 1, 2)

    assert frames.too_large.__code__ is code
    assert isinstance(frames.too_large(0, 1, 2), MalformedFrameError)


@pytest.mark.parametrize("old", ["no such line", "self"])
def test_a_place_that_is_not_there_once_is_refused(old: str) -> None:
    with (
        pytest.raises(ValueError, match=r"Buffer.want: expected once, got \d+ times"),
        applied((Edit(buffer, "Buffer.want", old, "x"),)),
    ):
        pass


@pytest.mark.parametrize("mutant", own_bugs().values(), ids=lambda mutant: mutant.mutant)
def test_every_bug_can_be_seeded(mutant: object) -> None:
    with applied(mutant.edits) as functions:  # type: ignore[attr-defined]
        assert functions
