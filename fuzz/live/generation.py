"""Generates scripts: a valid handshake, then any requests, on connections of several links at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

import msgspec

from wireproof.conformance.model.actions import Action, Open, Read, Sleep, Write
from wireproof.fuzz.live.canaries import canary
from wireproof.fuzz.live.token_substitution import placeholder
from wireproof.fuzz.script import Script
from wireproof.fuzz.state_paths import connections_after, examples, state_paths
from wireproof.protocols import LocalProtocolError, ProtocolError, Request
from wireproof.protocols.fields import Kind, Raw, is_bytes, is_number
from wireproof.protocols.links import Link

if TYPE_CHECKING:
    from wireproof.fuzz.live.context import FuzzContext

__all__ = ["ScriptGenerator"]

PAUSE, GLANCE = 0.02, 0.003
"""Seconds that a script waits for a reply, and for messages on other connections."""
MOST_ASKED = 16
SIGNS = b"ab/+#.*"
"""The bytes of generated names: few letters, so that names collide, and characters that protocols treat specially."""
SIZES = (0, 1, 1, 1, 2, 3, 3, 5, 8)
ENDS, OLD, OTHER_LINK, AGAIN = 0.1, 0.6, 0.7, 0.3
"""Probabilities: of a request that ends the connection, of an old name, of a connection on another link, of a second
connection.
"""
OTHER_BODY = 0.5
"""Probability of a body of its own."""
FIRST, SECOND = "a", "zy"
OFTEN = 0.9
"""Probability of a second connection where there is one link."""
MARKED, FEW_CLASSES, FEW = 0.5, 0.5, (3, 6)
"""Shares of the scripts with names of their own, and with few classes of requests, and how many these are."""
TIMES = (*(1,) * 15, 5)
"""How often a request is sent: a server may fail only once it has done something some times."""
NAMING = 3
"""How much more often a request is drawn that names something."""
WAITED, WAITS = 0.03, (0.001, 0.02, 0.3)
"""Probability of a wait after a request, and seconds; the last one is longer than a server may be late."""


class ScriptGenerator:
    """Generates scripts; the same source of randomness gives the same scripts.

    In half of them, and wherever requests are decoded by themselves, names are of one play: a model can follow it.
    """

    def __init__(self, context: FuzzContext, random: Random) -> None:
        self._context = context
        self._random = random
        self._spoken = context.symbols.protocol
        self._names: list[bytes] = []
        self._bodies = 0
        self._mark = b""
        """What every name begins with."""
        self._classes: frozenset[str] | None = None
        """The requests that are sent; None for all."""

    def script(self) -> Script:
        """Return a script."""
        first, *others = (one for one in self._spoken.links if not self._context.may_refuse(one, ()))
        lines, self._names = {FIRST: first}, []
        is_marked = self._context.by_state and self._random.random() < MARKED
        self._mark = canary(self._random.getrandbits(32)) if is_marked else b""
        self._classes = self._some_classes(first) if self._random.random() < FEW_CLASSES else None
        lines.update(
            {name: link for name, link in zip("bcdefgh", others, strict=False) if self._random.random() < OTHER_LINK}
        )
        again = (AGAIN,) if self._context.by_state else (OFTEN, AGAIN)
        lines |= {name: first for name, share in zip(SECOND, again, strict=False) if self._random.random() < share}
        script = [step for name, link in lines.items() for step in self._begun(name, link)]
        asking = [name for name, link in lines.items() if any(self._askable[link])]
        for _ in range(self._random.randint(1, MOST_ASKED)):
            name = self._random.choice(asking)
            script += [Write(name, self._asked(lines[name]))] * self._random.choice(TIMES)
            script += [Read(name, PAUSE)] if self._random.random() < 0.9 else []
            script += [Read(one, GLANCE) for one in lines if one != name and self._random.random() < 0.2]
            script += [Sleep(self._random.choice(WAITS))] if self._random.random() < WAITED else []
        return (*script, *(Read(name, GLANCE) for name in lines))

    def _some_classes(self, link: str) -> frozenset[str]:
        """Return a few classes of requests: what needs several requests of the same ones is drawn often so."""
        known = sorted({kin[0].NAME for some in self._askable[link] for kin in some})
        return frozenset(self._random.sample(known, min(len(known), self._random.randint(*FEW))))

    def _begun(self, name: str, link: str) -> Iterator[Action]:
        """Yield the steps that open a connection; tokens of the first connection are written as placeholders."""
        kind = self._spoken.links[link]
        usual = kind is self._spoken.link
        yield Open(name, "" if usual else link, kind.transport, listener=kind.listener)
        for request in self._handshake(link):
            tokens = {
                field: placeholder(FIRST, kind.size)
                for field, kind in self._fields(request)
                if isinstance(kind, Raw) and (field, kind.size) in self._context.token_fields
            }
            yield Write(name, self._context.encode(msgspec.structs.replace(request, **tokens)))
            yield Read(name, PAUSE)

    def _handshake(self, link: str) -> Sequence[Request]:
        """Return the requests that open a connection, or the longest state path of a link without a handshake."""
        found = self._spoken.links[link].handshake()
        if found:
            return found
        longest = max(state_paths(self._context.name, self._context.profile, self._context.variant, link), key=len)
        return [one for one in longest if isinstance(one, Request)]

    def _fields(self, request: Request) -> Sequence[tuple[str, Kind]]:
        fields: Sequence[tuple[str, Kind]] = self._context.symbols.codec.layout(type(request)).fields
        return fields

    @cached_property
    def _askable(self) -> dict[str, tuple[list[list[Request]], list[list[Request]]]]:
        """Link -> examples of requests after the handshake: those after which it continues, and those that end it.

        The sync request of a link replaces other requests of its class.
        """
        known = examples(self._context.name, self._context.profile, self._context.variant)
        found: dict[str, tuple[list[list[Request]], list[list[Request]]]] = {}
        for name, link in self._spoken.links.items():
            usual, ending = found[name] = [], []
            sync_request, handshake = _sync_request(link), tuple(self._handshake(name))
            for some in filter(None, known.values()):
                kin = [sync_request] if sync_request is not None and type(some[0]) is type(sync_request) else some
                asked = [one for one in kin if isinstance(one, Request) and not self._context.may_refuse(name, (one,))]
                here = [one for one in asked if self._may_follow(link, (*handshake, one))]
                goes_on = sync_request is None or any(
                    self._may_follow(link, (*handshake, one, sync_request)) for one in here
                )
                if here:
                    (usual if goes_on else ending).append(here)
        return found

    def _may_follow(self, link: Link, asked: tuple[Request, ...]) -> bool:
        try:
            connections_after(link, self._context.symbols.codec, asked)
        except (ProtocolError, LookupError):
            return False
        return True

    def _asked(self, link: str) -> bytes:
        usual, ending = self._askable[link]
        kinds = ending if ending and (not usual or self._random.random() < ENDS) else usual
        few = [kin for kin in kinds if self._classes is None or kin[0].NAME in self._classes] or kinds
        weights = [NAMING if self._spoken.named_by.intersection(kin[0].__struct_fields__) else 1 for kin in few]
        return self._encoded(self._random.choice(self._random.choices(few, weights)[0]))

    def _encoded(self, example: Request) -> bytes:
        """Return the bytes of a request like `example` with other field values, if they can be encoded."""
        changed = {}
        for field, kind in self._fields(example):
            if self._random.random() < self._share(field, kind):
                is_body = is_bytes(kind) and field not in self._spoken.named_by
                changed[field] = self._body() if is_body else self._value(kind)
        try:
            data = self._context.encode(msgspec.structs.replace(example, **changed))
        except LocalProtocolError:
            data = self._context.encode(example)
        return data if self._context.by_state else self._context.with_canaries(data)

    def _share(self, field: str, kind: Kind) -> float:
        """Return the probability that a field gets another value: high for names, low for enums."""
        if is_number(kind):
            return 0.1 if field in self._spoken.names else 0.3
        if is_bytes(kind) and not isinstance(kind, Raw):
            return (1.0 if self._mark else 0.8) if field in self._spoken.named_by else OTHER_BODY
        return 0.0

    def _body(self) -> bytes:
        """Return a body that no other request of the script has: the order of what is pushed is seen in these."""
        self._bodies += 1
        return b"%d" % self._bodies + bytes(self._random.choices(SIGNS, k=self._random.choice(SIZES)))

    def _value(self, kind: Kind) -> object:
        if is_number(kind):
            edges = (0, 1, 2, kind.maximum >> 1, kind.maximum)
            return self._random.choice((*edges, self._random.randint(0, kind.maximum)))
        if self._names and self._random.random() < OLD:
            return self._random.choice(self._names)
        if not self._mark and self._random.random() < 0.1:
            return self._random.randbytes(self._random.randint(0, 40))
        self._names.append(self._mark + bytes(self._random.choices(SIGNS, k=self._random.choice(SIZES))))
        return self._names[-1]


def _sync_request(link: Link) -> Request | None:
    try:
        return link.sync_request()
    except LookupError:
        return None
