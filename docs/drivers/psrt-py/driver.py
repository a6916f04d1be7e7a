"""A driver of psrt 0.0.19, the PSRT client on PyPI: `pip install psrt==0.0.19 pycryptodomex`.

The driver reports what the SDK reports: AccessError is the code err_access, RuntimeError the code in its text, or
without one the error refused. The SDK handles one operation at a time, so each connection has a thread that runs its
commands in order. The SDK has no callback for a lost session: the driver polls `is_connected`, as users do.
"""

import json
import queue
import re
import ssl
import sys
import threading
import time
from importlib.util import find_spec

import psrt

TIMEOUT = 3.0  # Default in seconds; less than wireproof waits for an answer.
BUFFERS = 1 << 20  # Bytes; with the SDK's default of 1024, large frames take longer than its timeout.
POLL_INTERVAL = 0.02  # Seconds between two checks of `is_connected`.
PRIORITY = "127"  # The only one that the SDK sends; it does not expose the priority of a message.
CODES = {0x02: "ok_waiting", 0xE0: "not_required", 0xFE: "err_access", 0xFF: "error"}
OPERATIONS = ("publish", "subscribe", "unsubscribe", "bye", "datagram")
CIPHERS = {"aes_128_gcm": (psrt.AUTH_KEY_AES_128_GCM, 16), "aes_256_gcm": (psrt.AUTH_KEY_AES_256_GCM, 32)}
FEATURES = ["tls", "udp", "accounts", *(["encryption"] if find_spec("Cryptodome") else [])]

connections = {}
speaking = threading.Lock()


class CannotError(Exception):
    """A command that fails, with a kind of error of the driver protocol."""

    def __init__(self, kind, detail):
        super().__init__(detail)
        self.kind = kind


class Connection:
    """One client of the SDK; `todo` queues its commands."""

    def __init__(self, name, client, address):
        self.name = name
        self.client = client
        self.address = address
        self.todo = queue.Queue()
        self.leaving = False
        client.on_message = self.message
        client.connect()
        threading.Thread(target=self.work, daemon=True).start()
        threading.Thread(target=self.look, daemon=True).start()

    def message(self, client, userdata, message):
        fields = {"topic": as_hex(message.topic.encode()), "message": as_hex(message.payload)}
        say({"event": "message", "connection": self.name, "priority": None, **fields})

    def work(self):
        while True:
            answer(*self.todo.get())

    def look(self):
        while self.client.is_connected():
            time.sleep(POLL_INTERVAL)
        if not self.leaving:
            say({"event": "closed", "connection": self.name, "told": "is_connected() is False"})

    def leave(self):
        self.leaving = True
        self.client.bye()
        return {}

    def publish(self, command):
        self.client.publish(text(command, "topic"), data(command, "message"))
        return {"code": "ok"}

    def subscribe(self, command):
        return self.change(command, self.client.subscribe, self.client.subscribe_bulk)

    def unsubscribe(self, command):
        return self.change(command, self.client.unsubscribe, self.client.unsubscribe_bulk)

    def change(self, command, one, many):
        topics = text(command, "topics").split("\0")
        if len(topics) == 1:
            one(topics[0])
        else:
            many(topics)
        return {"code": "ok"}

    def bye(self, command):
        if not self.client.is_connected():
            raise CannotError("closed", "is_connected() is False")
        self.leave()  # It raises no error, whatever the server does.
        return {"code": "ok"}

    def datagram(self, command):
        needs_ack = command["op"] == "publish"
        if not needs_ack and command["op"] != "publish_no_ack":
            raise CannotError("unsupported", "no other operation")
        how = {"user": text(command, "login"), "timeout": self.client.timeout, "need_ack": needs_ack}
        if command["encryption"] == "plain":
            how["password"] = text(command, "password")
        elif command["encryption"] in CIPHERS:
            # The SDK chooses the cipher by the size of the key and ignores `auth`.
            how["auth"], size = CIPHERS[command["encryption"]]
            how["password"] = data(command, "password")[:size]
        else:
            raise CannotError("unsupported", "no other encryption")
        psrt.pub_udp(self.address, text(command, "topic"), data(command, "message"), **how)
        return {"code": "ok"} if needs_ack else {}


