"""Bugs seeded in the code that reads frames: generated decoders, tables, the buffer."""

from __future__ import annotations

from wireproof.fuzz.seeded_bugs.function_edits import Edit
from wireproof.fuzz.seeded_bugs.seeded_bug import BugEntry
from wireproof.protocols import buffer, connection, frames, tables

__all__ = ["BUGS"]

BUDGET = 400_000


def _bug(name: str, description: str, *edits: Edit, budget: int = BUDGET) -> BugEntry:
    return BugEntry(mutant=name, description=description, part="parser", engine="parser", budget=budget, edits=edits)


def _bodies(old: str, new: str) -> Edit:
    return Edit(frames, "Reading.of", old, new)


def _decoder(old: str, new: str) -> Edit:
    return Edit(frames, "compile_decoder", old, new)


BEFORE = """case Blob(width):
                    start, stop = stop, f"stop_{name}"
                    """
STOP = BEFORE + 'bodies.append(f"{stop} = {start} + {local}")'
LIMIT = 'lines.append(f"if {reading.stop} - at > context.limit: raise'

BUGS = (
    _bug("blob-over-read", "A name or value is read with the byte after it.",
           _bodies('f"buf[{start}:{stop}]"', 'f"buf[{start}:{stop} + 1]"')),
    _bug("blob-check-short-by-one", "A frame counts as complete one byte too early.",
           _decoder('f"if {reading.stop} > end: return', 'f"if {reading.stop} > end + 1: return')),
    _bug("header-check-short-by-one", "The fixed fields of a frame are read one byte too early.",
           _decoder('f"if body > end: return', 'f"if body > end + 1: return')),
    _bug("size-wraps-at-64-bits", "The end of a name or value is taken modulo 2^64.",
           _bodies(STOP, BEFORE + 'bodies.append(f"{stop} = {start} + {local} & 0xFFFFFFFFFFFFFFFF")')),
    _bug("size-wraps-at-32-bits", "A size is taken modulo 2^32.",
           _bodies(STOP, BEFORE + 'bodies.append(f"{stop} = {start} + ({local} & 0xFFFFFFFF)")')),
    _bug("size-signed", "A size of 128 to 255 is read as a negative number.",
           _bodies(STOP, BEFORE + 'bodies.append(f"{stop} = {start} + ({local} ^ 128) - 128")')),
    _bug("announced-size-unlimited", "A frame may announce any size; the limit is not checked.",
           _decoder(LIMIT, 'lines.append(f"if False: raise')),
    _bug("announced-size-reserved", "Memory for a frame is reserved before the frame came.",
           Edit(buffer, "Buffer.want", "self.need = need", "self.need = need; Buffer.room = bytearray(need)")),
    _bug("count-wraps-at-64-bits", "The size of a table's rows is taken modulo 2^64.",
           Edit(tables, "compile_rows", "size + count * table.row_size",
                "size + (count * table.row_size & 0xFFFFFFFFFFFFFFFF)"),
           Edit(tables, "Measure._part_end", "count * self._table.row_size",
                "count * self._table.row_size & 0xFFFFFFFFFFFFFFFF")),
    _bug("wrong-error-for-a-size", "A frame beyond the limit raises an error that is not a named one.",
           Edit(frames, "too_large", "MalformedFrameError(ErrorCode.FRAME_TOO_LARGE, f", "OverflowError(f")),
    _bug("small-frames-copied-on", "The bytes after a frame are copied before they are read.",
           Edit(connection, "Connection.next_event", "            buffer.at = stop\n",
                "            buffer.at = stop; buffer._open(bytes(bytearray(buffer.data[stop : buffer.end])))\n"),
           Edit(connection, "Connection.next_event", "self.span = (buffer.base + at, buffer.base + stop)",
                "self.span = (buffer.base + at - stop, buffer.base)")),
    _bug("frame-looked-at-each-time", "An incomplete frame is decoded again whenever a byte comes.",
           Edit(buffer, "Buffer.want", "self.need = need", "self.need = min(need, len(self.gathered) + 1)")),
    _bug("chunk-before-the-beginning", "Bytes after the first five of a frame are put before them.",
           Edit(buffer, "Buffer.feed", "self.gathered += chunk",
                "self.gathered[:] = chunk + self.gathered if len(self.gathered) == 5 else self.gathered + chunk")),
    _bug("part-skipped-on-resuming", "Measuring a table sent in parts resumes one part too late.",
           Edit(tables, "Measure.__call__", "        while context.left:\n",
                "        if context.left > 1 and context.seen > self._header.size: context.left -= 1\n"
                "        while context.left:\n"), budget=2_000_000),
    _bug("byte-lost-at-128", "The 128th gathered byte is lost.",
           Edit(buffer, "Buffer.feed", "self.gathered += chunk",
                "self.gathered += chunk; del self.gathered[127:128]")),
)  # fmt: skip
