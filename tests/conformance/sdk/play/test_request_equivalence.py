"""What an SDK may send instead of what was expected of it."""

from __future__ import annotations

from wireproof.conformance.sdk.play.request_equivalence import RequestEquivalence
from wireproof.protocols import protocol
from wireproof.protocols.tmqp import PROFILES, Codec
from wireproof.protocols.tmqp.requests import AnswerPing, Join


def equivalence() -> RequestEquivalence:
    return RequestEquivalence(protocol("tmqp"), Codec.of(PROFILES["doc"], "standard"))


def test_a_field_that_an_sdk_chooses_may_be_bound_to_some_values() -> None:
    made = equivalence()
    some = made.alike([Join(target=b"room")], (), {"source": ["", "me"]})
    assert some is not None
    found = [some([Join(id=b"7", source=one, target=b"room")]) for one in (b"", b"me", b"you")]
    assert found == [True, True, False]

    compare = made.alike([Join(target=b"room")], ())
    assert compare is not None
    assert compare([Join(source=b"you", target=b"room")])


def test_what_is_fixed_bytes_is_compared_as_bytes() -> None:
    assert equivalence().alike([AnswerPing()], ()) is None
    assert equivalence().alike([AnswerPing(), Join()], ()) is not None
