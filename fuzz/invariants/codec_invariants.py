"""Invariants of every codec: of a stream that one side of a connection reads, and of a message that is encoded.

Every segmentation of a stream reads the same; only named errors are raised; consumption never goes back and covers the
bytes of the events; no more is kept than came; what is read encodes to the same bytes, and the other way round. A side
that no longer reads may drop all that comes; one that hands over to TLS gives up what it kept, unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from wireproof.fuzz.invariants.economy import check_released, check_want, counted, measured
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.protocols import (
    NEED_DATA,
    Connection,
    EndOfStream,
    LocalProtocolError,
    Message,
    ProtocolError,
    RemoteProtocolError,
    Request,
)
from wireproof.protocols.connection import MINIMUM_FRAME_LIMIT
from wireproof.protocols.errors import ErrorCode, MalformedFrameError
from wireproof.protocols.fields import Blob, Lines, Nested, Repeated, Rest, Rows
from wireproof.protocols.frames import Decoder, FrameContext
from wireproof.protocols.profile import Layout

__all__ = [
    "Make",
    "StreamReading",
    "check_datagrams",
    "check_economy",
    "check_frame",
    "check_limit",
    "check_message",
    "check_requests",
    "check_stream",
    "check_written",
    "pieces",
    "read",
]

Make = Callable[[], Connection]
"""Makes a connection in the state in which a stream is read."""
LARGE_LIMIT = 1 << 40
"""A frame limit that no input exceeds by what it announces in the sizes of most fields."""
LATE = 3
"""Of so many chunks one is not read before the next one."""
PARTS_A_BYTE = 8
"""Most field values from one byte of a stream: more would be memory that grows faster than its input."""


@dataclass(frozen=True)
class StreamReading:
    """What a connection made of a stream."""

    events: tuple[tuple[Message | EndOfStream, tuple[int, int]], ...]
    """Each event and its span in the stream."""
    error: tuple[str, str, int | None] | None
    """Code, message and offset of the error at its end."""
    over: bytes | None = None
    """The bytes that it handed over to TLS."""


CutsOf = Callable[[StreamReading], Iterable[int]]
"""What was read from a whole stream -> where it is cut."""


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """Return `data` cut at the offsets `cuts`; offsets outside and empty pieces are ignored."""
    places = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    return [data[start:stop] for start, stop in pairwise(places) if start < stop]


def read(connection: Connection, chunks: Sequence[bytes], *, tls: bool = False, is_late: bool = False) -> StreamReading:
    """Feed chunks and the end of the stream, and read all events after each chunk. Raises `InvariantError`.

    Offsets count from the current position of the connection; `tls` allows it to hand over to TLS. With `is_late` one
    chunk of three is not read before the next one comes.
    """
    accounting = _ByteAccounting(connection)
    try:
        for number, chunk in enumerate((*chunks, b"")):
            connection.receive_data(chunk)
            accounting.fed += len(chunk)
            if is_late and chunk and number % LATE == 1:
                continue
            while (event := connection.next_event()) is not NEED_DATA:
                assert isinstance(event, Message | EndOfStream)
                accounting.note(event)
            accounting.balance()
            check_released(connection)
        over = _handed_over(connection, chunks, accounting.consumed) if tls else None
    except RemoteProtocolError as error:
        return accounting.reading((error.code, error.message, accounting.here(error.offset)))
    except InvariantError:
        raise
    except Exception as error:
        raise InvariantError("only named errors", f"{type(error).__name__}: {error}", type(error).__name__) from error
    return accounting.reading(None, over)


class _ByteAccounting:
    """Counts the bytes that were fed to a connection, consumed and dropped."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._start = connection.received
        self._events: list[tuple[Message | EndOfStream, tuple[int, int]]] = []
        self.fed = self.consumed = self._dropped = 0

    def here(self, offset: int | None) -> int | None:
        """Return an offset of the connection as an offset of what was fed."""
        return None if offset is None else offset - self._start

    def note(self, event: Message | EndOfStream) -> None:
        """Record an event. Raises `InvariantError` for a message of no bytes, or one after bytes were dropped."""
        first, last = self._connection.span
        self._events.append((event, (first - self._start, last - self._start)))
        before = self.consumed
        dropped = self._dropped
        self.balance()
        if isinstance(event, Message) and self.consumed == before:
            raise InvariantError("consumption is monotone", f"{event.NAME} of no bytes at {before}", "consumed")
        if isinstance(event, Message) and dropped:
            raise InvariantError(
                "no byte is lost or kept twice", f"{event.NAME} after {dropped} bytes were lost", "kept"
            )

    def balance(self) -> None:
        """Count the consumed bytes. Raises `InvariantError` if they decrease or do not add up with those kept."""
        consumed, kept = self._connection.received - self._start, self._connection.buffered
        if not self.consumed <= consumed <= self.fed:
            detail = f"{consumed} bytes consumed after {self.consumed}, of {self.fed}"
            raise InvariantError("consumption is monotone", detail, "consumed")
        self.consumed, self._dropped = consumed, self.fed - consumed - kept
        if self._dropped < 0 or (self._dropped and kept):
            detail = f"{consumed} bytes consumed and {kept} kept of {self.fed}"
            raise InvariantError("no byte is lost or kept twice", detail, "kept")

    def reading(self, error: tuple[str, str, int | None] | None, over: bytes | None = None) -> StreamReading:
        """Return the whole reading."""
        return StreamReading(tuple(self._events), error, over)


