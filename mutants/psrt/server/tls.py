"""Mutants of STARTTLS: when TLS begins, what is said before, and what is taken for what came inside."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

INSIDE = "STARTTLS-2 STARTTLS-4 STARTTLS-5 STARTTLS-9 STARTTLS-13"
INSIDE_DATA = "STARTTLS-3 STARTTLS-5 STARTTLS-10 STARTTLS-13"
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("tls-greeting-in-clear", "The greeting is said in clear, and TLS begins then.",
           f"STARTTLS-1 {INSIDE} {INSIDE_DATA} STARTTLS-8 STARTTLS-6 STARTTLS-7",
           first("PsrtSession.secure",
                 r'self._write((b"\xee\xab" if self.is_data else b"\xee\xaa") + b"\1\0"); self.is_announced = True'),
           edit("PsrtSession.answer", "self._out.append(answer)",
                'self._out.append(b"" if vars(self).pop("is_announced", False) else answer)')),
    mutant("tls-takes-clear-text", "Clear text after EE AA 01 is taken for what came inside TLS.",
           "STARTTLS-7 STARTTLS-6",
           edit("PsrtSession.secure", "self.peer.secure(self.connection.start_tls())",
                r'early = self.connection.start_tls(); is_clear = early[:1] not in (b"", b"\x16")',
                'self.peer.secure(b"" if is_clear else early); is_clear and self.connection.receive_data(early)')),
    mutant("tls-falls-back", "Where no TLS follows EE AA 01 the session goes on in clear.", "STARTTLS-6 STARTTLS-7",
           first("PsrtSession.secure", "buffer = self.connection._buffer",
                 r'if bytes(buffer.data[buffer.at : buffer.end])[:1] not in (b"", b"\x16"): '
                 "self.connection.receive_data(self.connection.start_tls()); return True")),
    mutant("tls-not-for-data-sockets", "A data socket cannot go on inside TLS.", f"STARTTLS-3 {INSIDE_DATA}",
           edit("PsrtSession.secure", "self.peer.secure is None or", "self.peer.secure is None or self.is_data or")),
    mutant("tls-handshake-for-ever", "A handshake may take as long as it likes.", "STARTTLS-8",
           before("PsrtSession.secure", "return True", "self.is_inside = True"),
           first("PsrtSession.expect", 'if vars(self).pop("is_inside", False): self._deadline.clear(); return'),
           profiles=("1",)),
    mutant("tls-failure-ends-all", "A handshake that fails ends all connections.", "STARTTLS-12",
           edit("PsrtSession", "feed_type = Feed", "feed_type, is_secured = Feed, False"),
           before("PsrtSession.secure", "return True", "self.is_secured = True"),
           after("PsrtSession.connection_lost", "self.closed = True",
                 "self.is_secured and self.client is None and [one.end() for one in list(self.state.sessions) if one "
                 "is not self]")),
    mutant("tls-without-beacons", "Inside TLS there are no beacons.", "STARTTLS-13",
           edit("PsrtSession", "feed_type = Feed", "feed_type, is_secured = Feed, False"),
           before("PsrtSession.secure", "return True", "self.is_secured = True"),
           before("PsrtSession.attach", "if self._waits:", "self.is_secured and self.feed._timer.cancel()")),
    mutant("tls-without-pushes", "Inside TLS there are no pushes.", f"STARTTLS-5 {INSIDE_DATA}",
           edit("PsrtSession", "feed_type = Feed", "feed_type, is_secured = Feed, False"),
           before("PsrtSession.secure", "return True", "self.is_secured = True"),
           before("PsrtSession.attach", "if self._waits:", "self.is_secured and self.feed.stop()")),
    mutant("tls-without-greeting", "Inside TLS there is no greeting.", f"STARTTLS-2 {INSIDE} {INSIDE_DATA}",
           edit("PsrtSession", "feed_type = Feed", "feed_type, is_secured = Feed, False"),
           before("PsrtSession.secure", "return True", "self.is_secured = True"),
           edit("PsrtSession.answer", "self._out.append(answer)",
                'self._out.append(b"" if self.is_secured and "GREETING" in request.NAME else answer)')),
    mutant("tls-data-socket-as-control", "A session inside TLS must have its data socket inside TLS.", "STARTTLS-9",
           edit("PsrtSession", "feed_type = Feed", "feed_type, is_secured = Feed, False"),
           before("PsrtSession.secure", "return True", "self.is_secured = True"),
           first("DataRequests.attach", "client = self._state.clients.get(request.token)",
                 "if client and any(one.client is client and not one.is_data and one.is_secured and not "
                 'session.is_secured for one in self._state.sessions): session.finish(); return b""')),
    mutant("tls-control-as-data-socket", "A session in clear must have its data socket in clear.",
           "STARTTLS-10 STARTTLS-3 STARTTLS-5 STARTTLS-13",
           edit("PsrtSession", "feed_type = Feed", "feed_type, is_secured = Feed, False"),
           before("PsrtSession.secure", "return True", "self.is_secured = True"),
           first("DataRequests.attach", "client = self._state.clients.get(request.token)",
                 "if client and any(one.client is client and not one.is_data and session.is_secured and not "
                 'one.is_secured for one in self._state.sessions): session.finish(); return b""')),
    mutant("tls-not-for-anybody", "Inside TLS nobody can log in without a name.", f"STARTTLS-4 {INSIDE} {INSIDE_DATA}",
           edit("PsrtSession", "feed_type = Feed", "feed_type, is_secured = Feed, False"),
           before("PsrtSession.secure", "return True", "self.is_secured = True"),
           edit("ControlRequests.login", "if rights is None:",
                "if rights is None or session.is_secured and not login:")),
    mutant("tls-behind-login-lost", "Inside TLS what comes in one segment with a login is lost.", "STARTTLS-4 GREETING-8",
           first("PsrtSession.secure", "self.is_secured = True"),
           after("ControlRequests.login", "session.client = self._state.clients[client.token] = client",
                 'if vars(session).get("is_secured"): session.connection._buffer.drop()')),
    mutant("tls-data-socket-burns-its-token", "The token of a data socket that ended inside TLS is refused.",
           "ATTACH-9 ATTACH-11 STARTTLS-3", first("PsrtSession.secure", "self.is_secured = True"),
           edit("PsrtSession.connection_lost", "self._ended and",
                'vars(self).get("is_secured") or self._ended and'), profiles=("1",)),
    mutant("tls-token-not-in-clear-of-an-account", "The token of an account inside TLS opens no data socket in clear.",
           "STARTTLS-9", first("PsrtSession.secure", "self.is_secured = True"),
           edit("DataRequests.attach", "client is None or",
                'client is None or client.login and not vars(session).get("is_secured") and any(one.client is client '
                'and vars(one).get("is_secured") for one in self._state.sessions) or')),
)  # fmt: skip
