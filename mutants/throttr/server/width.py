"""Faults in the width: dynamic fields of another size, and numbers or values near the largest that are not kept."""

from __future__ import annotations

from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import Ask, taking, with_answer
from wireproof.mutants.throttr.server.shared import SECOND, undone
from wireproof.mutants.throttr.server.updates import INCREASE, PATCH, instead, of_quota_by, of_ttl_by, valued
from wireproof.protocols.profile import Profile, Variant
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.requests import Insert, Set
from wireproof.reference_server.service import Close, Peer, Write
from wireproof.reference_server.throttr.dispatch import Dispatch
from wireproof.reference_server.throttr.record_requests import SHOWN_UNIT
from wireproof.reference_server.throttr.records import Record
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, State

__all__ = ["MUTANTS"]

LAYOUTS = ("INSERT-2", "INSERT-4", "INSERT-6", "QUERY-5", "QUERY-6", "QUERY-8", "UPDATE-9", "SET-3", "GET-7", "GET-8")
"""What dynamic fields of another size break."""


def _as_wide(variant: str, clause: str, size: int) -> ServerMutant:
    def patch(profile: Profile) -> Profile:
        return profile.derive(profile.name, variants={variant: Variant(variant, {"value": size})})

    return mutant(
        f"width-{variant}-of-{size}-bytes",
        f"At {variant} every dynamic field has {size} bytes.",
        *(clause, *LAYOUTS),
        variants=(variant,),
        profile=patch,
    )


def _lowered(number: int, ask: Ask) -> int:
    """Return one less than the largest number where it is that."""
    return min(number, ask.state.value_max - 1)


def _near_the_largest_refused(answer: bytes, ask: Ask) -> bytes:
    return undone(answer, ask) and DENIED if ask.request.ttl >= ask.state.value_max - 1 else answer


def _near_254_seconds_refused(answer: bytes, ask: Ask) -> bytes:
    return _near_the_largest_refused(answer, ask) if ask.request.ttl_type == TTLType.SECONDS else answer


def _wrapping(record: Record, ask: Ask) -> bytes:
    """Count what remains in the record's unit modulo 2^(8N)."""
    unit = SHOWN_UNIT[record.ttl_type]
    span = record.due - ask.now + ask.request.value * unit
    ask.state.store.move(record, ask.now + span % ((ask.state.value_max + 1) * unit))
    return ACCEPTED


class _Announcing(ThrottrSession):
    """Tells the width to a client that says nothing for two fifths of a second."""

    def __init__(self, state: State, dispatch: Dispatch, peer: Peer, write: Write, close: Close) -> None:
        super().__init__(state, dispatch, peer, write, close)
        state.clock.call_at(state.clock.monotonic_ns() + 2 * SECOND // 5, self._announce)

    def _announce(self) -> None:
        if not (self.read_bytes or self.closed):
            self._write(bytes([self._state.value_size]))


# fmt: off
MUTANTS = (
    _as_wide("uint8", "WIDTH-1", 2),
    _as_wide("uint32", "WIDTH-3", 2),
    _as_wide("uint64", "WIDTH-4", 4),
    mutant("width-ttl-near-the-largest-refused", "INSERT and SET with a TTL of the largest number, or one less, answer 00.", "WIDTH-8", "INSERT-8",
           "SET-12", variants=("uint16", "uint32"), handlers=with_answer((Insert, Set), _near_the_largest_refused)),
    mutant("width-ttl-of-64-bits-refused", "INSERT and SET with a TTL of 2^64 - 2, or one more, answer 00.", "WIDTH-8", "INSERT-8", "SET-12",
           "TTL-13", profiles=("7.1.0",), variants=("uint64",), handlers=with_answer((Insert, Set), _near_the_largest_refused)),
    mutant("width-ttl-of-254-seconds-refused", "SET with a TTL of 254 seconds answers 00.", "WIDTH-8", "SET-12", variants=("uint8",),
           handlers=with_answer(Set, _near_254_seconds_refused)),
    mutant("width-largest-quota-lowered", "INSERT stores 1 less than the largest quota for it.", "WIDTH-10", "INSERT-2",
           handlers=taking(Insert, quota=_lowered)),
    mutant("width-largest-patch-lowered", "UPDATE QUOTA PATCH stores 1 less than the largest quota for it.", "WIDTH-10", "UPDATE-14",
           handlers=valued(of_quota_by(PATCH), _lowered)),
    mutant("width-largest-value-cut", "At uint8 SET stores the first 254 of 255 bytes.", "WIDTH-10", "SET-12", "SET-13", variants=("uint8",),
           handlers=taking(Set, value=lambda value, ask: value[:254])),
    mutant("width-ttl-increase-wraps", "UPDATE TTL INCREASE takes what remains modulo 2^(8N) of its units.", "UPDATE-26", "UPDATE-30",
           variants=("uint8", "uint16"), handlers=instead(of_ttl_by(INCREASE), _wrapping)),
    mutant("width-announced-to-the-silent", "A client that says nothing for two fifths of a second is told the width, in one byte.", "WIDTH-14",
           "FRAMING-2", session=_Announcing),
)
# fmt: on
