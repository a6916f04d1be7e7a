"""A driver of no SDK, for tests of who talks to drivers: `toy_driver.py HOW` is honest but for what HOW names."""

import json
import os
import signal
import subprocess
import sys
import time

HOW = sys.argv[1] if len(sys.argv) > 1 else "honest"
HELLO = {
    "protocol_version": "wireproof.driver/1",
    "sdk": {"name": "toy", "version": "1", "language": "Python"},
    "protocol": "toy",
    "profiles": ["1"],
    "variants": ["a"],
    "operations": ["echo"],
    "binary_safe": True,
    "largest_number": "9",
}


def say(message):
    print(json.dumps(message) if isinstance(message, dict) else message, flush=True)


def hello(command):
    return HELLO | ({"protocol_version": "wireproof.driver/9"} if HOW == "future" else {})


def push(command):
    say({"event": "message", "connection": "a", "payload": command["payload"]})
    say({"event": "closed", "connection": "b"})


def die(command):
    print("last words, says the toy", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV) if command["how"] == "signal" else os._exit(int(command["how"]))


def spawn(command):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    return {"pid": str(child.pid)}


DO = {
    "hello": hello,
    "echo": lambda command: {"payload": command["payload"]},
    "push": push,
    "die": die,
    "spawn": spawn,
    "chat": lambda command: say("connected!"),
    "number": lambda command: {"quota": 7},
    **dict.fromkeys(("connect", "close", "quit"), lambda command: {}),
}


def answer(command):
    do, id = command["do"], command["id"]
    if do == "hang":
        return
    if do == "later":
        waiting.append(id)
        return
    if do in DO:
        say({"id": id, "ok": True, "result": DO[do](command) or {}})
    else:
        say({"id": id, "ok": False, "error": {"kind": "unsupported", "told": f"no {do}"}})
    while waiting:
        say({"id": waiting.pop(), "ok": True, "result": {}})
    if do == "quit":
        time.sleep(60 if HOW == "clings" else 0)
        sys.exit(0)


waiting = []
if HOW == "stillborn":
    sys.exit("cannot find the SDK")
if HOW == "deaf":
    time.sleep(60)
while line := sys.stdin.readline():
    answer(json.loads(line))
