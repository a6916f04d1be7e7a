"""A driver with an SDK of twenty lines: PURGE and QUERY under profile 7.3.2, in the ways that its argument names."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

HOW = sys.argv[1]
GREETS = HOW in ("greets", "greets-again", "babbles-again", "lazy", "lazy-and-late")
is_first = [True]
HELLO = {
    "protocol_version": "wireproof.driver/1",
    "sdk": {"name": "toy", "version": "1", "language": "Python"},
    "protocol": "throttr",
    "profiles": ["7.3.2"],
    "variants": ["uint16"],
    "operations": ["purge", "query"],
    "binary_safe": True,
    "largest_number": "255",
    "reconnects": True,
    **({"reconnects_lazily": True} if HOW.startswith("lazy") else {}),
}


def purge(endpoint: socket.socket, key: bytes) -> dict[str, Any]:
    if HOW == "dies":
        os.kill(os.getpid(), 11)
    if HOW == "hangs":
        time.sleep(60)
    result = {"status": True}
    if HOW == "says-nothing":
        return result
    if HOW == "leaves-answers":
        endpoint.sendall(b"\4" + bytes([len(key)]) + key)
        return {}
    with contextlib.suppress(*((ConnectionError,) if HOW == "babbles" else ())):
        endpoint.sendall(b"\4" + bytes([len(key)]) + key)
        result = {"status": endpoint.recv(1) == b"\1"}
    if HOW == "endless":
        threading.Thread(target=babble, args=(endpoint,), daemon=True).start()
    if HOW == "writes-endlessly":
        for _ in range(1 << 22):
            print('{"event": "reconnected", "connection": "a"}')
    if HOW == "dies-late":
        threading.Timer(0.1, die).start()
    return result


def connected(address: tuple[str, int], *, again: bool = False) -> socket.socket:
    endpoint = socket.create_connection(address)
    if HOW == "warms-up":
        time.sleep(0.5 * is_first.pop())
        is_first.append(False)
    if HOW == "babbles" or (again and HOW == "babbles-again"):
        with contextlib.suppress(ConnectionError):
            endpoint.sendall(b"\x01")
    elif GREETS:
        endpoint.sendall(b"\x18")
        if len(endpoint.recv(17)) != 17:
            sys.exit(1)
    time.sleep(0.1 * (HOW in ("greets", "babbles")))
    return endpoint


def connect_again(endpoints: dict[str, socket.socket], name: str, address: tuple[str, int]) -> None:
    """Connect once more when the connection is lost."""
    while endpoints[name].recv(1, socket.MSG_PEEK):
        time.sleep(0.02)
    endpoints[name] = connected(address, again=True)


def is_gone(endpoint: socket.socket) -> bool:
    try:
        return endpoint.recv(1, socket.MSG_DONTWAIT | socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def babble(endpoint: socket.socket) -> None:
    """Send requests until the other side closes: 256 MiB at most."""
    with contextlib.suppress(OSError):
        for _ in range(1 << 12):
            endpoint.sendall((b"\4\xff" + b"k" * 255) * (1 << 8))


def die() -> None:
    print("fatal: a late end", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def main() -> None:  # noqa: C901 - each way to be wrong where it happens
    endpoints: dict[str, socket.socket] = {}
    addresses: dict[str, tuple[str, int]] = {}
    for line in sys.stdin:
        command = json.loads(line)
        do, name, result = command["do"], command.get("connection", ""), {}
        if do == "hello":
            result = HELLO
        elif do == "connect":
            addresses[name] = command["host"], command["port"]
            endpoints[name] = connected(addresses[name])
            if HOW.endswith("again"):
                threading.Thread(target=connect_again, args=(endpoints, name, addresses[name]), daemon=True).start()
        elif do == "close":
            if HOW == "dies-closing":
                die()
            if HOW == "keeps-open":
                error = {"kind": "unsupported", "told": "nothing is closed"}
                print(json.dumps({"id": command["id"], "ok": False, "error": error}), flush=True)
                continue
            endpoints.pop(name).close()
        elif do == "query":
            key, got = bytes.fromhex(command["key"]["hex"]), b""
            with contextlib.suppress(*((ConnectionError,) if HOW == "babbles" else ())):
                endpoints[name].sendall(b"\2" + bytes([len(key)]) + key)
                got = endpoints[name].recv(1)
            time.sleep(1.0 * (HOW == "naps" and key == b"k"))
            if HOW == "owes" and not got:
                continue
            result = {"status": got == b"\1"}
        elif HOW in ("owes", "naps"):
            endpoints[name].sendall(b"\4\1k")
            continue
        elif HOW.startswith("lazy") and is_gone(endpoints[name]):
            endpoints[name] = connected(addresses[name])
            if HOW == "lazy-and-late":
                error = {"kind": "closed", "told": "the connection was lost"}
                print(json.dumps({"id": command["id"], "ok": False, "error": error}), flush=True)
                continue
            result = purge(endpoints[name], bytes.fromhex(command["key"]["hex"]))
        else:
            result = purge(endpoints[name], bytes.fromhex(command["key"]["hex"]))
        print(json.dumps({"id": command["id"], "ok": True, "result": result}), flush=True)
        if do == "close" and HOW == "stalls":
            time.sleep(60)
        if do == "close" and HOW == "dies-after-closing":
            die()


if __name__ == "__main__":
    main()