def _handed_over(connection: Connection, chunks: Sequence[bytes], consumed: int) -> bytes | None:
    """Return what a connection gives up before TLS, which must be all that came since; None if TLS may not begin."""
    kept = connection.buffered
    try:
        over = connection.start_tls()
    except LocalProtocolError:
        return None
    if over != b"".join(chunks)[consumed:] or connection.buffered:
        detail = f"{over.hex()} handed over of {kept} bytes kept, {connection.buffered} kept still"
        raise InvariantError("no byte is lost or kept twice", detail[:400], "handed over")
    return over


def check_stream(make: Make, data: bytes, cuts: Iterable[int] | CutsOf = (), *, tls: bool = False) -> StreamReading:
    """Read `data` whole and cut at `cuts`, or at what they return for the reading; return the reading.

    Raises `InvariantError`.
    """
    whole = read(make(), [data] if data else [], tls=tls)
    chunks = pieces(data, cuts(whole) if callable(cuts) else cuts)
    for is_late in (False, True) if len(chunks) > 1 else ():
        if (cut := read(make(), chunks, tls=tls, is_late=is_late)) == whole:
            continue
        first = next((i for i, (a, b) in enumerate(zip(whole.events, cut.events, strict=False)) if a != b), None)
        at = min(len(whole.events), len(cut.events)) if first is None else first
        raise InvariantError(
            "whole is any segmentation", f"event {at} differs: {whole} cut is {cut}"[:400], "segmentation"
        )
    for event, (start, stop) in whole.events:
        if isinstance(event, Message) and _parts(event) > PARTS_A_BYTE * (stop - start) + PARTS_A_BYTE:
            detail = f"{_parts(event)} values from {stop - start} bytes of {event.NAME}"
            raise InvariantError("memory is linear in the input", detail, event.NAME)
    return whole


def check_datagrams(make: Make, datagrams: Sequence[bytes]) -> None:
    """Read datagrams on one connection. Raises `InvariantError` unless each reads as if it were alone."""
    for data in datagrams:
        check_stream(make, data)
    together = make()
    try:
        for data in datagrams:
            together.receive_data(data)
        found = [_one(together) for _ in datagrams]
    except Exception as error:
        raise InvariantError("only named errors", f"{type(error).__name__}: {error}", type(error).__name__) from error
    alone = [read(make(), [data]) for data in datagrams]
    for number, (one, (event, wrong)) in enumerate(zip(alone, found, strict=True)):
        if wrong != (one.error and one.error[:2]) or (wrong is None and event != one.events[0][0]):
            detail = f"datagram {number} is {event or wrong} among others, {one} alone"
            raise InvariantError("a datagram is read by itself", detail[:400], "datagram")
    if together.buffered or together.received != sum(map(len, datagrams)):
        detail = f"{together.received} bytes consumed and {together.buffered} kept of {sum(map(len, datagrams))}"
        raise InvariantError("no byte is lost or kept twice", detail, "kept")


