"""Opens connections of a server in this process, also after it was started again on what it kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.store_steps import ConnectStep, RequestStep, RestartStep, Step
from wireproof.reference_server.model import LastingModel, ServerModel

__all__ = ["after_restart", "connecting", "restart"]


def restart(found: StoreCheck, step: RestartStep) -> None:
    """End the server and start it again, open the connections that there were, and ask for what it kept."""
    lines = {one: found.link_of(one) for one in found.connections}
    found.do(step)
    for one in after_restart(found, lines):
        found.do(one)


def connecting(model: ServerModel, lines: Mapping[str, str]) -> Iterator[Step]:
    """Yield steps that open connections (name -> link), with the usual greeting of each."""
    for name, link in lines.items():
        yield ConnectStep(name, link)
        yield RequestStep(name, model.greeting(link))


def after_restart(found: StoreCheck, lines: Mapping[str, str]) -> Iterator[Step]:
    """Yield steps that open connections and ask for what the server kept; each is to be done before the next."""
    yield from connecting(found.model, lines)
    asking = next((one for one in found.connections if found.client_of(one).settled), None)
    if asking is not None and isinstance(found.model, LastingModel):
        yield from (RequestStep(asking, (one,)) for one in found.model.kept_shown_by())
        for name in list(found.connections):
            if requests := found.model.added_to_kept(found.link_of(name)):
                yield from (RequestStep(name, (one,)) for one in requests)
                break
