"""Mutants that behave in one rule as the released server does, or the other way round."""

from __future__ import annotations

from wireproof.mutants.edits import edit
from wireproof.mutants.tmqp.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]


def flipped(rule: str, description: str, clauses: str, *, value: bool = False) -> ServerMutant:
    """Return a mutant of the document's server with one rule otherwise."""
    return mutant(f"rule-{rule.replace('_', '-')}", description, clauses, rules={rule: value}, profiles=("doc",))


def documents(rule: str, description: str, clauses: str, *, value: bool = True) -> ServerMutant:
    """Return a mutant of the released server that goes by the document in one rule."""
    name = f"rule-{rule.replace('_', '-')}-released"
    return mutant(name, description, clauses, rules={rule: value}, profiles=("twino-3.0.0",))


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
    flipped("has_limits", "Limits in options do not count.", "LIMIT-1 JOIN-4 CREATE_CHANNEL-6 QUEUE_INFO-4 CREATE_QUEUE-6 LEAVE-3"),
    flipped("reports_options_of_queue", "The options reported of a queue are its channel's.", "QUEUE_INFO-4 UPDATE_QUEUE-3"),
    flipped("refuses_by_acknowledgement", "A refused push is answered by a response, whatever was asked for.", "PRODUCE-5"),
    flipped("acknowledges_when_asked", "Every push with an id is acknowledged.", "PRODUCE-7"),
    flipped("makes_queue_without_id", "To create a queue without its id makes queue 0, too.", "CREATE_QUEUE-3", value=True),
    mutant("id-whatever-options-say", "A message without an id gets one whatever UseMessageId says.", "MESSAGE-6",
           edit("Pushing.push", "if not request.id and settings.use_id:", "if not request.id:"), profiles=("doc",)),
    mutant("cached-not-counted", "The message of a CACHE queue is not counted.", "CACHE-1 QUEUE_INFO-3 QUEUE_INFO-5 STOPPED-2 NOTIFICATION-5",
           edit("QueueOperations._described", "Messages=queue.normal", "Messages=0 if settings.status == 4 else queue.normal"), profiles=("doc",)),
    flipped("serves_caches", "A pull from a cache is unacceptable.", "CACHE-2 CACHE-3 CACHE-1"),
    flipped("counts_what_there_is", "Pulled messages say how many were asked for.", "PULL-4"),
    flipped("loses_one_after_pull", "A pull that is served in full drops one message more.", "PULL-15 PULL-13 PULL-3", value=True),
    flipped("describes_missing_queues", "A pull from nothing is answered by a response.", "PULL-10"),
    flipped("addresses_channel_events", "ChannelCreated and ChannelRemoved have no target.", "NOTIFICATION-1 NOTIFICATION-3"),
    flipped("answers_for_routers", "What a router acknowledges is an answer to what its clients were sent.", "ROUTE-5 ROUTE-1 ROUTE-4"),
    flipped("addresses_copies", "A copy names the channel and queue of the original.", "COPY-2 COPY-1"),
    flipped("waits_for_acknowledge", "WaitForAcknowledge does nothing.", "ACKNOWLEDGE-4"),
    documents("reports_last_state", "QueueRemoved names the state that the queue had.", "NOTIFICATION-5"),
    documents("keeps_after_options", "Who creates a channel with options stays connected.", "CREATE_CHANNEL-10"),
    documents("gives_ids", "Only messages of queues are given an id.", "FRAME-11", value=False),
    documents("answers_information_alike", "An operation that asks for information is answered with pending response alone.",
              "RESPONSE-10", value=False),
    documents("updates_from_channel", "Options that an update leaves out are the channel's again.", "UPDATE_QUEUE-4"),
    documents("keeps_cached", "A CACHE queue keeps the newest message.", "CACHE-4"),
    documents("addresses_copies", "A copy names its own channel and queue.", "COPY-5 NOTIFICATION-8"),
    documents("reports_queue_of_message", "MessageProduced of a copy names the queue that it went into.", "NOTIFICATION-8"),
    documents("marks_answers_to_events", "The answer to EVENT has the mark and the priority of its request.", "EVENT-7"),
    documents("keeps_subscriptions", "A subscription outlives its queue and its channel.", "EVENT-8"),
    documents("reports_unknown_clients", "A message to an id of nobody is answered as its flags ask.", "SEND_DIRECT-6 FRAME-11", value=False),
    documents("takes_star_filter", "The filter * is passed by all.", "LIST_CHANNELS-4"),
    documents("sends_on_every_update", "Every update sends what is stored.", "UPDATE_QUEUE-5"),
    documents("decides_when_sent", "Whether names are hidden and consumers must acknowledge is decided when a message is sent.", "MESSAGE-7"),
    documents("turns_by_count", "The turns of a ROUND_ROBIN queue are counted, whoever came or left.", "ROUND_ROBIN-3"),
    documents("keeps_awaited_when_stopped", "A queue that stops still waits for acknowledgements.", "STOPPED-3"),
    documents("acknowledges_by_connection", "A client that came again cannot acknowledge what it was sent before.", "ACKNOWLEDGE-7"),
    documents("copies_what_is_nowhere", "What goes into an absent queue is copied all the same.", "COPY-6"),
    documents("answers_duplicates", "To create a channel that exists is answered 481.", "CREATE_CHANNEL-3"),
    documents("describes_missing_queues", "A pull from nothing is answered by an empty message.", "PULL-11 FRAME-11"),
    documents("refuses_without_hello", "A first frame that is no HELLO closes the connection.", "HELLO-15"),
    documents("answers_bad_requests", "What cannot be done is refused with a failure.", "CREATE_QUEUE-12 DELETE_QUEUE-4 PULL-17 CREATE_CHANNEL-11"),
    documents("reports_options_of_queue", "The options told of a queue are its own.", "QUEUE_INFO-8"),
    documents("waits_for_acknowledge", "WaitForAcknowledge holds the next message back.", "ACKNOWLEDGE-9"),
    documents("answers_unknown_events", "A subscription to an event that does not exist is answered.", "EVENT-9"),
    documents("has_limits", "MessageLimit counts.", "LIMIT-2"),
    documents("sends_put_backs", "What is put back is sent at once.", "ACKNOWLEDGE-6"),
    mutant("count-of-words-refused", "A PULL whose Count is no number is answered Unacceptable.", "PULL-17",
           edit("Messaging._served", "not self._state.rules.answers_bad_requests", "False"), profiles=("twino-3.0.0",)),
    mutant("refused-is-not-copied", "What a STOPPED queue refuses is not copied.", "COPY-6",
           edit("Messaging.produce", "code != ResultCode.NOT_FOUND", "not code"), profiles=("twino-3.0.0",)),
    mutant("turns-go-on", "The turns of a queue go on though it was in another state meanwhile.", "ROUND_ROBIN-3",
           edit("queue.Queue.change", "self._turn = 0", "pass"), profiles=("twino-3.0.0",)),
    mutant("names-always-answered", "A message to a name of nobody is answered 404 whatever its flags.", "SEND_DIRECT-6",
           edit("Direct.send_direct", "always = is_id and ", "always = "), profiles=("twino-3.0.0",)),
    mutant("absent-answered-when-asked", "A channel that is absent is reported with pending response alone.", "RESPONSE-11",
           edit("Operations._found", "always=always", "always=False"), profiles=("twino-3.0.0",)),
    mutant("absent-always-answered", "An update of what is absent is answered whatever its flags are.", "RESPONSE-11",
           edit("QueueOperations._found", "session, always=by_payload", "session, always=True"), profiles=("twino-3.0.0",)),
)  # fmt: skip
