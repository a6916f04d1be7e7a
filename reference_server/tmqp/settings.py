"""Settings of queues and channels, and how options in JSON change them; and what is decided about a delivery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from wireproof.protocols.tmqp.bodies import ChannelOptions, QueueOptions
from wireproof.protocols.tmqp.enums import QueueStatus

__all__ = ["DELIVERIES", "ChannelSettings", "Delivery", "QueueSettings", "SettingsError"]

LONGEST_TIMEOUT_MS = 1 << 40


class SettingsError(ValueError):
    """Raised for options that no queue or channel can have; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What is decided about each message of a queue ("Decisions"); nothing is ever saved."""

    acknowledges: Literal["never", "received", "sent", "acknowledged"] = "never"
    """When the server confirms a push to its producer."""
    is_negative: bool = False
    """The confirmation says that the push failed."""
    accepts: bool = True
    """Messages are put into the queue."""
    puts_back: Literal["never", "start", "end"] = "never"
    """Where a message returns whose acknowledgement is negative or missing."""


DELIVERIES: Mapping[bytes, Delivery] = {
    b"just-allow": Delivery(),
    b"after-received": Delivery(acknowledges="received"),
    b"after-sent": Delivery(acknowledges="sent"),
    b"after-acknowledged": Delivery(acknowledges="acknowledged"),
    b"put-back-start": Delivery(acknowledges="acknowledged", puts_back="start"),
    b"put-back-end": Delivery(acknowledges="acknowledged", puts_back="end"),
    b"refuse": Delivery(acknowledges="received", is_negative=True, accepts=False),
}
"""Key -> delivery, as options name it (`MessageDeliveryHandler`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """How one queue works; times in ms."""

    only_first: bool = False
    request_ack: bool = False
    ack_timeout: int = 15_000
    message_timeout: int = 0
    use_id: bool = True
    wait_ack: bool = False
    hide_names: bool = False
    status: QueueStatus = QueueStatus.BROADCAST
    delivery: Delivery = DELIVERIES[b"after-received"]
    message_limit: int = 0
    size_limit: int = 0

    def changed(self, options: QueueOptions, *, has_limits: bool = True) -> QueueSettings:
        """Return the settings that options make of these; what they leave out stays. Raises `SettingsError`."""
        handler = options.MessageDeliveryHandler
        given: dict[str, Any] = {
            "only_first": options.SendOnlyFirstAcquirer,
            "request_ack": options.RequestAcknowledge,
            "ack_timeout": _amount(options.AcknowledgeTimeout, "AcknowledgeTimeout"),
            "message_timeout": _amount(options.MessageTimeout, "MessageTimeout"),
            "use_id": options.UseMessageId,
            "wait_ack": options.WaitForAcknowledge,
            "hide_names": options.HideClientNames,
            "status": _status(options.Status),
            "delivery": DELIVERIES.get(handler) if handler else None,
            "message_limit": _amount(options.MessageLimit, "MessageLimit") if has_limits else None,
        }
        if handler and handler not in DELIVERIES and has_limits:
            raise SettingsError(f"MessageDeliveryHandler: unknown key {handler!r}")
        return replace(self, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """How one channel works, and the queues that are created in it without options of their own."""

    queues: QueueSettings = QueueSettings()
    many_queues: bool = True
    allowed: frozenset[int] = frozenset()
    """Ids of queues that may be created; none: any."""
    client_limit: int = 0
    queue_limit: int = 0
    destroy_empty: bool = False

    def changed(self, options: ChannelOptions, *, has_limits: bool = True) -> ChannelSettings:
        """Return the settings that options make of these. Raises `SettingsError`."""
        allowed = options.AllowedQueues
        if any(not 0 <= one <= 0xFFFF for one in allowed or ()):
            raise SettingsError("AllowedQueues: expected ids from 0 to 65535")
        given: dict[str, Any] = {
            "many_queues": options.AllowMultipleQueues,
            "allowed": None if allowed is None else frozenset(allowed),
        }
        if has_limits:
            given["client_limit"] = _amount(options.ClientLimit, "ClientLimit")
            given["queue_limit"] = _amount(options.QueueLimit, "QueueLimit")
            given["destroy_empty"] = options.DestroyWhenEmpty
        queues = self.queues.changed(options, has_limits=has_limits)
        return replace(self, queues=queues, **{name: value for name, value in given.items() if value is not None})


def _amount(value: int | None, name: str) -> int | None:
    if value is not None and not 0 <= value <= LONGEST_TIMEOUT_MS:
        raise SettingsError(f"{name}: expected a number from 0 to {LONGEST_TIMEOUT_MS}")
    return value


def _status(value: int | None) -> QueueStatus | None:
    if value is None:
        return None
    try:
        return QueueStatus(value)
    except ValueError:
        raise SettingsError(f"Status: expected a number from 0 to {max(QueueStatus)}, got {value}") from None
