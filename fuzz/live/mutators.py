"""Mutators of valid scripts: each is a plain function of randomness, script and context."""

# Strategy. A mutator changes one thing that servers get wrong: a length or type field (`lie_in_a_field`,
# `flip_a_type`, `announce_much`), the bytes of a request (`flip_bytes`, `truncate`, `fill`), the order of steps
# (`reorder`, `leave_out`, `repeat`, `splice`), segmentation and pipelining (`join`, `pipeline`, `drip`), time
# (`wait`, `burst`), or the number and end of connections (`interleave`, `crowd`, `hang_up`). `mutated` draws
# uniformly and applies 1 to 4 of them, most often one: a script with a single change passes more of the server's
# checks and reaches further.
#
# Byte mutators prefer field boundaries, which the context derives from the layouts. A random offset mostly hits a
# name or value, where any byte is legal and nothing is learnt; a length that is off by one is where parsers break.
#
# Copies of requests get names of their own with probability 1/2 (`FuzzContext.many`, `renumbered`), because many
# records and many operations on one record fail differently.
#
# Sizes are bounded: a script of more than MOST_BYTES or MOST_STEPS keeps its last smaller version, since a slow play
# costs hundreds of quick ones. Mutators need not keep a script sensible: the player skips actions that are impossible
# (`script.performing`).
#
# The same seed gives the same script; a mutator that cannot apply returns the script unchanged.

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random

from msgspec.structs import replace

from wireproof.conformance.model.actions import Open, Read, Secure, Shut, Sleep, Write
from wireproof.fuzz.live.canaries import renumbered
from wireproof.fuzz.live.context import LONGEST, PAUSE, FuzzContext
from wireproof.fuzz.live.deliberate import deliberate
from wireproof.fuzz.live.token_substitution import on_other_connections
from wireproof.fuzz.live.writes import a_write, with_data, writes
from wireproof.fuzz.script import Script, ScriptStep, size

__all__ = ["MUTATORS", "Mutator", "lie_in_a_field", "lies", "mutated", "mutated_by", "pipelined", "touched_up"]

Mutator = Callable[[Random, Script, FuzzContext], Script]
MOST_BYTES = 256 * 1024
MANY = 200
"""Fields of one write from which on it is not repeated again: the aim is to confuse servers, not to load them."""
MOST_REQUESTS, MOST_FIELDS = 2048, 8192
"""Requests and fields of a write that is repeated, all of them together: one byte may ask for a whole table."""
MOST_STEPS = 400
LONGEST_WAIT = 0.05
CROWD = 64
"""Connections that announce the same size."""
SIZES = (1 << 16, (1 << 20) - (1 << 10), 1 << 20, 1 << 24, 1 << 26, 1 << 26)
"""Announced sizes; one is right below a common limit, and one stands out in the memory of any process."""
WHILE_OTHERS = 0.4
"""Share of writes in pieces between which other connections are served."""
SIZES_ONLY, WIDE, TRIES = 0.8, 2, 4
"""Share of announcements in a size, the bytes of the narrowest, and the scripts that are tried for one."""
EDGES = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF)


def mutated(random: Random, script: Script, context: FuzzContext) -> Script:
    """Return the script after one to four mutations; a result that is too large is dropped."""
    return mutated_by(random, script, context)[0]


def mutated_by(
    random: Random, script: Script, context: FuzzContext, *, may_be_heavy: bool = True
) -> tuple[Script, list[str]]:
    """Return what `mutated` returns, and the names of the mutators that changed the script.

    Without `may_be_heavy` none is drawn that makes many requests or connections of one.
    """
    applied: list[str] = []
    known = {**MUTATORS, **deliberate(context)}
    names = [name for name in known if may_be_heavy or name not in MULTIPLYING]
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        name = random.choice(names)
        changed = known[name](random, script, context)
        if changed is not script and size(changed) <= MOST_BYTES and len(changed) <= MOST_STEPS:
            script = changed
            applied.append(name)
    return script, applied


def touched_up(random: Random, script: Script, context: FuzzContext) -> tuple[Script, list[str]]:
    """Return the script after one small change of its bytes, and the name of the mutator that changed it."""
    mutator = random.choice(SMALL)
    changed = mutator(random, script, context)
    return (script, []) if changed is script or size(changed) > MOST_BYTES else (changed, [mutator.__name__])


