"""Recordings: what a case asks of the unmodified reference server, and what it is answered.

A play in simulation is deterministic. The virtual clock moves only when the player waits, connection ids come from a
seeded generator, and the player has no other input than the answers of the server: its next action is a function of
the case and of the answers so far. So two servers that answer every action of one play alike get the same verdict.

This makes a kill matrix cheap. A case is played once against the unmodified reference server, and each action is kept
with its answer: a recording. To run a mutant, the actions of the recording are performed on it, and its answers are
compared with those kept, byte by byte, time included. No player, no pattern and no monitor takes part:

- Every answer is the same: the verdict is that of the reference server, which is "pass". Nothing else is done.
- Some answer differs: the rest of the recording says nothing (the player might act otherwise from there on), so the
  case is played again in full against a fresh mutant, and judged as in any run.

Most mutants change the answers to one request. Those that patch single request handlers list the requests that they
touch, and a recording in which none of these requests was sent is not replayed at all. That shortcut holds only where
the server decodes every byte that was sent as a request; otherwise the names are unknown and the recording is replayed.

An exception in the mutant counts as a different answer. The case is then played in full, and what it gets is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from wireproof.conformance.drivers.simulation import ServiceFactory, Simulation
from wireproof.conformance.model.actions import Action, Answer, Open, Secure, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.player.player import Player
from wireproof.protocols import LocalProtocolError, Role
from wireproof.protocols.dissect import Dissection

__all__ = ["Recording", "play", "record"]


@dataclass(frozen=True, slots=True)
class Recording:
    """Every action of one play, with its answer."""

    exchanges: tuple[tuple[Action, Answer], ...]
    requests: frozenset[str] | None
    """Names of the requests sent; None where some bytes are no request."""

    def may_differ(self, touched: frozenset[str] | None) -> bool:
        """Say whether a mutant that handles only the requests `touched` otherwise may answer otherwise."""
        return touched is None or self.requests is None or bool(touched & self.requests)

    def agrees(self, factory: ServiceFactory) -> bool:
        """Say whether a server of `factory` answers every action as recorded; one that raises does not."""
        perform = Simulation(factory).perform
        try:
            return all(perform(action) == answer for action, answer in self.exchanges)
        except Exception:
            return False


def play(player: Player, perform: Callable[[Action], Answer]) -> Outcome:
    """Return the outcome of a play whose actions are carried out by `perform`."""
    actions = player.play()
    step = partial(next, actions)
    while True:
        try:
            action = step()
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome
        step = partial(actions.send, perform(action))  # not in the `try`: a mutant may raise StopIteration, too


def record(player: Player, factory: ServiceFactory) -> tuple[Outcome, Recording]:
    """Play in simulation; return the outcome and the recording of it."""
    perform = Simulation(factory).perform
    exchanges: list[tuple[Action, Answer]] = []

    def recorded(action: Action) -> Answer:
        answer = perform(action)
        exchanges.append((action, answer))
        return answer

    outcome = play(player, recorded)
    return outcome, Recording(tuple(exchanges), _requests(player, exchanges))


def _requests(player: Player, exchanges: Iterable[tuple[Action, Answer]]) -> frozenset[str] | None:
    """Decode what was sent as a server does; None too where a server reads no further before it has answered."""
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
