"""The numbers of the document, named as it names them ("Common", "Control socket", "UDP"); misprints by P11 and P12."""

from __future__ import annotations

from enum import IntEnum


class Operation(IntEnum):
    """First byte of an operation on a control socket."""

    NOP = 0x00
    PUBLISH = 0x01
    SUBSCRIBE = 0x02
    UNSUBSCRIBE = 0x03
    PUBLISH_REPL = 0x11
    BYE = 0xFF


class DatagramOperation(IntEnum):
    """What a datagram asks for ("UDP")."""

    PUBLISH = 0x01
    PUBLISH_NO_ACK = 0x21


class ResponseCode(IntEnum):
    """The byte that answers an operation, a token or a datagram ("Common / Response codes")."""

    OK = 0x01
    OK_WAITING = 0x02
    NOT_REQUIRED = 0xE0
    ERR_ACCESS = 0xFE
    ERROR = 0xFF


class PushLead(IntEnum):
    """First byte of what a server sends on a data socket."""

    BEACON = 0x00
    MESSAGE = 0x01


class Mode(IntEnum):
    """Third byte of a greeting."""

    PLAIN = 0x00
    STARTTLS = 0x01


class Encryption(IntEnum):
    """Fifth byte of a datagram (P22); 01 is reserved and refused."""

    PLAIN = 0x00
    AES_128_GCM = 0x02
    AES_256_GCM = 0x03


CONTROL_HEADER, DATA_HEADER = b"\xee\xaa", b"\xee\xab"
PROTOCOL_VERSION = 1
TOKEN_SIZE, NONCE_SIZE, TAG_SIZE = 32, 12, 16
LONGEST_LOGIN = 1024
"""Bytes that the LEN of a LOGIN may announce."""