def pipelined(script: Script) -> Script:
    """Return the script without the reads between two writes on one connection, which become one write."""
    steps: list[ScriptStep] = []
    for step in script:
        last = steps[-1] if steps else None
        before = steps[-2] if isinstance(last, Read) and len(steps) > 1 else last
        if isinstance(step, Write) and isinstance(before, Write) and before.connection == step.connection:
            if isinstance(last, Read):
                if last.connection != step.connection:
                    steps.append(step)
                    continue
                steps.pop()
            steps[-1] = replace(before, data=before.data + step.data)
        else:
            steps.append(step)
    return tuple(steps)


Edges = Callable[[], tuple[int, ...]]
"""Returns the offsets at which the fields of a write begin and end."""


def _in_a_write(
    random: Random, script: Script, context: FuzzContext, change: Callable[[bytes, Edges], bytes]
) -> Script:
    if (found := a_write(random, script)) is None:
        return script
    at, action = found
    changed = change(action.data, lambda: context.edges(script, at))
    return with_data(script, at, changed)


def _at_a_field(random: Random, data: bytes, edges: Edges) -> tuple[int, int]:
    """Return the offsets at which a random field begins and ends."""
    places = (0, *edges(), len(data))
    number = random.randrange(len(places) - 1)
    return places[number], places[number + 1]


def lie_in_a_field(random: Random, script: Script, context: FuzzContext) -> Script:
    """Replace a field, often a length, by a boundary value of its width or by its value plus or minus one."""

    def change(data: bytes, edges: Edges) -> bytes:
        first, last = _at_a_field(random, data, edges)
        last = min(last, first + 8)
        return data[:first] + random.choice(lies(data[first:last])) + data[last:]

    return _in_a_write(random, script, context, change)


def lies(field: bytes) -> list[bytes]:
    """Return boundary values of a field's width, and its value plus and minus one."""
    value, most = int.from_bytes(field, "little"), (1 << 8 * len(field)) - 1
    lies = (0, 1, value - 1, value + 1, most, most - 1, most >> 1, (most >> 1) + 1)
    return [(lie & most).to_bytes(len(field), "little") for lie in lies]


def flip_a_type(random: Random, script: Script, context: FuzzContext) -> Script:
    """Change the first byte of a request."""

    def change(data: bytes, edges: Edges) -> bytes:
        return bytes([random.choice((data[0] ^ 1 << random.randrange(8), random.randrange(256)))]) + data[1:]

    return _in_a_write(random, script, context, change)


def flip_bytes(random: Random, script: Script, context: FuzzContext) -> Script:
    """Change one to three bytes anywhere."""

    def change(data: bytes, edges: Edges) -> bytes:
        changed = bytearray(data)
        for _ in range(random.randint(1, 3)):
            changed[random.randrange(len(changed))] = random.choice((random.randrange(256), random.choice(EDGES)))
        return bytes(changed)

    return _in_a_write(random, script, context, change)


def truncate(random: Random, script: Script, context: FuzzContext) -> Script:
    """Cut a write short at a field boundary or anywhere."""

    def change(data: bytes, edges: Edges) -> bytes:
        return data[: random.choice((_at_a_field(random, data, edges)[0], random.randrange(len(data))))]

    return _in_a_write(random, script, context, change)


def splice(random: Random, script: Script, context: FuzzContext) -> Script:
    """Insert a piece of another script into a write, or append the other script's steps."""
    other = random.choice(context.others or [script])
    if (found := a_write(random, other)) is None:
        return script
    _, foreign = found
    if random.random() < 0.4:
        return script + tuple(step for step in other if not isinstance(step, Open) or step not in script)

    def change(data: bytes, edges: Edges) -> bytes:
        at = _at_a_field(random, data, edges)[0]
        rest = random.choice((data[at:], data[at + len(foreign.data) :], b""))
        return data[:at] + foreign.data + rest

    return _in_a_write(random, script, context, change)


def repeat(random: Random, script: Script, context: FuzzContext) -> Script:
    """Repeat a write one to five times."""
    if (found := a_write(random, script)) is None:
        return script
    at, action = found
    return (*script[:at], *[action] * random.choice((1, 1, 2, 5)), *script[at:])


