"""The registry of the reference servers, the only module here that names protocols; imports each on first use."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from wireproof.protocols.profile import Profile
from wireproof.protocols.registry import PACKAGES
from wireproof.protocols.registry import protocol as codec_of
from wireproof.reference_server.clock import Clock
from wireproof.reference_server.model import LinkedServers, Model, Reader, ServerModel
from wireproof.reference_server.options import Option, chosen
from wireproof.reference_server.service import Ids, Limits, Service, Trace

__all__ = [
    "SERVICES",
    "create_service",
    "has_server_model",
    "limits_of",
    "linked_servers_of",
    "model_of",
    "options_of",
    "portions_of",
    "reader_of",
    "served_protocols",
    "server_model_of",
    "server_packages",
    "small_options_of",
    "texts_of",
]

SERVICES = {
    "throttr": "wireproof.reference_server.throttr",
    "psrt": "wireproof.reference_server.psrt",
    "tmqp": "wireproof.reference_server.tmqp",
    "namechan": "wireproof.reference_server.namechan",
}
"""Protocol -> the package whose `create` makes its service."""


def served_protocols() -> list[str]:
    """Return the protocols that have a reference server, sorted."""
    return sorted(SERVICES)


def options_of(protocol: str) -> tuple[Option, ...]:
    """Return the options that only a server of `protocol` has."""
    found: tuple[Option, ...] = import_module(f"{SERVICES[protocol]}.options").OPTIONS
    return found


def limits_of(protocol: str) -> tuple[str, ...]:
    """Return the names of the `Limits` that apply to a server of `protocol`."""
    names: tuple[str, ...] = import_module(f"{SERVICES[protocol]}.options").LIMITS
    return names


def small_options_of(protocol: str) -> Mapping[str, Any]:
    """Return options with which short conversations reach the limits of a server; its model follows them.

    They are `SMALL_OPTIONS` of its `options.py`, if it has any.
    """
    found: Mapping[str, Any] = getattr(import_module(f"{SERVICES[protocol]}.options"), "SMALL_OPTIONS", {})
    return found


def portions_of(protocol: str) -> Mapping[str, int]:
    """Return module and name of how much a server does at a time, or keeps for speed -> a size that is soon exceeded.

    They are `PORTIONS` of its `options.py`, if it has any. No answer depends on them, so a fuzzer that makes them small
    changes nothing but the ways through the code.
    """
    found: Mapping[str, int] = getattr(import_module(f"{SERVICES[protocol]}.options"), "PORTIONS", {})
    return found


def server_packages(protocol: str) -> tuple[str, str]:
    """Return the packages that implement a server of `protocol`: its semantics and its codec."""
    return SERVICES[protocol], PACKAGES[protocol]


def create_service(
    protocol: str,
    *,
    profile: str,
    variant: str,
    clock: Clock,
    ids: Ids | None = None,
    limits: Limits | None = None,
    trace: Trace | None = None,
    patch: object = None,
    options: Mapping[str, Any] | None = None,
) -> Service:
    """Return a server of `protocol` under `profile` and `variant`.

    `ids` returns connection ids (default: random ones). `trace` receives a line for each decoded exchange. `patch` is
    a `Patch` of the protocol and replaces parts of the server. `options` are those of `options_of`; others get their
    defaults. Raises ValueError for an unknown name, with the known ones, and for a bad option.
    """
    known = _spoken(protocol, profile, variant)
    create: Callable[..., Service] = import_module(SERVICES[protocol]).create
    return create(
        known,
        variant,
        clock=clock,
        ids=ids or (lambda: secrets.token_bytes(16)),
        limits=limits or Limits(),
        trace=trace,
        patch=patch,
        options=chosen(protocol, options_of(protocol), options or {}),
    )


def model_of(protocol: str, *, profile: str, variant: str) -> Model:
    """Return the sequential model of one record. Raises ValueError for an unknown name and if there is no model."""
    spoken = _spoken(protocol, profile, variant)
    make: Callable[..., Model] | None = getattr(import_module(SERVICES[protocol]), "MODEL", None)
    if make is None:
        raise ValueError(f"{protocol} has no sequential model: concurrent histories of it cannot be judged")
    return make(spoken, variant)


def server_model_of(
    protocol: str,
    *,
    profile: str,
    variant: str,
    tolerance_ns: int,
    shared: bool,
    options: Mapping[str, Any] | None = None,
) -> ServerModel:
    """Return a model of a whole, fresh server of `protocol`.

    Times are compared within `tolerance_ns` (ns); `shared` allows for other users of the server; `options` are those
    that the server was given, where answers depend on them.
    Raises ValueError for an unknown name and if there is no model.
    """
    spoken = _spoken(protocol, profile, variant)
    make = _model_class(protocol)
    if make is None:
        raise ValueError(f"{protocol} has no model of a whole server")
    more = {"options": options} if options else {}
    return make(spoken, variant, tolerance_ns=tolerance_ns, shared=shared, **more)


def model_settings(protocol: str) -> frozenset[str]:
    """Return the options that its model takes from what cases say of the server; none without a model."""
    found: frozenset[str] = getattr(_model_class(protocol), "settings_of_cases", frozenset())
    return found


def model_expects_answers(protocol: str) -> bool:
    """Say whether the model of a whole server expects answers as it does pushes; without a model it does not."""
    return bool(getattr(_model_class(protocol), "expects_answers", False))


def reader_of(protocol: str, *, link: str, role: str, is_new: bool) -> Reader | None:
    """Return the second reader of what a side of a link gets, on a new connection or later; None if there is none.

    They are the `READERS` of its package, if it has any.
    """
    found: Mapping[tuple[str, str, bool], Reader] = getattr(import_module(SERVICES[protocol]), "READERS", {})
    return found.get((link, role, is_new))


def linked_servers_of(protocol: str) -> type[LinkedServers] | None:
    """Return what drives linked servers beside others that are not; None where servers are not linked.

    It is `LINKED_SERVERS` of its package, if it has any.
    """
    found: type[LinkedServers] | None = getattr(import_module(SERVICES[protocol]), "LINKED_SERVERS", None)
    return found


def texts_of(protocol: str, link: str) -> tuple[bytes, ...]:
    """Return texts that a client may send on a link, right and wrong, which its second reader reads.

    They are the `TEXTS` of its package, if it has any.
    """
    found: Mapping[str, tuple[bytes, ...]] = getattr(import_module(SERVICES[protocol]), "TEXTS", {})
    return found.get(link, ())


def _model_class(protocol: str) -> Callable[..., ServerModel] | None:
    found: Callable[..., ServerModel] | None = getattr(import_module(SERVICES[protocol]), "SERVER_MODEL", None)
    return found


@cache
def has_server_model(protocol: str, *, profile: str, variant: str, shared: bool = False) -> bool:
    """Say whether there is a model of a whole server, with `shared` of one that others may use.

    Raises nothing: without the profile there is none.
    """
    try:
        server_model_of(protocol, profile=profile, variant=variant, tolerance_ns=0, shared=shared)
    except ValueError:
        return False
    return True


def _spoken(protocol: str, profile: str, variant: str) -> Profile:
    if protocol not in SERVICES:
        raise ValueError(f"unknown protocol {protocol!r}: expected {' or '.join(served_protocols())}")
    known = codec_of(protocol).profiles
    if profile not in known:
        raise ValueError(f"unknown {protocol} profile {profile!r}: expected {' or '.join(known)}")
    if variant not in known[profile].variants:
        raise ValueError(f"unknown {protocol} variant {variant!r}: expected {' or '.join(known[profile].variants)}")
    return known[profile]
