"""Mutants that behave in one rule as the released server does, or the other way round."""

from __future__ import annotations

from wireproof.mutants.tmqp.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]


def flipped(rule: str, description: str, clauses: str, *, value: bool = False) -> ServerMutant:
    """Return a mutant of the document's server with one rule otherwise."""
    return mutant(f"rule-{rule.replace('_', '-')}", description, clauses, rules={rule: value}, profiles=("doc",))


MUTANTS: tuple[ServerMutant, ...] = (
    flipped("answers_protocol_at_once", "The eight bytes are answered with the first frame.", "PROTOCOL-3 PROTOCOL-5 HELLO-11"),
    flipped("takes_old_version", "TMQ/1.01 is accepted, too.", "PROTOCOL-2", value=True),
    flipped("refuses_without_hello", "A first frame that is no HELLO is ignored.", "HELLO-10"),
    flipped("reports_duplicate_clients", "A taken Client-Id is refused without a word, and only without a space.", "HELLO-7"),
    flipped("takes_repeated_properties", "A property that is named twice closes the connection.", "HELLO-9"),
    flipped("takes_empty_hello", "A HELLO without text closes the connection.", "HELLO-3 HELLO-1 PROTOCOL-3"),
    flipped("answers_as_asked", "Operations are answered by responses only, some without being asked.", "RESPONSE-4 RESPONSE-7 EVENT-1 RESPONSE-6"),
    flipped("answers_bad_requests", "What cannot be done closes the connection.",
            "CREATE_CHANNEL-4 CREATE_CHANNEL-5 CREATE_CHANNEL-7 CREATE_QUEUE-8 PULL-8 HELLO-8 CREATE_QUEUE-3 RESPONSE-1 RESPONSE-4 RESPONSE-6 RESPONSE-8"),
    flipped("answers_duplicates", "To create a channel that exists is answered by nothing.", "CREATE_CHANNEL-2"),
    flipped("answers_refused_queues", "To create a queue that is not allowed is answered by nothing.", "CREATE_QUEUE-6"),
    flipped("keeps_after_options", "To create a channel with options closes the connection.",
            "CREATE_CHANNEL-6 CREATE_QUEUE-6 JOIN-4"),
    flipped("reads_queue_id_header", "Queues to delete or describe are named by their payload.",
            "DELETE_QUEUE-1 QUEUE_INFO-1 QUEUE_INFO-4 UPDATE_QUEUE-3 PULL-13"),
    flipped("filters_by_target", "The filter of channels is a header.", "LIST_CHANNELS-2"),
    flipped("has_limits", "Limits in options do not count.", "LIMIT-1 JOIN-4 CREATE_CHANNEL-6 QUEUE_INFO-4 CREATE_QUEUE-6"),
    flipped("reports_options_of_queue", "The options told of a queue are its channel's.", "QUEUE_INFO-4 UPDATE_QUEUE-3"),
    flipped("refuses_by_acknowledgement", "A refused push is answered by a response, whatever was asked for.", "PRODUCE-5"),
    flipped("acknowledges_when_asked", "Every push with an id is acknowledged.", "PRODUCE-7"),
    flipped("makes_queue_without_id", "To create a queue without its id makes queue 0, too.", "CREATE_QUEUE-3", value=True),
    flipped("leaves_out_ids", "A message without an id gets one whatever UseMessageId says.", "MESSAGE-6"),
    flipped("counts_cached", "The message of a CACHE queue is not counted.", "CACHE-1 QUEUE_INFO-3 QUEUE_INFO-5 STOPPED-2 NOTIFICATION-5"),
    flipped("serves_caches", "A pull from a cache is unacceptable.", "CACHE-2 CACHE-3 CACHE-1"),
    flipped("counts_what_there_is", "Pulled messages say how many were asked for.", "PULL-4"),
    flipped("loses_one_after_pull", "A pull that is served in full drops one message more.", "PULL-15 PULL-13 PULL-3", value=True),
    flipped("describes_missing_queues", "A pull from nothing is answered by a response.", "PULL-10"),
    flipped("addresses_channel_events", "ChannelCreated and ChannelRemoved have no target.", "NOTIFICATION-1 NOTIFICATION-3"),
    flipped("answers_for_routers", "What a router acknowledges is an answer to what its clients were sent.", "ROUTE-5 ROUTE-1 ROUTE-4"),
    flipped("addresses_copies", "A copy names the channel and queue of the original.", "COPY-2 COPY-1"),
    flipped("waits_for_acknowledge", "WaitForAcknowledge does nothing.", "ACKNOWLEDGE-4"),
    mutant("rule-reports-last-state-released", "QueueRemoved names the state that the queue had.", "NOTIFICATION-5",
           rules={"reports_last_state": True}, profiles=("twino-3.0.0",)),
    mutant("rule-keeps-after-options-released", "Who creates a channel with options stays connected.", "CREATE_CHANNEL-10",
           rules={"keeps_after_options": True}, profiles=("twino-3.0.0",)),
)  # fmt: skip
