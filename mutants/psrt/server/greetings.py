"""Faults of greetings, on control and data sockets."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import field_kind, lead, saying, with_answer
from wireproof.protocols.fields import U16
from wireproof.protocols.psrt import ControlServer
from wireproof.protocols.psrt.replies import DataGreetingReply
from wireproof.protocols.psrt.requests import DataGreeting, Greeting
from wireproof.reference_server.psrt.session import GREETING_SIZE, PsrtSession

__all__ = ["MUTANTS"]

HEADERS = (b"\xee\xaa", b"\xee\xab")


class _SpeaksFirst(PsrtSession):
    """Greets before it is greeted."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._write(b"\xee\xaa\x01\x00")


class _AnyHeader(PsrtSession):
    """Takes what does not begin as either socket does for a control socket."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        if self.connection is None and not self._first and len(data) >= GREETING_SIZE and data[:2] not in HEADERS:
            data = HEADERS[0] + b"\0" + data[GREETING_SIZE:]
        super().data_received(data)


class _AnyMode(PsrtSession):
    """Takes every mode but STARTTLS for the plain one."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        if self.connection is None and data[:2] in HEADERS and data[2:3] > b"\1":
            data = data[:2] + b"\0" + data[GREETING_SIZE:]
        super().data_received(data)


class _GreetingAlone(PsrtSession):
    """Loses what came in one segment with the greeting."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        super().data_received(data[:GREETING_SIZE] if self.connection is None and not self._first else data)


class _DataGreetingAlone(PsrtSession):
    """Loses what came in one segment with the greeting of a data socket."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        is_first = self.connection is None and not self._first and data.startswith(HEADERS[1])
        super().data_received(data[:GREETING_SIZE] if is_first else data)


class _OneKind(PsrtSession):
    """Knows control sockets only: a data socket is greeted as one."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        if self.connection is None and data.startswith(HEADERS[1]):
            data = HEADERS[0] + data[2:]
        super().data_received(data)


class _NoDataHeader(PsrtSession):
    """Closes data sockets: they are served at another port."""

    data_type = ControlServer  # type: ignore[assignment]


class _AnswersHeader(PsrtSession):
    """Answers FF to a greeting that it refuses, and closes then."""

    def refuse(self, why: str) -> None:
        """See `PsrtSession`."""
        if not self.connection or not self.connection.received:
            self._out.append(b"\xff")
        super().refuse(why)


def _swapped(greeting: bytes) -> bytes:
    return greeting[:2] + greeting[:1:-1]


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("greeting-version-big-endian", "The version of the greeting stands high byte first.",
          "GREETING-3", "DATA_GREETING-3", "FRAMING-1", "STARTTLS-2", "STARTTLS-3", handlers=with_answer(
              (Greeting, DataGreeting),
              lambda answer, ask: answer if isinstance(answer, bytes) else _swapped(ask.state.codec.encode(answer)))),
    mutant("greeting-version-first", "The version stands before the header.", "GREETING-2", "GREETING-3", "STARTTLS-2",
          handlers=saying(Greeting, b"\1\0\xee\xaa")),
    mutant("greeting-repeats-the-mode", "The greeting ends with the mode byte that the client sent.", "GREETING-2",
          "LOGIN-3", "GREETING-8", "STARTTLS-2", "STARTTLS-4", handlers=with_answer(
              Greeting, lambda answer, ask: b"\xee\xaa\1\0" + bytes([ask.request.mode]))),
    mutant("greeting-version-2", "The version of the greeting is 2.", "GREETING-3", "STARTTLS-2",
          handlers=saying(Greeting, b"\xee\xaa\2\0")),
    mutant("greeting-without-version", "The greeting is answered with its header alone.", "GREETING-2", "GREETING-3",
          "STARTTLS-2", handlers=saying(Greeting, b"\xee\xaa")),
    mutant("greeting-version-of-1-byte", "The version of the greeting is one byte.", "GREETING-2", "GREETING-3",
          "STARTTLS-2", handlers=saying(Greeting, b"\xee\xaa\1")),
    mutant("greeting-of-4-bytes", "A client's greeting has a mode of two bytes.", "GREETING-1", "GREETING-2",
          "STARTTLS-1", profile=field_kind(Greeting, "mode", U16)),
    mutant("greeting-said-first", "The server greets before it is greeted, and once more then.",
          "GREETING-10", "GREETING-2", "DATA_GREETING-2", "GREETING-5", "GREETING-6", "DATA_GREETING-4", "FRAMING-9",
          "STARTTLS-1", "LOGIN-3", session=_SpeaksFirst),
    mutant("greeting-any-header", "A connection that begins with other bytes is a control socket.",
          "GREETING-5", "GREETING-7", "FRAMING-9", session=_AnyHeader),
    mutant("greeting-any-mode", "Every mode byte but 01 means plain.",
          "GREETING-6", "DATA_GREETING-4", session=_AnyMode),
    mutant("greeting-refused-with-ff", "A greeting is refused with FF, then the connection is closed.",
          "GREETING-5", "GREETING-6", "DATA_GREETING-4", "FRAMING-9", session=_AnswersHeader),
    mutant("greeting-alone", "What comes in one segment with a greeting is lost.",
          "GREETING-8", "DATA_GREETING-5", "ROBUSTNESS-5", "ROBUSTNESS-6", "LOGIN-1", session=_GreetingAlone),
    mutant("data-greeting-alone", "What comes in one segment with the greeting of a data socket is lost.",
          "DATA_GREETING-5", "ROBUSTNESS-5", session=_DataGreetingAlone),
    mutant("data-greeting-as-control", "A data socket is greeted with EE AA, as a control socket is.",
          "DATA_GREETING-2", "STARTTLS-3", profile=lead(DataGreetingReply, 0xEE, 0xAA)),
    mutant("data-sockets-are-control-sockets", "Whatever a connection begins with, it is a control socket.",
          "GREETING-7", "DATA_GREETING-2", "DATA_GREETING-1", "ATTACH-1", "ATTACH-2", "FRAMING-8", "STARTTLS-3",
          session=_OneKind),
    mutant("data-sockets-elsewhere", "A data socket is closed: there is another port for them.",
          "FRAMING-8", "GREETING-7", "DATA_GREETING-2", "DATA_GREETING-1", "STARTTLS-3", "STARTTLS-9",
          session=_NoDataHeader),
    mutant("data-greeting-version-first", "The version of a data socket stands before its header.",
          "DATA_GREETING-2", "DATA_GREETING-3", "STARTTLS-3", handlers=saying(DataGreeting, b"\1\0\xee\xab")),
    mutant("data-greeting-without-version", "The greeting of a data socket is answered with its header alone.",
          "DATA_GREETING-2", "DATA_GREETING-3", "STARTTLS-3", handlers=saying(DataGreeting, b"\xee\xab")),
    mutant("data-greeting-version-0", "The version of a data socket is 0.", "DATA_GREETING-3", "STARTTLS-3",
          handlers=saying(DataGreeting, b"\xee\xab\0\0")),
    mutant("data-greeting-of-4-bytes", "A client's greeting of a data socket has a mode of two bytes.",
          "DATA_GREETING-1", "DATA_GREETING-2", "ATTACH-1", profile=field_kind(DataGreeting, "mode", U16)),
)  # fmt: skip
