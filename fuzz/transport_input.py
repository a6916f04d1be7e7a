"""The input of the transport's fuzz target: a conversation of the vectors, then when its bytes come and are taken.

Bytes: profile and variant, high-water mark (and whether the peer speaks TLS, and where it ends its stream),
conversation (2), then operations. A real session of the reference server runs in the stream transport of
`reference_server/streams.py`, on a loop whose time is virtual and a socket that is a model: bytes wait on the way in,
and on the way out until the peer takes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import cache

from wireproof.fuzz.input_description import InputDescription
from wireproof.fuzz.invariants.ending import ending
from wireproof.fuzz.invariants.tls_transport import INSIDE, OUTSIDE, TlsTransportCheck, can_speak_tls
from wireproof.fuzz.invariants.transport_invariants import LINGER_S, TransportCheck, TransportCheckOptions
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.seeds import exchanges
from wireproof.fuzz.small_bounds import small_portions
from wireproof.protocols import protocol
from wireproof.protocols.states import Role

__all__ = ["check", "described", "seeds", "setting_of"]

MARKS = (1, 8, 64, 1024)
ONE_REQUEST = 24
"""What comes by an operation with such upper bits, or higher ones, ends where a request does."""
SIZES = (1, 2, 3, 5, 8, 17, 64, 1 << 20)
TIMES = (0.1, LINGER_S / 2, LINGER_S, 3 * LINGER_S)
HEAD = 4
IN_PIECES = (0x28, 0x2E, 0x06, 0x20, 0x2E, 0x03, 0x28, 0x0B, 0x0D)
"""Operations: pieces come, also to a session that is paused, and a little of the answer is taken."""
IN_REQUESTS = (0xC0, 0xC6, 0x06, 0xC6, 0x03, 0xC0)
"""Operations: requests come one by one, also to a session that is paused, and a little of the answers is taken."""
NEVER_TAKEN = (0x38, 0x87, 0x1D)
"""Operations: all comes, the peer ends its side, takes nothing, and time passes."""
OF_THESE_INSIDE_TLS = 4
"""Of so many seed conversations one is also played inside TLS."""
MOST_STEPS = 200
MOST_SENT = 4096
TLS = 128
ENDS_AT_ONCE = 4
"""Set there where the peer ends its side with its last byte."""
SMALL = 16
"""Set in the byte of the high-water mark for a server that does little at a time."""
ENDS = {32: (INSIDE, OUTSIDE), 64: (OUTSIDE,), 0: (INSIDE,)}
"""Bits of the byte of the high-water mark: inside TLS, and where the peer ends its stream."""


@cache
def _spoken(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((one.name, variant) for one in protocol(name).profiles.values() for variant in one.variants)


@cache
def _streams(name: str, profile: str, variant: str) -> tuple[tuple[str, bytes], ...]:
    """Return the link of conversations on streams, and what their clients send, the distinct ones."""
    found = exchanges(name, profile, variant)
    sent = ((one.link, one.sent[:MOST_SENT]) for one in found if protocol(name).link_of(one.link).transport == "stream")
    return tuple({data: (link, data) for link, data in sent}.values())


@cache
def _tls_openings(name: str, profile: str, variant: str) -> Mapping[str, bytes]:
    """Return link -> what a client sends in clear before TLS; none where no TLS can be spoken without certificates."""
    if not can_speak_tls():
        return {}
    usual = next(iter(protocol(name).links))
    found = FuzzContext(name, profile, variant, tls=True).tls_openings
    return {link: data for one, data in found.items() for link in (one, *([""] if one == usual else []))}


def _conversation(name: str, data: bytes) -> tuple[tuple[str, str], str, bytes]:
    """Return profile and variant, the link, and what the client sends."""
    spoken = _spoken(name)[data[0] % len(_spoken(name))]
    streams = _streams(name, *spoken)
    return spoken, *streams[int.from_bytes(data[2:4], "little") % len(streams)]


def _request_ends(name: str, data: bytes) -> list[int]:
    """Return where requests end in what the client sends, as far as it can be read without the answers."""
    spoken, link, sent = _conversation(name, data)
    frames = FuzzContext(name, *spoken).dissection(link).feed(Role.CLIENT, sent)
    return [frame.span[1] for frame in frames]


def _made(name: str, data: bytes) -> TransportCheck:
    """Return the check of an input: in TLS where it says so, and the link of its conversation may switch to it."""
    spoken, link, sent = _conversation(name, data)
    openings = _tls_openings(name, *spoken)
    mark, is_small = MARKS[data[1] % len(MARKS)], bool(data[1] & SMALL)
    if data[1] & TLS and link in openings:
        rest = sent[len(openings[link]) :]
        options = TransportCheckOptions(name, *spoken, rest, mark, is_small)
        ends = next(ends for bit, ends in ENDS.items() if not bit or data[1] & bit)
        return TlsTransportCheck(options, openings[link], ends)
    return TransportCheck(TransportCheckOptions(name, *spoken, sent, mark, is_small))


def check(name: str, data: bytes) -> None:
    """Play an input. Raises `InvariantError`."""
    if len(data) >= HEAD:
        _play(name, data, [])


def _play(name: str, data: bytes, done: list[str]) -> None:
    made = _made(name, data)
    options = made.options
    is_inside = isinstance(made, TlsTransportCheck)
    ends: list[int] | None = [] if is_inside else None
    where = " inside TLS" if is_inside else ""
    done.append(f"the peer sends {options.sent.hex()}{where}; high-water mark {options.high_water}")
    if options.is_small:
        done.append("the server does little at a time")
    with small_portions(name) if options.is_small else nullcontext(), made as found:
        for operation in data[HEAD : HEAD + MOST_STEPS]:
            kind, which = operation & 7, operation >> 3
            size = SIZES[which % len(SIZES)]
            if which >= ONE_REQUEST and kind in (0, 1, 2, 6):
                ends = _request_ends(name, data) if ends is None else ends
                come = len(options.sent) - len(found.rest)
                size = next((end - come for end in ends if end > come), size)
            if kind < 3:
                done.append(f"at most {size} bytes come")
                found.arrive(size)
            elif kind < 5:
                done.append(f"the peer takes at most {size} bytes")
                found.drain(size)
            elif kind == 5:
                seconds = TIMES[which % len(TIMES)]
                done.append(f"{seconds:g} s pass")
                found.advance(seconds)
            elif kind == 6:
                done.append("the session is given what waits, though it writes nothing now")
                found.arrive_at_session(size)
            elif which > 15:
                done.append("the peer ends its side")
                found.end()
        done.append("the rest comes, the peer ends its side and takes everything")
        found.finish(ends_at_once=bool(data[1] & ENDS_AT_ONCE))


def described(name: str, data: bytes) -> InputDescription:
    """Return profile, variant and the steps up to the one that breaks something, as text."""
    options, done = _made(name, data).options, list[str]()
    try:
        with ending():
            _play(name, data, done)
    except Exception:
        done.append("(this breaks it)")
    return InputDescription(options.profile, options.variant, tuple(done))


def setting_of(name: str, data: bytes) -> int:
    """Return the place of the profile and variant of an input among those of the protocol."""
    return data[0] % len(_spoken(name))


def seeds(name: str) -> Iterator[bytes]:
    """Yield each conversation, at once and in pieces, with readers of several speeds."""
    for number, (profile, variant) in enumerate(_spoken(name)):
        streams, openings = _streams(name, profile, variant), _tls_openings(name, profile, variant)
        for at in range(len(streams)):
            which = at.to_bytes(2, "little")
            yield bytes([number, 3, *which])
            yield bytes([number, 3 | SMALL | ENDS_AT_ONCE, *which])
            pieces = IN_REQUESTS if at % 4 > 1 else IN_PIECES
            yield bytes([number, at % 3 | SMALL * (at & 1), *which, *pieces * 6])
            yield bytes([number, 3, *which, *NEVER_TAKEN])
            if streams[at][0] in openings and at % OF_THESE_INSIDE_TLS == 0:
                yield bytes([number, TLS | 3, *which])
                yield bytes(
                    [
                        number,
                        TLS | list(ENDS)[at // OF_THESE_INSIDE_TLS % 3] | at // OF_THESE_INSIDE_TLS % 4,
                        *which,
                        *IN_PIECES * 6,
                    ]
                )
