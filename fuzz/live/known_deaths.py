"""What is known of deaths and hangs: which scripts would meet one again, so that a campaign finds what lies behind it.

A death is known by its traits: which requests its reduced script sends, and which again, what it sends that is none,
and how its connections end. A script that has all of them would probably meet the same death. Hangs are known in the
same way.
"""

from __future__ import annotations

from wireproof.conformance.model.actions import Open, Shut, Write
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.observation import Suspicion
from wireproof.fuzz.live.oracles import SERVED, SERVED_ON, WAITS
from wireproof.fuzz.script import Script
from wireproof.protocols import Request
from wireproof.protocols.states import Role

__all__ = ["FATAL", "STEERED_AROUND", "KnownDeaths", "stuck_shapes", "traits"]

# The problem. A campaign that has found one death meets it again in every second script, since its corpus is full of
# what leads there. Each time costs a restart and a reduction, and what lies beyond that death is never reached.
#
# Why traits. Whether a script meets a known death must be decided before it is played. Bytes are no help: names, values
# and order change with each mutation, and the cause stays. But a reduced script has little that its death does not
# need. So what it asks for, what it sends that is no request, and how it ends its connections are conditions of the
# death, as far as one example shows them. A script that has all of them (`known <= has`) would probably meet it.
#
# What goes wrong, and what limits the damage. Traits are coarse: two deaths may need the same requests and differ by a
# value. So scripts with all traits are not excluded, only made rare (`MEETING` in live_campaign.py), and a death that
# prints words is recognised by its words, not by traits. `avoided` and `met` are printed, so that one can see how much
# of a campaign went around what is known.
#
# A death without words has no other name than its traits; they become part of its shape, and two such deaths with the
# same traits are one finding. So has a hang, of the server or of one connection: each play that meets it waits for as
# long as a reply may take. Traits of a hang do not make a death known, and the other way round.


FATAL = frozenset({"the process stays", "a sanitizer is silent", SERVED})
"""Oracles whose failure ends the server or makes it useless."""
STEERED_AROUND = FATAL | WAITS
"""Oracles whose failure takes the time of many plays: what meets it again is rarely played."""
NOT_SHOWN = "not reproduced"
LARGE, MANY = 4096, 64
"""Bytes of a large write; requests of a script with many."""


def traits(script: Script, context: FuzzContext) -> frozenset[str]:
    """Return what a script does, without names, values and order.

    What is sent is read as a server reads it, across writes: behind the beginning of a request comes the rest of it.
    """
    found: set[str] = set()
    asked = opened = 0
    before: set[tuple[str, Request]] = set()
    begun: dict[str, bytes] = {}
    """Connection -> the beginning of a request that it has sent."""
    for step in script:
        if isinstance(step, Write):
            data = begun.pop(step.connection, b"") + step.data
            requests, whole = context.requests(data)
            asked += len(requests)
            found |= _again(requests, step.connection, found, before)
            if not whole:
                rest = data[sum(len(context.encode(one)) for one in requests) :]
                if context.by_state or not _begins_one(rest, context):
                    found.add(_no_request(rest, context))
                else:
                    begun[step.connection] = rest
            if len(step.data) >= LARGE:
                found.add("large")
        elif isinstance(step, Open | Shut) and (rest := begun.pop(step.connection, b"")):
            found.add(_no_request(rest, context))
        if isinstance(step, Shut) and step.how != "close":
            found.add(step.how)
        opened += isinstance(step, Open)
    found |= {_no_request(rest, context) for rest in begun.values()}
    if asked >= MANY:
        found.add("many")
    return frozenset(found | ({"connections"} if opened > 1 else set()))


def _again(asked: list[Request], connection: str, found: set[str], before: set[tuple[str, Request]]) -> set[str]:
    """Return the names of requests, and which kinds are asked again, the same request of a connection apart."""
    traits: set[str] = set()
    for one in asked:
        same = (connection, one)
        traits |= {f"the same {one.NAME} again"} if same in before else set()
        traits |= {f"{one.NAME} again"} if one.NAME in found | traits else {one.NAME}
        before.add(same)
    return traits


