"""What a process printed before it died: the line that names the cause, and the first frame of the target's own code.

Read from what it printed: reports of sanitizers, backtraces as gdb, boost and glibc write them, Python tracebacks and
fault handlers, panics of Rust and Go, exceptions of Java, C#, JavaScript and PHP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wireproof.protocols.json_values import JsonObject

__all__ = ["LastWords", "in_frame", "last_words", "without_template_arguments"]

LONGEST = 300
NAMES = re.compile(
    r"ERROR: \w*Sanitizer|: runtime error: |panicked at|^panic: |^fatal error: |^Exception in thread"
    r"|^Fatal Python error|^Traceback \(most recent call last\)|terminate called|terminating (?:due to|with) uncaught"
    r"|Assertion .*failed|^Unhandled exception|^(?:PHP )?Fatal error: "
    r"|^(?:Uncaught )?[\w.$]*(?:Error|Exception)\b(?:: |$| \[)"
    r"|^(?:double free|free\(\): |malloc\(\): |corrupted |munmap_chunk|realloc\(\): |\*\*\* (?:stack|buffer))",
    re.IGNORECASE,
)
"""Lines that begin a report of a death."""
TROUBLE = re.compile(r"fatal|error|abort|fail|panic|exception|assert|corrupt|signal", re.IGNORECASE)
READY = re.compile(r"^listening \S+$|^=== wireproof: ")
FOLLOWS = re.compile(r"^\s|^#|^goroutine |^stack backtrace|^Stack trace|^Caused by|^$")
"""Lines between an exception and what names it."""
BACKTRACE = re.compile(r"^\s*#\d+ +0x[0-9a-f]+ ")
FRAMES = (
    re.compile(r'^\s*File "(?P<at>[^"]+)", line (?P<line>\d+),? in (?P<name>.+)$'),
    re.compile(r"^\s*at (?P<name>[^\s(]+)\((?P<at>[^():]+):(?P<line>\d+)\)$"),
    re.compile(r"^\s*at (?P<name>.+?\)) in (?P<at>.+?):line (?P<line>\d+)$"),
    re.compile(r"^\s*at (?:async )?(?:(?P<name>\S.*?) \()?(?P<at>[^()\s]+?):(?P<line>\d+):\d+\)?$"),
    re.compile(r"^\s*#\d+ (?P<at>/[^()]+)\((?P<line>\d+)\): (?P<name>.+)$"),
    re.compile(
        r"^\s*(?:#\d+|\d+#) +(?:0x[0-9a-f]+ )?(?:in )?(?P<name>.+?) (?:at )?(?P<at>[^\s:]+):(?P<line>\d+)(?::\d+)?$"
    ),
    re.compile(r"^\s*(?:#\d+|\d+#) +(?:0x[0-9a-f]+ )?in (?P<name>.+?) \((?P<at>[^)]+)\+0x[0-9a-f]+\).*$"),
    re.compile(r"^(?P<at>\S+)\((?P<name>[\w:.]+)\+0x[0-9a-f]+\) ?\[0x[0-9a-f]+\]$"),
)
"""Frames of one line: Python, Java, C#, JavaScript, PHP, gdb and sanitizers and boost, without source, glibc."""
PLACE = re.compile(r"^\s+(?:at )?(?P<at>\S+?):(?P<line>\d+)(?::\d+| \+0x[0-9a-f]+)?$")
"""The second line of a frame of Rust or Go."""
CALLED = re.compile(r"^(?:\s*\d+: (?P<rust>\S.*)|(?P<go>[\w./*()\[\]-]+)\(.*\))$")
"""The first one."""
FOREIGN = re.compile(
    r"/rustc/|/\.cargo/registry/|/usr/include/|/usr/lib|/usr/local/go/|/pkg/mod/|libsanitizer|compiler-rt|/sysdeps/"
    r"|\.\./csu/|/lib/python[0-9.]+/|site-packages|^<frozen |java\.base|^jdk\.|^java\.|^sun\.|^System\.|node:"
    r"|node_modules|/vendor/|/boost/|/nptl/|/stdlib/|libstdc\+\+|/libc\.so|/libc-|ld-linux|/go/src/runtime/"
)
"""Places that are nobody's own code: compilers, their libraries, packages."""
FOREIGN_NAMES = re.compile(
    r"^(?:_*interceptor_|__asan|__ubsan|__libc_|__GI_|std::|core::|alloc::|tokio::|boost::|operator new|operator delete"
    r"|runtime\.|rust_begin_unwind|rust_panic|abort$|raise$|gsignal$|pthread_kill|java\.|jdk\.|sun\.|asyncio\.)"
)


