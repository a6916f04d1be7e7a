"""The protocol, profile and variant that scripts are made for, and the operations on scripts that need them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal, cast
from zlib import crc32

import msgspec

from wireproof.conformance.model.actions import Action, Open, Read, Secure, Write
from wireproof.conformance.suite.field_boundaries import boundaries_of, field_boundaries
from wireproof.conformance.suite.symbols import Symbols
from wireproof.fuzz.live import seed_scripts
from wireproof.fuzz.live.canaries import canary, renumbered
from wireproof.fuzz.live.required_features import needs, optional_requests
from wireproof.fuzz.live.token_substitution import SHORTEST, TokenSubstitution, has_placeholders
from wireproof.fuzz.script import Script, ScriptStep
from wireproof.fuzz.seeds import by_state, conversations, exchanges
from wireproof.fuzz.state_paths import examples
from wireproof.protocols import LocalProtocolError, Message, RemoteProtocolError, Request, Role, protocol
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.fields import Atom, Blob, Kind, Nested, Raw, Rest, Split, Terminated, UInt
from wireproof.reference_server.model import Model
from wireproof.reference_server.registry import model_of

__all__ = ["LONGEST", "PAUSE", "FuzzContext", "largest_size"]

PAUSE = 0.004
"""Seconds that a script waits for a reply before it continues."""
READ_ONCE, LOOKED_INTO = 4096, 1024
"""Writes whose fields are remembered, and how many bytes of each: offsets take a hundred times as much memory, and a
change in what is repeated later shows nothing new."""
LONGEST = 4096
"""Longest conversation, in bytes, that is used as a seed: many short ones find more."""


def largest_size(kind: Kind) -> int:
    """Return how many bytes a field may hold; 0 if it holds none."""
    if isinstance(kind, Blob | Split):
        return int(kind.size.maximum)
    is_text = isinstance(kind, Atom) and kind.form == "text"
    return 1 << 20 if is_text or isinstance(kind, Rest | Terminated) else 0


@dataclass(frozen=True)
class FuzzContext:
    """One protocol under one profile and variant."""

    name: str
    profile: str
    variant: str
    others: list[Script] = field(default_factory=list)
    """The pool of scripts that mutators splice from."""
    features: frozenset[str] | None = None
    """The optional features that the target declares; None for all."""
    tls: bool = False
    """Whether the target speaks TLS where no feature says so."""
    known: set[tuple[str, str]] = field(default_factory=set)
    """Oracle and shape of what is known of the target: what lies behind it is looked for."""
    left_open: set[str] = field(default_factory=set)
    """Requests that may be answered in any way, and that the target leaves without an answer."""
    _unlike: Counter[bool] = field(default_factory=Counter)
    """How often a model did not fit that was set up as for the cases (False), or by default (True)."""

    @property
    def is_bare(self) -> bool:
        """Whether a model in its default configuration is more like the target, as far as is known."""
        return self._unlike[True] < self._unlike[False]

    def fits_better(self, *, bare: bool) -> None:
        """Note that the model of one configuration allowed what that of the other one did not."""
        self._unlike[not bare] += 1

    def _lacks(self, needed: Iterable[str]) -> bool:
        return self.features is not None and not self.features.issuperset(needed)

    def may_fail(self, case: str) -> bool:
        """Return whether the case of that id needs a feature that the target lacks."""
        return self.features is not None and self._lacks(needs(self.name).cases.get(case, ()))

    def may_refuse(self, link: str, requests: Iterable[Request]) -> bool:
        """Return whether the target may refuse a link or requests on it, because it lacks a feature."""
        if self.features is None:
            return False
        known = needs(self.name)
        asked = (known.requests.get(name, ()) for name in {one.NAME for one in requests})
        return self._lacks(known.links.get(link, ())) or any(map(self._lacks, asked))

    @cached_property
    def optional(self) -> frozenset[str]:
        """The names of the requests that a server may answer as it likes."""
        return optional_requests(self.name, self.profile)

    @cached_property
    def symbols(self) -> Symbols:
        """The names and the codec."""
        return Symbols(protocol(self.name), self.profile, self.variant, case="fuzz", namespace="fuzz")

    @cached_property
    def model(self) -> Model | None:
        """The sequential model of one record; None if the protocol has none."""
        try:
            return model_of(self.name, profile=self.profile, variant=self.variant)
        except ValueError:
            return None

    @cached_property
    def by_state(self) -> bool:
        """Whether decoding a request depends on earlier messages of its connection."""
        return by_state(self.name, self.profile, self.variant)

    @cached_property
    def token_fields(self) -> frozenset[tuple[str, int]]:
        """Name and size of the byte fields that occur in replies and in requests: tokens and ids."""
        replies = self.symbols.codec.profile.replies
        sent, received = (
            {
                (name, kind.size)
                for one in some
                for name, kind in self.symbols.codec.layout(one).fields
                if isinstance(kind, Raw) and kind.size >= SHORTEST
            }
            for some in (replies, [one for answers in replies.values() for one in answers])
        )
        return frozenset(sent & received)

    @cached_property
    def probe(self) -> tuple[Request, ...]:
        """The requests of a new connection that shows whether the server serves."""
        link = self.symbols.protocol.link
        return (*link.handshake(), link.sync_request())

    @cached_property
    def datagram_probes(self) -> tuple[tuple[str, Request], ...]:
        """Links over datagrams that the target declares, each with a request that is answered at once."""
        links = self.symbols.protocol.links
        if self.features is None:
            return ()
        asked = [(one, link.sync_request()) for one, link in links.items() if link.transport == "datagram"]
        return tuple((one, request) for one, request in asked if not self.may_refuse(one, (request,)))

    @cached_property
    def carriers(self) -> tuple[tuple[Request, str], ...]:
        """Requests that carry other requests, each with the name of the field that holds them."""
        codec, found = self.symbols.codec, []
        known = examples(self.name, self.profile, self.variant)
        for kind, answers in codec.profile.replies.items():
            if any(isinstance(one, Nested) for answer in answers for _, one in codec.layout(answer).fields):
                names = [name for name, one in codec.layout(kind).fields if isinstance(one, Blob)]
                found += [(cast(Request, known[kind][0]), names[-1])] if names and known.get(kind) else []
        return tuple(found)

    @cached_property
    def byte_order(self) -> Literal["little", "big"]:
        """The order of the bytes of a number."""
        return "big" if self.symbols.codec.profile.byte_order in (">", "!", "big") else "little"

    @cached_property
    def _kinds_of_fields(self) -> list[Kind]:
        layout = self.symbols.codec.layout
        return [kind for one in self.symbols.codec.profile.replies for _, kind in layout(one).fields]

    @cached_property
    def is_text(self) -> bool:
        """Whether numbers of requests are written in decimal."""
        return any(isinstance(kind, Atom) for kind in self._kinds_of_fields)

    @cached_property
    def widest_field(self) -> int:
        """Bits of the widest number or size in a request."""
        sizes = (getattr(kind, "size", kind) for kind in self._kinds_of_fields)
        plain = [kind for kind in self._kinds_of_fields if type(kind) is UInt]
        return 8 * max((one.width for one in (*plain, *sizes) if isinstance(one, UInt)), default=0)

    @cached_property
    def largest_field(self) -> int:
        """Bytes that the largest field of a request may hold."""
        return max(map(largest_size, self._kinds_of_fields), default=0)

    @cached_property
    def speaks_tls(self) -> bool:
        """Whether a link may go on inside TLS, and the target does not lack it."""
        if not any(link.tls for link in self.symbols.protocol.links.values()):
            return False
        known = conversations(self.name, self.profile, self.variant)
        inside = (one["id"] for one in known if any(step["do"] == "secure" for step in one["steps"]))
        return self.tls or not all(map(self.may_fail, inside))

    @cached_property
    def tls_openings(self) -> Mapping[str, bytes]:
        """Link -> what a client sends in clear before TLS, in the place of its first request or before it."""
        found: dict[str, bytes] = {}
        for name, link in self.symbols.protocol.links.items() if self.speaks_tls else ():
            asked = [b"", *(self.encode(one) for one in self._first_requests)] if link.tls else []
            for data in asked:
                dissection = self.dissection(name)
                dissection.feed(Role.CLIENT, data)
                try:
                    dissection.of_client.start_tls()
                except LocalProtocolError:
                    continue
                found[name] = data
                break
        return found

    @cached_property
    def _first_requests(self) -> list[Request]:
        """Examples of the requests that open connections."""
        known = examples(self.name, self.profile, self.variant)
        kinds = [kind for kind in self.symbols.codec.profile.replies if kind in known]
        return [one for kind in kinds for one in known[kind] if isinstance(one, Request)]

    def frames(self, script: Script, at: int) -> list[tuple[tuple[int, int], Message]]:
        """Return the requests that begin in a write and end in it, each with its offsets there.

        Only its first `LONGEST` bytes are read.
        """
        write = script[at]
        assert isinstance(write, Write)
        mine = tuple(step for step in script[:at] if getattr(step, "connection", "") == write.connection)
        known = self.read(mine).get(write.connection) if self.by_state else None
        dissection = known or self.dissection()
        before = dissection.of_client.size
        found = dissection.feed(Role.CLIENT, write.data[:LONGEST])
        spans = [((one.span[0] - before, one.span[1] - before), one.message) for one in found]
        return [(span, message) for span, message in spans if span[0] >= 0]

    def sizes(self, script: Script, at: int) -> list[tuple[int, int]]:
        """Return the offsets in a write of the fields that say how many bytes follow: (first byte, byte after it)."""
        found: list[tuple[int, int]] = []
        for (start, _), message in self.frames(script, at):
            layout = self.symbols.codec.layout(type(message))
            kinds = dict(layout.fields)
            own = [one for one in layout.places(message) if not one.body and isinstance(kinds[one.field], Blob | Split)]
            found += [(start, start + layout.size)] if layout.size else []
            found += [(start + one.start, start + one.stop) for one in own]
        return found

    def dissection(self, link: str = "") -> Dissection:
        """Return a dissection of both directions of a new connection on `link`."""
        return Dissection(self.symbols.protocol.link_of(link), self.symbols.codec)

    def substitution(self, script: Script) -> TokenSubstitution | None:
        """Return what replaces the placeholders of a script; None if it has none."""
        return TokenSubstitution(self.dissection, self.token_fields) if has_placeholders(script) else None

    def edges(self, script: Script, at: int) -> tuple[int, ...]:
        """Return the offsets in a write at which requests and fields begin or end, without its own ends.

        Only its first `LONGEST` bytes are read.
        """
        write = script[at]
        assert isinstance(write, Write)
        if not self.by_state:
            return self._boundaries(write.data[:LOOKED_INTO])
        mine = tuple(step for step in script[:at] if getattr(step, "connection", "") == write.connection)
        dissection, edges = self.read(mine).get(write.connection) or self.dissection(), set[int]()
        before = dissection.of_client.size
        for frame in dissection.feed(Role.CLIENT, write.data[:LONGEST]):
            inner = field_boundaries(self.symbols.codec.layout(type(frame.message)), frame.message)
            edges.update(one - before for one in (*frame.span, *(frame.span[0] + at for at in inner)))
        return tuple(sorted(one for one in edges if 0 < one < len(write.data)))

    @cached_property
    def _boundaries(self) -> Callable[[bytes], tuple[int, ...]]:
        """Return offsets at which fields of a connection's first bytes begin; scripts of a pool are read often."""

        def read(data: bytes) -> tuple[int, ...]:
            return boundaries_of(self.symbols, data).boundaries

        return lru_cache(READ_ONCE)(read)

    def read(self, script: Script) -> dict[str, Dissection]:
        """Return connection name -> dissection of what the script sends, read without any replies."""
        found: dict[str, Dissection] = {}
        for step in script:
            if isinstance(step, Open):
                found[step.connection] = self.dissection(step.link)
            elif isinstance(step, Write) and step.connection in found:
                found[step.connection].feed(Role.CLIENT, step.data)
            elif isinstance(step, Secure) and step.connection in found:
                found[step.connection].follow_tls()
        return found

    def opened(self, script: Script, at: int) -> tuple[Action, ...]:
        """Return the steps that bring another connection into the state in which the write at `at` is sent."""
        name, steps = getattr(script[at], "connection", ""), list[Action]()
        for step in script[:at]:
            if isinstance(step, Open) and step.connection == name:
                steps = [step]
            elif self.by_state and isinstance(step, Write | Secure) and step.connection == name:
                steps.append(step)
        return tuple(steps)

    def requests(self, data: bytes) -> tuple[list[Request], bool]:
        """Return the requests at the beginning of `data`, and whether `data` holds nothing else."""
        reader = self.symbols.protocol.link.server(self.symbols.codec)
        found: list[Request] = []
        if data:
            reader.receive_data(data)
        try:
            while isinstance(one := reader.next_event(), Request):
                found.append(one)
        except RemoteProtocolError:
            return found, False
        return found, reader.received == len(data)

    def encode(self, request: Request) -> bytes:
        """Return the bytes of a request. Raises `LocalProtocolError` if it cannot be encoded."""
        data: bytes = self.symbols.codec.encode(request)
        return data

    def blobs(self, message: Message) -> list[str]:
        """Return the names of the fields of any bytes."""
        return [name for name, kind in self.symbols.codec.layout(type(message)).fields if isinstance(kind, Blob)]

    def seeds(self) -> Iterator[Script]:
        """Yield valid scripts: each exchange of the vectors on one connection, with canaries in its names, and the
        conversations and generated scripts of several connections.

        Where decoding depends on earlier messages: whole conversations and generated scripts.
        """
        if self.by_state:
            yield from seed_scripts.seeds(self)
            return
        for exchange in exchanges(self.name, self.profile, self.variant):
            writes = [self._with_canaries(request) for request in exchange.asked]
            if writes and sum(map(len, writes)) <= LONGEST:
                yield (Open("a"), *(step for data in writes for step in (Write("a", data), Read("a", PAUSE))))
        yield from seed_scripts.of_several_connections(self)

    def with_canaries(self, data: bytes) -> bytes:
        """Return `data` with canaries in the names of its requests; unchanged if it holds anything else."""
        found, whole = self.requests(data)
        return b"".join(map(self._with_canaries, found)) if whole else data

    def apart(self, script: Script) -> Script:
        """Return the script with one write for each request, where a write holds only requests."""
        return tuple(one for step in script for one in self._apart(step))

    def _apart(self, step: ScriptStep) -> Iterator[ScriptStep]:
        found, whole = self.requests(step.data) if isinstance(step, Write) else ([], False)
        if isinstance(step, Write) and whole and len(found) > 1:
            yield from (Write(step.connection, self.encode(one)) for one in found)
        else:
            yield step

    def _with_canaries(self, request: Request) -> bytes:
        """Return the bytes of a request with a canary before each name and value, cut where that is too long."""
        for name in self.blobs(request):
            value: bytes = getattr(request, name)
            inner, whole = self.requests(value)
            if whole and inner:
                request = self._with(request, name, b"".join(map(self._with_canaries, inner)), value)
            elif value:
                with_canaries = canary(crc32(value) >> 8) + value
                request = self._with(request, name, with_canaries, with_canaries[: len(value)])
        return self.encode(request)

    def _with(self, request: Request, name: str, value: bytes, otherwise: bytes) -> Request:
        """Return the request with `value` in a field, or with `otherwise` where it cannot be encoded."""
        changed = msgspec.structs.replace(request, **{name: value})
        try:
            self.encode(changed)
        except LocalProtocolError:
            return msgspec.structs.replace(request, **{name: otherwise})
        return changed

    def many(self, data: bytes, number: int) -> bytes:
        """Return `number` copies of a write, each with names of its own."""
        copies = (renumbered((Write("", data),), one << 8) for one in range(number))
        return b"".join(step.data for copy in copies for step in copy if isinstance(step, Write))
