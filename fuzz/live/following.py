"""The model of the whole server follows a play while its trace grows: what must come, to whom, and what else came.

It is the model of `fuzz machine` and `fuzz store`. It follows as far as a trace shows in which order the server worked.
"""

# What it follows. A script is played "in turn" where steps that wait for no time stand between those of different
# connections (`mutators.in_turn`): at each of them the play reads until nothing is due any more. So the order in which
# the server handled the requests of several connections is known, as it is in the state machine, and the model says who
# must be pushed what.
#
# Where it stops. The rest of a play is not followed once the order is not known (a request on one connection while
# another one has none of its answers yet), once something other than a whole request is sent, once a connection ends
# with requests under way, and at whatever the model cannot know: TLS, datagrams, readers that do not read, names that
# others may hold where it begins with an empty server. What was due before must still come; nothing else is judged.
#
# Which server. Accounts and limits of a target are not known. Where they decide, a play is judged as by a server that
# is set up as for the cases, and as by a default one, and what only one of them would do otherwise is no report.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wireproof.conformance.model.actions import Open
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.player.document_model import DocumentJudge
from wireproof.conformance.run import reference_target
from wireproof.fuzz.live.canaries import is_marked
from wireproof.protocols import Message, Push, Request
from wireproof.reference_server.model import CarryingModel, Disagreement, SharedModel, Window

if TYPE_CHECKING:
    from wireproof.fuzz.live.context import FuzzContext
    from wireproof.fuzz.live.exchanges import PlayedConnection
    from wireproof.fuzz.script import Script

__all__ = ["LARGE", "TOLERANCE_NS", "Follower", "follower", "is_large", "may_be_followed"]

TOLERANCE_NS = 250 * 10**6
"""How late a live server may be, ns."""
BY_TARGET, BY_SCRIPT = (Kind.ENDED, Kind.RESET), (Kind.CLOSED, Kind.HALF_CLOSED)
LARGE = 1024
"""Size in bytes from which a server may refuse a name or value, or a request that is not whole."""


def is_large(request: Request) -> bool:
    """Return whether a server may refuse a request for the size of a name or value."""
    values = (getattr(request, name) for name in request.__struct_fields__)
    return any(isinstance(value, bytes) and len(value) >= LARGE for value in values)


def may_be_followed(script: Script) -> bool:
    """Return whether every client of a script reads what comes."""
    return not any(one.unread for one in script if isinstance(one, Open))


def follower(context: FuzzContext, *, bare: bool) -> Follower | None:
    """Return a model that follows a play; None if the protocol has none.

    `bare`: the model of a server in its default configuration, instead of one that is set up as for the cases.
    """
    options = {} if bare else reference_target.options(context.name)
    try:
        judge = DocumentJudge(
            context.name,
            profile=context.profile,
            variant=context.variant,
            tolerance_ns=TOLERANCE_NS,
            shared=True,
            options=options,
        )
    except ValueError:
        return None
    return Follower(context, judge, bare)


