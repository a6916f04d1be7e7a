"""The one place that names every protocol; everything else asks here. Its package is imported when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from wireproof.protocols.json_values import JsonObject
from wireproof.protocols.links import Link
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.sdk_traits import SdkTraits

PACKAGES = {
    "throttr": "wireproof.protocols.throttr",
    "psrt": "wireproof.protocols.psrt",
    "tmqp": "wireproof.protocols.tmqp",
    "namechan": "wireproof.protocols.namechan",
}
"""Protocol -> the package of its codec."""
DEFAULT = next(iter(PACKAGES))
"""The default protocol."""
NEEDS = {"psrt": ("cryptography", "bcrypt")}
"""Protocol -> the modules that it needs beside the base installation; the extra of its name installs them."""


class MissingExtraError(Exception):
    """Raised when optional packages are needed and not installed; install the extra that the message names."""

    def __init__(self, what: str, module: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {module!r}, which is not installed: python -m pip install 'wireproof[{extra}]'"
        )


@dataclass(frozen=True)
class Protocol:
    """What a protocol's package offers to the rest of the project."""

    name: str
    profiles: Mapping[str, Profile]
    default_profile: str
    default_variant: str
    default_port: int
    codec: Callable[[Profile, str], Any]
    """(profile, variant name) -> the codec shared by connections; has `encode`, `layout`, `decode_request`."""
    links: Mapping[str, Link]
    """Name -> the kinds of line it is spoken on; the first is the default one."""
    names: Mapping[str, type[IntEnum]]
    """Enum name -> enum, for the fields that cases write by name: `{"ttl_type": TTLType}`."""
    counted_with_noops: frozenset[str] = frozenset()
    """Fields of replies that count requests or bytes, so that another no-op request changes them."""
    time_moves: frozenset[str] = frozenset()
    """Fields of replies that change while records of others expire."""
    masked: frozenset[str] = frozenset()
    """Fields of replies that two servers which are both right may fill otherwise."""
    chosen_ids: Mapping[str, str] = field(default_factory=dict)
    """`MESSAGE.field` of a server -> what it identifies there: servers choose such numbers, and then stay with them."""
    granted_ids: Mapping[str, str] = field(default_factory=dict)
    """`MESSAGE.field` of a server -> what it identifies: the id that it makes for whoever asked for none."""
    named_by: frozenset[str] = frozenset()
    """Fields of requests, rows and pushes that name what they are about."""
    own_names: Callable[[str, bytes], tuple[bytes, ...]] = lambda profile, id: ()
    """(profile, id of a connection) -> the names that it is subscribed to from its beginning."""
    time_left: Mapping[str, tuple[str, Mapping[int, int]]] = field(default_factory=dict)
    """Field that shrinks as time passes -> the field with its unit, and the nanoseconds of each unit."""
    aliases: Mapping[str, tuple[str, JsonObject]] = field(default_factory=dict)
    """Short name in cases -> the message and fields it stands for: `{"ok": ("STATUS", {"ok": True})}`."""
    push_name: str = "PUSH"
    """The name cases use for a push in every profile."""
    functions: Mapping[str, Callable[..., bytes]] = field(default_factory=dict)
    """Name -> what computes bytes from named arguments where no layout can: sealing, say."""
    push_link: str = ""
    """The link that pushes come on; "": the default one."""
    link_of_stream: Callable[[bytes], str | None] = lambda data: ""
    """The first bytes that a client sent on a stream -> its link; None while they do not decide it."""
    sdk: SdkTraits = field(default_factory=SdkTraits)
    """What its SDKs do by themselves."""

    def spoken(self, profile: str, variant: str) -> Profile:
        """Return the profile of that name. Raises ValueError for an unknown one, and for a variant that it lacks."""
        if profile not in self.profiles:
            raise ValueError(f"unknown profile {profile!r}: expected {' or '.join(self.profiles)}")
        found = self.profiles[profile]
        if variant not in found.variants:
            raise ValueError(f"unknown variant {variant!r}: expected {' or '.join(found.variants)}")
        return found

    @property
    def own_messages(self) -> frozenset[type[Message]]:
        """Messages that nobody asks an SDK for: what it does by itself, and what is asked at a listener for others."""
        return self.sdk.own | frozenset(self.sdk.continued.values()) | frozenset(self.harness_requests)

    @property
    def client_links(self) -> Mapping[str, Link]:
        """The links that clients open: those of a server's own port."""
        return {name: link for name, link in self.links.items() if not link.listener}

    @property
    def harness_requests(self) -> Mapping[type[Request], str]:
        """What only a harness asks, at a listener of its own -> the name of that link."""
        asked = {request for link in self.client_links.values() for request in link.requests}
        others = {name: link for name, link in self.links.items() if link.listener}
        return {one: name for name, link in others.items() for one in link.requests if one not in asked}

    @property
    def link(self) -> Link:
        """The default link."""
        return next(iter(self.links.values()))

    def link_of(self, name: str) -> Link:
        """Return the link of that name, for "" the default one; `KeyError` with the known names."""
        if name and name not in self.links:
            raise KeyError(f"{self.name} has no link {name!r}; it has {', '.join(self.links)}")
        return self.links[name] if name else self.link

    def link_for(self, request: type[Message]) -> str:
        """Return the name of the link that a request is asked on, "" for the default one."""
        first = next(iter(self.links))
        found = next((name for name, link in self.links.items() if request in link.requests), first)
        return "" if found == first else found

    def message(self, profile: str, name: str) -> type[Message]:
        """Return the message class of that name in a profile; `KeyError` with the known names otherwise."""
        known = self.profiles[profile].messages
        if name not in known:
            raise KeyError(f"{self.name} {profile} has no message {name!r}; it has {', '.join(sorted(known))}")
        return known[name]


def protocol_names() -> list[str]:
    """Return the names of all protocols, sorted."""
    return sorted(PACKAGES)


def usable_protocols() -> list[str]:
    """Return the names of the protocols whose extra is installed, sorted."""
    return [name for name in protocol_names() if not _missing(name)]


def left_out() -> str:
    """Return which protocols cannot be used here, as the end of a message; "" for none."""
    reasons = [str(MissingExtraError(name, _missing(name)[0], name)) for name in protocol_names() if _missing(name)]
    return f" (not looked at: {'; '.join(reasons)})" if reasons else ""


def _missing(name: str) -> list[str]:
    return [module for module in NEEDS.get(name, ()) if find_spec(module) is None]


@cache
def protocol(name: str) -> Protocol:
    """Return the protocol of that name.

    Raises `KeyError` with the known names where there is none, `MissingExtraError` where its extra is not installed.
    """
    if name not in PACKAGES:
        raise KeyError(f"unknown protocol {name!r}; known: {', '.join(protocol_names())}")
    if missing := _missing(name):
        raise MissingExtraError(name, missing[0], name)
    found: Protocol = import_module(PACKAGES[name]).PROTOCOL
    return found