def say(message):
    with speaking:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def as_hex(value):
    return {"hex": value.hex()}


def data(command, name):
    value = command[name]
    return bytes.fromhex(value["hex"]) if "hex" in value else value["text"].encode()


def text(command, name):
    try:
        return data(command, name).decode()
    except UnicodeDecodeError as error:
        raise CannotError("refused", f"{name} is a str: {error}") from None


def hello(command):
    return {
        "protocol_version": "wireproof.driver/1",
        "sdk": {"name": "psrt (PyPI)", "version": psrt.__version__, "language": "Python"},
        "protocol": "psrt",
        "profiles": ["1", "psrtd-0.3"],
        "variants": ["standard"],
        "operations": list(OPERATIONS),
        "binary_safe": True,
        "largest_number": PRIORITY,
        "features": FEATURES,
    }


def connect(command):
    name, address = command["connection"], (command["host"], command["port"])
    if name in connections:
        connections.pop(name).leave()
    given = {
        "path": "{}:{}".format(*address),
        "timeout": float(command.get("timeout", TIMEOUT)),
        "buf_size": BUFFERS,
        "tls": command.get("tls") == "starttls",
        "tls_ca": command.get("ca"),
        "user": text(command, "login") if "login" in command else "",
        "password": text(command, "password") if "password" in command else "",
    }
    connections[name] = Connection(name, psrt.Client(**given), address)
    return {}


def connecting(command):
    try:
        return connect(command)
    except psrt.AccessError as error:
        raise CannotError("refused", f"AccessError: {error}") from None
    except RuntimeError as error:
        kinds = {"server error": "refused", "Server connection error": "closed"}
        kind = next((kind for words, kind in kinds.items() if words in str(error)), "protocol")
        raise CannotError(kind, str(error)) from None


def quit(command):
    while connections:
        connections.popitem()[1].leave()
    return {}


def operation(command):
    if command.get("priority", PRIORITY) != PRIORITY:
        raise CannotError("unsupported", "the priority cannot be chosen")
    return getattr(command["known"], command["do"])(command)


def close(command):
    return command["known"].leave()


def result(do, command):
    """Return the result of a command, or raise CannotError."""
    try:
        return do(command)
    except psrt.AccessError:
        return {"code": "err_access"}
    except RuntimeError as error:
        code = re.search(r"server error .*: 0x([0-9a-f]+)$", str(error))
        if code and int(code[1], 16) in CODES:
            return {"code": CODES[int(code[1], 16)]}
        if code and int(code[1], 16) == 0:
            raise CannotError("closed", f"{error}, which also means the end of the session") from None
        raise CannotError("protocol" if code else "refused", str(error)) from None
    except TimeoutError as error:
        raise CannotError("timeout", f"TimeoutError: {error}") from None
    except (ssl.SSLError, OverflowError) as error:
        raise CannotError("other", f"{type(error).__name__}: {error}") from None
    except OSError as error:
        raise CannotError("closed", f"{type(error).__name__}: {error}") from None


def answer(id, do, command):
    try:
        say({"id": id, "ok": True, "result": result(do, command)})
    except CannotError as error:
        say({"id": id, "ok": False, "error": {"kind": error.kind, "told": str(error)}})
    except Exception as error:
        say({"id": id, "ok": False, "error": {"kind": "other", "told": f"{type(error).__name__}: {error}"}})


def nothing(command):
    do = command["do"]
    if do in (*OPERATIONS, "close"):
        raise CannotError("closed", "no such connection")
    raise CannotError("unsupported", f"no operation {do}")


def main():
    for line in sys.stdin:
        command = json.loads(line)
        id, do = command["id"], command["do"]
        known = command["known"] = connections.get(command.get("connection"))
        if do in OPERATIONS and known:
            known.todo.put((id, operation, command))
        elif do == "close" and known:
            del connections[known.name]
            # Queued commands find no session; a command that waits for the server ends with the session.
            threading.Thread(target=answer, args=(id, close, command)).start()
        else:
            answer(id, {"hello": hello, "connect": connecting, "quit": quit}.get(do, nothing), command)
        if do == "quit":
            return


main()
