"""Legal servers that look unlike the reference: no MUST or SHOULD case may fail one of them."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.edits import Edit, edit
from wireproof.mutants.tmqp.server.mutant import ServerMutant, mutant
from wireproof.mutants.tmqp.server.walked import ONE_OF_AN_ID

__all__ = ["CONFORMING"]


def legal(name: str, description: str, *edits: Edit, **patches: Any) -> ServerMutant:
    """Return a variant."""
    return mutant(f"legal-{name}", description, "", *edits, **patches)


CONFORMING: tuple[ServerMutant, ...] = (
    legal("without-hints", "Notifications have no headers.", rules={"describes_events": False}),
    legal("events-unknown-silent", "A subscription to an event that does not exist is not answered.",
          rules={"answers_unknown_events": False}),
    legal("timeouts-silent", "A missing acknowledgement is not reported.", rules={"reports_timeouts": False}),
    legal("short-ids", "Ids that the server makes are counted.",
          edit("state.State.new_id", "return self._ids().hex().encode()", "self.made = vars(self).get('made', 0) + 1",
               'return b"id-%d" % self.made')),
    legal("bad-requests-are-400", "Bad names are answered 400.",
          edit("Operations.create_channel", "ResultCode.UNACCEPTABLE", "ResultCode.BAD_REQUEST"), profiles=("doc",)),
    legal("written-byte-by-byte", "Frames are written byte by byte.",
          edit("StreamSession.flush", "self._write(data)", "[self._write(data[at : at + 1]) for at in range(len(data))]")),
    legal("pascal-states", "States are written as in events.",
          edit("QueueOperations._described", "status_name(settings.status).lower()", "status_name(settings.status)")),
    legal("more-in-json", "JSON bodies have unknown members.",
          edit("state.State.answer", "payload=payload,", 'payload=payload.replace(b\'{"\', b\'{"Own":[1],"\'),')),
    legal("one-answer", "With both flags only the response comes.",
          edit("state.State.answer", "if request.pending_ack:", "if request.pending_ack and not request.pending_response:"),
          profiles=("doc",)),
    legal("told-in-acknowledgements", "What an operation reports is in its acknowledgement too.",
          edit("state.State.answer", "answers.append(self._confirmation(request, client.id, code, code))",
               "answers.append(replace(self._confirmation(request, client.id, code, code), payload=payload))"), profiles=("doc",)),
    legal("names-null", "Names and types that clients did not send are null.",
          edit("Events.of_member", "text(client.name), text(client.type)", "text(client.name) or None, text(client.type) or None")),
    legal("ids-of-routers", "What a router sends to clients that nobody must answer has an id of its own.",
          edit("Routing._is_served", "message = replace(message, target=target,",
               "message = replace(message, id=message.id if any(flags) and message.id else state.new_id(), target=target,"),
          profiles=("doc",)),
    legal("one-of-an-id", "Of two messages with one id that a client was sent, the last one alone is waited for.",
          ONE_OF_AN_ID, profiles=("doc",)),
    legal("refused-with-one", "A full queue is refused with another code.",
          edit("Pushing.push", "return refused", "return ResultCode.FAILED if refused == ResultCode.LIMIT_EXCEEDED else refused")),
)  # fmt: skip
