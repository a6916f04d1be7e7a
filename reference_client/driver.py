"""The driver of a reference client: commands of `wireproof.driver/1` in, answers and events out. Names no protocol.

Its operations follow from the layouts (`wireproof.protocols.plain`). Each one calls the SDK's method of that name, so
the tests use the same interface as users of the SDK.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from wireproof.protocols.messages import Message, Push
from wireproof.protocols.plain import STATUS, Plain, PlainError
from wireproof.protocols.registry import protocol as codec_of
from wireproof.reference_client.errors import ClientError, RefusedError
from wireproof.reference_client.registry import Batching, DrivenClient
from wireproof.reference_client.registry import client_class as sdk_class
from wireproof.reference_client.server_connection import Reconnect

__all__ = ["VERSION", "CommandError", "Driver"]

VERSION = "wireproof.driver/1"
LARGEST_NUMBER = 2**64 - 1
CONNECT_FIELDS = ("connection", "host", "port", "profile", "variant", "reconnect")
DEADLINE = 3.0
"""The default deadline in seconds; less than wireproof waits, so that the SDK reports the timeout."""
Object = Mapping[str, Any]


class CommandError(Exception):
    """Raised if a command fails; `kind` is a kind of error of the driver protocol."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class Connection:
    """One connection of the SDK, under its name in commands."""

    def __init__(self, name: str, plain: Plain, say: Callable[[Object], object]) -> None:
        self.plain = plain
        self.client: DrivenClient
        self._name = name
        self._say = say
        self._mending = False

    def pushed(self, message: Any) -> None:
        """Write an event for a pushed message."""
        if isinstance(message, Push):
            values = self.plain.event(message)
        else:
            values = {one.name: self._field(one.name, getattr(message, one.name)) for one in fields(message)}
        self._say({"event": "message", "connection": self._name, **values})

    def lost(self, why: ClientError, mending: bool) -> None:
        """Write one event for a loss; `mending`: the SDK reconnects."""
        if not self._mending:
            self._say({"event": "closed", "connection": self._name, "told": str(why)})
        self._mending = mending

    def mended(self) -> None:
        """Write an event: the connection was restored."""
        self._mending = False
        self._say({"event": "reconnected", "connection": self._name})

    async def ask(self, operation: str, given: Object) -> Object:
        """Call the SDK's method and return its result by the names of the reply's fields.

        Raises CommandError if the profile has no such operation, and ClientError if the SDK fails.
        """
        return await self._settled(operation, self._call(self.client, operation, given))

    async def batch(self, requests: list[Object]) -> Object:
        """Call the methods of a batch and return the results in order.

        Raises CommandError if the SDK has no batches, and ClientError if the SDK fails.
        """
        if not isinstance(self.client, Batching):
            raise CommandError("unsupported", "no batches")
        batch = self.client.batch()
        calls = []
        for one in requests:
            given = {name: value for name, value in one.items() if name != "do"}
            do = str(one.get("do"))
            calls.append((do, self._call(batch, do, given)))
        await batch.send()
        return {"results": [await self._settled(do, call) for do, call in calls]}

    async def _settled(self, operation: str, call: Awaitable[object]) -> Object:
        try:
            return self._reported(operation, await call)
        except RefusedError as error:
            if error.reply is None:
                raise
            return self.plain.result(error.reply)

    def _call(self, target: object, operation: str, given: Object) -> Awaitable[object]:
        if operation not in self.plain.operations:
            raise CommandError("unsupported", f"profile {self.plain.profile.name} has no operation {operation!r}")
        called: Awaitable[object] = getattr(target, operation)(**self.plain.values(operation, given))
        return called

    def _reported(self, operation: str, value: object) -> Object:
        plain = self.plain
        replies = plain.profile.replies[plain.operations[operation]]
        if value is None or isinstance(value, bool):
            return {STATUS: value is True} if any(map(plain.is_flag, replies)) else {}
        if isinstance(value, Message) and (isinstance(value, replies[-1]) or not plain.has_nested(replies[-1])):
            return plain.result(value)
        name = plain.result_name(operation)
        match value:
            case tuple():
                return {name: [plain.fields(row) for row in value]}
            case Message():
                return {name: plain.result(value)}
        return {name: self._field(name, value)}

    def _field(self, name: str, value: object) -> str | Object | None:
        match value:
            case None:
                return None
            case bytes():
                return {"hex": value.hex()}
            case int():
                return self.plain.number(name, value)
        raise TypeError(f"{name} is of type {type(value).__name__}")


