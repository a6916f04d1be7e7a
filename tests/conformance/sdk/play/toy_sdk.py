"""A driver with an SDK of twenty lines: PURGE and QUERY under profile 7.3.2, in the ways that its argument names."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from typing import Any

HOW = sys.argv[1]
GREETS = HOW in ("greets", "greets-again", "babbles-again")
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
}


def purge(endpoint: socket.socket, key: bytes) -> dict[str, Any]:
    if HOW == "dies":
        os.kill(os.getpid(), 11)
    if HOW == "hangs":
        time.sleep(60)
    if HOW == "says-nothing":
        return {"status": True}
    endpoint.sendall(b"\4" + bytes([len(key)]) + key)
    result = {"status": endpoint.recv(1) == b"\1"}
    if HOW == "dies-late":
        threading.Timer(0.1, die).start()
    return result


def die() -> None:
    print("fatal: a late end", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def connect(endpoints: dict[str, socket.socket], name: str, port: int, *, again: bool = False) -> None:
    endpoint = socket.create_connection(("127.0.0.1", port))
    if HOW == "babbles" or (again and HOW == "babbles-again"):
        endpoint.sendall(b"\x01")
    elif GREETS:
        endpoint.sendall(b"\x18")
        if len(endpoint.recv(17)) != 17:
            sys.exit(1)
    time.sleep(0.1 * (HOW in ("greets", "babbles")))
    endpoints[name] = endpoint


def connect_again(endpoints: dict[str, socket.socket], name: str, port: int) -> None:
    """Connect once more when the connection is lost."""
    while endpoints[name].recv(1, socket.MSG_PEEK):
        time.sleep(0.02)
    connect(endpoints, name, port, again=True)


def main() -> None:
    endpoints: dict[str, socket.socket] = {}
    for line in sys.stdin:
        command = json.loads(line)
        do, name, result = command["do"], command.get("connection", ""), {}
        if do == "hello":
            result = HELLO
        elif do == "connect":
            connect(endpoints, name, command["port"])
            if HOW.endswith("again"):
                threading.Thread(target=connect_again, args=(endpoints, name, command["port"]), daemon=True).start()
        elif do == "close":
            if HOW == "dies-closing":
                die()
            endpoints.pop(name).close()
        elif do == "query":
            key = bytes.fromhex(command["key"]["hex"])
            endpoints[name].sendall(b"\2" + bytes([len(key)]) + key)
            result = {"status": endpoints[name].recv(1) == b"\1"}
        else:
            result = purge(endpoints[name], bytes.fromhex(command["key"]["hex"]))
        print(json.dumps({"id": command["id"], "ok": True, "result": result}), flush=True)


if __name__ == "__main__":
    main()