def _once(found: frozenset[str]) -> frozenset[str]:
    """Return traits without what is asked again: a script that was not reduced to its end asks more than it needs."""
    return frozenset(one for one in found if not one.endswith(" again"))


def _begins_one(data: bytes, context: FuzzContext) -> bool:
    """Return whether bytes are the beginning of a request."""
    dissection = context.dissection()
    dissection.feed(Role.CLIENT, data)
    return dissection.of_client.error is None


def _no_request(data: bytes, context: FuzzContext) -> str:
    """Return what bytes are that are no whole request: the beginning of one, or none."""
    for kind, lead in context.symbols.codec.profile.leads.items():
        if lead and data.startswith(lead):
            return f"an incomplete {kind.NAME}"
    return "no request"


def stuck_shapes(suspicion: Suspicion) -> tuple[str, ...]:
    """Return the shapes of a connection that is not served any more, the one that a reduced script shows first.

    A reduced script asks only what is needed: it shows what is answered before only if that has done it.
    """
    at = f"at {suspicion.about[0]}"
    return (f"after {suspicion.after}", at) if suspicion.after else (at,)


class KnownDeaths:
    """The deaths and hangs that a campaign has met, or was given."""

    def __init__(self, context: FuzzContext) -> None:
        self._context = context
        self._traits: dict[tuple[str, frozenset[str]], bool] = {}
        """(oracle, traits) -> whether the script was reduced to its end, so that it needs all of them."""
        self._of_nothing: set[str] = set()
        """Oracles that report it whatever is sent."""
        self.avoided = 0
        """Scripts that were not played because they would probably meet a known death."""
        self.met = 0
        """Plays that met one all the same."""

    def __bool__(self) -> bool:
        return bool(self._traits)

    def add(self, oracle: str, script: Script, *, is_reduced: bool = True) -> None:
        """Take a reduced script that ends the server, or hangs it, as that oracle says."""
        found = traits(script, self._context)
        if not is_reduced:
            found = _once(found)
        if found:
            self._traits[oracle, found] = is_reduced
        elif is_reduced:
            self._of_nothing.add(oracle)

    def known(self, oracle: str) -> list[frozenset[str]]:
        """Return the traits of what that oracle has reported."""
        return [found for by, found in self._traits if by == oracle]

    def explains(self, oracle: str, script: Script) -> bool:
        """Return whether a script shows what is known of none, or of one that was not reduced to its end."""
        if oracle in self._of_nothing:
            return True
        has = traits(script, self._context)
        found = [one for one in self._traits if one[0] == oracle and has < one[1] and not self._traits[one]]
        for one in found:
            del self._traits[one]
        return bool(found)

    def would_meet(self, script: Script, oracle: str = "") -> bool:
        """Return whether a script has all traits of what is known, or of what that oracle has reported of it."""
        if not self._traits:
            return False
        has = traits(script, self._context)
        return any(known <= has for by, known in self._traits if oracle in ("", by))

    def distinguished(
        self, suspicion: Suspicion, script: Script, *, is_reduced: bool = True, is_shown: bool = True
    ) -> Suspicion:
        """Return the suspicion of a death without words, or of a hang, with the traits of its script in its shape.

        A connection that is served no more is distinguished by what was answered last, or else by what is not answered.
        Scripts that were played and did not show it again (`is_shown`) tell nothing: such deaths are one.
        """
        if not suspicion.is_wordless:
            return suspicion
        if not is_shown:
            return suspicion.with_shape(f"{suspicion.shape} | {NOT_SHOWN}")
        if suspicion.oracle == SERVED_ON:
            return suspicion.with_shape(stuck_shapes(suspicion)[0])
        found = traits(script, self._context)
        by = ", ".join(sorted(found if is_reduced else _once(found)))
        return suspicion.with_shape(f"{suspicion.shape} | by {by or 'connecting'}")
