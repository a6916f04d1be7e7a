"""Mutants that let some wait for others."""

from __future__ import annotations

from wireproof.mutants.edits import Edit, after, around, before, edit, first
from wireproof.mutants.throttr.server.connections import shown
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import ASKER

__all__ = ["MUTANTS"]


def _busy(seconds: str) -> Edit:
    """Serve nobody for as many seconds after `data` was handled."""
    return around(
        "ThrottrSession.data_received",
        "clock, unheard = self._state.clock, vars(self).setdefault('unheard', [])",
        "until = vars(self._state).get('busy_until', 0)",
        "if unheard or until > clock.monotonic_ns():",
        "    unheard or clock.call_at(until, lambda: [self.data_received(one) for one in vars(self).pop('unheard')])",
        "    unheard.append(data)",
        "elif not self.closed:",
        "    self.correct_data_received(data)",
        "    until = vars(self._state).get('busy_until', 0)",
        f"    self._state.busy_until = max(until, clock.monotonic_ns() + int(({seconds}) * 1e9))",
    )


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("subscriber-behind-is-skipped", "A subscriber with 120 pushes waiting misses the next ones.",
           "ROBUSTNESS-15 PUSH-4 SUBSCRIBE-5", first("ThrottrSession.push", "if len(self._pushes) >= 120: return")),
    mutant("publisher-waits-for-subscribers", "A publisher is not answered while a subscriber has 100 pushes to take.",
           "ROBUSTNESS-16 ROBUSTNESS-5",
           first("ThrottrSession.push", "self.unasked = vars(self).get('unasked', 0) + 1"),
           first("ThrottrSession.data_received", "if 'is_held' in vars(self): return", "self.unasked = 0"),
           before("ChannelRequests.publish", "return ACCEPTED if",
                  "if any(vars(one.session).get('unasked', 0) > 100 for one in subscriptions): session.is_held = True; return b''")),
    mutant("long-answers-hold-up-everybody", "While many INFO are answered nobody else is served.",
           "ROBUSTNESS-17 ROBUSTNESS-19", _busy("len(data) * 0.01 if len(data) > 500 and set(data) == {8} else 0")),
    mutant("expiry-holds-up-everybody", "Removing an expired record takes 20 ms in which nobody is served.",
           "ROBUSTNESS-20", _busy("0"),
           after("State.__init__", "self.store = Store(clock)", "self.store.server = self"),
           first("Store.remove", "server, now = self.server, self.server.clock.monotonic_ns()",
                 "if record.due <= now: server.busy_until = max(vars(server).get('busy_until', 0), now) + 20_000_000")),
    mutant("address-with-leftovers", "After IP stand bytes left from elsewhere.", "ROBUSTNESS-18",
           handlers=shown(ip=lambda row, ask: row.ip[:-1] + b"\xc3")),
    mutant("value-with-leftovers", "A value after a long one under its key ends as that one did.",
           "ROBUSTNESS-18 SET-8",
           first("RecordRequests.set",
                 "last = vars(self).setdefault('last', {}); was, last[key] = last.get(key, b''), value",
                 "value += was[len(value) :] if len(was) > 240 else b''")),
    mutant("one-in-sixteen-stays-listed", "Every sixteenth connection that goes keeps its row.",
           "ROBUSTNESS-21 CONNECTIONS-27 CONNECTIONS-28 INFO-31",
           edit("State.forget", "del self.sessions[session.id]",
                "self.gone = vars(self).get('gone', 0) + 1",
                "if self.gone % 16: del self.sessions[session.id]")),
    mutant("increases-from-a-copy", "Each connection counts from a copy of the quota of its own.",
           "ROBUSTNESS-22 CONCURRENCY-1 CONCURRENCY-2 CONCURRENCY-3 RECORD-7", ASKER,
           first("RecordRequests._change_quota",
                 "own, began = vars(self.asker).setdefault('copies', {}), vars(self).setdefault('began', {})",
                 "if change != Change.PATCH: record.quota = own.get(record.key, began.setdefault(record.key, record.quota))"),
           after("RecordRequests._change_quota", "record.quota = quota",
                 "if change != Change.PATCH: own[record.key] = quota")),
)  # fmt: skip
