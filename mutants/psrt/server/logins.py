"""Faults of logging in: who is let in, what is said to whom is not, and the token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    changed,
    decoding,
    encoded,
    field_kind,
    instead_of_closing,
    miscounted,
    with_answer,
    with_handler,
    with_request,
)
from wireproof.protocols.fields import U16, Split
from wireproof.protocols.psrt.enums import LONGEST_LOGIN
from wireproof.protocols.psrt.replies import Token
from wireproof.protocols.psrt.requests import Login
from wireproof.reference_server.psrt.accounts import Accounts
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.rights import ALL, Rights
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import Answer, Handler, RefusedError, State

__all__ = ["MUTANTS", "accounts"]

NO_RIGHTS = Rights()


def accounts(kind: type[Accounts]) -> type[State]:
    """Return a server whose accounts are of another kind."""

    class Other(State):
        """Reads the same files."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            own = self.accounts
            self.accounts = kind(own.anonymous, own.users, own.acl, own.keys)

    return Other


class _NoPasswords(Accounts):
    """Lets in who is known."""

    def _is_right(self, login: str, password: bytes) -> bool:
        return login in self.users


class _NoNames(Accounts):
    """Lets those who are not known in as anybody."""

    def login(self, login: str, password: str) -> Rights | None:
        """See `Accounts`."""
        return super().login(login, password) if login in self.users else super().login("", "")


class _NoEntry(Accounts):
    """Lets in those who have no rights entry."""

    def login(self, login: str, password: str) -> Rights | None:
        """See `Accounts`."""
        found = super().login(login, password)
        if found is None and login not in self.acl and self._is_right(login, password.encode()):
            return NO_RIGHTS
        return found


class _AnybodyOnly(Accounts):
    """Lets nobody in who has a name."""

    def login(self, login: str, password: str) -> Rights | None:
        """See `Accounts`."""
        return None if login else super().login(login, password)


class _EmptyName(Accounts):
    """Takes no notice of a password without a name."""

    def login(self, login: str, password: str) -> Rights | None:
        """See `Accounts`."""
        return super().login(login, password if login else "")


class _Begins(Accounts):
    """Takes a password that begins with the right one."""

    def _is_right(self, login: str, password: bytes) -> bool:
        return any(super(_Begins, self)._is_right(login, password[:size]) for size in range(len(password), 5, -1))


class _AnyCase(Accounts):
    """Takes names in any case of letters."""

    def login(self, login: str, password: str) -> Rights | None:
        """See `Accounts`."""
        return super().login(login.lower(), password)


class _AnyCaseOfPassword(Accounts):
    """Takes passwords in any case of letters."""

    def _is_right(self, login: str, password: bytes) -> bool:
        return super()._is_right(login, password.lower())


def _password(change: Callable[[bytes], bytes]) -> Any:
    return with_request(Login, lambda request, ask: changed(request, password=change(request.password)))


def _name(change: Callable[[bytes], bytes]) -> Any:
    return with_request(Login, lambda request, ask: changed(request, login=change(request.login)))


def _known_bytes(data: bytes) -> bytes:
    return data.decode(errors="ignore").encode()


def _same_token(answer: Answer, ask: Ask) -> Answer:
    """Give all sessions of an account one token, that of the first."""
    own, clients = ask.session.client, ask.state.clients
    for one in clients.values():
        if one.login == own.login and one is not own:
            del clients[own.token]
            own.token = one.token
            return Token(own.token)
    return answer


class _SameToken(State):
    """Gives out the token of the session that ended last again."""

    freed: bytes | None = None

    def new_token(self) -> bytes:
        """See `State`."""
        token, self.freed = self.freed, None
        return token or super().new_token()

    def forget(self, client: Client) -> None:
        """See `State`."""
        super().forget(client)
        self.freed = client.token


class _ZeroToken(State):
    """Gives the first session a token of zeroes."""

    def new_token(self) -> bytes:
        """See `State`."""
        return super().new_token() if bytes(32) in self.clients else bytes(32)


def _once(correct: Handler, state: State) -> Handler:
    """Refuse an account that is logged in already."""

    def handle(request: Login, session: PsrtSession, now: int) -> Answer:
        if request.login and any(one.login.encode() == request.login for one in state.clients.values()):
            raise RefusedError("logged in already")
        return correct(request, session, now)

    return handle


def _last_one_only(correct: Handler, state: State) -> Handler:
    """End the sessions that an account has when it logs in again."""

    def handle(request: Login, session: PsrtSession, now: int) -> Answer:
        answer = correct(request, session, now)
        for one in list(state.sessions):
            if one is not session and not one.is_data and one.client and one.client.login.encode() == request.login:
                one.end()
        return answer

    return handle


