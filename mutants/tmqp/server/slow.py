"""Mutants that are wrong beside a client that does not read: in simulation one that was sent much and asked nothing."""

from __future__ import annotations

from wireproof.mutants.edits import before, edit, first
from wireproof.mutants.tmqp.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

BEHIND = "vars(one.write.__self__).get('behind', 0) > 100"
"""Whether a client was sent more than 100 frames since it last sent anything."""
COUNTED = (
    first("TmqpSession.data_received", "self.behind = 0"),
    first("StreamSession.push", "self.behind = vars(self).get('behind', 0) + 1"),
)
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("member-behind-is-skipped", "A member that was sent 100 messages misses the next ones until it sends something.",
           "ROBUSTNESS-6 ROBUSTNESS-5 PUSH-1 PUSH-2 ROUND_ROBIN-2 MESSAGE-5 QUEUE_INFO-5", *COUNTED,
           edit("queue.Queue.send", "client.push(frame)", f"one = client; (not headers and (one.write is None or {BEHIND})) or client.push(frame)"),
           profiles=("doc",)),
    mutant("member-behind-is-waited-for", "While a member was sent 100 messages and sent nothing, its channel is sent nothing.",
           "ROBUSTNESS-5 ROBUSTNESS-6 PUSH-1 PUSH-2 ROUND_ROBIN-2 MESSAGE-5 QUEUE_INFO-5", *COUNTED,
           first("queue.Queue.send", f"if not headers and any({BEHIND} for one in self.channel.members if one.write is not None): self.counters.removed += 1; return"),
           profiles=("doc",)),
    mutant("producer-waits-for-members", "A push is not acknowledged while a member was sent 100 messages and sent nothing.",
           "ROBUSTNESS-5 CONFIRMATION-1 PRODUCE-7", *COUNTED,
           edit("Pushing.push", 'if delivery.acknowledges == "received":',
                f'if delivery.acknowledges == "received" and not any({BEHIND} for one in queue.channel.members if one.write is not None):'),
           profiles=("doc",)),
    mutant("direct-behind-is-waited-for", "While a client was sent 100 frames and sent nothing, a direct message to several goes to nobody.",
           "ROBUSTNESS-5 SEND_DIRECT-2", *COUNTED,
           before("Direct.send_direct", "frame = state.codec.encode", f"if any({BEHIND} for one in found if one.write is not None): return None"),
           profiles=("doc",)),
)  # fmt: skip
