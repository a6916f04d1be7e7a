"""The peers the codec is measured against that are libraries: construct, kaitaistruct, scapy.

Each is written the way its own documentation does, for the same eight request types (7.1.0, uint16). Every function
imports its library itself and raises `ImportError` where it is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any

from wireproof.protocols.messages import Request

Run = Callable[[], object]
FIELDS: dict[str, list[tuple[str, int | str]]] = {
    "Insert": [("quota", 2), ("ttl_type", 1), ("ttl", 2), ("key", "key")],
    "Query": [("key", "key")],
    "Update": [("attribute", 1), ("change", 1), ("value", 2), ("key", "key")],
    "Purge": [("key", "key")],
    "Set": [("ttl_type", 1), ("ttl", 2), ("key", "key"), ("value", "key")],
    "Get": [("key", "key")],
    "Stat": [("key", "key")],
    "Publish": [("channel", "key"), ("payload", "wide")],
}
TYPES = {"Insert": 1, "Query": 2, "Update": 3, "Purge": 4, "Set": 5, "Get": 6, "Stat": 9, "Publish": 0x13}


def as_fields(message: Request) -> dict[str, Any]:
    """Return the fields of a message with the sizes that these libraries want to be given."""
    fields: dict[str, Any] = {"type": TYPES[type(message).__name__]}
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, bytes):
            fields[f"{name}_size"] = len(value)
        fields[name] = value
    return fields


def construct_peer(stream: bytes, messages: list[Request], *, compiled: bool) -> tuple[Run, Run]:
    """Return (decode all, encode all); compiled for each message, since `.compile()` does nothing in GreedyRange."""
    from construct import Bytes, Const, Int8ul, Int16ul, Struct, this

    integers = {1: Int8ul, 2: Int16ul, "key": Int8ul, "wide": Int16ul}
    formats: dict[int, Any] = {}
    for name, fields in FIELDS.items():
        fixed = [(f if isinstance(size, int) else f"{f}_size") / integers[size] for f, size in fields]
        bodies = [f / Bytes(getattr(this, f"{f}_size")) for f, size in fields if isinstance(size, str)]
        whole = Struct("type" / Const(TYPES[name], Int8ul), *fixed, *bodies)
        formats[TYPES[name]] = whole.compile() if compiled else whole
    ready = [(formats[fields["type"]], fields) for fields in map(as_fields, messages)]

    def decode() -> list[object]:
        source, found, end = BytesIO(stream), [], len(stream)
        while source.tell() < end:
            found.append(formats[stream[source.tell()]].parse_stream(source))
        return found

    return decode, lambda: b"".join([whole.build(fields) for whole, fields in ready])


def kaitai_peer(stream: bytes, messages: list[Request]) -> tuple[Run, Run]:
    """Return (decode all, encode all) of classes as the Kaitai compiler writes them: one read for each field."""
    from kaitaistruct import KaitaiStream, ReadWriteKaitaiStruct

    def reader(fields: list[tuple[str, int | str]]) -> Callable[[Any], None]:
        fixed = [(f"self.{f}" if isinstance(size, int) else f"self.{f}_size", size) for f, size in fields]
        lines = ["def _read(self):", "    self.type = self._io.read_u1()"]
        lines += [f"    {to} = self._io.read_{'u1' if size in (1, 'key') else 'u2le'}()" for to, size in fixed]
        blobs = [f for f, size in fields if isinstance(size, str)]
        lines += [f"    self.{f} = self._io.read_bytes(self.{f}_size)" for f in blobs]
        lines += ["def _write(self):", "    self._io.write_u1(self.type)"]
        lines += [f"    self._io.write_{'u1' if size in (1, 'key') else 'u2le'}({of})" for of, size in fixed]
        lines += [f"    self._io.write_bytes(self.{f})" for f in blobs]
        scope: dict[str, Any] = {}
        exec("\n".join(lines), scope)
        return scope  # type: ignore[return-value]

    def init(self: Any, _io: Any) -> None:
        self._io = _io

    classes: dict[int, Any] = {}
    for name, fields in FIELDS.items():
        made = reader(fields)
        body = {"__init__": init, "_read": made["_read"], "_write": made["_write"], "_check": lambda self: None}
        classes[TYPES[name]] = type(name, (ReadWriteKaitaiStruct,), body)

    def decode() -> list[object]:
        source, found = KaitaiStream(BytesIO(stream)), []
        while not source.is_eof():
            one = classes[stream[source.pos()]](source)
            one._read()
            found.append(one)
        return found

    ready = list(map(as_fields, messages))

    def encode() -> bytes:
        sink = KaitaiStream(BytesIO(bytearray(len(stream))))
        for fields in ready:
            one = classes[fields["type"]](sink)
            one.__dict__.update(fields)
            one._write()
        return sink.to_byte_array()

    return decode, encode


def scapy_peer(stream: bytes, messages: list[Request]) -> tuple[Run, Run]:
    """Return (decode all, encode all) of scapy packets, each giving what follows it to the next.

    The fields are called `f_<name>`: a packet has a `payload` of its own.
    """
    import logging

    logging.getLogger("scapy").setLevel(logging.ERROR)
    from scapy.fields import ByteField, FieldLenField, LEShortField, StrLenField
    from scapy.packet import NoPayload, Packet, Raw

    def fields_of(name: str) -> Iterable[Any]:
        yield ByteField("type", TYPES[name])
        for field, size in FIELDS[name]:
            match size:
                case 1:
                    yield ByteField(f"f_{field}", 0)
                case 2:
                    yield LEShortField(f"f_{field}", 0)
                case _:
                    form = "B" if size == "key" else "<H"
                    yield FieldLenField(f"f_{field}_size", None, length_of=f"f_{field}", fmt=form)
        for field, size in FIELDS[name]:
            if isinstance(size, str):
                yield StrLenField(f"f_{field}", b"", length_from=lambda p, of=f"f_{field}_size": p.getfieldval(of))

    classes = {TYPES[name]: type(name, (Packet,), {"fields_desc": list(fields_of(name))}) for name in FIELDS}
    ready = [
        (classes[fields.pop("type")], {f"f_{name}": value for name, value in fields.items()})
        for fields in map(as_fields, messages)
    ]

    def decode() -> list[object]:
        rest, found = stream, []
        while rest:
            packet = classes[rest[0]](rest)
            payload = packet.payload
            rest = payload.load if isinstance(payload, Raw) else b""
            packet.remove_payload()
            assert isinstance(packet.payload, NoPayload)
            found.append(packet)
        return found

    def encode() -> bytes:
        return b"".join([bytes(packet(**fields)) for packet, fields in ready])

    return decode, encode