def leave_out(random: Random, script: Script, context: FuzzContext) -> Script:
    """Remove one step."""
    if len(script) < 2:
        return script
    at = random.randrange(len(script))
    return script[:at] + script[at + 1 :]


def reorder(random: Random, script: Script, context: FuzzContext) -> Script:
    """Swap two writes."""
    places = writes(script)
    if len(places) < 2:
        return script
    (one, _), (two, _) = random.sample(places, 2)
    steps = list(script)
    steps[one], steps[two] = steps[two], steps[one]
    return tuple(steps)


def interleave(random: Random, script: Script, context: FuzzContext) -> Script:
    """Interleave another script, or a copy of this one, on connections of its own; its names stay or change."""
    one, two, mixed = list(script), _elsewhere(random, script, context), list[ScriptStep]()
    while one and two:
        mixed.append((one if random.random() < 0.5 else two).pop(0))
    return (*mixed, *one, *two)


def _elsewhere(random: Random, script: Script, context: FuzzContext) -> list[ScriptStep]:
    """Return a script of the pool, or a copy of this one, on connections that this one does not have."""
    other = random.choice((script, random.choice(context.others or [script])))
    if random.random() < 0.5:
        other = renumbered(other, 1 + random.randrange(1000))
    taken = {step.connection for step in script if isinstance(step, Open)}
    names = {step.connection for step in other if isinstance(step, Open | Write | Read | Secure | Shut)}
    called = {name: _apart(name, taken) for name in names}
    return on_other_connections(other, lambda name: called[name])


def _apart(name: str, taken: set[str]) -> str:
    number = 1
    while f"{name}{number}" in taken:
        number += 1
    return f"{name}{number}"


