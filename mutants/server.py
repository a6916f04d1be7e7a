"""What mutants of servers are made of, whatever the protocol: edits of source, and patches on requests and answers.

A change takes what it changes and an `Ask` (who asks, what, when, on which server) and returns what it becomes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from wireproof.mutants.edits import Edit, Edited
from wireproof.protocols.fields import Kind
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile

__all__ = [
    "Ask",
    "HandlerPatch",
    "Kinds",
    "ProfilePatch",
    "both",
    "changed",
    "clauses_of",
    "derived",
    "field_kind",
    "instead",
    "lead",
    "order",
    "patched",
    "taking",
    "with_answer",
    "with_handler",
    "with_request",
]

Handler = Callable[[Any, Any, int], Any]
"""(request, who asks, now in monotonic ns) -> the answer."""
Handlers = dict[type[Request], Handler]
HandlerPatch = Callable[[Handlers, Any], Handlers]
"""(correct handlers, state) -> the handlers to replace."""
ProfilePatch = Callable[[Profile], Profile]
Kinds = type[Request] | Iterable[type[Request]]
changed = msgspec.structs.replace
"""`changed(message, field=value)`: the same message with other fields."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request in hand."""

    request: Any
    session: Any
    """The session, or the sender of a datagram."""
    now: int
    """Monotonic ns."""
    state: Any


def clauses_of(prefix: str, words: str) -> tuple[str, ...]:
    """Return the ids of clauses that `words` names without their prefix, the plainest first; doubles count once."""
    return tuple(f"{prefix}-{one}" for one in dict.fromkeys(words.split()))


def _edited_parts(
    packages: Sequence[str], edits: Sequence[Edit], makers: Mapping[str, Callable[..., Any]], **classes: str
) -> dict[str, Any]:
    """Return the patches that put edited modules in; these are compiled when a server is made.

    `makers` has, for each module of handlers, what makes their object of (module, state, handlers, these included);
    `classes` says where the class is that a patch of this name replaces: `state="package.state.State"`.
    """
    edited = Edited(packages, edits)
    named = {one.place.rpartition(".")[2] for one in edits} - {"__init__"}

    def handlers(correct: Handlers, state: Any) -> Handlers:
        found: Handlers = {}
        known = {**correct}
        for module, make in makers.items():
            if module in edited.affected:
                found |= make(edited.get(module), state, known).handlers()
                known |= found
        chosen = {kind: handler for kind, handler in found.items() if _name(kind, handler) in named}
        return chosen if named and named <= {_name(*one) for one in chosen.items()} else found

    places = {patch: place.rpartition(".") for patch, place in classes.items()}
    replaced = {patch: _Lazy(edited, *place[::2]) for patch, place in places.items() if place[0] in edited.affected}
    return {"handlers": handlers, **replaced}


def patched(
    server: str,
    codec: str | Sequence[str],
    edits: Sequence[Edit],
    makers: Mapping[str, Callable[..., Any]],
    session: str,
    patches: Mapping[str, Any],
    **classes: str,
) -> dict[str, Any]:
    """Return the patches of a mutant of the package `server`: those of its edits, and its own, which act on the former.

    `codec` is the package that the server speaks by, or several and modules, `session` the class of `server.session` for one connection,
    `classes` more classes within `server`, by the names of their patches.
    """
    if not edits:
        return dict(patches)
    made = _edited_parts(
        (*([codec] if isinstance(codec, str) else codec), server),
        edits,
        makers,
        state=f"{server}.state.State",
        session=f"{server}.session.{session}",
        **{patch: f"{server}.{place}" for patch, place in classes.items()},
    )
    both_handlers = {"handlers": both(made["handlers"], patches["handlers"])} if "handlers" in patches else {}
    return {**made, **patches, **both_handlers}


def _name(kind: type[Request], handler: Handler) -> str:
    """Return the name of the method that handles `kind`."""
    name = str(getattr(handler, "__name__", ""))
    return kind.NAME.lower() if name == "handle" else name


class _Lazy:
    """A class of an edited module, looked up when it is called."""

    def __init__(self, edited: Edited, module: str, name: str) -> None:
        self._edited, self._module, self._name = edited, module, name

    def __call__(self, *given: Any) -> Any:
        return getattr(self._edited.get(self._module), self._name)(*given)


def with_handler(kinds: Kinds, make: Callable[[Handler, Any], Handler]) -> HandlerPatch:
    """Handle requests of `kinds` by `make(correct handler, state)`."""

    def patch(correct: Handlers, state: Any) -> Handlers:
        chosen = [kinds] if isinstance(kinds, type) else kinds
        return {kind: make(correct[kind], state) for kind in chosen if kind in correct}

    return patch


def with_request(kinds: Kinds, change: Callable[[Any, Ask], Request]) -> HandlerPatch:
    """Handle `change(request, ask)` where `request` was asked."""

    def make(correct: Handler, state: Any) -> Handler:
        return lambda asked, session, now: correct(change(asked, Ask(asked, session, now, state)), session, now)

    return with_handler(kinds, make)


def taking(kinds: Kinds, **fields: Callable[[Any], Any]) -> HandlerPatch:
    """Take each field named for `change(its value)`."""
    return with_request(
        kinds,
        lambda request, ask: changed(request, **{name: make(getattr(request, name)) for name, make in fields.items()}),
    )


def with_answer(kinds: Kinds, change: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Answer `change(answer, ask)` where `answer` would be right."""

    def make(correct: Handler, state: Any) -> Handler:
        return lambda asked, session, now: change(correct(asked, session, now), Ask(asked, session, now, state))

    return with_handler(kinds, make)


def instead(kinds: Kinds, answer: Any, where: Callable[[Ask], object]) -> HandlerPatch:
    """Answer `answer` and do nothing, where `where(ask)`."""

    def make(correct: Handler, state: Any) -> Handler:
        return lambda asked, session, now: (
            answer if where(Ask(asked, session, now, state)) else correct(asked, session, now)
        )

    return with_handler(kinds, make)


def both(*patches: HandlerPatch) -> HandlerPatch:
    """Apply each patch to what the ones before it left."""

    def patch(correct: Handlers, state: Any) -> Handlers:
        handlers = correct
        for one in patches:
            handlers = {**handlers, **one(handlers, state)}
        return {kind: one for kind, one in handlers.items() if one is not correct[kind]}

    return patch


def lead(message: type[Message], *first: int) -> ProfilePatch:
    """Begin `message` with other bytes, or none; all but the first byte of a request may be anything."""
    return derived(leads={message: bytes(first)})


def field_kind(message: type[Message], name: str, kind: Kind) -> ProfilePatch:
    """Lay a field of `message` out as `kind`."""
    return derived(overrides={(message, name): kind})


def order(message: type[Message], *names: str) -> ProfilePatch:
    """Lay the fields of `message` out in another order."""
    return derived(orders={message: names})


def derived(**changes: Any) -> ProfilePatch:
    """Speak the profile with these changes."""
    return lambda profile: profile.derive(profile.name, **changes)