def _no_client(ask: Ask) -> Answer:
    """Serve whom a login was refused, without a token."""
    ask.session.client = Client("", NO_RIGHTS, b"")
    return b""


def _served(ask: Ask) -> Answer:
    """Serve whom a login was refused, without a token, as if it had all rights."""
    ask.session.client = Client("", ALL, b"")
    return b""


def _told_apart(ask: Ask) -> Answer:
    if ask.request.login.decode(errors="replace") in ask.state.accounts.users:
        raise RefusedError("wrong password")
    ask.session.finish()
    return b"\xff"


def _refused(ask: Ask) -> Answer:
    ask.session.finish()
    return b"\xfe"


def _zero_len(connection: Any, error: Any, data: bytes) -> tuple[Login, int] | None:
    """Take an empty login frame for the anonymous one."""
    return (Login(b"", b""), 4) if data[:4] == bytes(4) and connection.state == "greeted" else None


def _no_zero(connection: Any, error: Any, data: bytes) -> tuple[Login, int] | None:
    """Take a login frame without 00 for the anonymous one."""
    size = int.from_bytes(data[:4], "little")
    is_whole = connection.state == "greeted" and 0 < size <= LONGEST_LOGIN and len(data) >= 4 + size
    return (Login(b"", b""), 4 + size) if is_whole else None


class _ShorterLogin(PsrtSession):
    """Refuses a login frame of the largest size."""

    def take(self, request: Any) -> None:
        """See `PsrtSession`."""
        if isinstance(request, Login) and len(request.login) + len(request.password) + 1 >= LONGEST_LOGIN:
            self.refuse("too long")
        else:
            super().take(request)


class _AnyLogin(PsrtSession):
    """Knows no bound of login frames but that of all frames."""

    def met(self, first: bytes) -> Any:
        """See `PsrtSession`."""
        found = super().met(first)
        found._most.pop(Login, None)
        found._max_frame = 1 << 40
        return found


