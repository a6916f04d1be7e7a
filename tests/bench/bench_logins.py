"""How long a good client waits while others log in with wrong passwords, beside the same client on a quiet server.

`python -m tests.bench.bench_logins [SECONDS]`. A PSRT server, the good client and the bad ones are a process each, and
hashes are of cost 10. The good client asks NOP every 10 ms; for the second half of the time 100 logins a second come
with wrong passwords, no two of them alike. Prints milliseconds (median, 99 %, longest) of both halves and their ratios.
"""

from __future__ import annotations

import multiprocessing
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import bcrypt

HELLO = bytes.fromhex("eeaa00")
ANONYMOUS = bytes.fromhex("0100000000")
NOP = b"\x00"
BAD_LOGINS = 100
"""A second."""
EVERY = 0.01
"""Seconds between two questions of the good client."""


def connected(port: int) -> socket.socket:
    """Return a new connection."""
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def asked(sock: socket.socket, data: bytes, size: int) -> bytes:
    """Return the `size` bytes that answer `data`."""
    sock.sendall(data)
    found = b""
    while len(found) < size and (more := sock.recv(size - len(found))):
        found += more
    return found


def waits(sock: socket.socket, seconds: float) -> list[float]:
    """Return the milliseconds that each NOP waited for its answer."""
    found, end = [], time.monotonic() + seconds
    while (begun := time.monotonic()) < end:
        assert len(asked(sock, NOP, 1)) == 1
        found.append((time.monotonic() - begun) * 1000)
        time.sleep(EVERY)
    return found


def bad_logins(port: int, over: Event) -> None:
    """Log in with wrong passwords until it is over; the server closes each connection."""
    open_ones: list[socket.socket] = []
    number = 0
    while not over.wait(1 / BAD_LOGINS):
        number += 1
        body = b"user1\0wrong%d" % number
        sock = connected(port)
        sock.sendall(HELLO + len(body).to_bytes(4, "little") + body)
        open_ones.append(sock)
        if len(open_ones) > 5 * BAD_LOGINS:
            open_ones.pop(0).close()
    for sock in open_ones:
        sock.close()


def main(seconds: float = 10.0) -> None:
    """Print the two halves."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "users").write_text(f"user1:{bcrypt.hashpw(b'secret', bcrypt.gensalt(10)).decode()}\n")
        (folder / "acl").write_text('_:\n  sub: ["#"]\nuser1:\n  sub: ["#"]\n')
        files = [f"--users={folder / 'users'}", f"--acl={folder / 'acl'}"]
        command = [sys.executable, "-m", "wireproof", "serve", "psrt", "--profile", "1", "--port", "0", *files]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            port = int(server.stdout.readline().rsplit(":", 1)[1])
            with connected(port) as good:
                asked(good, HELLO, 4)
                asked(good, ANONYMOUS, 32)
                quiet = waits(good, seconds / 2)
                over = multiprocessing.Event()
                others = multiprocessing.Process(target=bad_logins, args=(port, over))
                others.start()
                loaded = waits(good, seconds / 2)
                over.set()
                others.join()
            server.terminate()
    print(f"NOP of a client that is logged in, ms, beside {BAD_LOGINS} wrong logins a second at cost 10:")
    for what, of in (
        ("median", statistics.median),
        ("99 %", lambda one: sorted(one)[len(one) * 99 // 100]),
        ("longest", max),
    ):
        print(f"  {what:8} {of(quiet):7.2f} quiet {of(loaded):7.2f} loaded, ratio {of(loaded) / of(quiet):.1f}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]))
