"""Mutants of INFO, its totals and the counts of a minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.server import Ask, HandlerPatch, changed
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import V710, V732, eating_again, with_found
from wireproof.protocols.throttr.requests import Info

__all__ = ["MUTANTS", "info_with"]

SUBSCRIPTIONS = (("INFO-26", ""), ("INFO-27", "-with-automatic"))
COUNTS = ("ServerRequests.info", "counts += (tally.totals[kind], tally.last[kind])")
SEGMENT = "seen, start = vars(self).get('info_in', (None, 0))"


def info_with(**fields: Callable[[Any, Ask], int | bytes]) -> HandlerPatch:
    """Answer each field of INFO as `change(right answer, ask)` says."""
    return with_found(Info, lambda reply, ask: changed(reply, **{one: of(reply, ask) for one, of in fields.items()}))


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("info-eats-a-byte", "INFO takes the byte after it when it comes again in one segment.",
           "INFO-1 FRAMING-3 ROBUSTNESS-7", handlers=eating_again(Info)),
    mutant("info-timestamp-of-the-connection", "TIMESTAMP counts from the start of the asking connection.", "INFO-4",
           handlers=info_with(timestamp=lambda reply, ask: (ask.state.wall(ask.now) - ask.session.connected_at) // 10**9)),
    mutant("info-running-since-drifts", "RUNNING SINCE moves on with time, by a thousandth of it.", "INFO-29",
           handlers=info_with(running_since=lambda reply, ask: reply.running_since + ask.now // 1000)),
    mutant("info-version-of-the-connection", "VERSION is the id of the asking connection.", "INFO-32",
           edit("ServerRequests.info", "VERSION,", "session.id,")),
    mutant("info-counters-are-keys", "TOTAL COUNTERS counts buffers too.", "INFO-22",
           handlers=info_with(counters=lambda reply, ask: reply.keys)),
    mutant("info-keys-are-counters", "TOTAL KEYS leaves buffers out.", "INFO-21",
           handlers=info_with(keys=lambda reply, ask: reply.counters)),
    mutant("info-buffers-without-the-empty", "TOTAL BUFFERS leaves buffers of no bytes out.", "INFO-23",
           handlers=info_with(buffers=lambda reply, ask: reply.buffers - sum(one.key_type and not one.value for one in ask.state.store.live(ask.now)))),
    *(mutant(f"info-subscriptions-are-channels{name}", "TOTAL SUBSCRIPTIONS reports the channels.",
             clause, handlers=info_with(subscriptions=lambda reply, ask: reply.channels))
      for clause, name in SUBSCRIPTIONS),
    *(mutant(f"info-subscriptions-of-the-connection{name}", "TOTAL SUBSCRIPTIONS reports those of who asks.",
             clause, handlers=info_with(subscriptions=lambda reply, ask: ask.session.subscribed))
      for clause, name in SUBSCRIPTIONS),
    mutant("info-subscriptions-without-automatic", "TOTAL SUBSCRIPTIONS leaves the automatic ones out.", "INFO-27",
           handlers=info_with(subscriptions=lambda reply, ask: max(reply.subscriptions - 2 * reply.connections, 0))),
    mutant("info-counters-ended-by-decrease", "TOTAL COUNTERS keeps counters that a DECREASE of their TTL ended.",
           "EXPIRY-8 INFO-22", after("RecordRequests._change_ttl", "due = record.due - span",
                            "gone = due <= self._state.now and record.key_type == 0",
                            "vars(self._state)['gone'] = vars(self._state).get('gone', 0) + gone"),
           handlers=info_with(counters=lambda reply, ask: reply.counters + vars(ask.state).get("gone", 0))),
    mutant("info-buffers-set-again", "TOTAL BUFFERS counts a buffer again that is set again.", "INFO-23 INFO-21 INFO-22",
           first("Store.overwrite", "self.again = vars(self).get('again', 0) + 1"), profiles=V732,
           handlers=info_with(buffers=lambda reply, ask: reply.buffers + vars(ask.state.store).get("again", 0))),
    mutant("info-keys-up-to-255", "TOTAL KEYS is 255 at most.", "INFO-21",
           handlers=info_with(keys=lambda reply, ask: min(reply.keys, 255))),
    mutant("info-totals-of-others-late", "INFO counts what other connections asked once a second.",
           "METRICS-13 INFO-6 INFO-8 METRICS-15",
           edit("ServerRequests.info", "state.settle()",
                "late = [one for one in state.fresh if one is not session] if now < vars(self).get('due', 0) else []",
                "state.fresh = [one for one in state.fresh if one not in late]", "state.settle()",
                "state.fresh += late", "if not late: self.due = now + 10**9")),
    mutant("info-subscriptions-in-a-byte", "TOTAL SUBSCRIPTIONS keeps its low byte only.", "INFO-26 INFO-27 METRICS-13",
           handlers=info_with(subscriptions=lambda reply, ask: reply.subscriptions % 256)),
    mutant("info-channels-are-requests", "TOTAL CHANNELS reports the CHANNELS requests.", "INFO-28", profiles=V710,
           handlers=info_with(channels=lambda reply, ask: reply.total_channels)),
    mutant("info-connections-are-requests", "TOTAL CONNECTIONS reports the CONNECTIONS requests.", "INFO-31",
           handlers=info_with(connections=lambda reply, ask: reply.total_connections)),
    *(mutant(f"info-{one.lower()}-and-{other.lower()}-exchanged", f"INFO reports {one} and {other} in each other's place.",
             clauses, before(*COUNTS, f"kind = {{{one}: {other}, {other}: {one}}}.get(kind, kind)"))
      for one, other, clauses in (
          ("INSERT", "QUERY", "INFO-9"), ("UPDATE", "PURGE", "INFO-9"), ("GET", "SET", "INFO-10"),
          ("LIST", "INFO", "INFO-11"), ("STATS", "STAT", "INFO-12"), ("SUBSCRIBE", "UNSUBSCRIBE", "INFO-13"),
          ("UNSUBSCRIBE", "PUBLISH", "INFO-13"), ("CHANNEL", "CHANNELS", "INFO-14"),
          ("WHOAMI", "CONNECTION", "INFO-15 INFO-16"), ("CONNECTION", "CONNECTIONS", "INFO-16"))),
    mutant("info-minute-before-total", "INFO reports the last minute of a type before its total.",
           "INFO-8 INFO-9 INFO-10 INFO-11 INFO-12 INFO-13 INFO-14 INFO-15 INFO-16 METRICS-13",
           edit(*COUNTS, "counts += (tally.last[kind], tally.totals[kind])")),
    mutant("info-types-without-refused", "The totals of INFO leave requests out that were refused.",
           "INFO-8 METRICS-13",
           before("ThrottrSession._answer_any", "answers.append(answer)",
                  r"refused = vars(self._state).setdefault('refused', [0] * 256)",
                  r"refused[data[at]] += answer == b'\0'"),
           edit(*COUNTS,
                "counts += (tally.totals[kind] - vars(state).get('refused', [0] * 256)[kind], tally.last[kind])")),
    mutant("info-types-of-the-connection", "The totals of types in INFO are those of the asking connection.",
           "INFO-8 METRICS-13 METRICS-15", edit(*COUNTS, "counts += (session.counts[kind], tally.last[kind])")),
    mutant("info-requests-of-the-connection", "TOTAL REQUESTS counts those of the asking connection.",
           "INFO-6 METRICS-13 METRICS-15", edit("ServerRequests.info", "sum(tally.totals),", "sum(session.counts),")),
    mutant("info-requests-in-a-byte", "TOTAL REQUESTS is counted in a byte.", "INFO-6 METRICS-13",
           edit("ServerRequests.info", "sum(tally.totals),", "sum(tally.totals) & 0xFF,")),
    mutant("rows-count-in-tens", "A connection row counts on in steps of ten once it has reached ten.",
           "METRICS-13 CONNECTIONS-22",
           edit("ServerRequests._row", "counts[kind] for", "counts[kind] // 10 * 10 or counts[kind] for")),
    mutant("requests-behind-info-not-counted", "Requests that came in one segment after an INFO are not counted.",
           "METRICS-13 INFO-6 INFO-8 CONNECTIONS-22",
           edit("ThrottrSession._answer_any", "self.fresh[data[at]] += 1",
                SEGMENT,
                "self.fresh[data[at]] += not (seen is data and at > start)",
                "if request.NAME == 'INFO': self.info_in = data, at")),
    mutant("publish-counts-receivers", "PUBLISH counts once for each subscriber that receives it.",
           "METRICS-13 INFO-8 INFO-6 CONNECTIONS-22",
           before("ChannelRequests.publish", "return ACCEPTED if delivered else DENIED",
                  "session.fresh[0x13] += max(delivered - 1, 0)")),
    mutant("rows-of-8-slots", "Connections share their counts with the eighth one after them.",
           "METRICS-14 CONNECTIONS-22",
           edit("ThrottrSession.__init__", "self.counts = no_requests()",
                "state.opened = vars(state).get('opened', -1) + 1",
                "slots = vars(state).setdefault('slots', [no_requests() for _ in range(8)])",
                "self.counts = slots[state.opened % 8]")),
    mutant("info-forgets-the-gone", "INFO's totals lose the requests of connections that are gone.",
           "METRICS-15 INFO-6 INFO-8",
           after("State.forget", "self.settle()",
                 "for kind, number in enumerate(session.counts): self.tally.totals[kind] -= number")),
    mutant("info-subscriptions-of-two-less-one", "TOTAL SUBSCRIPTIONS counts down by one where UNSUBSCRIBE ends two.",
           "INFO-27",
           edit("Channels.remove", "self.subscriptions -= len(held)", "self.subscriptions -= 1"), profiles=V732),
)  # fmt: skip
