"""The behaviour of a server under each profile, as data: one field for each difference of the released server.

The defaults are the document's, as the errata read it (docs/errata.md). No code tests the name of a profile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["RULES", "Rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The behaviour of one profile."""

    answers_protocol_at_once: bool = True
    """E6: the eight bytes are answered when they came. Otherwise with the first frame."""
    takes_old_version: bool = False
    """E5: `TMQ/1.01` is accepted, too, and echoed."""
    refuses_without_hello: bool = True
    """E7: a first frame that is no hello closes the connection. Otherwise nothing on it is answered any more."""
    reports_duplicate_clients: bool = True
    """A client whose id is taken is answered 503 before the connection closes, spaces around the id or not."""
    takes_repeated_properties: bool = True
    """The first of several properties of a name counts. Otherwise they close the connection."""
    takes_empty_hello: bool = True
    """A hello without text is one without properties. Otherwise it closes the connection."""
    answers_as_asked: bool = True
    """E11, E24: an operation is answered by what its flags ask for. Otherwise by a response alone, if that is asked
    for, and subscriptions always by a response."""
    answers_bad_requests: bool = True
    """E27: what cannot be done is answered 400, 406 or 482. Otherwise the connection closes."""
    answers_duplicates: bool = True
    """E28: to create a channel that exists is answered 481. Otherwise nothing is."""
    answers_refused_queues: bool = True
    """To create a queue that its channel does not allow is answered. Otherwise nothing is."""
    keeps_after_options: bool = True
    """A channel may be created with options. Otherwise the connection closes after the answer."""
    makes_queue_without_id: bool = False
    """E44: to create, change or clear a queue without its id is answered 406, then queue 0 is meant. Otherwise none."""
    answers_information_alike: bool = False
    """E45: where answers are responses alone, one with information is sent whatever the flags are."""
    reads_queue_id_header: bool = True
    """E12: the queue to delete or describe is named by a header. Otherwise by two bytes of payload alone."""
    filters_by_target: bool = True
    """E30: the filter of channels is the target. Otherwise a header."""
    updates_from_channel: bool = True
    """E40: options that an update leaves out are the channel's again. Otherwise they stay, and the delivery always."""
    marks_answers_to_events: bool = True
    """E56: the answer to a subscription has the priority and the mark of its request. Otherwise neither."""
    marks_confirmations: bool = True
    """E56: the server's acknowledgement of a push has the priority of that. Otherwise it has none."""
    takes_star_filter: bool = True
    """E30: the filter `*` alone is passed by all. Otherwise it closes the connection."""
    sends_on_every_update: bool = True
    """E65: an update sends what is stored. Otherwise only where the state is another one then."""
    marks_again: bool = True
    """E19: a message that was put back is marked for its first consumer again. Otherwise for none."""
    has_limits: bool = True
    """E29: limits in options count, and an empty channel goes where its options say so."""
    reports_options_of_queue: bool = True
    """Information about a queue has its own options. Otherwise those of its channel."""
    stopped_is_unauthorized: bool = False
    """E29: a push into a stopped queue is answered 401. Otherwise 406."""
    refuses_by_acknowledgement: bool = True
    """E29: a push that waits for an acknowledgement is refused by a negative one. Otherwise by a response."""
    acknowledges_when_asked: bool = True
    """E38: the server acknowledges a push that asks for it. Otherwise every push with an id."""
    gives_ids: bool = False
    """E55: a frame without an id is given one as it arrives, and its pending response does not count. Otherwise only
    a message is, by a queue whose UseMessageId is true."""
    keeps_cached: bool = True
    """E46: a CACHE queue keeps the newest message. Otherwise what is pushed there is dropped, and so is what was stored
    before; until then that stays."""
    serves_caches: bool = True
    """E10: a pull from a cache is answered by a response. Otherwise it is unacceptable."""
    counts_what_there_is: bool = True
    """E15: pulled messages say how many come. Otherwise how many were asked for."""
    loses_one_after_pull: bool = False
    """A pull that is served in full drops one message more."""
    describes_missing_queues: bool = True
    """E16: a pull from nothing is answered by an empty message. Otherwise by a response 404."""
    addresses_copies: bool = True
    """E13: a copy names its own channel and queue. Otherwise those of the original."""
    skips_bad_copies: bool = True
    """A copy to a queue id that is no number is left out. Otherwise the connection closes."""
    waits_for_acknowledge: bool = True
    """WaitForAcknowledge holds the next message back. Otherwise it does nothing."""
    decides_when_sent: bool = True
    """E60: whether names are hidden, and consumers must acknowledge, is decided when a message is sent. Otherwise when
    it is pushed; the latter for what is pulled, when it is pulled."""
    turns_by_count: bool = True
    """E63: the turns of a queue are counted. Otherwise the next one is at the place after the last one's."""
    keeps_awaited_when_stopped: bool = True
    """E64: a queue that stops still waits for acknowledgements. Otherwise it forgets them."""
    acknowledges_by_connection: bool = True
    """E61: who was sent a message acknowledges it. Otherwise any client with that id, one that came again, say."""
    copies_what_is_nowhere: bool = True
    """E62: a message whose queue is not there is copied all the same. Otherwise not."""
    sends_put_backs: bool = True
    """E59: what is put back is sent at once. Otherwise when something else is."""
    reports_timeouts: bool = True
    """E31: where acknowledgements travel to producers, a missing one does so as a negative one."""
    reports_queue_of_message: bool = True
    """E57: MessageProduced names the queue that a message went into. Otherwise what the message's frame names."""
    describes_events: bool = True
    """E23: notifications have headers for channel and queue."""
    addresses_channel_events: bool = True
    """Notifications of channels that come and go have the channel as their target. Otherwise they have none."""
    answers_for_routers: bool = True
    """What is acknowledged to the publisher names the router. Otherwise, where clients were sent the message, it is an
    answer to what they were sent: from the binding's target, with the binding's content type."""
    reports_last_state: bool = True
    """E51: QueueRemoved names the state that the queue had. Otherwise STOPPED."""
    counts_settled: bool = True
    """E52: a message whose acknowledgement is waited for counts as removed when it is settled. Otherwise when it was
    sent."""
    answers_unknown_events: bool = True
    """A subscription to an event that does not exist is answered. Otherwise nothing is."""
    keeps_subscriptions: bool = True
    """E58: a client may subscribe to a queue that is not there, and a subscription outlives its channel and queue.
    Otherwise neither."""
    reports_unknown_clients: bool = False
    """E39: a direct message to an unknown client id is answered 404 whatever its flags."""
    never_sends_dead_messages: bool = True
    """E36: what is relayed has at least one hop left."""


