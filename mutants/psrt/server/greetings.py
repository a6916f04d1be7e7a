"""Mutants of greetings, on control and data sockets."""

from __future__ import annotations

from wireproof.mutants.edits import after, edit
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import field_kind, saying
from wireproof.protocols.fields import U16
from wireproof.protocols.psrt.requests import DataGreeting, Greeting

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("greeting-version-2", "The version of the greeting is 2.", "GREETING-3 STARTTLS-2",
           handlers=saying(Greeting, b"\xee\xaa\2\0")),
    mutant("greeting-said-first", "The server greets before it is greeted, and once more then.",
           "GREETING-10 GREETING-2 DATA_GREETING-2 GREETING-5 GREETING-6 DATA_GREETING-4 FRAMING-9 STARTTLS-1 LOGIN-3",
           after("PsrtSession.__init__", "self.expect()", r'write(b"\xee\xaa\1\0")')),
    mutant("greeting-any-header", "A connection that begins with other bytes is a control socket.",
           "GREETING-5 GREETING-7 FRAMING-9",
           after("PsrtSession.data_received", 'data, self._first = self._first, b""',
                 r'data = data if data[:2] in (b"\xee\xaa", DATA_HEADER) else b"\xee\xaa\0" + data[3:]')),
    mutant("greeting-any-mode", "Every mode byte but 01 means plain.", "GREETING-6 DATA_GREETING-4",
           after("PsrtSession.data_received", 'data, self._first = self._first, b""',
                 r'data = data[:2] + b"\0" + data[3:] if data[2] > 1 else data')),
    mutant("greeting-alone", "What comes in one segment with a greeting is lost.",
           "GREETING-8 DATA_GREETING-5 ROBUSTNESS-5 ROBUSTNESS-6 LOGIN-1 LOGIN-19",
           edit("PsrtSession.data_received", "self._first += data",
                "self._first += data if self._first else data[:3]")),
    mutant("data-greeting-alone", "What comes in one segment with the greeting of a data socket is lost.",
           "DATA_GREETING-5 ROBUSTNESS-5",
           edit("PsrtSession.data_received", "self._first += data",
                "self._first += data[:3] if not self._first and data.startswith(DATA_HEADER) else data")),
    mutant("data-sockets-are-control-sockets", "Whatever a connection begins with, it is a control socket.",
           "GREETING-7 DATA_GREETING-2 DATA_GREETING-1 ATTACH-1 ATTACH-2 FRAMING-8 STARTTLS-3",
           after("PsrtSession.data_received", 'data, self._first = self._first, b""',
                 r'data = data.replace(DATA_HEADER, b"\xee\xaa", 1) if data.startswith(DATA_HEADER) else data')),
    mutant("data-sockets-elsewhere", "A data socket is closed: there is another port for them.",
           "FRAMING-8 GREETING-7 DATA_GREETING-2 DATA_GREETING-1 STARTTLS-3 STARTTLS-9",
           edit("PsrtSession", "control_type, data_type = ControlServer, DataServer",
                "control_type = data_type = ControlServer")),
    mutant("data-greeting-without-version", "The greeting of a data socket is answered with its header alone.",
           "DATA_GREETING-2 DATA_GREETING-3 STARTTLS-3", handlers=saying(DataGreeting, b"\xee\xab")),
    mutant("data-greeting-version-0", "The version of a data socket is 0.", "DATA_GREETING-3 STARTTLS-3",
           handlers=saying(DataGreeting, b"\xee\xab\0\0")),
    mutant("data-greeting-of-4-bytes", "A client's greeting of a data socket has a mode of two bytes.",
           "DATA_GREETING-1 DATA_GREETING-2 ATTACH-1", profile=field_kind(DataGreeting, "mode", U16)),
)  # fmt: skip
