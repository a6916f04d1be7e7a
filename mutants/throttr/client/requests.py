"""Mutants in what an SDK sends, and in what it should refuse to send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.throttr.client.mutant import changed, codec, fitted, mutant, sending, texts
from wireproof.protocols.fields import U16, Blob
from wireproof.protocols.messages import Request
from wireproof.protocols.throttr import Attribute, TTLType
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
from wireproof.reference_client.throttr.client import Client

__all__ = ["MUTANTS"]

NAMES = ("key", "channel")
WIDE = ("uint16", "uint32", "uint64")


def _only(kind: type[Request] | tuple[type[Request], ...], change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda request: change(request) if isinstance(request, kind) else request


def _text(data: bytes) -> bytes:
    return data.decode("utf-8", "replace").encode()


def _named(change: Callable[[bytes], bytes]) -> Callable[[Any], Any]:
    return lambda request: texts(request, change, *NAMES)


class _KeepingLink(Link):
    """Sends a request as one of its kind with its key or channel was sent before."""

    def ask(self, requests: Sequence[Request]) -> list[Any]:
        kept = self.__dict__.setdefault("kept", {})
        return super().ask([kept.setdefault(self._named(one), one) if self._named(one)[1] else one for one in requests])

    @staticmethod
    def _named(one: Request) -> tuple[type[Request], bytes]:
        name: bytes = getattr(one, "key", b"") or getattr(one, "channel", b"")
        return type(one), name


MUTANTS = (
    mutant("insert-quota-and-ttl-swapped", "INSERT has quota and TTL in each other's place.", "INSERT-2 INSERT-4",
           client=sending(_only(Insert, lambda one: changed(one, quota=one.ttl, ttl=one.quota)))),
    mutant("ttl-always-in-seconds", "The TTL type is seconds, whatever was asked for.", "INSERT-3 SET-2",
           client=sending(_only((Insert, Set), lambda one: changed(one, ttl_type=TTLType.SECONDS)))),
    mutant("set-ttl-in-milliseconds", "SET turns minutes into another unit.", "SET-2",
           client=sending(_only(Set, lambda one: changed(one, ttl_type=3 if one.ttl_type == 5 else one.ttl_type)))),
    mutant("increase-is-decrease", "UPDATE has increase and decrease swapped.", "UPDATE-5",
           client=sending(_only(Update, lambda one: changed(one, change=(0, 2, 1)[one.change])))),
    mutant("update-always-of-quota", "UPDATE changes the quota, whatever was asked for.", "UPDATE-2",
           client=sending(_only(Update, lambda one: changed(one, attribute=Attribute.QUOTA)))),
    mutant("update-by-nothing-is-by-one", "UPDATE by 0 is sent as by 1.", "UPDATE-9",
           client=sending(_only(Update, lambda one: changed(one, value=one.value or 1)))),
    mutant("requests-kept-by-name", "A request with a name that was sent before is sent as it was then.", "CLIENT-4",
           client=type("Client", (Client,), {"link_class": _KeepingLink})),
    mutant("names-end-at-zero", "Keys and channels end at their first zero byte.", "CLIENT-4",
           client=sending(_named(lambda name: name.split(b"\0")[0]))),
    mutant("names-as-text", "Keys and channels are decoded as text and encoded again.", "CLIENT-4",
           client=sending(_named(_text))),
    mutant("names-stripped", "White space around keys and channels is taken off.", "CLIENT-4",
           client=sending(_named(bytes.strip))),
    mutant("names-in-lower-case", "Keys and channels are sent in lower case.", "CLIENT-4",
           client=sending(_named(bytes.lower))),
    mutant("names-cut-at-64", "Keys are cut at 64 bytes.", "INSERT-6 INSERT-5 QUERY-3 GET-3 PURGE-3 STAT-3",
           client=sending(lambda request: texts(request, lambda key: key[:64], "key"))),
    mutant("values-stripped", "White space around values is taken off.", "CLIENT-4",
           client=sending(_only(Set, lambda one: texts(one, bytes.strip, "value")))),
    mutant("values-as-text", "Values are decoded as text and encoded again.", "CLIENT-4",
           client=sending(_only(Set, lambda one: texts(one, _text, "value")))),
    mutant("empty-values-as-zero", "An empty value is sent as one zero byte.", "SET-9 SET-10 SET-5 SET-6",
           client=sending(_only(Set, lambda one: texts(one, lambda value: value or b"\0", "value")))),
    mutant("payloads-cut-at-255", "Payloads are cut at 255 bytes.", "PUBLISH-5 PUBLISH-3", variants=WIDE,
           client=sending(_only(Publish, lambda one: texts(one, lambda data: data[:255], "payload")))),
    mutant("quota-as-a-double", "The quota of INSERT goes through a floating point number.", "WIDTH-4 INSERT-2",
           variants=("uint64",),
           client=sending(_only(Insert, lambda one: changed(one, quota=min(int(float(one.quota)), 2**64 - 1))))),
    mutant("quota-as-signed", "The quota of INSERT goes no higher than 2^63-1.", "WIDTH-4 INSERT-2",
           variants=("uint64",),
           client=sending(_only(Insert, lambda one: changed(one, quota=min(one.quota, 2**63 - 1))))),
    mutant("index-from-one", "CONNECTION counts from 1.", "CONNECTION-2", profiles=("7.1.0",),
           client=sending(_only(ConnectionByIndex, lambda one: changed(one, index=min(one.index + 1, 2**32 - 1))))),
    mutant("channel-and-payload-swapped", "PUBLISH has channel and payload in each other's place.",
           "PUBLISH-2 PUBLISH-3 PUBLISH-4",
           client=sending(_only(Publish, lambda one: changed(one, channel=one.payload, payload=one.channel)))),
    mutant("numbers-big-endian", "All numbers are big-endian.", "FRAMING-1", variants=WIDE,
           client=codec(lambda profile: profile.derive(profile.name, byte_order=">"))),
    mutant("newline-after-requests", "A newline is sent after each request.", "FRAMING-3",
           edit("ClientConnection.send_all", "return data", r'return data + b"\n"')),
    mutant("key-size-in-two-bytes", "The sizes of keys are sent in two bytes.",
           "QUERY-2 GET-2 PURGE-2 STAT-2 QUERY-3 GET-3 PURGE-3 STAT-3",
           client=codec(lambda profile: profile.derive(profile.name, overrides={(one, "key"): Blob(U16) for one in (Query, Get, Purge, Stat)}))),
    mutant("stats-is-0a", "STATS is sent as 0a.", "STATS-1",
           client=codec(lambda profile: profile.derive(profile.name, leads={Stats: b"\x0a"}))),
    mutant("subscribe-is-1a", "SUBSCRIBE is sent as 1a.", "SUBSCRIBE-1",
           client=codec(lambda profile: profile.derive(profile.name, leads={Subscribe: b"\x1a"}))),
    mutant("value-before-key", "SET has its value before its key.", "SET-7 SET-8",
           before("ClientConnection.send_all", "self._await_replies(cast(list[Request], messages))",
                  'if messages[0].NAME == "SET": bodies = messages[0].value + messages[0].key; data = data[: '
                  "-len(bodies)] + bodies if bodies else data")),
    mutant("greets", "A version byte is sent before the first request.", "FRAMING-2",
           after("Link.connection_made", "self._transport = cast(asyncio.Transport, transport)",
                 r'self._transport.write(b"\1")')),
    mutant("asks-when-idle", "After a while a WHOAMI is sent that nobody asked for.", "CLIENT-10",
           after("Link.connection_made", "self._transport = cast(asyncio.Transport, transport)",
                 r'asyncio.get_running_loop().call_later(0.6, lambda: self.ended or self._transport.write(b"\x18"))')),
    mutant("batch-backwards", "A batch is sent from its end.", "ROBUSTNESS-25 FRAMING-3",
           first("Link.ask", "requests = requests[::-1]"), edit("Link.ask", "return replies", "return replies[::-1]")),
    mutant("purge-twice", "PURGE is sent twice.", "PURGE-3 FRAMING-3",
           first("Link.ask",
                 'twice = [one.NAME == "PURGE" for one in requests]; requests = [one for one in requests for _ in '
                 'range(1 + (one.NAME == "PURGE"))]'),
           edit("Link.ask", "return replies", "return [replies[at + sum(twice[:at])] for at in range(len(twice))]")),
    mutant("subscribed-once", "A second SUBSCRIBE to a channel is answered from memory.", "CLIENT-18",
           first("commands.Commands.subscribe", "import asyncio",
                 "if channel in vars(self).get('_channels', ()):",
                 "    done = asyncio.get_running_loop().create_future(); done.set_result(True); return done")),
    mutant("batches-of-255", "Of a batch the first 255 requests are sent, the others reported as refused.", "CLIENT-18",
           edit("Batch.send", "replies = await self._send([request for request, _, _ in collected])",
                "from wireproof.protocols.throttr.replies import Status",
                "replies = await self._send([request for request, _, _ in collected][:255])",
                "replies += [Status(False)] * (len(collected) - len(replies))")),
    mutant("queries-cached", "QUERY of a key is answered from memory once it was answered.", "CLIENT-18",
           first("Client.ask", "known = vars(self).setdefault('known', {})",
                 "if request.NAME == 'QUERY' and request in known: return known[request]"),
           before("Client.ask", "return reply", "if request.NAME == 'QUERY': known[request] = reply")),
    mutant("tables-cached", "LIST is answered from memory once it was answered.", "CLIENT-18",
           first("Client.ask", "if request.NAME == 'LIST' and vars(self).get('table'): return self.table"),
           before("Client.ask", "return reply", "if request.NAME == 'LIST': self.table = reply")),
    mutant("interleaved", "The first byte of a request and the rest are written one after the other, others' between.",
           "FRAMING-3", edit("Link.ask", "self._transport.write(data)", "self._transport.write(data[:1])",
                             "if data[1:]: loop.call_soon(self._transport.write, data[1:])")),
    mutant("key-in-characters", "The size of a key in UTF-8 counts its characters.", "FRAMING-11",
           first("ClientConnection.send_all",
                 'if type(messages) is tuple and messages[0].NAME in ("QUERY", "GET"):',
                 "    data = self.codec.encode_requests(list(messages)); self._await_replies(list(messages))",
                 '    return data[:1] + bytes([len(messages[0].key.decode("utf-8", "surrogateescape"))]) + data[2:]')),
    mutant("channel-in-characters", "The size of a channel in UTF-8 counts its characters in PUBLISH.", "PUBLISH-2 FRAMING-11",
           first("ClientConnection.send_all",
                 'if type(messages) is tuple and messages[0].NAME == "PUBLISH":',
                 "    data = self.codec.encode_requests(list(messages)); self._await_replies(list(messages))",
                 '    return data[:1] + bytes([len(messages[0].channel.decode("utf-8", "surrogateescape"))]) + data[2:]')),
    mutant("wide-numbers-wrap", "A number too wide is sent modulo 2^(8N).", "CLIENT-1",
           *fitted("UInt", "value & kind.maximum")),
    mutant("wide-numbers-clamped", "A number too wide is sent as the largest there is.", "CLIENT-1",
           *fitted("UInt", "min(value, kind.maximum)")),
    mutant("wide-numbers-are-zero", "A number too wide is sent as 0.", "CLIENT-1",
           *fitted("UInt", "value if value <= kind.maximum else 0")),
    mutant("long-names-cut", "A key or channel too long is cut.", "CLIENT-2",
           *fitted("Blob", "value[: kind.size.maximum]", "key", "channel")),
    mutant("long-values-cut", "A value or payload too long is cut.", "CLIENT-2",
           *fitted("Blob", "value[: kind.size.maximum]", "value", "payload"), variants=("uint8", "uint16")),
    mutant("long-key-behind-its-size", "A key too long is sent whole, its size modulo 256: the rest is a request.",
           "CLIENT-2", first("Client._check", "return"),
           first("ClientConnection.send_all",
                 'if type(messages) is tuple and messages[0].NAME == "QUERY" and len(key := messages[0].key) > 255:',
                 "    from msgspec.structs import replace; data = self.send_all([replace(messages[0], key=b'')])",
                 "    return data[:1] + bytes([len(key) & 255]) + key")),
)  # fmt: skip
