"""TLS without sockets: both sides in memory."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from tests.reference_server.parrot import client_context
from wireproof.reference_server.certificates import self_signed
from wireproof.reference_server.tls import CertificateError, ServerTls, TlsError, reload_certificate, server_context


class Client:
    """A TLS client in memory."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")

    def shake(self) -> bool:
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True


@pytest.fixture(scope="module", name="files")
def _files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture(name="both")
def _both(files: tuple[Path, Path]) -> tuple[Client, ServerTls]:
    client = Client(client_context(files[0]))
    return client, ServerTls(server_context(*files), client.incoming.write)


def met(client: Client, server: ServerTls) -> bytes:
    """Finish the handshake; what the server read meanwhile."""
    read = b""
    while not (client.shake() and server.is_established):
        read += server.receive(client.outgoing.read())
    return read + (server.receive(client.outgoing.read()) if client.outgoing.pending else b"")


def test_what_was_written_before_the_handshake_comes_first_inside(both: tuple[Client, ServerTls]) -> None:
    client, server = both
    server.send(b"one ")
    server.send(b"two")

    assert met(client, server) == b""
    assert client.tls.read() + client.tls.read() == b"one two"


def test_bytes_go_both_ways_however_they_are_cut(both: tuple[Client, ServerTls]) -> None:
    client, server = both
    met(client, server)
    client.tls.write(b"x" * 100_000)
    sent = client.outgoing.read()

    assert b"".join(server.receive(sent[at : at + 1000]) for at in range(0, len(sent), 1000)) == b"x" * 100_000
    server.send(b"answer")
    assert client.tls.read() == b"answer"


def test_the_end_is_reported_inside(both: tuple[Client, ServerTls]) -> None:
    client, server = both
    met(client, server)
    client.tls.write(b"last")
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()

    assert server.receive(client.outgoing.read()) == b"last"
    assert server.has_ended
    server.send(b"still heard")
    assert not server._outgoing.pending
    server.close()
    server.close()


def test_the_server_says_that_it_ends(both: tuple[Client, ServerTls]) -> None:
    client, server = both
    met(client, server)

    server.close()

    assert client.tls.read() == b""


def test_nonsense_is_an_error_and_an_alert(both: tuple[Client, ServerTls]) -> None:
    _, server = both

    with pytest.raises(TlsError):
        server.receive(b"GET / HTTP/1.1\r\n\r\n")


def test_nothing_older_than_1_2_is_spoken(files: tuple[Path, Path]) -> None:
    assert server_context(*files).minimum_version is ssl.TLSVersion.TLSv1_2


def test_files_that_are_no_certificate_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("nothing")

    with pytest.raises(CertificateError, match=f"certificate {tmp_path}/bad with the key {tmp_path}/missing: "):
        server_context(tmp_path / "bad", tmp_path / "missing")
    with pytest.raises(CertificateError, match=f"certificate {tmp_path}/bad with the key {tmp_path}/bad: "):
        server_context(tmp_path / "bad", tmp_path / "bad")


def test_a_certificate_is_read_again_and_one_that_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = self_signed(tmp_path / "a"), self_signed(tmp_path / "b")
    context = server_context(*first)
    reload_certificate(context, *second)

    with pytest.raises(CertificateError, match="cannot use the certificate"):
        reload_certificate(context, first[0], second[1])

    client = Client(client_context(second[0]))
    assert met(client, ServerTls(context, client.incoming.write)) == b""
