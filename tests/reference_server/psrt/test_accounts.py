"""Account files: what they say, and what is said of those that are wrong."""

from __future__ import annotations

import re
from pathlib import Path

import bcrypt
import pytest

from tests.reference_server.psrt.account_files import KEYS, hashed, write
from tests.reference_server.psrt.simulated import Server
from wireproof.reference_server.psrt.account_files import acl_of, keys_of, read_text, users_of
from wireproof.reference_server.psrt.accounts import MOST_WRONG, Accounts, read_accounts
from wireproof.reference_server.psrt.rights import ALL

NO_FILES = {"users": None, "acl": None, "keys": None, "anonymous": True}


@pytest.fixture(name="accounts")
def _accounts(tmp_path: Path) -> Accounts:
    return read_accounts({**NO_FILES, **write(tmp_path)})


def test_without_files_anybody_may_do_everything_without_a_name() -> None:
    accounts = read_accounts(NO_FILES)

    assert accounts.login("", "") is ALL
    assert accounts.login("user1", "secret") is None
    assert read_accounts({**NO_FILES, "anonymous": False}).login("", "") is None


@pytest.mark.parametrize(
    ("login", "password", "is_known"),
    [
        ("user1", "secret", True),
        ("none", "secret", True),
        ("", "", True),
        ("user1", "Secret", False),
        ("user1", "", False),
        ("user1", "secret\0", False),
        ("user2", "secret", False),
        ("noacl", "secret", False),
        ("", "secret", False),
        ("_", "", False),
        ("_", "secret", False),
    ],
)
def test_who_logs_in_needs_the_password_and_an_entry(
    accounts: Accounts, login: str, password: str, is_known: bool
) -> None:
    assert (accounts.login(login, password) is not None) is is_known
    assert (accounts.login(login, password) is not None) is is_known


def test_a_password_is_not_hashed_again_while_it_is_remembered(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashings = []
    correct = bcrypt.checkpw
    monkeypatch.setattr(bcrypt, "checkpw", lambda *given: hashings.append(1) or correct(*given))
    for _ in range(3):
        assert accounts.login("user1", "secret") is not None
        assert accounts.login("user1", "wrong") is None

    assert len(hashings) == 2
    for number in range(MOST_WRONG):
        assert accounts.login("user1", f"wrong{number}") is None
    assert accounts.login("user1", "secret") is not None
    assert accounts.login("user1", "wrong") is None
    assert len(hashings) == 2 + MOST_WRONG + 1


def test_a_long_password_is_cut_as_htpasswd_cuts_it(tmp_path: Path) -> None:
    accounts = Accounts(users={"long": hashed(b"x" * 72).encode()}, acl={"long": ALL})

    assert accounts.login("long", "x" * 100) is ALL
    assert accounts.login("long", "x" * 71) is None


def test_keys_need_an_entry_too(accounts: Accounts) -> None:
    found = accounts.sealed_by("user1")
    assert found is not None
    assert found[0] == KEYS["user1"]
    assert accounts.sealed_by("ghost") is None
    assert accounts.sealed_by("none") is None


def test_the_key_of_nobody_needs_no_anonymous_login(tmp_path: Path) -> None:
    accounts = read_accounts({**NO_FILES, **write(tmp_path), "anonymous": False})
    found = accounts.sealed_by("")
    assert found is not None
    assert found[0] == KEYS["_"]
    assert accounts.login("", "") is None


def test_logins_that_look_like_numbers_are_names(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert keys_of(path, f"1: {'0' * 64}\ntrue: {'1' * 64}\n") == {"1": bytes(32), "true": b"\x11" * 32}
    assert acl_of(path, "1: {sub: [1, null, x]}\n")["1"].sub == (("1",), ("null",), ("x",))


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        ("", "1: expected a mapping of logins, got nothing"),
        ("[a, b]", "1: expected a mapping of logins, got a list"),
        ("a: [\n", "2: expected YAML, got "),
        ("a:\n  sub: x\n", "2: expected a.sub: a list of masks, got 'x'"),
        ("a:\n  sub: [[x]]\n", "2: expected a.sub: a list of masks, got a list in it"),
        ("a:\n  admin: 1\n", "2: expected a.admin: true or false, got '1'"),
        ("a:\n  replicator: [true]\n", "2: expected a.replicator: true or false, got a list"),
        ("a:\n  sup: [x]\n", "2: expected a: sub, pub, admin or replicator, got 'sup'"),
        ("a: x\n", "1: expected a: a mapping of rights, got 'x'"),
        ("a: {}\nb: {}\na: {}\n", "3: expected each name once, got 'a' again"),
        ("[a]: {}\n", "1: expected a name, got a list"),
    ],
)
def test_a_wrong_acl_is_reported_by_its_line(tmp_path: Path, content: str, detail: str) -> None:
    path = tmp_path / "acl"

    with pytest.raises(ValueError, match=re.escape(f"{path}:{detail}")):
        acl_of(path, content)


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        ("user1\n", "1: expected login:hash as `htpasswd -B` writes it, got user1:"),
        ("\n# x\nuser1:secret\n", "3: expected login:hash as `htpasswd -B` writes it, got user1:..."),
        (
            "user1:$apr1$5678$abcdefghijklmnopqrstuv\n",
            "1: expected login:hash as `htpasswd -B` writes it, got user1:...",
        ),
        (f":{hashed()}\n", "1: expected login:hash as `htpasswd -B` writes it, got :..."),
        (f"a:{hashed()}\na:{hashed()}\n", "2: expected each login once, got 'a' again"),
    ],
)
def test_a_wrong_password_file_is_reported_by_its_line(tmp_path: Path, content: str, detail: str) -> None:
    path = tmp_path / "users"

    with pytest.raises(ValueError, match=re.escape(f"{path}:{detail}")) as caught:
        users_of(path, content)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        ("a: 00ff\n", "1: expected a: 64 hexadecimal digits, got 4 characters"),
        (f"a: {'0' * 64}\nb: {'g' * 64}\n", "2: expected b: 64 hexadecimal digits, got 64 characters"),
        ("a: {}\n", "1: expected a: 64 hexadecimal digits, got a mapping"),
    ],
)
def test_a_wrong_key_file_is_reported_by_its_line_and_shows_no_key(tmp_path: Path, content: str, detail: str) -> None:
    path = tmp_path / "keys"

    with pytest.raises(ValueError, match=re.escape(f"{path}:{detail}")):
        keys_of(path, content)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="missing: cannot be read: No such file or directory"):
        read_text(tmp_path / "missing")
    (tmp_path / "latin").write_bytes(b"\xe4: {}\n")
    with pytest.raises(ValueError, match="latin: expected UTF-8, got byte e4 at 0"):
        read_text(tmp_path / "latin")


