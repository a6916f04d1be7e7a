"""What a started server prints, stdout and stderr in one file, with a line for each start."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryFile

from wireproof.conformance.verdict.last_words import without_template_arguments

READY = re.compile(rb"^listening (\S+)\r?\n", re.MULTILINE)
BESIDE = re.compile(rb"^listening (\S+) (\S+)\r?\n", re.MULTILINE)
DIAGNOSIS = re.compile(
    r"ERROR: \w*Sanitizer|runtime error:|panicked at|terminate called|Assertion .* failed|Exception in thread"
)
"""What a runtime says of a death, mostly followed by many lines that say less."""
LOOKED_AT = 64 * 1024
"""Bytes of the beginning in which addresses are looked for."""
REPORTED = 1024 * 1024
"""Bytes of the end in which a report of a death is looked for: those of C++ have lines of thousands of characters."""
LONGEST_LINE = 500


class Log:
    """A file that a server and wireproof append to; without a path it lives as long as this object."""

    def __init__(self, path: Path | None = None) -> None:
        """Begin with an empty file. Raises `OSError` when it cannot be written."""
        if path is None:
            self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - `close` ends it
        else:
            path.open("wb").close()
            self._file = path.open("a+b", buffering=0)
        self._since = 0

    def fileno(self) -> int:
        """Return the descriptor to write to."""
        return self._file.fileno()

    def mark(self, text: str) -> None:
        """Write a line of our own."""
        os.write(self.fileno(), f"=== wireproof: {text}\n".encode(errors="replace"))

    def begin(self, text: str) -> None:
        """Write a line of our own; what is read from now on is what comes after it."""
        self.mark(text)
        self._since = self._size()

    def ready_address(self) -> str | None:
        """Return what the first whole line `listening ADDRESS` since `begin` names."""
        found = READY.search(os.pread(self.fileno(), LOOKED_AT, self._since))
        return found.group(1).decode(errors="replace") if found else None

    def listeners(self) -> dict[str, str]:
        """Return what the whole lines `listening NAME ADDRESS` since `begin` name: name -> address."""
        found = BESIDE.findall(os.pread(self.fileno(), LOOKED_AT, self._since))
        return {name.decode(errors="replace"): address.decode(errors="replace") for name, address in found}

    def last_lines(self, count: int) -> list[str]:
        """Return at most `count` lines printed last since `begin`, without empty ones, long ones cut.

        The first is the one that names a cause of death, where one does.
        """
        start = max(self._since, self._size() - REPORTED)
        text = os.pread(self.fileno(), REPORTED, start).decode(errors="replace")
        lines = [without_template_arguments(line.rstrip())[:LONGEST_LINE] for line in text.splitlines() if line.strip()]
        last = lines[-count:]
        cause = next((line for line in lines if DIAGNOSIS.search(line)), None)
        return last if cause is None or cause in last else [cause, *last[1:]]

    def close(self) -> None:
        """Write no more."""
        self._file.close()

    def _size(self) -> int:
        return os.fstat(self.fileno()).st_size
