"""Faults in what an SDK sends: fields mixed up, text where bytes were given, bytes that nobody asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from wireproof.mutants.throttr.client.mutant import changed, codec, connection, link, mutant, sending, texts
from wireproof.protocols.fields import U16, Blob
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.throttr import Attribute, ClientConnection, TTLType
from wireproof.protocols.throttr.requests import (
    ConnectionByIndex,
    Get,
    Insert,
    Publish,
    Purge,
    Query,
    Set,
    Stat,
    Stats,
    Subscribe,
    Update,
)
from wireproof.reference_client.link import Link

__all__ = ["MUTANTS"]

NAMES = ("key", "channel")
WIDE = ("uint16", "uint32", "uint64")


def _only(kind: type[Request] | tuple[type[Request], ...], change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda request: change(request) if isinstance(request, kind) else request


def _text(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


def _named(change: Callable[[bytes], bytes]) -> Callable[[Any], Any]:
    return lambda request: texts(request, change, *NAMES)


class _Framed(ClientConnection):
    """Ends each request with a newline."""

    def send_all(self, messages: Iterable[Message]) -> bytes:
        return super().send_all(messages) + b"\n"


class _ValueFirst(ClientConnection):
    """Writes the value of SET before its key."""

    def send_all(self, messages: Iterable[Message]) -> bytes:
        (message,) = messages
        data = super().send_all([message])
        if isinstance(message, Set):
            bodies = len(message.key) + len(message.value)
            data = data[: len(data) - bodies] + message.value + message.key
        return data


class _Greeting(Link):
    """Says which version it speaks before it asks anything."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._transport.write(b"\1")