def _one(connection: Connection) -> tuple[Message | None, tuple[str, str] | None]:
    """Return the next message, or code and text of the error in its place."""
    try:
        event = connection.next_event()
    except RemoteProtocolError as error:
        return None, (error.code, error.message)
    return (event, None) if isinstance(event, Message) else (None, None)


def check_economy(make: Make, data: bytes, cuts: Iterable[int] = ()) -> None:
    """Read `data` cut at `cuts`. Raises `InvariantError` unless memory and copying are linear in its size."""
    connection = make()
    with measured(len(data)), counted(connection, len(data)):
        read(connection, pieces(data, cuts))


def check_frame(decode: Decoder, data: bytes, at: int, context: FrameContext) -> None:
    """Decode one frame at `at`: it must end within the data, want more than there is, or be refused by a named error.

    The quickest check, for engines that count executions. Raises `InvariantError`.
    """
    end = len(data)
    if at >= end:
        return
    try:
        message, stop = decode(data, at, end, context)
    except MalformedFrameError:
        return
    except Exception as error:
        raise InvariantError("only named errors", f"{type(error).__name__}: {error}", type(error).__name__) from error
    if message is None:
        check_want(stop, end - at, context.limit)
    elif not at < stop <= end:
        raise InvariantError("consumption is monotone", f"{message.NAME} from {at} to {stop} of {end}", "stop")


def check_limit(
    decode: Decoder, data: bytes, layout: Callable[[type[Message]], Layout], request: Request | None
) -> None:
    """Decode the first frame under limits near its size. Raises `InvariantError`.

    A frame of exactly the limit is taken. One byte more is refused, except where no frame of the kind can exceed the
    smallest limit, so that none is checked. A table whose count announces more is refused without its rows.
    """

    def under(limit: int, there: int = len(data)) -> tuple[Message | None, int] | str:
        context = FrameContext(limit)
        context.request = request
        try:
            return decode(data[:there], 0, there, context)
        except MalformedFrameError as error:
            return error.code

    whole = under(LARGE_LIMIT) if data else ""
    if isinstance(whole, str):
        return
    message, size = whole
    if message is None:
        return
    if (same := under(size)) != whole:
        detail = f"{size} bytes of {message.NAME}: {same}"
        raise InvariantError("a frame of the limit is taken", detail[:400], message.NAME)
    if not _may_exceed(layout(type(message))):
        return
    if (refused := under(size - 1)) != ErrorCode.FRAME_TOO_LARGE:
        detail = f"{message.NAME} of {size} bytes, {size - 1} are allowed: {refused}"
        raise InvariantError("a frame beyond the limit is refused", detail[:400], message.NAME)
    head, least = _announced(layout, message)
    if least > head and (refused := under(least - 1, head)) != ErrorCode.FRAME_TOO_LARGE:
        detail = f"{message.NAME} of {least} bytes or more is announced, {least - 1} are allowed: {refused}"
        raise InvariantError("a frame beyond the limit is refused", detail[:400], message.NAME)


def _announced(layout_of: Callable[[type[Message]], Layout], message: Message) -> tuple[int, int]:
    """Return the bytes up to the count of a table, and the fewest that a frame with such a count has."""
    layout = layout_of(type(message))
    head = layout.fixed_size
    for name, kind in layout.fields:
        if isinstance(kind, Rows | Repeated) and not isinstance(kind, Lines):
            each = layout_of(kind.row if isinstance(kind, Rows) else kind.part)
            return head, head + len(getattr(message, name)) * (each.fixed_size - len(each.lead))
    return head, head


