"""Mutants of how rules, sizes and connections meet: what another author's server got wrong and no case had shown."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import V732, WIDE

__all__ = ["MUTANTS"]

REFUSED = "elif not self._overwrites or type(held) is not Buffer:"
SHORT = "if ttl_type == 3: ttl &= 0xffff_ffff"
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("connection-by-fifteen-bytes", "CONNECTION compares the first fifteen bytes of an id.", "CONNECTION-8 CONNECTION-3",
           edit("ServerRequests.connection_by_id", "self._state.sessions.get(request.id)",
                "next((one for key, one in self._state.sessions.items() if key[:15] == request.id[:15]), None)"), profiles=V732),
    mutant("milliseconds-in-32-bits", "A TTL of milliseconds is cut to 32 bits.", "TTL-3 TTL-7 TTL-11 TTL-12 TTL-13",
           first("RecordRequests.insert", SHORT), first("RecordRequests.set", SHORT), variants=("uint64",)),
    mutant("unsubscribes-from-what-begins-so", "UNSUBSCRIBE ends every subscription whose name begins with the name.",
           "UNSUBSCRIBE-6 PUSH-4 PUBLISH-7",
           first("ChannelRequests.unsubscribe",
                 "if request.channel in session.subscriptions:",
                 "    for one in [*session.subscriptions]:",
                 "        if one != request.channel and one.startswith(request.channel): self._channels.remove(one, session)")),
    mutant("a-page-waits-for-more", "Of a segment of exactly 4096 or 8192 bytes the last byte waits for the next segment.",
           "ROBUSTNESS-6 ROBUSTNESS-5 ROBUSTNESS-14", first("ThrottrSession.data_received",
                 "data, self.back = vars(self).get('back', b'') + data, b''",
                 "if len(data) in (4096, 8192): data, self.back = data[:-1], data[-1:]"), variants=WIDE),
    *(mutant(f"{one}-misses-remembered", f"What {one.upper()} found missing stays so until a {other} of that key.",
             f"{clause} PURGE-8 EXPIRY-10 EXPIRY-9 CONCURRENCY-3",
             edit(f"RecordRequests.{one}", looked := f"record = self._{how}",
                  f"missing = vars(self).setdefault('{one} missing', set())",
                  "if key in missing: return DENIED", looked, "if record is None: missing.add(key)"),
             first(f"RecordRequests.{other.lower()}", f"vars(self).setdefault('{one} missing', set()).discard(key)"))
      for one, other, clause, how in (
          ("get", "INSERT", "SET-12", "store.find(key, self._state.now)"), ("query", "SET", "INSERT-8", "get(key)"))),
    mutant("pushes-wait-for-a-whole-request", "A connection is pushed nothing while it is within a request.",
           "PUSH-4 ROBUSTNESS-19 SUBSCRIBE-5 PUSH-12", first("ThrottrSession.flush", "if self._tail: return")),
    mutant("payloads-above-32768-not-pushed", "A payload of more than 32,768 bytes is answered 01 and reaches nobody.",
           "PUSH-4 PUSH-7 PUBLISH-14 SUBSCRIBE-5", first("ThrottrSession.push", "if size > 32768: return"), variants=WIDE),
    mutant("event-refused-leaves-a-flag", "WHOAMI after an EVENT that carries no request begins with another 01.",
           "ROBUSTNESS-5",
           edit("ServerRequests.event", "DENIED if inner is None else",
                "DENIED if inner is None and not vars(session).update(flagged=True) else"),
           edit("ServerRequests.whoami", "return self._state.codec.encode(WhoamiReply(session.id))",
                "before = ACCEPTED if vars(session).pop('flagged', False) else b''",
                "return before + self._state.codec.encode(WhoamiReply(session.id))"), profiles=V732),
    mutant("push-names-the-channel-of-its-event", "What an EVENT publishes is pushed under the channel of the EVENT.",
           "PUSH-3 EVENT-7 EVENT-3",
           first("ServerRequests.event", r"if request.payload[:1] == b'\x13': self._state.outer = request.channel"),
           edit("ChannelRequests.publish", "frame = self._frame(request.channel, payload)",
                "frame = self._frame(vars(self._state).pop('outer', request.channel), payload)"), profiles=V732),
    mutant("insert-of-nothing-keeps-what-was-purged", "INSERT of a quota of 0 gives the quota that the purged counter had.",
           "PURGE-8 INSERT-2",
           first("RecordRequests.purge", "held = self._get(key)",
                 "if isinstance(held, Counter): vars(self).setdefault('old', {})[key] = held.quota"),
           first("RecordRequests.insert", "quota = quota or vars(self).get('old', {}).get(key, 0)")),
    mutant("set-refused-empties-a-counter", "SET that a live counter refuses sets its quota to 0.", "RECORD-9 SET-20",
           edit("RecordRequests.set", REFUSED, REFUSED,
                "    if isinstance(held, Counter): held.quota = 0; held.forget_answer()")),
)  # fmt: skip