_ADMITTED: tuple[ServerMutant, ...] = (
    mutant("login-any-password", "The password of an account is not looked at.", "LOGIN-6", "LOGIN-13", "LOGIN-17",
          "ACCOUNT-1", "DATAGRAM-8", "ACL-17", state=accounts(_NoPasswords)),
    mutant("login-unknown-is-anonymous", "Who is not known is let in as the anonymous account.", "LOGIN-7", "LOGIN-17",
          "ACCOUNT-2", "DATAGRAM-8", "LOGIN-12", "LOGIN-19", state=accounts(_NoNames)),
    mutant("login-without-entry", "An account without a rights entry can log in.", "ACL-11", "DATAGRAM-8",
          state=accounts(_NoEntry)),
    mutant("login-password-without-name", "An empty login is anonymous whatever its password.", "LOGIN-12",
          "DATAGRAM-8", "LOGIN-19", state=accounts(_EmptyName)),
    mutant("login-password-begins", "A password that begins with the right one is right.", "ACCOUNT-1", "LOGIN-6",
          "LOGIN-13", "DATAGRAM-8", state=accounts(_Begins)),
    mutant("login-in-any-case", "Logins are compared without the case of their letters.", "ACCOUNT-2", "LOGIN-7",
          state=accounts(_AnyCase)),
    mutant("login-password-in-any-case", "Passwords are compared without the case of their letters.", "ACCOUNT-1",
          "LOGIN-6", state=accounts(_AnyCaseOfPassword)),
    mutant("login-password-ends-at-its-00", "A password ends at its first 00.", "LOGIN-13", "ACCOUNT-1", "LOGIN-6",
          handlers=_password(lambda password: password.partition(b"\0")[0])),
    mutant("login-split-at-the-last-00", "The password is what stands behind the last 00 of a login.", "LOGIN-13",
          "ACCOUNT-1", "LOGIN-6", handlers=_password(lambda password: password.rpartition(b"\0")[2])),
    mutant("login-bytes-left-out", "Bytes of a login that are no UTF-8 are left out.", "LOGIN-10",
          handlers=_name(_known_bytes)),
    mutant("login-password-bytes-left-out", "Bytes of a password that are no UTF-8 are left out.", "LOGIN-11",
          "ACCOUNT-1", "LOGIN-6", handlers=_password(_known_bytes)),
    mutant("login-len-0-is-anonymous", "A login frame of LEN 0 is the anonymous login.", "LOGIN-9",
          session=decoding(_zero_len)),
    mutant("login-without-00-is-anonymous", "A login frame without 00 is the anonymous login.", "LOGIN-8",
          session=decoding(_no_zero)),
)  # fmt: skip
_REFUSED: tuple[ServerMutant, ...] = (
    mutant("login-of-nobody-with-a-name", "Only anonymous clients are let in.", "LOGIN-5", "LOGIN-14", "LOGIN-16",
          "ACL-1", "ACL-2", "DATAGRAM-5", "ACL-17", "STARTTLS-4", "DATAGRAM-1", state=accounts(_AnybodyOnly)),
    mutant("login-refused-with-fe", "A login is refused with FE, then the connection is closed.", "LOGIN-6", "LOGIN-7",
          "LOGIN-10", "LOGIN-11", "LOGIN-12", "LOGIN-13", "LOGIN-17", "FRAMING-9", "ACL-11", "ACCOUNT-1", "ACCOUNT-2",
          "LOGIN-19", handlers=instead_of_closing(Login, _refused)),
    mutant("login-unknown-told-apart", "An unknown account is answered FF, a wrong password is not.", "LOGIN-7",
          "LOGIN-17", "LOGIN-10", "LOGIN-12", "FRAMING-9", "LOGIN-19", "ACCOUNT-2",
          handlers=instead_of_closing(Login, _told_apart)),
    mutant("login-refused-and-open", "After a login that is refused the connection stays open, and requests are "
          "answered.", "LOGIN-6", "LOGIN-7", "LOGIN-10", "LOGIN-11", "LOGIN-12", "LOGIN-13", "LOGIN-17", "LOGIN-19",
          "ACL-11", "ACCOUNT-1", "ACCOUNT-2", handlers=instead_of_closing(Login, _no_client)),
    mutant("login-refused-and-served", "After a login that is refused what follows is carried out all the same.",
          "LOGIN-19", "LOGIN-6", "LOGIN-7", "LOGIN-10", "LOGIN-11", "LOGIN-12", "LOGIN-13", "LOGIN-17", "ACL-11",
          "ACCOUNT-1", "ACCOUNT-2", handlers=instead_of_closing(Login, _served)),
    mutant("login-once-an-account", "An account that is logged in cannot log in again.", "LOGIN-16",
          handlers=with_handler(Login, _once)),
    mutant("login-last-one-only", "A login ends the other sessions of its account.", "LOGIN-16", "ROBUSTNESS-8",
          "MESSAGE-8", "SUBSCRIBE-18", "ATTACH-16", "ORDER-4", "ORDER-5", "MESSAGE-9",
          handlers=with_handler(Login, _last_one_only)),
)  # fmt: skip
_FRAME: tuple[ServerMutant, ...] = (
    mutant("login-len-without-00", "The LEN of a login does not count its 00.", "LOGIN-1", "LOGIN-2", "LOGIN-9",
          "LOGIN-15", session=miscounted(Login, lambda size: size + 1)),
    mutant("login-len-of-2-bytes", "The LEN of a login has 2 bytes.", "LOGIN-1", "LOGIN-2", "FRAMING-2",
          "TIMEOUT-5", profile=field_kind(Login, "login", Split(U16))),
    mutant("login-longest-refused", "A login frame of 1024 bytes is refused.", "LOGIN-14", session=_ShorterLogin),
    mutant("login-of-any-length", "Login frames have no bound of their own.", "LOGIN-15", session=_AnyLogin),
)  # fmt: skip
_TOKEN: tuple[ServerMutant, ...] = (
    mutant("token-behind-a-status", "01 stands before the token.", "LOGIN-3", "LOGIN-2", "GREETING-8", "STARTTLS-4",
          "ATTACH-2", handlers=with_answer(Login, lambda answer, ask: b"\1" + encoded(answer, ask))),
    mutant("token-of-16-bytes", "The token has 16 bytes.", "LOGIN-3", "LOGIN-2", "STARTTLS-4", "ATTACH-1",
          handlers=with_answer(Login, lambda answer, ask: encoded(answer, ask)[:16])),
    mutant("token-of-33-bytes", "A 00 ends the token.", "LOGIN-3", "LOGIN-2", "STARTTLS-4",
          handlers=with_answer(Login, lambda answer, ask: encoded(answer, ask) + b"\0")),
    mutant("token-of-an-account", "All sessions of an account have one token.", "LOGIN-4", "LOGIN-16", "ATTACH-16",
          "ATTACH-2", "ATTACH-7", handlers=with_answer(Login, _same_token)),
    mutant("token-used-again", "The token of a session that ended is given to the next one.", "LOGIN-4",
          "ROBUSTNESS-12", state=_SameToken),
    mutant("token-of-zeroes", "The first session gets a token of zero bytes.", "LOGIN-4", "ATTACH-3", state=_ZeroToken),
)  # fmt: skip
MUTANTS = _ADMITTED + _REFUSED + _FRAME + _TOKEN
