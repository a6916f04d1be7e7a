"""Mutants of logging in: who is let in, what is said to whom is not, and the token."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import Ask, counted, encoded, instead_of_closing, with_answer
from wireproof.protocols.psrt.requests import Login
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.rights import ALL
from wireproof.reference_server.psrt.state import Answer

__all__ = ["MUTANTS"]


def _served(ask: Ask) -> Answer:
    """Serve whom a login was refused as if it had all rights, without a token."""
    ask.session.client = Client("", ALL, b"")
    return b""


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("login-inherits-subscriptions", "A session of an account has the subscriptions of the one that ended last.",
           "SUBSCRIBE-19 LOGIN-16",
           first("state.State.forget",
                 "vars(self).setdefault('left', {})[client.login] = self.subscriptions.of(client)"),
           after("ControlRequests.login", "session.client = self._state.clients[client.token] = client",
                 "left = vars(self._state).get('left', {}).pop(login, ()) if login else ()",
                 "[self._state.subscriptions.add(client, one) for one in left]")),
    mutant("login-any-password", "The password of an account is not looked at.",
           "LOGIN-6 LOGIN-13 LOGIN-17 ACCOUNT-1 DATAGRAM-8 ACL-17",
           first("Accounts._is_right", "return login in self.users")),
    mutant("login-unknown-is-anonymous", "Who is not known is let in as the anonymous account.",
           "LOGIN-7 LOGIN-17 ACCOUNT-2 DATAGRAM-8 LOGIN-12 LOGIN-19",
           first("Accounts.login", 'login, password = (login, password) if login in self.users else ("", "")')),
    mutant("login-without-entry", "An account without a rights entry can log in.", "ACL-11 DATAGRAM-8",
           edit("Accounts.login", "self.acl.get(login) if", "self.acl.get(login, Rights()) if")),
    mutant("login-password-without-name", "An empty login is anonymous whatever its password.",
           "LOGIN-12 DATAGRAM-8 LOGIN-19", edit("Accounts.login", "self.anonymous and not password", "self.anonymous")),
    mutant("login-in-any-case", "Logins are compared without the case of their letters.", "ACCOUNT-2 LOGIN-7",
           first("Accounts.login", "login = login.lower()")),
    mutant("login-password-in-any-case", "Passwords are compared without the case of their letters.",
           "ACCOUNT-1 LOGIN-6", first("Accounts._is_right", "password = password.lower()")),
    mutant("login-password-ends-at-its-00", "A password ends at its first 00.", "LOGIN-13 ACCOUNT-1 LOGIN-6",
           edit("ControlRequests.login", "request.password,", r'request.password.partition(b"\0")[0],')),
    mutant("login-split-at-the-last-00", "The password is what stands after the last 00 of a login.",
           "LOGIN-13 ACCOUNT-1 LOGIN-6",
           edit("ControlRequests.login", "request.password,", r'request.password.rpartition(b"\0")[2],')),
    mutant("login-bytes-left-out", "Bytes of a login that are no UTF-8 are left out.", "LOGIN-10",
           edit("ControlRequests.login", 'text(request.login, "login")', 'request.login.decode(errors="ignore")')),
    mutant("login-password-bytes-left-out", "Bytes of a password that are no UTF-8 are left out.",
           "LOGIN-11 ACCOUNT-1 LOGIN-6",
           edit("ControlRequests.rights", 'text(password, "password")', 'password.decode(errors="ignore")')),
    mutant("login-len-0-is-anonymous", "A login frame of LEN 0 is the anonymous login.", "LOGIN-9",
           first("PsrtServer._decode_next",
                 "if self.requests is CONTROL and self.state is State.GREETED and data[at:end][:4] == bytes(4): "
                 'return Login(b"", b""), at + 4')),
    mutant("login-without-00-is-anonymous", "A login frame without 00 is the anonymous login.", "LOGIN-8",
           first("PsrtServer._decode_next", 'size = int.from_bytes(data[at : at + 4], "little")',
                 "if self.requests is CONTROL and self.state is State.GREETED and 0 < size <= min(LONGEST_LOGIN, end "
                 r'- at - 4) and b"\0" not in data[at + 4 : at + 4 + size]: return Login(b"", b""), at + 4 + size')),
    mutant("login-of-nobody-with-a-name", "Only anonymous clients are let in.",
           "LOGIN-5 LOGIN-14 LOGIN-16 ACL-1 ACL-2 DATAGRAM-5 ACL-17 STARTTLS-4 DATAGRAM-1",
           edit("Accounts.login", "self.acl.get(login) if self._is_right(login, password.encode()) else None", "None")),
    mutant("login-refused-and-served", "After a login that is refused what follows is carried out all the same.",
           "LOGIN-19 LOGIN-6 LOGIN-7 LOGIN-10 LOGIN-11 LOGIN-12 LOGIN-13 LOGIN-17 ACL-11 ACCOUNT-1 ACCOUNT-2",
           handlers=instead_of_closing(Login, _served)),
    mutant("login-once-an-account", "An account that is logged in cannot log in again.", "LOGIN-16",
           edit("ControlRequests.login", "if rights is None:",
                "if rights is None or login and any(one.login == login for one in self._state.clients.values()):")),
    mutant("login-last-one-only", "A login ends the other sessions of its account.",
           "LOGIN-16 ROBUSTNESS-8 MESSAGE-8 SUBSCRIBE-18 ATTACH-16 ORDER-4 ORDER-5 MESSAGE-9",
           before("ControlRequests.login", "return Token(client.token)",
                  "[one.end() for one in list(self._state.sessions) if one is not session and not one.is_data and "
                  "one.client and one.client.login == login]")),
    mutant("login-len-without-00", "The LEN of a login does not count its 00.", "LOGIN-1 LOGIN-2 LOGIN-9 LOGIN-15",
           counted("LEN + 1", "LOGIN")),
    mutant("login-longest-refused", "A login frame of 1024 bytes is refused.", "LOGIN-14",
           first("ControlRequests.login",
                 'if len(request.login + request.password) >= 1023: raise RefusedError("too long")')),
    mutant("login-of-any-length", "Login frames have no bound of their own.", "LOGIN-15",
           edit("PsrtServer.__init__", "{Login: LONGEST_LOGIN, **(limits or {})}", "{**(limits or {})}"),
           edit("PsrtServer.__init__", "self._max_frame = max_frame", "self._max_frame = 1 << 40")),
    mutant("token-of-33-bytes", "A 00 ends the token.", "LOGIN-3 LOGIN-2 STARTTLS-4",
           handlers=with_answer(Login, lambda answer, ask: encoded(answer, ask) + b"\0")),
    mutant("token-of-an-account", "All sessions of an account have one token.",
           "LOGIN-4 LOGIN-16 ATTACH-16 ATTACH-2 ATTACH-7",
           edit("ControlRequests.login", "client = Client(login, rights, self._state.new_token())",
                "alike = [one.token for one in self._state.clients.values() if one.login == login]; client = "
                "Client(login, rights, (alike or [self._state.new_token()])[0])"),
           edit("ControlRequests.login", "session.client = self._state.clients[client.token] = client",
                "session.client = client; self._state.clients.setdefault(client.token, client)")),
    mutant("token-used-again", "The token of a session that ended is given to the next one.", "LOGIN-4 ROBUSTNESS-12",
           first("state.State.new_token", 'if freed := vars(self).pop("freed", None): return freed'),
           first("state.State.forget", "self.freed = client.token")),
    mutant("token-of-zeroes", "The first session gets a token of zero bytes.", "LOGIN-4 ATTACH-3",
           first("state.State.new_token", "if bytes(32) not in self.clients: return bytes(32)")),
    mutant("login-takes-over-the-account", "A login takes over what sessions of its account without data socket subscribed.",
           "LOGIN-16 SUBSCRIBE-18",
           after("ControlRequests.login", "session.client = self._state.clients[client.token] = client",
                 "for one in list(self._state.clients.values()):",
                 "    if login and one.login == login and one is not client and one.data is None:",
                 "        for mask in self._state.subscriptions.of(one): self._state.subscriptions.add(client, mask)",
                 "        self._state.subscriptions.leave(one)")),
)  # fmt: skip