_DOCUMENT = Rules()

RULES = {
    "doc": _DOCUMENT,
    "twino-3.0.0": replace(
        _DOCUMENT,
        answers_protocol_at_once=False,
        takes_old_version=True,
        refuses_without_hello=False,
        reports_duplicate_clients=False,
        takes_repeated_properties=False,
        takes_empty_hello=False,
        answers_as_asked=False,
        answers_bad_requests=False,
        answers_duplicates=False,
        answers_refused_queues=False,
        keeps_after_options=False,
        makes_queue_without_id=True,
        answers_information_alike=True,
        reads_queue_id_header=False,
        filters_by_target=False,
        updates_from_channel=False,
        marks_answers_to_events=False,
        marks_confirmations=False,
        takes_star_filter=False,
        sends_on_every_update=False,
        marks_again=False,
        has_limits=False,
        reports_options_of_queue=False,
        stopped_is_unauthorized=True,
        refuses_by_acknowledgement=False,
        acknowledges_when_asked=False,
        gives_ids=True,
        keeps_cached=False,
        serves_caches=False,
        counts_what_there_is=False,
        loses_one_after_pull=True,
        describes_missing_queues=False,
        addresses_copies=False,
        skips_bad_copies=False,
        waits_for_acknowledge=False,
        decides_when_sent=False,
        turns_by_count=False,
        keeps_awaited_when_stopped=False,
        acknowledges_by_connection=False,
        copies_what_is_nowhere=False,
        sends_put_backs=False,
        reports_timeouts=False,
        reports_queue_of_message=False,
        describes_events=False,
        addresses_channel_events=False,
        answers_for_routers=False,
        reports_last_state=False,
        counts_settled=False,
        answers_unknown_events=False,
        keeps_subscriptions=False,
        reports_unknown_clients=True,
        never_sends_dead_messages=False,
    ),
}
