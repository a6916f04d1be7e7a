"""The lines between wireproof and the driver of an SDK: JSON objects, one a line, UTF-8, versioned.

wireproof writes commands to the driver's stdin, the driver writes answers and events to its stdout; every kind of line
has a JSON Schema in `reports/schema/driver/`. Commands may overlap, answers carry the id of their command and come in
any order. What the fields of an operation are follows from the layouts of the protocol (`wireproof.protocols.plain`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path

import jsonschema_rs
import msgspec

from wireproof.protocols.json_values import JsonDict

__all__ = [
    "NONSENSE",
    "VERSION",
    "DriverAnswer",
    "DriverEvent",
    "DriverMessageError",
    "FailureKind",
    "Hello",
    "command_faults",
    "command_line",
    "hello_of",
    "message_faults",
    "parse_line",
]

VERSION = "wireproof.driver/1"
NONSENSE = "wireproof-no-such-operation"
"""An operation that no driver knows: whoever answers anything but unsupported does not look."""
SCHEMAS = Path(__file__).resolve().parents[2] / "reports" / "schema" / "driver"
COMMANDS = ("hello", "connect", "batch", "close", "quit")
SHOWN = 120


class FailureKind(StrEnum):
    """Why a command failed, the `kind` of an error."""

    REFUSED = "refused"
    """The SDK took the values for wrong, for another reason than the two below, and sent nothing."""
    TOO_WIDE = "too_wide"
    """A number does not fit in its field; nothing was sent."""
    TOO_LONG = "too_long"
    """Bytes are too many for the field of their size; nothing was sent."""
    TIMEOUT = "timeout"
    """The SDK waited long enough."""
    CLOSED = "closed"
    """There is no connection, or it was lost or closed while the command waited."""
    PROTOCOL = "protocol"
    """What the server sent cannot be read."""
    UNSUPPORTED = "unsupported"
    """The driver or its SDK has no such operation."""
    OTHER = "other"


class DriverMessageError(ValueError):
    """Raised for a line that is no message of the protocol; it says where, what was expected and what came."""

    def __init__(self, detail: str, *, id: int | None = None) -> None:
        super().__init__(detail)
        self.id = id
        """The command that the line answers, where that much can be read."""


class Sdk(msgspec.Struct, frozen=True):
    """Whose SDK it is."""

    name: str
    version: str
    language: str


class Hello(msgspec.Struct, frozen=True):
    """What a driver says of itself."""

    protocol_version: str
    sdk: Sdk
    protocol: str
    profiles: tuple[str, ...]
    variants: tuple[str, ...]
    operations: tuple[str, ...]
    """Names of requests, and `batch`."""
    binary_safe: bool
    largest_number: str
    reconnects: bool = False
    features: tuple[str, ...] = ()
    """What the SDK has of that which one of its protocol may lack."""
    largest_numbers: dict[str, str] = {}
    """Name of a number, or the size in bytes of numbers -> the largest one, where it is not `largest_number`."""
    reconnects_lazily: bool = False
    """Whether a lost connection is made again by the next request, and not before."""

    def largest(self, name: str, size: int) -> int:
        """Return the largest number that the SDK handles in the field `name`, `size` bytes wide."""
        limits = self.largest_numbers
        return int(limits.get(name, limits.get(str(size), self.largest_number)))

    @property
    def smallest(self) -> int:
        """The largest number that the SDK handles in every field."""
        return min(int(one) for one in (self.largest_number, *self.largest_numbers.values()))


class DriverError(msgspec.Struct, frozen=True):
    """Why a command failed."""

    kind: FailureKind
    detail: str = msgspec.field(name="told")


class DriverAnswer(msgspec.Struct, frozen=True):
    """What became of a command; `error` is None exactly when it went well."""

    id: int
    result: dict[str, object]
    error: DriverError | None = None

    @property
    def kind(self) -> FailureKind | None:
        """The kind of its error; None when it went well."""
        return self.error.kind if self.error else None


class DriverEvent(msgspec.Struct, frozen=True):
    """What a driver says unasked: `message`, `closed` or `reconnected`."""

    event: str
    connection: str
    fields: dict[str, object]
    """Those of a pushed message; `told`, perhaps, of a loss."""


def command_line(id: int, do: str, fields: Mapping[str, object]) -> bytes:
    """Return the line of a command."""
    return json.dumps({"id": id, "do": do, **fields}, ensure_ascii=False).encode() + b"\n"


def parse_line(line: bytes, asked: Callable[[int], str | None] = lambda id: None) -> DriverAnswer | DriverEvent:
    """Return what a driver's line says; `DriverMessageError` unless it is valid against its schema.

    `asked` gives the `do` of the command with an id, for what answers `hello` has a schema of its own.
    """
    message = _read(line)
    id = message.get("id")
    mutants = message_faults(message, asked(id) if isinstance(id, int) else None)
    if mutants:
        raise DriverMessageError("; ".join(mutants), id=id if isinstance(id, int) else None)
    if "event" in message:
        fields = {name: value for name, value in message.items() if name not in ("event", "connection")}
        return DriverEvent(message["event"], message["connection"], fields)
    if message["ok"]:
        return DriverAnswer(message["id"], message["result"])
    return DriverAnswer(message["id"], {}, msgspec.convert(message["error"], DriverError))


def hello_of(answer: DriverAnswer) -> Hello:
    """Return what the answer to `hello` says; `DriverMessageError` unless it is valid against its schema."""
    if answer.error is not None:
        raise DriverMessageError(f"hello failed: {answer.error.kind}: {answer.error.detail}", id=answer.id)
    mutants = message_faults({"id": answer.id, "ok": True, "result": answer.result}, "hello")
    if mutants:
        raise DriverMessageError("; ".join(mutants), id=answer.id)
    return msgspec.convert(answer.result, Hello)


def message_faults(message: Mapping[str, object], do: str | None = None) -> list[str]:
    """Return what is wrong with a driver's message, an answer to `do` perhaps; nothing when it is valid."""
    if "event" in message:
        event = message["event"]
        if event not in ("message", "closed", "reconnected"):
            return [f"event: expected message, closed or reconnected, got {_shown(event)}"]
        return _faults(f"{event}-event", message)
    if not isinstance(message.get("ok"), bool):
        return [f"expected an answer with ok true or false, or an event; got {_shown(message)}"]
    if not message["ok"]:
        return _faults("error-answer", message)
    return _faults("hello-answer" if do == "hello" else "answer", message)