class _KeptAlive(Link):
    """Sends a WHOAMI after a while."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        asyncio.get_running_loop().call_later(0.6, self._beat)

    def _beat(self) -> None:
        if self.ended is None:
            self._transport.write(b"\x18")


class _Backwards(Link):
    """Sends a batch from its end."""

    def ask(self, requests: Sequence[Request]) -> list[Any]:
        return super().ask(requests[::-1])[::-1]


class _Twice(Link):
    """Sends each PURGE twice and drops the second answer."""

    def ask(self, requests: Sequence[Request]) -> list[Any]:
        replies = super().ask([one for one in requests for _ in range(1 + isinstance(one, Purge))])
        places = [isinstance(one, Purge) for one in requests]
        return [replies[at + sum(places[:at])] for at in range(len(requests))]


MUTANTS = (
    mutant("insert-quota-and-ttl-swapped", "INSERT has quota and TTL in each other's place.", "INSERT-2", "INSERT-4",
          client=sending(_only(Insert, lambda one: changed(one, quota=one.ttl, ttl=one.quota)))),
    mutant("ttl-always-in-seconds", "The TTL type is seconds, whatever was asked for.", "INSERT-3", "SET-2",
          client=sending(_only((Insert, Set), lambda one: changed(one, ttl_type=TTLType.SECONDS)))),
    mutant("set-ttl-in-milliseconds", "SET turns minutes into another unit.", "SET-2",
          client=sending(_only(Set, lambda one: changed(one, ttl_type=3 if one.ttl_type == 5 else one.ttl_type)))),
    mutant("increase-is-decrease", "UPDATE has increase and decrease swapped.", "UPDATE-5",
          client=sending(_only(Update, lambda one: changed(one, change=(0, 2, 1)[one.change])))),
    mutant("update-always-of-quota", "UPDATE changes the quota, whatever was asked for.", "UPDATE-2",
          client=sending(_only(Update, lambda one: changed(one, attribute=Attribute.QUOTA)))),
    mutant("update-by-nothing-is-by-one", "UPDATE by 0 is sent as by 1.", "UPDATE-9",
          client=sending(_only(Update, lambda one: changed(one, value=one.value or 1)))),
    mutant("names-end-at-zero", "Keys and channels end at their first zero byte.", "CLIENT-4",
          client=sending(_named(lambda name: name.split(b"\0")[0]))),
    mutant("names-as-text", "Keys and channels are decoded as text and encoded again.", "CLIENT-4",
          client=sending(_named(_text))),
    mutant("names-stripped", "White space around keys and channels is taken off.", "CLIENT-4",
          client=sending(_named(bytes.strip))),
    mutant("names-in-lower-case", "Keys and channels are sent in lower case.", "CLIENT-4",
          client=sending(_named(bytes.lower))),
    mutant("names-cut-at-64", "Keys are cut at 64 bytes.", "INSERT-5", "QUERY-2", "GET-2", "PURGE-2", "STAT-2",
          client=sending(lambda request: texts(request, lambda key: key[:64], "key"))),
    mutant("values-stripped", "White space around values is taken off.", "CLIENT-4",
          client=sending(_only(Set, lambda one: texts(one, bytes.strip, "value")))),
    mutant("values-as-text", "Values are decoded as text and encoded again.", "CLIENT-4",
          client=sending(_only(Set, lambda one: texts(one, _text, "value")))),
    mutant("empty-values-as-zero", "An empty value is sent as one zero byte.", "SET-5", "SET-6",
          client=sending(_only(Set, lambda one: texts(one, lambda value: value or b"\0", "value")))),
    mutant("payloads-cut-at-255", "Payloads are cut at 255 bytes.", "PUBLISH-3", variants=WIDE,
          client=sending(_only(Publish, lambda one: texts(one, lambda data: data[:255], "payload")))),
    mutant("quota-as-a-double", "The quota of INSERT goes through a floating point number.", "WIDTH-4", "INSERT-2",
          variants=("uint64",),
          client=sending(_only(Insert, lambda one: changed(one, quota=min(int(float(one.quota)), 2**64 - 1))))),
    mutant("quota-as-signed", "The quota of INSERT goes no higher than 2^63-1.", "WIDTH-4", "INSERT-2",
          variants=("uint64",),
          client=sending(_only(Insert, lambda one: changed(one, quota=min(one.quota, 2**63 - 1))))),
    mutant("index-from-one", "CONNECTION counts from 1.", "CONNECTION-2", profiles=("7.1.0",),
          client=sending(_only(ConnectionByIndex, lambda one: changed(one, index=min(one.index + 1, 2**32 - 1))))),
    mutant("channel-and-payload-swapped", "PUBLISH has channel and payload in each other's place.", "PUBLISH-2",
          "PUBLISH-3", "PUBLISH-4",
          client=sending(_only(Publish, lambda one: changed(one, channel=one.payload, payload=one.channel)))),
    mutant("numbers-big-endian", "All numbers are big-endian.", "FRAMING-1", variants=WIDE,
          client=codec(lambda profile: profile.derive(profile.name, byte_order=">"))),
    mutant("newline-after-requests", "A newline is sent after each request.", "FRAMING-3",
          client=connection(_Framed)),
    mutant("key-size-in-two-bytes", "The sizes of keys are sent in two bytes.", "QUERY-2", "GET-2", "PURGE-2", "STAT-2",
          "QUERY-3", "GET-3", "PURGE-3", "STAT-3",
          client=codec(lambda profile: profile.derive(
              profile.name, overrides={(one, "key"): Blob(U16) for one in (Query, Get, Purge, Stat)}))),
    mutant("stats-is-0a", "STATS is sent as 0a.", "STATS-1",
          client=codec(lambda profile: profile.derive(profile.name, leads={Stats: b"\x0a"}))),
    mutant("subscribe-is-1a", "SUBSCRIBE is sent as 1a.", "SUBSCRIBE-1",
          client=codec(lambda profile: profile.derive(profile.name, leads={Subscribe: b"\x1a"}))),
    mutant("value-before-key", "SET has its value before its key.", "SET-7", "SET-8", client=connection(_ValueFirst)),
    mutant("greets", "A version byte is sent before the first request.", "FRAMING-2", client=link(_Greeting)),
    mutant("asks-when-idle", "After a while a WHOAMI is sent that nobody asked for.", "CLIENT-10",
          client=link(_KeptAlive)),
    mutant("batch-backwards", "A batch is sent from its end.", "ROBUSTNESS-25", "FRAMING-3", client=link(_Backwards)),
    mutant("purge-twice", "PURGE is sent twice.", "PURGE-3", "FRAMING-3", client=link(_Twice)),
)  # fmt: skip
