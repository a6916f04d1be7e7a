"""Oracles about the content of replies: bytes of other clients, and replies that no state of the model allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping

from wireproof.conformance.model.wording import describe
from wireproof.fuzz.live.canaries import canaries_in
from wireproof.fuzz.live.exchanges import FollowedTrace, PlayedConnection, shape_of
from wireproof.fuzz.live.following import Follower, follower
from wireproof.fuzz.live.observation import Play, Suspicion
from wireproof.protocols import LocalProtocolError, Message, Request
from wireproof.reference_server.model import Model

__all__ = ["disagreement", "leak", "unlike_the_model"]

Exchange = tuple[Request, Message]
"""A request and its reply."""
MOST_KEYS = 16
"""Records of one connection that are followed."""


def _key(model: Model, request: Request) -> bytes | None:
    """Return the key of a request about one record of the script; None for any other request."""
    try:
        key = model.key(request)
    except ValueError:
        return None
    return key if canaries_in(key) else None


def _senders(play: Play, data: bytes) -> list[PlayedConnection]:
    return [line for line in play.lines if data in line.sent]


def _is_sure(line: PlayedConnection) -> bool:
    """Return whether each reply belongs to a known request, also where one might be answered in any way."""
    return line.valid and line.clear and not (line.asks_what_is_optional and line.due > 0)


def leak(play: Play) -> Suspicion | None:
    """Report a reply about one record with canaries that nobody who named the record has sent."""
    model = play.context.model
    if model is None:
        return None
    for line in play.lines:
        if canaries_in(line.received) <= canaries_in(line.sent) or not _is_sure(line):
            continue
        for request, reply in line.answered:
            if (key := _key(model, request)) is None or not (canaries := canaries_in(_bytes(play, reply))):
                continue
            foreign = canaries - {one for other in _senders(play, key) for one in canaries_in(bytes(other.sent))}
            if foreign:
                detail = f"the reply to {request.NAME} on connection {line.name} holds {min(foreign).decode()}"
                shape = f"{request.NAME} > {shape_of(reply)}"
                detail += ", which nobody sent for it"
                about = request.NAME, reply.NAME
                return Suspicion("replies hold nobody else's bytes", detail, shape, about=about)
    return None


def _bytes(play: Play, reply: Message) -> bytes:
    try:
        data: bytes = play.context.symbols.codec.encode(reply)
    except LocalProtocolError:
        return b""
    return data


def disagreement(play: Play) -> Suspicion | None:
    """Report replies about a record of one valid connection that no state of the model allows."""
    model = play.context.model
    if model is None:
        return None
    for line in play.lines:
        if _is_sure(line):
            about = _by_key(model, line)
            for key in _own_keys(play, model, line):
                found = _disagrees(model, about.get(key, ()), play.trace[-1].at_us * 1000 if play.trace else 0)
                if found is not None:
                    return found
    return None


def _own_keys(play: Play, model: Model, line: PlayedConnection) -> Iterator[bytes]:
    """Yield the first keys that only this connection names, and only in requests about one record."""
    named = [(_key(model, one), one) for one in line.requests]
    keys = dict.fromkeys(key for key, _ in named if key is not None)
    others = [one for key, one in named if key is None]
    elsewhere = [getattr(one, name) for one in others for name in play.context.blobs(one)]
    for key in list(keys)[:MOST_KEYS]:
        longer = any(key in other and key != other for other in keys)
        if not longer and not any(key in value for value in elsewhere) and len(_senders(play, key)) == 1:
            yield key


def _by_key(model: Model, line: PlayedConnection) -> Mapping[bytes | None, list[Exchange]]:
    """Return key -> the requests about that record with their replies, in order; None for all others."""
    found: defaultdict[bytes | None, list[Exchange]] = defaultdict(list)
    for request, reply in line.answered:
        found[_key(model, request)].append((request, reply))
    return found


def _kind(description: str) -> str:
    """Return the kind of a state, its first word; "nothing" where there is no record."""
    first = description.split()[0]
    return "nothing" if first == "no" else first


def _disagrees(model: Model, about: Iterable[Exchange], within_ns: int) -> Suspicion | None:
    """Return what the replies to requests about one record, in `within_ns`, say that no state of the model allows.

    A record that expires at once may be seen within the tolerance of times, so it is followed no further; one that
    expired meanwhile may be seen again, too.
    """
    states: dict[Hashable, None] = {model.initial: None}
    for request, reply in about:
        if any(model.expires_at_once(state, request) for state in states):
            return None
        after = {one: None for state in states for one in model.step(state, request, reply)}
        if not after:
            detail = " or ".join(map(model.describe, states))
            kinds = " or ".join(sorted({_kind(model.describe(state)) for state in states}))
            answer = f"{reply.NAME} {int(reply.ok)}" if hasattr(reply, "ok") else reply.NAME
            shape = f"{kinds} > {request.NAME} > {answer}"  # as the model of the whole server writes it
            detail = f"{request.NAME} with {detail}: {describe(reply)}"
            return Suspicion("answers agree with the model", detail, shape, about=(request.NAME, reply.NAME))
        again = (one for one in states if model.may_be_seen_again(one, request, reply, within_ns))
        states = {**after, **dict.fromkeys(again)}
    return None


def unlike_the_model(play: Play) -> Suspicion | None:
    """Report an answer or a push that the model of the whole server does not allow, or a push that did not come."""
    context, trace = play.context, play.trace
    followed = trace.follower if isinstance(trace, FollowedTrace) else None
    if followed is None or followed.found is None or play.death is not None or not play.serves:
        return None
    if context.by_state:
        other = _followed_again(play, bare=not followed.is_bare)
        if other.found is None:
            context.fits_better(bare=not followed.is_bare)
            return None
    oracle, found = followed.found
    return Suspicion(oracle, found.detail, found.shape, found.clause)


def _followed_again(play: Play, *, bare: bool) -> Follower:
    """Return a model of another configuration that has followed the whole play."""
    again = FollowedTrace(context=play.context)
    again.follower = follower(play.context, bare=bare)
    assert again.follower is not None
    for event in play.trace:
        again.append(event)
    again.follower.finish()
    return again.follower