@dataclass
class Follower:
    """Follows the connections of one play."""

    context: FuzzContext
    judge: DocumentJudge
    is_bare: bool
    """Whether the model is that of a server in its default configuration."""
    has_stopped: bool = False
    """Whether nothing more is asked of the model: only what was due is waited for."""
    found: tuple[str, Disagreement] | None = None
    """What the model does not allow, and the oracle that says so."""
    _open: dict[str, PlayedConnection] = field(default_factory=dict)
    _early: list[tuple[PlayedConnection, Message]] = field(default_factory=list)
    """Pushes that came before the answer to what caused them was read."""
    _requests: dict[str, int] = field(default_factory=dict)
    _messages: dict[str, int] = field(default_factory=dict)
    """Connection -> how many requests and messages were followed."""
    _now: int = 0

    def __post_init__(self) -> None:
        model: Any = self.judge.model
        self._knows_others = isinstance(model, SharedModel)
        if self._knows_others:
            model.shares(is_marked)

    def see(self, event: TraceEvent, line: PlayedConnection | None) -> None:
        """Follow the next event of a trace, on that connection."""
        self._now = event.at_us * 1000
        if self.found is not None or (self.has_stopped and event.kind is not Kind.RECEIVED):
            return
        if line is None or event.kind is Kind.WAITED:
            self.judge.passed(self._now)
        elif line.link.transport != "stream":
            self.has_stopped |= event.kind is Kind.SENT
        elif event.kind is Kind.OPENED:
            self._opened(line, event)
        elif self._open.get(line.name) is line:
            self._followers.get(event.kind, self._stop)(line)

    @cached_property
    def _followers(self) -> Mapping[Kind, Callable[[PlayedConnection], None]]:
        """What follows each kind of event."""
        ended, left = dict.fromkeys(BY_TARGET, self._ended), dict.fromkeys(BY_SCRIPT, self._left)
        return {Kind.SENT: self._sent, Kind.RECEIVED: self._received, Kind.SILENT: self._silent, **ended, **left}

    def _stop(self, line: PlayedConnection) -> None:
        self.has_stopped = True

    def _silent(self, line: PlayedConnection) -> None:
        self.has_stopped |= line.lost

    def others_publish(self) -> None:
        """Take it that from now on pushes may come of what the play itself asks."""
        self.settled()
        self.has_stopped = True

    def _opened(self, line: PlayedConnection, event: TraceEvent) -> None:
        port = int(event.data) if event.data.isdigit() else None
        self._open[line.name] = line
        self._requests[line.name] = self._messages[line.name] = 0
        self.judge.connected(line.name, port, Window(self._now, self._now), event.link)

    def awaited(self) -> PlayedConnection | None:
        """Return a connection on which something is due: an answer first, since it says what must be pushed to whom.

        Once the model has stopped, what was due before is; nothing is once something was found, as no more is followed,
        or where the connection is over.
        """
        if self.found is not None:
            return None
        still_open = [line for line in self._open.values() if not line.is_over]
        if self.has_stopped:
            self._take_early()
            left = () if self.judge.expects_answers else still_open
            return next((line for line in left if not line.is_given_up and self._is_pushed_to(line.name)), None)
        answers = (line for line in still_open if self.judge.unanswered(line.name) is not None)
        return next(answers, None) or next((line for line in still_open if self._is_due(line.name)), None)

    def _is_due(self, name: str) -> bool:
        return self.judge.unanswered(name) is not None or self.judge.due(name) is not None

    def _is_under_way(self, name: str) -> bool:
        """Return whether it is not known yet that the server has handled what was asked on a connection."""
        is_expected = self.judge.expects_answers and self.judge.due(name) is not None
        return is_expected or self.judge.unanswered(name) is not None

    def missed(self, line: PlayedConnection) -> None:
        """Take that nothing came in time on a connection where something is due; other oracles judge answers."""
        line.is_given_up = True
        if self._open.get(line.name) is not line:
            return
        unanswered = self.judge.unanswered(line.name)
        if self.found is None and unanswered is None:
            self._miss(line.name)
        self.has_stopped |= self._is_due(line.name)
        if unanswered is not None and unanswered.NAME in self.context.optional:
            self.context.left_open.add(unanswered.NAME)

    def settled(self) -> None:
        """Judge what came once nothing is due."""
        if self.found is None and not self.has_stopped:
            self._judge("pushes agree with the model", self.judge.unexpected(self._now))

    def finish(self) -> None:
        """Judge the end of a play, in which all that is due had its time."""
        self._take_early()
        was_waited_for = not (self.has_stopped and self.judge.expects_answers)
        for name, line in self._open.items():
            if self.found is None and line.ended is None and was_waited_for:
                self._miss(name)
        self.settled()

    def _is_pushed_to(self, name: str) -> bool:
        return self.judge.unanswered(name) is None and self.judge.due(name) is not None

    def _miss(self, name: str) -> None:
        if self._is_pushed_to(name):
            self._judge("every push arrives", self.judge.missing(name))

    def _judge(self, oracle: str, found: Disagreement | None, request: Request | None = None) -> None:
        """Keep what the model does not allow; what is known is passed over, if the rest can still be judged."""
        if found is None:
            return
        if (oracle, found.shape) not in self.context.known:
            self.found = oracle, found
            return
        model: Any = self.judge.model
        self.has_stopped |= not (isinstance(model, SharedModel) and model.forgets(request))

    def _sent(self, line: PlayedConnection) -> None:
        """Follow the requests that are whole now."""
        asked = list(self._new_requests(line))
        before = self.judge.unanswered(line.name)
        under_way = [before, *asked] if before is not None else asked
        is_unsure = len(under_way) > 1 and any(one.NAME in self.context.optional for one in under_way)
        others = [other for name, other in self._open.items() if name != line.name]
        is_open = any(self._is_under_way(other.name) or other.unfinished for other in others)
        if is_open or is_unsure or not line.is_asked_well or not all(map(self._is_known, asked)):
            self.has_stopped = True
            return
        for request in asked:
            self.judge.asked(line.name, request, self._now)

    def _new_requests(self, line: PlayedConnection) -> Iterator[Request]:
        known = self._requests[line.name]
        new = line.requests[known:]
        self._requests[line.name] = known + len(new)
        yield from new

    def _is_known(self, request: Request) -> bool:
        """Return whether a request is followed: not where any answer is right, or names may be held by others.

        Nor one that is large, where no answer has to say that it was refused.
        """
        if request.NAME in self.context.optional and not self._may_be_believed(request):
            return False
        if self.judge.expects_answers and is_large(request):
            return False
        if self._knows_others:
            return True
        names = (getattr(request, name, b"") for name in self.context.symbols.protocol.named_by)
        return all(is_marked(name) for name in names if isinstance(name, bytes) and name)

    def _may_be_believed(self, request: Request) -> bool:
        """Return whether a request that may be answered in any way is followed: its answer may show what was done."""
        carriers = {type(one) for one, _ in self.context.carriers}
        return self._knows_others and type(request) in carriers and request.NAME not in self.context.left_open

    def _received(self, line: PlayedConnection) -> None:
        """Follow the messages that are whole now; once it has stopped, pushes alone."""
        known = self._messages[line.name]
        new = line.messages[known:]
        self._messages[line.name] = known + len(new)
        if line.broken is not None or line.is_ambiguous:
            self.has_stopped = True
        for message, _ in new:
            is_push = isinstance(message, Push) or self.judge.expects_answers
            if not is_push and (self.has_stopped or self.judge.unanswered(line.name) is None):
                self.has_stopped = True
                continue
            is_early = self._is_anything_unanswered and not self.has_stopped
            if is_push and not self.judge.expects_answers and is_early:
                self._early.append((line, message))
                continue
            self._take(line, message)
            if self.found is not None:
                return
        if not self._is_anything_unanswered:
            self._take_early()

    @property
    def _is_anything_unanswered(self) -> bool:
        return any(self.judge.unanswered(name) is not None for name in self._open)

    def _take_early(self) -> None:
        early, self._early = self._early, []
        for line, message in early:
            if self._open.get(line.name) is line:
                self._take(line, message)

    def _take(self, line: PlayedConnection, message: Message) -> None:
        request = self.judge.unanswered(line.name)
        found = self.judge.received(line.name, message, self._now)
        if request is not None and request.NAME in self.context.optional and not isinstance(message, Push):
            model: Any = self.judge.model
            if not (isinstance(model, CarryingModel) and model.performed(request, message)):
                self.has_stopped = True
                return
        self._judge("answers agree with the model", found, request)

    def _ended(self, line: PlayedConnection) -> None:
        """Follow that the target ended a connection; whether it may have is for another oracle to say."""
        if self.judge.ended(line.name, self._now) is not None or self._is_due(line.name):
            self.has_stopped = True
        self._forget(line)

    def _left(self, line: PlayedConnection) -> None:
        """Follow that the script left a connection: when the target sees it is not known to a model without times."""
        if self._is_due(line.name) or not line.is_asked_well or self.context.by_state:
            self.has_stopped = True
        self._forget(line)

    def _forget(self, line: PlayedConnection) -> None:
        del self._open[line.name]
        self.judge.closed(line.name, Window(self._now, self._now))