def command_faults(message: Mapping[str, object]) -> list[str]:
    """Return what is wrong with a command to a driver; nothing when it is valid."""
    do = message.get("do")
    return _faults(f"{do if do in COMMANDS else 'operation'}-command", message)


def _read(line: bytes) -> JsonDict:
    try:
        message = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise DriverMessageError(f"expected UTF-8, got {line[error.start : error.start + 8].hex()}") from None
    except ValueError as error:
        detail = f"expected a JSON object, got {_shown(line.decode().rstrip())}: {error}"
        raise DriverMessageError(detail) from None
    if not isinstance(message, dict):
        raise DriverMessageError(f"expected a JSON object, got {_shown(message)}")
    return message


def _faults(name: str, message: Mapping[str, object]) -> list[str]:
    return [_error_text(error) for error in _validator(name).iter_errors(message)]


@cache
def _validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")))


def _error_text(error: jsonschema_rs.ValidationError) -> str:
    """Return a fault in one line; what a field may be is reported in words, not as a list of schemas."""
    where = [str(step) for step in error.instance_path]
    steps = [str(step) for step in error.schema_path]
    if "anyOf" in steps:
        return _bad_field(where, error.instance)
    if steps[-1] == "enum" and where[-1:] == ["kind"]:
        return f"{'.'.join(where)}: expected one of {', '.join(FailureKind)}, got {_shown(error.instance)}"
    reported = f"{'.'.join(where)}: {error.message}" if where else error.message
    return reported if len(reported) <= 4 * SHOWN else reported[: 4 * SHOWN] + "…"


def _bad_field(where: list[str], value: object) -> str:
    """Return what is wrong with a field that is none: the first thing within it that cannot be one."""
    inner: Mapping[object, object] = {}
    if isinstance(value, list):
        inner = dict(enumerate(value))
    elif isinstance(value, dict) and not {"hex", "text"} & value.keys():
        inner = value
    for name, one in inner.items():
        if _faults("answer", {"id": 0, "ok": True, "result": {"field": one}}):
            return _bad_field([*where, str(name)], one)
    wanted = '{"hex": "..."}, a string (of digits, for a number), true, false, null, a list of rows or a reply'
    return f"{'.'.join(where)}: expected {wanted}; got {_shown(value)}"


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")