class Driver:
    """Executes commands; begins them in order and lets them overlap."""

    def __init__(
        self,
        protocol: str,
        say: Callable[[Object], object],
        *,
        profile: str | None = None,
        variant: str | None = None,
        deadline: float = DEADLINE,
        client_class: type[DrivenClient] | None = None,
    ) -> None:
        """`say` is called with each answer and event.

        `profile` and `variant` are the only ones to speak (default: all); `deadline` is in seconds; `client_class` is
        the SDK (default: the reference client). Raises ValueError for an unknown protocol, profile or variant.
        """
        self._client_class = client_class or sdk_class(protocol)
        self._protocol = spoken = codec_of(protocol)
        self._profiles = [profile] if profile else list(spoken.profiles)
        self._variants = [variant] if variant else list(spoken.profiles[spoken.default_profile].variants)
        self._plains = {(one, two): Plain(spoken, one, two) for one in self._profiles for two in self._variants}
        self._say = say
        self._deadline = deadline
        self._connections: dict[str, Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.quitting = False
        """Whether `quit` was received; later lines are ignored."""
        self._does: Mapping[str, Callable[[Object], Awaitable[Object]]] = {
            "hello": self._hello,
            "connect": self._connect,
            "batch": self._batch,
            "close": self._close,
            "quit": self._quit,
        }

    def take(self, line: bytes) -> bool:
        """Begin the command of a line; return False if the line is not a command and so gets no answer."""
        try:
            command = json.loads(line)
            id, do = int(command["id"]), str(command["do"])
        except (ValueError, TypeError, KeyError):
            return False
        given = {name: value for name, value in command.items() if name not in ("id", "do")}
        self.quitting = do == "quit"
        task = asyncio.get_running_loop().create_task(self._answer(id, do, given))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def close(self) -> None:
        """Close every connection and wait until every command that waited is answered."""
        for one in list(self._connections.values()):
            await one.client.close()
        self._connections.clear()
        others = self._tasks - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)

    async def _answer(self, id: int, do: str, given: Object) -> None:
        try:
            result = await self._does.get(do, partial(self._operation, do))(given)
        except (ClientError, CommandError) as error:
            self._say({"id": id, "ok": False, "error": {"kind": error.kind, "told": str(error)}})
        except PlainError as error:
            self._say({"id": id, "ok": False, "error": {"kind": "refused", "told": str(error)}})
        except Exception as error:
            traceback.print_exc()
            self._say({"id": id, "ok": False, "error": {"kind": "other", "told": f"{type(error).__name__}: {error}"}})
        else:
            self._say({"id": id, "ok": True, "result": result})

    async def _hello(self, given: Object) -> Object:
        operations = dict.fromkeys(name for plain in self._plains.values() for name in plain.operations)
        return {
            "protocol_version": VERSION,
            "sdk": {"name": "wireproof reference client", "version": _version(), "language": "Python"},
            "protocol": self._protocol.name,
            "profiles": self._profiles,
            "variants": self._variants,
            "operations": [*operations, *(["batch"] if hasattr(self._client_class, "batch") else [])],
            "binary_safe": True,
            "largest_number": str(LARGEST_NUMBER),
            "reconnects": True,
            **({"features": list(self._client_class.features)} if self._client_class.features else {}),
        }

    async def _connect(self, given: Object) -> Object:
        name = str(given.get("connection"))
        if name in self._connections:
            await self._connections.pop(name).client.close()
        profile, variant = given.get("profile", self._profiles[0]), given.get("variant", self._default_variant())
        plain = self._plains.get((profile, variant))
        if plain is None:
            spoken = f"{', '.join(self._profiles)} under {', '.join(self._variants)}"
            raise CommandError("unsupported", f"expected profile {spoken}, got {profile!r} under {variant!r}")
        more = {field: value for field, value in given.items() if field not in CONNECT_FIELDS}
        connection = Connection(name, plain, self._say)
        client = self._client_class.connect(
            str(given.get("host")),
            int(given.get("port", 0)),
            profile=profile,
            variant=variant,
            reconnect=Reconnect() if given.get("reconnect") is True else None,
            on_message=connection.pushed,
            on_loss=connection.lost,
            on_mended=connection.mended,
            **{"timeout": self._deadline, **plain.connect_values(more)},
        )
        connection.client = await client.__aenter__()
        self._connections[name] = connection
        return {}

    def _default_variant(self) -> str:
        usual = self._protocol.default_variant
        return usual if usual in self._variants else self._variants[0]

    async def _operation(self, do: str, given: Object) -> Object:
        if not any(do in plain.operations for plain in self._plains.values()):
            raise CommandError("unsupported", f"no operation {do!r}")
        fields = {name: value for name, value in given.items() if name != "connection"}
        return await self._connection(given).ask(do, fields)

    async def _batch(self, given: Object) -> Object:
        return await self._connection(given).batch(given.get("requests", []))

    async def _close(self, given: Object) -> Object:
        connection = self._connection(given)
        del self._connections[str(given.get("connection"))]
        await connection.client.close()
        return {}

    async def _quit(self, given: Object) -> Object:
        await self.close()
        return {}

    def _connection(self, given: Object) -> Connection:
        name = str(given.get("connection"))
        if name not in self._connections:
            raise CommandError("closed", f"there is no connection {name!r}")
        return self._connections[name]


def _version() -> str:
    try:
        return version("wireproof")
    except PackageNotFoundError:
        return "unknown"
