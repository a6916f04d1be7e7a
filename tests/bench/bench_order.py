"""Which comes first over sockets: the answer to a PUBLISH, or the message on a data socket (PSRT-ORDER-6, P38).

`python -m tests.bench.bench_order [PUBLISHES] [PORT]`. A PSRT server in a process of its own, or the one at PORT. One
client publishes to itself, asks which of its two sockets can be read, and takes both. Prints how often each was first.
"""

from __future__ import annotations

import select
import socket
import subprocess
import sys
from collections import Counter

from tests.bench.bench_logins import ANONYMOUS, HELLO, asked, connected

DATA_HELLO = bytes.fromhex("eeab00")
OK = b"\x01"
TOPIC, MESSAGE = b"t", b"m"
PATIENCE = 10.0
"""Seconds until a message counts as lost."""


def sized(data: bytes) -> bytes:
    """Return bytes behind their size."""
    return len(data).to_bytes(4, "little") + data


def firsts(port: int, publishes: int) -> Counter[str]:
    """Return how often the answer could be read alone, the message alone, and both at once."""
    found = Counter[str]()
    with connected(port) as control, connected(port) as data:
        asked(control, HELLO, 4)
        token = asked(control, ANONYMOUS, 32)
        assert asked(data, DATA_HELLO + token + b"\xff", 5)[-1:] == OK
        assert asked(control, b"\x02" + sized(TOPIC), 1) == OK
        size = len(asked_message(control, data))
        for _ in range(publishes):
            control.sendall(b"\x01\x7f" + sized(TOPIC + b"\0" + MESSAGE))
            ready = select.select([control, data], [], [], PATIENCE)[0]
            found["both" if len(ready) == 2 else "answer" if control in ready else "message"] += 1
            assert asked(control, b"", 1) == OK
            assert len(asked(data, b"", size)) == size
    return found


def asked_message(control: socket.socket, data: socket.socket) -> bytes:
    """Publish one message; return it as it is pushed."""
    assert asked(control, b"\x01\x7f" + sized(TOPIC + b"\0" + MESSAGE), 1) == OK
    data.settimeout(PATIENCE)
    return data.recv(100)


def main(publishes: int = 5000, port: int = 0) -> None:
    """Print the counts."""
    if port:
        report(firsts(port, publishes), publishes)
        return
    command = [sys.executable, "-m", "wireproof", "serve", "psrt", "--profile", "1", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            report(firsts(int(server.stdout.readline().rsplit(":", 1)[1]), publishes), publishes)
        finally:
            server.terminate()


def report(found: Counter[str], publishes: int) -> None:
    """Print the counts of one run."""
    print(f"first to be read after each of {publishes} PUBLISHes to oneself:")
    for what in ("answer", "message", "both"):
        print(f"  {what:8} {found[what]:6} {100 * found[what] / publishes:6.1f} %")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