def _times(number: int, data: bytes, fields: int, context: FuzzContext) -> int:
    """Return how often a write of so many fields is repeated, `number` times at most."""
    requests = max(1, len(context.requests(data[:LONGEST])[0]))
    return max(1, min(number, MOST_BYTES // 4 // len(data), MOST_FIELDS // fields, MOST_REQUESTS // requests))


def pipeline(random: Random, script: Script, context: FuzzContext) -> Script:
    """Send one request up to 2000 times in one write: identical, or each with names of its own."""
    number = random.choice((16, 16, 100, 500, 2000))

    def change(data: bytes, edges: Edges) -> bytes:
        if len(edges()) > MANY:
            return data
        times = _times(number, data, len(edges()) + 1, context)
        return data * times if random.random() < 0.5 else context.many(data, times)

    return _in_a_write(random, script, context, change)


def join(random: Random, script: Script, context: FuzzContext) -> Script:
    """Send all writes of the script without waiting."""
    return tuple(step for step in script if not isinstance(step, Read | Sleep))


def burst(random: Random, script: Script, context: FuzzContext) -> Script:
    """Create many records at one instant, let time pass, and send the request again: equal expiries, if they expire."""
    if (found := a_write(random, script)) is None:
        return script
    at, action = found
    if len(edges := context.edges(script, at)) > MANY:
        return script
    times = _times(random.choice((20, 100, 500)), action.data, len(edges) + 1, context)
    many = Write(action.connection, context.many(action.data, times))
    return (*script[:at], many, Read(action.connection, PAUSE), Sleep(LONGEST_WAIT), *script[at:])


def _a_size(random: Random, script: Script, context: FuzzContext) -> tuple[Script, int, tuple[int, int]] | None:
    """Return a script, the index of a write and the offsets of its widest size, two bytes or more; None if none has it.

    The script given is tried first, then some of the pool.
    """
    for one in (script, *(random.choice(context.others or [script]) for _ in range(TRIES))):
        places = writes(one)
        for at, _ in random.sample(places, min(len(places), TRIES)):
            wide = [(first, last) for first, last in context.sizes(one, at) if last - first >= WIDE]
            if wide:
                widest = max(last - first for first, last in wide)
                return one, at, random.choice([(first, last) for first, last in wide if last - first == widest])
    return None


def announce_much(random: Random, script: Script, context: FuzzContext) -> Script:
    """End a write after a field that holds a large number: a size without its body.

    Most of them change a size, the widest of a write, if need be of another script. Sometimes many connections do so
    and stay open, so that what each of them reserves adds up.
    """
    if (found := _a_size(random, script, context) if random.random() < SIZES_ONLY else None) is None:
        if (written := a_write(random, script)) is None:
            return script
        at, write = written
        found = script, at, _at_a_field(random, write.data, lambda: context.edges(script, at))
    script, at, (first, last) = found
    action = script[at]
    assert isinstance(action, Write)
    data, last = action.data, min(last, first + 8)
    most = (1 << 8 * (last - first)) - 1
    announced = min(most, random.choice((most, *SIZES)))
    rest = data[last : last + random.choice((0, 0, 16))]
    changed = replace(action, data=data[:first] + announced.to_bytes(last - first, "little") + rest)
    number = random.choice((0, 0, 0, CROWD))
    each = (*context.opened(script, at), changed)
    crowd = [one for n in range(number) for one in on_other_connections(each, lambda _, n=n: f"crowd{n}")]  # type: ignore[misc]
    return (*script[:at], changed, *crowd, *script[at + 1 :])


def fill(random: Random, script: Script, context: FuzzContext) -> Script:
    """Insert a run of equal bytes at a field boundary."""
    number, byte = random.choice((16, 255, 600, 5000)), random.choice((*EDGES, random.randrange(256)))

    def change(data: bytes, edges: Edges) -> bytes:
        at = _at_a_field(random, data, edges)[0]
        return data[:at] + bytes([byte]) * number + data[at:]

    return _in_a_write(random, script, context, change)


def crowd(random: Random, script: Script, context: FuzzContext) -> Script:
    """Keep many connections open, from the beginning or from a random step on."""
    number, at = random.choice((8, 40, 120)), random.choice((0, random.randrange(len(script) + 1)))
    return (*script[:at], *(Open(f"crowd{one}") for one in range(number)), *script[at:])


def drip(random: Random, script: Script, context: FuzzContext) -> Script:
    """Send a write in pieces, with pauses or with another script on other connections between two of them."""
    if (found := a_write(random, script)) is None:
        return script
    at, action = found
    data = action.data
    cuts = sorted({0, len(data), *(random.randrange(len(data) + 1) for _ in range(random.randint(1, 4)))})
    pieces: list[ScriptStep] = []
    for first, last in pairwise(cuts):
        pieces += [Write(action.connection, data[first:last]), Sleep(random.choice((0.0, 0.001, 0.005)))]
    if random.random() < WHILE_OTHERS:
        pieces[1:2] = _elsewhere(random, script, context)
    return (*script[:at], *pieces, *script[at + 1 :])


def hang_up(random: Random, script: Script, context: FuzzContext) -> Script:
    """End a connection at a random step: close, half close or reset."""
    names = sorted({step.connection for step in script if isinstance(step, Open)})
    if not names:
        return script
    at, name = random.randint(1, len(script)), random.choice(names)
    opened = next(step for step in script if isinstance(step, Open) and step.connection == name)
    again = [opened] if random.random() < 0.5 else []
    return (*script[:at], Shut(name, random.choice(("half", "half", "close", "reset"))), *again, *script[at:])


def wait(random: Random, script: Script, context: FuzzContext) -> Script:
    """Let a little time pass at a random step."""
    at = random.randint(0, len(script))
    return (*script[:at], Sleep(random.choice((0.001, 0.01, LONGEST_WAIT))), *script[at:])


MUTATORS: Mapping[str, Mutator] = {
    one.__name__: one
    for one in (
        lie_in_a_field, flip_a_type, flip_bytes, truncate, splice, repeat, leave_out, reorder, interleave, pipeline,
        join, burst, announce_much, fill, crowd, drip, hang_up, wait,
    )
}  # fmt: skip
"""Name -> mutator; all of them, and those of `deliberate.py`, are equally likely."""
SMALL: tuple[Mutator, ...] = (lie_in_a_field, flip_bytes, flip_a_type)
"""Mutators that keep most of a script: what passed one condition passes it again."""
MULTIPLYING = frozenset({pipeline.__name__, burst.__name__, crowd.__name__})
"""Mutators whose scripts take the time of many others."""