def _may_exceed(layout: Layout) -> bool:
    """Return whether a message may be larger than the smallest limit; False where another reply is inside."""
    size = len(layout.lead)
    for _, kind in layout.fields:
        match kind:
            case Nested():
                return False
            case Blob(width):
                size += width.maximum
            case Rows() | Repeated() | Rest():
                return True
    return size > MINIMUM_FRAME_LIMIT


def check_requests(codec: Any, data: bytes, at: int, limit: int) -> None:
    """Decode requests from `data[at:]` without a connection: named errors, progress, the same bytes encoded.

    The quick form of `check_stream` and `check_written`. Raises `InvariantError`.
    """
    decode, encode, end, context = codec.decode_request, codec.encode, len(data), FrameContext(limit)
    try:
        while at < end:
            message, stop = decode(data, at, end, context)
            if message is None:
                check_want(stop, end - at, limit)
                return
            if not at < stop <= end:
                raise InvariantError("consumption is monotone", f"{message.NAME} from {at} to {stop} of {end}", "stop")
            if encode(message) != data[at:stop]:
                detail = f"{message.NAME} read from {data[at:stop].hex()} is written {encode(message).hex()}"
                raise InvariantError("encode(decode(bytes)) is bytes", detail[:400], message.NAME)
            _check_carried(codec, getattr(message, "payload", b""))
            at = stop
    except MalformedFrameError:
        return
    except InvariantError:
        raise
    except Exception as error:
        raise InvariantError("only named errors", f"{type(error).__name__}: {error}", type(error).__name__) from error


def _check_carried(codec: Any, payload: bytes) -> None:
    """Check, where requests may carry one, that what is taken for a whole request is one and nothing more."""
    if not hasattr(codec, "whole_request"):
        return
    try:
        inner = codec.whole_request(payload)
    except MalformedFrameError:
        return
    if (written := codec.encode(inner)) != payload:
        detail = f"{payload.hex()} is taken for {inner.NAME}, which is {written.hex()}"
        raise InvariantError("a carried request is whole", detail[:400], inner.NAME)


def _never(message: Message, written: bytes) -> bool:
    return False


def check_written(
    encode: Callable[[Message], bytes],
    reading: StreamReading,
    data: bytes,
    is_other_form: Callable[[Message, bytes], bool] = _never,
) -> None:
    """Check that every message of a reading encodes to its bytes, or to another form of them.

    Raises `InvariantError`.
    """
    for event, (start, stop) in reading.events:
        if isinstance(event, Message):
            written = _encoded(encode, event)
            if written != data[start:stop] and not is_other_form(event, written):
                detail = f"{event.NAME} read from {data[start:stop].hex()} is written {written.hex()}"
                raise InvariantError("encode(decode(bytes)) is bytes", detail[:400], event.NAME)


def check_message(encode: Callable[[Message], bytes], message: Message, make: Make) -> None:
    """Check that the other side reads an encoded message as the same message. Raises `InvariantError`."""
    data = _encoded(encode, message)
    found = read(make(), [data] if data else [])
    if found.error is not None or [event for event, _ in found.events if isinstance(event, Message)] != [message]:
        raise InvariantError(
            "decode(encode(message)) is message", f"{message!r} is {data.hex()}: {found}"[:400], message.NAME
        )


def _encoded(encode: Callable[[Message], bytes], message: Message) -> bytes:
    try:
        return encode(message)
    except LocalProtocolError as error:
        detail = f"{message.NAME} was read and cannot be written: {error}"
        raise InvariantError("encode(decode(bytes)) is bytes", detail, message.NAME) from error
    except ProtocolError:
        raise
    except Exception as error:
        raise InvariantError("only named errors", f"{type(error).__name__}: {error}", type(error).__name__) from error


def _parts(value: object) -> int:
    """Return the number of values in a message; bytes count one each."""
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, tuple):
        return sum(map(_parts, value))
    if isinstance(value, msgspec.Struct):
        return sum(_parts(getattr(value, name)) for name in value.__struct_fields__)
    return 1
