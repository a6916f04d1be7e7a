"""Mutants of TLS and of the links between servers."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.tmqp.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

MASTERS = "[node for node in self.nodes if not node.is_slave]"

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("tls-unknown", "What begins with TLS is read as clear text.", "TLS-1 TLS-2",
           edit("TmqpSession.data_received", "data[0] == TLS_RECORD and self.peer.secure is not None", "False")),
    mutant("tls-apart", "Clients that speak TLS get nothing from others.", "TLS-2 TLS-1",
           edit("TmqpSession.data_received", "self.connection.start_tls()", "self.connection.start_tls(); self.is_apart = True"),
           edit("TmqpSession.opened", "client.write = self.push", "client.write = None if hasattr(self, 'is_apart') else self.push")),
    mutant("slaves-are-clients", "A slave is a client.", "NODE-1 NODE-2 NODE-3", first("SlaveSession.opened", "return super().opened(client)")),
    mutant("slaves-stay", "A slave that ended is still listed.", "NODE-1",
           edit("SlaveSession.connection_lost", "self.state.nodes.pop(self.node, None)", "pass")),
    mutant("slaves-are-masters", "A slave is taken for a master.", "NODE-1 NODE-4", edit("SlaveSession.opened", "is_slave=True", "is_slave=False")),
    mutant("slaves-are-checked", "A slave may send in its own name only.", "NODE-3 NODE-2",
           first("SlaveSession.is_honest", "if self.node is not None: return super().is_honest(request)")),
    mutant("slaves-are-sources", "What a slave sends on has the slave as its source.", "NODE-3 NODE-2",
           edit("SlaveSession.is_honest", "request.source or self.node.id", "self.node.id")),
    mutant("slaves-push-nothing", "A PRODUCE of a slave is dropped.", "NODE-2 NODE-3 NODE-4",
           edit("SlaveSession.is_honest", "isinstance(request, RELAYED)", "isinstance(request, RELAYED[1:])")),
    mutant("slaves-acknowledge-nothing", "An acknowledgement of a slave is dropped.", "NODE-2",
           edit("SlaveSession.is_honest", "isinstance(request, RELAYED)", "isinstance(request, RELAYED[:3])")),
    mutant("slaves-are-told", "What clients send goes to slaves, too.", "NODE-4", edit("State.relay", MASTERS, "[*self.nodes]")),
    mutant("slaves-tell-slaves", "What a slave sends goes to the other slaves.", "NODE-4",
           edit("State.relay", MASTERS, "[node for node in self.nodes if node.id != source]"),
           edit("TmqpSession.relay", "self.state.relay(request, client.id)", "pass"),
           first("SlaveSession.relay", "self.state.relay(request, client.id)")),
)  # fmt: skip
