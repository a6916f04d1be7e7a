"""What the model of the TMQP document says is broken: not what a message is, but what forbids or alters it."""

from __future__ import annotations

import pytest

from tests.reference_server.tmqp.test_oracle import ASK, checked, do, on, produced
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.store_steps import Step
from wireproof.protocols.tmqp import Header
from wireproof.protocols.tmqp.requests import (
    Acknowledge,
    ChannelInfo,
    CreateChannel,
    CreateQueue,
    DeleteChannel,
    DeleteQueue,
    Join,
    Leave,
    Ping,
    Produce,
    Pull,
    QueueInfo,
    Subscribe,
    UpdateQueue,
)

ONE = (Header(b"Queue-Id", b"1"),)


def made(delivery: bytes, *, asks: bool = False) -> CreateQueue:
    options = b'{"Status":1,"RequestAcknowledge":%s,"MessageDeliveryHandler":"%s"}' % (
        b"true" if asks else b"false",
        delivery,
    )
    return CreateQueue(**ASK, target=b"c", headers=ONE, payload=options)


def stored_as(status: bytes) -> CreateQueue:
    options = b'{"Status":%s,"MessageDeliveryHandler":"just-allow"}' % status
    return CreateQueue(**ASK, target=b"c", headers=ONE, payload=options)


CHANNEL, JOINED, GONE = CreateChannel(**ASK, target=b"c"), Join(**ASK, target=b"c"), DeleteChannel(**ASK, target=b"c")
ACKNOWLEDGED = Acknowledge(id=b"m1", target=b"c", content_type=1)
NAMED = Header(b"Channel-Name", b"c")
LEFT = Leave(**ASK, target=b"c")
RECEIVED = b'{"Status":1,"MessageDeliveryHandler":"after-received"}'
PULLED = Pull(id=b"p", target=b"c", content_type=1, headers=(Header(b"Count", b"1"),))
KEPT = Produce(id=b"m1", target=b"c", content_type=1, headers=(Header(b"Key", b"v"),))

BROKEN: dict[str, tuple[str, tuple[Step, ...]]] = {
    "any-acknowledgement-travels": (
        "TMQP-ACKNOWLEDGE-1",
        (on("a", made(b"just-allow"), produced(1)), on("b", JOINED), on("b", ACKNOWLEDGED), on("a", Ping())),
    ),
    "acknowledged-negatively": (
        "TMQP-CONFIRMATION-1",
        (on("a", made(b"after-received"), produced(1, pending_ack=1)),),
    ),
    "values-begin-with-a-space": ("TMQP-HEADER-3", (on("a", made(b"just-allow"), JOINED), on("a", KEPT))),
    "sent-means-received": ("TMQP-CONFIRMATION-2", (on("a", made(b"after-sent"), produced(1, pending_ack=1)),)),
    "confirmation-has-a-source": (
        "TMQP-CONFIRMATION-1",
        (on("b", made(b"after-sent"), JOINED), on("a", produced(1, pending_ack=1))),
    ),
    "deleted-channel-stays": (
        "TMQP-DELETE_CHANNEL-1",
        (on("a", made(b"just-allow"), GONE), on("a", produced(1, pending_response=1)), on("a", Ping())),
    ),
    "deleted-queue-stays": (
        "TMQP-DELETE_QUEUE-1",
        (
            on("a", made(b"just-allow"), DeleteQueue(**ASK, target=b"c", headers=ONE)),
            on("a", QueueInfo(**ASK, target=b"c", headers=ONE)),
        ),
    ),
    "joined-twice-refused": (
        "TMQP-JOIN-2",
        (on("a", CHANNEL, GONE), on("a", CHANNEL, JOINED), on("a", JOINED)),
    ),
    "deleted-members-stay": (
        "TMQP-DELETE_CHANNEL-1",
        (on("b", CHANNEL, JOINED), on("a", GONE), on("a", CHANNEL, ChannelInfo(**ASK, target=b"c"))),
    ),
    "push-sends-again": (
        "TMQP-PUSH-2",
        (on("a", made(b"just-allow"), produced(1)), on("b", JOINED), on("b", LEFT, JOINED), on("b", Ping())),
    ),
    "one-delivery-kept": (
        "TMQP-MESSAGE-3",
        (on("a", made(b"just-allow"), JOINED), on("a", LEFT), on("b", JOINED), on("a", produced(1))),
    ),
    "channel-options-ignored": (
        "TMQP-CREATE_CHANNEL-6",
        (
            on("a", CreateChannel(**ASK, target=b"c", payload=b'{"ClientLimit":1}')),
            on("a", ChannelInfo(**ASK, target=b"c")),
        ),
    ),
    "channel-options-not-inherited": (
        "TMQP-CREATE_QUEUE-9",
        (
            on("a", CreateChannel(**ASK, target=b"c", payload=b'{"Status":1}')),
            on("a", CreateQueue(**ASK, target=b"c", headers=ONE), produced(1)),
            on("b", JOINED),
        ),
    ),
    "copies-lost": (
        "TMQP-COPY-1",
        (
            on("b", made(b"just-allow"), produced(5)),
            on("a", Produce(id=b"m1", target=b"d", content_type=1, headers=(Header(b"cc", b"c;1;m2"),))),
            on("a", QueueInfo(**ASK, target=b"c", headers=ONE)),
        ),
    ),
    "cache-keeps-all": (
        "TMQP-CACHE-1",
        (
            on("a", stored_as(b"4"), produced(1), produced(2)),
            on("a", QueueInfo(**ASK, target=b"c", headers=ONE)),
        ),
    ),
    "stopped-accepts": (
        "TMQP-STOPPED-1",
        (on("a", stored_as(b"6"), produced(1)), on("a", QueueInfo(**ASK, target=b"c", headers=ONE))),
    ),
    "pull-keeps": (
        "TMQP-PULL-15",
        (on("a", stored_as(b"3"), JOINED, produced(1)), on("a", PULLED), on("a", PULLED), on("a", Ping())),
    ),
    "update-keeps-delivery": (
        "TMQP-UPDATE_QUEUE-1",
        (
            on("a", stored_as(b"1"), UpdateQueue(**ASK, target=b"c", headers=ONE, payload=RECEIVED)),
            on("a", produced(1, pending_ack=1)),
        ),
    ),
    "rule-acknowledges-when-asked": ("TMQP-PRODUCE-7", (on("a", made(b"after-sent"), JOINED), on("a", produced(1)))),
    "every-queue-told": (
        "TMQP-NOTIFICATION-6",
        (
            on("a", made(b"just-allow"), CreateQueue(**ASK, target=b"c", headers=(Header(b"Queue-Id", b"2"),))),
            on("a", Subscribe(**ASK, target=b"MessageProduced", content_type=1, headers=(NAMED, *ONE))),
            on("a", produced(1)),
            on("b", Produce(id=b"m2", target=b"c", content_type=2), produced(3)),
        ),
    ),
}
"""Mutant -> the clause that it breaks, and what shows it."""


@pytest.mark.parametrize("mutant", BROKEN)
def test_the_clause_that_is_broken_is_named(mutant: str) -> None:
    clause, steps = BROKEN[mutant]
    do(checked(), steps)

    with pytest.raises(InvariantError) as error:
        do(checked(mutant), steps)

    assert error.value.clause == clause