def test_passwords_without_rights_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="option acl: expected a file beside users and keys"):
        read_accounts({**NO_FILES, **write(tmp_path), "acl": None})


def test_a_reload_counts_for_those_who_log_in_later(tmp_path: Path) -> None:
    server = Server(**write(tmp_path))
    before = server.control(b"lim", b"secret")
    (tmp_path / "acl").write_text('lim: {sub: ["#"]}\n')
    assert server.service.can_reload

    server.service.reload()

    assert before.send(b"\x02\x01\0\0\0c") == b"\xfe"
    assert server.control(b"lim", b"secret").send(b"\x02\x01\0\0\0c") == b"\x01"


def test_a_reload_reads_every_file(tmp_path: Path) -> None:
    server = Server(**write(tmp_path))
    before = server.service.state.accounts
    (tmp_path / "users").write_text(f"lim:{hashed(b'changed')}\n")
    (tmp_path / "acl").write_text('lim: {sub: ["#"]}\n')
    (tmp_path / "keys").write_text(f"lim: {bytes(range(32)).hex()}\n")

    server.service.reload()

    after = server.service.state.accounts
    assert (before.login("lim", "secret") is None, before.login("lim", "changed") is None) == (False, True)
    assert (after.login("lim", "secret") is None, after.login("lim", "changed") is None) == (True, False)
    assert after.acl.keys() == {"lim"}
    assert (before.keys["lim"], after.keys["lim"]) == (bytes(range(0x40, 0x60)), bytes(range(32)))


def test_a_reload_of_what_is_wrong_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(**write(tmp_path))
    (tmp_path / "acl").write_text("lim: {sab: []}\n")

    server.service.reload()

    assert "acl:1: expected lim: sub, pub, admin or replicator, got 'sab'" in caplog.text
    server.control(b"lim", b"secret")


def test_without_files_there_is_nothing_to_reload() -> None:
    assert not Server().service.can_reload
