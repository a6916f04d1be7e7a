"""Tapes: what a case asks of the faultless server and what it is answered, so that a fault is seen without judging.

In simulation a play is a function of the answers alone: a server that answers every action of the tape as the faultless
one did gets the same verdict, and the case need not be judged again. Only where an answer differs is it played in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from wireproof.conformance.drivers.simulation import ServiceFactory, Simulation
from wireproof.conformance.model.actions import Action, Answer, Open, Secure, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.player.player import Player
from wireproof.protocols import LocalProtocolError, Role
from wireproof.protocols.dissect import Dissection

__all__ = ["Tape", "play", "record"]


@dataclass(frozen=True, slots=True)
class Tape:
    """Every action of one play, with its answer."""

    exchanges: tuple[tuple[Action, Answer], ...]
    asked: frozenset[str] | None
    """Names of the requests sent; None when some bytes are none."""

    def may_show(self, touched: frozenset[str] | None) -> bool:
        """Say whether a server that handles only the requests `touched` otherwise may answer otherwise."""
        return touched is None or self.asked is None or bool(touched & self.asked)

    def agrees(self, factory: ServiceFactory) -> bool:
        """Say whether a server of `factory` answers every action as it was answered before."""
        perform = Simulation(factory).perform
        return all(perform(action) == answer for action, answer in self.exchanges)


def play(player: Player, perform: Callable[[Action], Answer]) -> Outcome:
    """Return the outcome of a play whose actions are carried out by `perform`."""
    asking = player.play()
    try:
        action = next(asking)
        while True:
            action = asking.send(perform(action))
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome


def record(player: Player, factory: ServiceFactory) -> tuple[Outcome, Tape]:
    """Play in simulation; return the outcome and the tape of it."""
    perform = Simulation(factory).perform
    exchanges: list[tuple[Action, Answer]] = []

    def taped(action: Action) -> Answer:
        answer = perform(action)
        exchanges.append((action, answer))
        return answer

    outcome = play(player, taped)
    return outcome, Tape(tuple(exchanges), _asked(player, exchanges))


def _asked(player: Player, exchanges: Iterable[tuple[Action, Answer]]) -> frozenset[str] | None:
    """Read what was sent as a server does; None too where a server reads no further before it has answered."""
    spoken, codec = player.talk.symbols.protocol, player.talk.symbols.codec
    dissections: dict[str, Dissection] = {}
    try:
        for action, _ in exchanges:
            if isinstance(action, Open):
                dissections[action.connection] = Dissection(spoken.link_of(action.link), codec)
            elif isinstance(action, Secure):
                dissections[action.connection].of_client.start_tls()
            elif isinstance(action, Write):
                dissections[action.connection].feed(Role.CLIENT, action.data)
    except LocalProtocolError:
        return None
    sent = [one.of_client for one in dissections.values()]
    if any(one.error is not None or one.buffered for one in sent):
        return None
    return frozenset(message.NAME for one in sent for message in one.messages)