@dataclass(frozen=True, slots=True)
class LastWords:
    """What a process printed about its death."""

    line: str
    """The line that names the cause, or the last one; "" when it printed nothing."""
    frame: str
    """The first frame of its own code, as in "insert at src/insert.cpp:57"; "" where none is named."""
    names_a_cause: bool = False
    """Whether the line is a runtime's report or speaks of an error; otherwise it may be any line of a log."""

    @property
    def extra(self) -> dict[str, object]:
        """What a record has of it."""
        return {"said": self.line, "frame": self.frame, "names_a_cause": self.names_a_cause}


def in_frame(process: JsonObject) -> str:
    """Return " in FRAME" for what a record has of a process, "" where no frame is known."""
    return f" in {process['frame']}" if process.get("frame") else ""


def without_template_arguments(line: str) -> str:
    """Return a line of a backtrace with `<…>` for each list of template arguments, which may be very long."""
    if not BACKTRACE.match(line) or "<" not in line:
        return line
    kept, depth = list[str](), 0
    for at, one in enumerate(line):
        if one == "<" and not line.endswith("operator", 0, at):
            kept += ["<…>"] if not depth else []
            depth += 1
        elif one == ">" and depth and line[at - 1] != "-":
            depth -= 1
        elif not depth:
            kept.append(one)
    return line if depth else "".join(kept)


def last_words(text: str) -> LastWords:
    """Return what the last report of a death in a text says."""
    lines = [line.rstrip()[:LONGEST] for line in text.splitlines()]
    lines = [line for line in lines if line and not READY.match(line)]
    begins = [at for at, line in enumerate(lines) if NAMES.search(line)]
    begins = [at for at in begins if not _belongs(lines, at, begins)]
    if not begins:
        last = next((line for line in reversed(lines) if not _is_frame(line)), lines[-1] if lines else "")
        return LastWords(last.strip(), _own(list(_frames(lines))), TROUBLE.search(last) is not None)
    at = begins[-1]
    report = lines[at:]
    frames = list(_frames(report))
    if report[0].startswith("Traceback"):
        return LastWords(_raised(report), _own(frames[::-1]), True)
    return LastWords(_summary(report), _in_line(report) or _own(frames), True)


def _belongs(lines: Sequence[str], at: int, begins: Sequence[int]) -> bool:
    """Say whether a line that names a cause is part of the report that another one began, as its last line."""
    earlier = [one for one in begins if one < at and lines[one].startswith("Traceback")]
    return bool(earlier) and all(FOLLOWS.search(line) for line in lines[earlier[-1] + 1 : at])


def _raised(report: Sequence[str]) -> str:
    """Return the line that ends a Python traceback."""
    return next((line for line in report[1:] if not FOLLOWS.search(line)), report[0])


def _summary(report: Sequence[str]) -> str:
    first = report[0].strip()
    if found := re.search(r"ERROR: (\w*Sanitizer.*)", first):
        return re.sub(r" on (?:unknown )?address .*| \(pc .*", "", found[1])
    more = report[1].strip() if len(report) > 1 else ""
    if "panicked at" in first and first.endswith(":"):
        return f"{first} {more}"
    if more.startswith("what():"):
        return f"{first}; {more}"
    return first


def _in_line(report: Sequence[str]) -> str:
    """Return the place that the line itself names, where no own frame can be expected to follow."""
    first = report[0]
    if found := re.match(r"^(?P<at>\S+?):(?P<line>\d+)(?::\d+)?: runtime error: ", first):
        return "" if any(True for _ in _frames(report)) else f"{found['at']}:{found['line']}"
    if found := re.search(r"(?P<at>[^\s:]+):(?P<line>\d+): (?P<name>.+?): Assertion ", first):
        return f"{found['name']} at {found['at']}:{found['line']}"
    if found := re.search(r"panicked at (?:'.*', )?(?P<at>[^\s:']+):(?P<line>\d+):\d+", first):
        own = _own(list(_frames(report)))
        return own or ("" if FOREIGN.search(found["at"]) else f"{found['at']}:{found['line']}")
    return ""


def _is_frame(line: str) -> bool:
    return any(one.match(line) for one in FRAMES)


def _frames(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and place of each frame, in the order of the lines."""
    called = ""
    for line in lines:
        if called and (found := PLACE.match(line)):
            yield called, f"{found['at']}:{found['line']}"
            called = ""
            continue
        found = next((one for one in (pattern.match(line) for pattern in FRAMES) if one), None)
        if found is not None:
            parts = found.groupdict()
            number = f":{parts['line']}" if parts.get("line") else ""
            yield (parts.get("name") or "").strip(), f"{parts['at']}{number}"
            called = ""
            continue
        two = CALLED.match(line)
        called = (two["rust"] or two["go"]) if two else ""


def _own(frames: Sequence[tuple[str, str]]) -> str:
    """Return the first frame that is no library's."""
    for name, place in frames:
        if not FOREIGN.search(place) and not FOREIGN.search(name) and not FOREIGN_NAMES.match(name):
            return f"{name} at {place}" if name else place
    return ""
