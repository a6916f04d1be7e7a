"""Mutators that aim at what servers get wrong rarely and badly.

Sizes beyond the buffers of a server, sums of sizes that wrap, requests within carriers, readers that do not read, ends
within a request. Random edits of bytes hardly make these, so each has a mutator of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, islice, pairwise
from random import Random
from typing import cast

import msgspec

from wireproof.conformance.model.actions import Open, Read, Secure, Shut, Write
from wireproof.fuzz.live.canaries import canary
from wireproof.fuzz.live.context import FuzzContext, largest_size
from wireproof.fuzz.live.own_names import has_own_names, use_own_names
from wireproof.fuzz.live.writes import a_write, with_data
from wireproof.fuzz.script import Script
from wireproof.protocols import LocalProtocolError, Request

__all__ = [
    "carry",
    "cut_off",
    "do_again",
    "enlarge",
    "go_inside_tls",
    "leave_unread",
    "sweep_sizes",
    "wrap_16",
    "wrap_32",
    "wrap_64",
]

BUFFERS = (4096, 8192, 16384, 16384, 65536, 65536, 131072)
"""Sizes of buffers in bytes; a frame has a body of one of them, or a byte more or less."""
WIDTHS = (2, 4, 8)
TRIES = 16
"""Other scripts that are tried until one has a field that is wide enough."""
DECIMAL = re.compile(rb"\d+")
HANDSHAKE = 0.5
"""Seconds that a TLS handshake may take."""
SWEPT = (32, 64, 64)
FULL = (256, 1024, 2048)
"""How many sizes a sweep has, and sizes in bytes in the middle of one."""
AT_ONCE = 0.7
TIMES, MOST_BYTES = (16, 40, 40, 100), 8192
"""How often writes are done again at once, and the bytes of all of them."""
MOST_AGAIN, MOST_DONE = 6, 320
"""Steps that are done again and again, and most of all of them."""
DEEPEST = 3
"""How often a carrier is put into another."""


def enlarge(random: Random, script: Script, context: FuzzContext) -> Script:
    """Give a request a body that is larger than a buffer of the target; it stays valid."""
    if (found := a_write(random, script)) is None:
        return script
    at, action = found
    frames = context.frames(script, at)
    random.shuffle(frames)
    for (first, last), message in frames:
        largest = {name: largest_size(kind) for name, kind in context.symbols.codec.layout(type(message)).fields}
        names = [name for name, size in largest.items() if size >= min(BUFFERS)]
        if names:
            name = random.choice(names)
            sizes = [one for one in BUFFERS if one < largest[name]]
            size = min(largest[name], (random.choice(sizes) if sizes else largest[name]) + random.choice((-1, 0, 1)))
            value = getattr(message, name) or b"x"
            try:
                changed = msgspec.structs.replace(cast(Request, message), **{name: (value * size)[:size]})
                body = context.encode(changed)
            except LocalProtocolError:
                continue
            return with_data(script, at, action.data[:first] + body + action.data[last:])
    return script


def wrap_16(random: Random, script: Script, context: FuzzContext) -> Script:
    """Change sizes so that their sum, or the sum of one and its offset, is 2^16 or a little more."""
    return _with_wrapped_sum(random, script, context, 16)


def wrap_32(random: Random, script: Script, context: FuzzContext) -> Script:
    """Change sizes so that their sum, or the sum of one and its offset, is 2^32 or a little more."""
    return _with_wrapped_sum(random, script, context, 32)


def wrap_64(random: Random, script: Script, context: FuzzContext) -> Script:
    """Change sizes so that their sum, or the sum of one and its offset, is 2^64 or a little more."""
    return _with_wrapped_sum(random, script, context, 64)


def _with_wrapped_sum(random: Random, script: Script, context: FuzzContext, bits: int) -> Script:
    """Change a script; where it has no field that is wide enough, change another one of the pool instead."""
    others = (random.choice(context.others or [script]) for _ in range(TRIES))
    for one in chain([script] * 2, others):
        if (found := a_write(random, one)) is None:
            continue
        at, data = found[0], found[1].data
        places = (0, *context.edges(one, at), len(data))
        fields = [(first, last) for first, last in pairwise(places) if last - first in WIDTHS]
        fields = [(first, last) for first, last in fields if 8 * (last - first) >= bits]
        changed = _wrapped(random, data, fields, bits, context) if fields else data
        if not fields and context.is_text:
            changed = _wrapped_decimal(random, data, bits)
        if changed != data:
            return with_data(one, at, changed)
    return script


def _wrapped(random: Random, data: bytes, fields: list[tuple[int, int]], bits: int, context: FuzzContext) -> bytes:
    """Return the bytes with one or two of the fields, each (first byte, byte after it), changed."""
    first = random.choice(fields)
    others = [one for one in fields if one != first]
    rest = random.choice((1, 2, first[1], len(data) - first[1], len(data), 1 << (bits - 1)))
    values = {first: (1 << bits) - rest}
    if others and random.random() < 0.6:
        values[random.choice(others)] = rest + random.choice((0, 1, 8, len(data)))
    for (start, stop), value in values.items():
        number = value % (1 << 8 * (stop - start))
        data = data[:start] + number.to_bytes(stop - start, context.byte_order) + data[stop:]
    return data


def _wrapped_decimal(random: Random, data: bytes, bits: int) -> bytes:
    """Return the bytes with a decimal number replaced; where there is none, unchanged."""
    numbers = list(DECIMAL.finditer(data))
    if not numbers:
        return data
    one = random.choice(numbers)
    value = (1 << bits) + random.choice((-1, 0, 1, int(one[0][:18])))
    return data[: one.start()] + b"%d" % value + data[one.end() :]


def carry(random: Random, script: Script, context: FuzzContext) -> Script:
    """Put the requests of a write into a request that carries others, up to three times; sometimes with bytes more."""
    if (found := a_write(random, script)) is None or not context.carriers:
        return script
    at, action = found
    first, last = random.choice([span for span, _ in context.frames(script, at)] or [(0, len(action.data))])
    inner = action.data[first:last]
    for _ in range(random.randint(1, DEEPEST)):
        carrier, name = random.choice(context.carriers)
        try:
            inner = context.encode(msgspec.structs.replace(carrier, **{name: inner}))
        except LocalProtocolError:
            break
    if random.random() < 0.3:
        inner = inner[: random.randrange(len(inner))] + random.choice((b"", inner))
    return with_data(script, at, action.data[:first] + inner + action.data[last:])


def sweep_sizes(random: Random, script: Script, context: FuzzContext) -> Script:
    """Send a request again with a body or name of each of some sizes that follow each other; it stays valid."""
    if (found := a_write(random, script)) is None:
        return script
    at, action = found
    spans = context.frames(script, at)
    if not spans:
        return script
    (first, last), message = random.choice(spans)
    kinds = dict(context.symbols.codec.layout(type(message)).fields)
    names = [name for name, kind in kinds.items() if largest_size(kind)]
    if not names:
        return script
    name = random.choice(names)
    swept = random.choice(SWEPT)
    begin = random.choice((0, 0, swept, swept * random.randrange(256 // swept), random.choice(FULL) - swept // 2))
    sizes = range(begin, min(begin + swept, largest_size(kinds[name]) + 1))
    body = getattr(message, name) or canary(random.getrandbits(32))
    made: list[bytes] = []
    for size in sizes:
        value = (body * (size // len(body) + 1))[:size]
        with suppress(LocalProtocolError):
            made.append(context.encode(cast(Request, msgspec.structs.replace(message, **{name: value}))))
    return with_data(script, at, action.data[:first] + b"".join(made) + action.data[last:]) if made else script


def do_again(random: Random, script: Script, context: FuzzContext) -> Script:
    """Do some steps that follow each other many times: what each leaves behind is seen once it adds up.

    Where no request depends on a reply, most often the writes of one connection without waiting, as one.
    """
    if (found := a_write(random, script)) is None:
        return script
    if not context.by_state and random.random() < AT_ONCE:
        at, action = found
        later = (step.data for step in script[at:] if isinstance(step, Write) and step.connection == action.connection)
        data = b"".join(islice(later, random.choice((1, 2, 2, 3, MOST_AGAIN))))
        return with_data(script, at, action.data + data * min(random.choice(TIMES), MOST_BYTES // (len(data) + 1)))
    first = random.randrange(len(script))
    steps = script[first : first + random.randint(1, MOST_AGAIN)]
    times = min(random.choice((4, 8, 8, 32, 64)), MOST_DONE // len(steps))
    return (*script[: first + len(steps)], *steps * times, *script[first + len(steps) :])


def leave_unread(random: Random, script: Script, context: FuzzContext) -> Script:
    """Take nothing of what comes on a connection, and ask for more than the system keeps for it."""
    names = sorted({one.connection for one in script if isinstance(one, Open) and one.transport == "stream"})
    if not names:
        return script
    name, times = random.choice(names), random.choice((1, 4, 20, 60))
    steps = [
        msgspec.structs.replace(step, unread=True) if isinstance(step, Open) and step.connection == name else step
        for step in script
        if not (isinstance(step, Read) and step.connection == name)
    ]
    writes = [at for at, step in enumerate(steps) if isinstance(step, Write) and step.connection == name]
    if writes:
        at = random.choice(writes)
        steps[at : at + 1] = [steps[at]] * times
    return tuple(steps)


def cut_off(random: Random, script: Script, context: FuzzContext) -> Script:
    """End a connection after any byte of a write, most often by a reset; sometimes go on with a new connection."""
    if (found := a_write(random, script)) is None:
        return script
    at, action = found
    size = random.choice((random.randrange(len(action.data) + 1), *context.edges(script, at)[:16]))
    opened = [one for one in script[:at] if isinstance(one, Open) and one.connection == action.connection]
    end = Shut(action.connection, random.choice(("reset", "reset", "reset", "close", "half")))
    again = (*opened[-1:], *script[at:]) if random.random() < 0.5 else script[at + 1 :]
    return (*script[:at], msgspec.structs.replace(action, data=action.data[:size]), end, *again)


def go_inside_tls(random: Random, script: Script, context: FuzzContext) -> Script:
    """Let a connection switch to TLS before its requests, which are then sent inside."""
    links = {step.connection: step.link for step in script if isinstance(step, Open) and step.transport == "stream"}
    usual = next(iter(context.symbols.protocol.links))
    names = [name for name, link in links.items() if (link or usual) in context.tls_openings]
    inside = {step.connection for step in script if isinstance(step, Secure)}
    names = sorted(set(names) - inside)
    if not names:
        return script
    name = random.choice(names)
    opening = context.tls_openings[links[name] or usual]
    at = next((at for at, step in enumerate(script) if isinstance(step, Write) and step.connection == name), None)
    if at is None:
        return script
    first = script[at]
    assert isinstance(first, Write)
    begun = (Write(name, opening), Secure(name, HANDSHAKE)) if opening else (Secure(name, HANDSHAKE),)
    rest = first.data[len(opening) :] if opening else first.data
    return (*script[:at], *begun, *((Write(name, rest),) if rest else ()), *script[at + 1 :])


def deliberate(context: FuzzContext) -> dict[str, Callable[[Random, Script, FuzzContext], Script]]:
    """Return the mutators of this module that can change anything of the protocol, by name."""
    wraps = {16: wrap_16, 32: wrap_32, 64: wrap_64}
    found = [leave_unread, cut_off, sweep_sizes, do_again]
    found += [one for bits, one in wraps.items() if context.is_text or bits <= context.widest_field]
    found += [enlarge] if context.largest_field >= min(BUFFERS) else []
    found += [carry] if context.carriers else []
    found += [go_inside_tls] if context.speaks_tls else []
    found += [use_own_names] if has_own_names(context) else []
    return {one.__name__: one for one in found}
