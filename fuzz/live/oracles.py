"""Oracles: what is wrong whatever was sent, each a plain function of a play; docs/fuzzing.md lists them.

They require replies only to valid requests on connections that the script did not cut short.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty, Level
from wireproof.conformance.monitor.monitor import monitored
from wireproof.conformance.run.processes import Usage
from wireproof.conformance.suite.cases import load_suite
from wireproof.conformance.verdict.causes import signature
from wireproof.conformance.verdict.last_words import in_frame, last_words
from wireproof.fuzz.live.exchanges import BY_TARGET, PlayedConnection, lines
from wireproof.fuzz.live.execution import sync_request_of
from wireproof.fuzz.live.following import LARGE, is_large
from wireproof.fuzz.live.observation import Play, Suspicion, normalised
from wireproof.fuzz.live.reply_oracles import disagreement, leak, unlike_the_model
from wireproof.fuzz.live.simulated_plays import simulated
from wireproof.fuzz.script import size

__all__ = ["ANSWERED", "NEEDS_FRESH_PROCESS", "ORACLES", "SAMPLED", "SERVED", "SERVED_ON", "STAYS", "WAITS", "judged"]

STAYS = "the process stays"
"""The oracle of how a process ends."""
SERVED = "others are served"
"""The oracle that a slow machine breaks, too."""
SERVED_ON = "a connection is served on"
ANSWERED = "every request is answered"
WAITS = frozenset({SERVED, SERVED_ON})
"""Oracles that report what did not come in time."""
Oracle = Callable[[Play], Suspicion | None]
SANITIZER = re.compile(r"ERROR: \w*Sanitizer|SUMMARY: \w*Sanitizer|runtime error:")
GROWTH = 32 << 20
"""Bytes by which a process may grow beyond the allowance for what it was sent."""
RESERVED_BY_SANITIZERS = 1 << 42
"""Bytes of addresses that only a process with a sanitizer reserves, for its shadow."""
FREED_IS_KEPT = 256 << 20
"""Bytes that are freed and not given back by a sanitizer, which wants to see their use."""
SANITIZED = 4
"""How many times more a record takes there, with what lies around it."""
A_BYTE_TAKES = 64
"""Bytes of memory allowed for one byte sent: a record of a few bytes is an object with a timer."""
SPIN = 0.2
"""CPU seconds a second that no idle server takes; a spinning one may get no more on a busy machine."""


def sanitizer(play: Play) -> Suspicion | None:
    """Report a line that a sanitizer printed."""
    reports = [line for line in play.words if SANITIZER.search(line)]
    if not reports:
        return None
    line = next((one for one in reports if "SUMMARY" in one), reports[0])
    words = last_words("\n".join(play.words))
    place = f" in {words.frame}" if words.frame and words.frame not in line else ""
    shape = f"{_kind_of_report(words.line or line)} in {words.frame}" if words.frame else _kind_of_report(line)
    return Suspicion("a sanitizer is silent", line.strip() + place, normalised(shape))


def _kind_of_report(line: str) -> str:
    """Return what a line of a sanitizer names, without the place."""
    line = line.partition("SUMMARY:")[2] or line
    return line.partition("runtime error:")[2] or line


def death(play: Play) -> Suspicion | None:
    """Report that the process ended."""
    if play.death is None:
        return None
    words = last_words("\n".join(play.words))
    how, cause = signature({"death": play.death, **words.extra})
    reported = f": {words.line}{in_frame(words.extra)}" if words.line and cause else ""
    shape = " | ".join(filter(None, (how, normalised(cause))))
    return Suspicion(STAYS, f"the server {play.death}{reported}"[:400], shape, is_wordless=not cause)


def hang(play: Play) -> Suspicion | None:
    """Report that a new connection is not served."""
    if play.death is not None or play.serves:
        return None
    if play.probe is None:
        return Suspicion(SERVED, "no new connection is taken", "no connection", is_wordless=True)
    how = f"ended ({play.probe.ended})" if play.probe.ended else f"unanswered for {play.patience:g} s"
    return Suspicion(SERVED, f"a new connection with one request is {how}", how.split(" ", 1)[0], is_wordless=True)


def datagrams(play: Play) -> Suspicion | None:
    """Report that a datagram which must be answered is not."""
    if play.death is not None or not play.serves or play.serves_datagrams:
        return None
    return Suspicion("datagrams are served", f"a datagram is unanswered for {play.patience:g} s", "datagram")


def _undisturbed(play: Play) -> Iterator[PlayedConnection]:
    """Yield the connections on which every reply is required: those whose replies come in order."""
    if hang(play) is None and play.death is None:
        for one in play.lines:
            if one.valid and one.clear and one.link.answers_in_order and not one.asks_what_is_optional:
                yield one


def _first_due(line: PlayedConnection) -> str:
    return line.answerable[len(line.answered)].NAME


def stuck(play: Play) -> Suspicion | None:
    """Report a connection that is not served while others are."""
    for line in _undisturbed(play):
        if line.ended is None and line.due > 0 and line.last is Kind.SILENT:
            detail = f"connection {line.name}: {len(line.answered)} requests answered, then nothing; others are served"
            after = line.answered[-1][0].NAME if line.answered else ""
            about = _first_due(line), ""
            return Suspicion(SERVED_ON, detail, "", about=about, after=after, is_wordless=True)
    return None


def lost(play: Play) -> Suspicion | None:
    """Report fewer replies than requests on a connection that continues."""
    for line in _undisturbed(play):
        asked_again = line.requests[-1:] == [sync_request_of(line)]
        if asked_again and line.ended is None and line.due > 0 and line.last is Kind.RECEIVED:
            detail = f"connection {line.name}: {line.due} of {len(line.requests)} requests have no reply"
            shape = " ".join(sorted({one.NAME for one in line.requests}))
            return Suspicion(ANSWERED, detail, shape, about=(_first_due(line), ""))
    return None


def ended(play: Play) -> Suspicion | None:
    """Report a connection of valid requests that the target ended and the reference server does not end."""
    gone = [
        line
        for line in _undisturbed(play)
        if line.ended in BY_TARGET
        and line.link.transport == "stream"
        and not line.link.drops_slow_readers
        and line.requests
        and not any(map(is_large, line.requests))
        and not play.context.may_refuse(line.link_name, line.requests)
    ]
    for line in _not_ended_by_reference(play, gone):
        detail = f"connection {line.name} is ended after {len(line.answered)} of {len(line.requests)} valid requests"
        when, name = ("before", _first_due(line)) if line.due > 0 else ("after", line.requests[-1].NAME)
        return Suspicion("valid requests end no connection", detail, f"{when} {name}", about=(name, ""))
    return None


def _not_ended_by_reference(play: Play, gone: list[PlayedConnection]) -> list[PlayedConnection]:
    """Return the connections that no reference server ends: where decoding depends on states it may refuse requests.

    Two configurations are tried: that of the cases (accounts, narrow limits) and the default one.
    """
    for bare in (False, True) if play.context.by_state else ():
        if gone:
            try:
                refused = simulated(play.context, play.script, bare=bare).lines
            except Exception:  # of our own server: what it would do is not known
                return []
            names = {line.name for line in refused if line.ended in BY_TARGET}
            gone = [line for line in gone if line.name not in names]
    return gone


def broken(play: Play) -> Suspicion | None:
    """Report bytes that are no valid reply, as the connection monitor reads both directions.

    Where a request was sent that may be answered in any way, the bytes after it have no sure meaning.
    """
    if play.death is not None:
        return None
    suspects = {one.name for one in lines(play.trace, play.context) if _cannot_be_read(one)}
    if not suspects:
        return None  # the monitor, which is slower, would find nothing
    symbols = play.context.symbols
    events = (event for event in play.trace if event.connection in suspects)
    report = monitored(events, symbols.protocol, symbols.profile, symbols.variant)
    unsure = {line.name for line in play.lines if line.turns_to_tls or line.asks_what_is_optional}
    unsure |= {line.name for line in play.lines if line.unfinished >= LARGE or line.may_be_misread}
    wrong = [one.violation for one in report.connections if one.violation and one.connection not in unsure]
    found = [one for one in wrong if one.side is Guilty.TARGET and not _is_allowed(play, one.clause)]
    if not found:
        return None
    first = min(found, key=lambda one: one.order())
    detail = f"on connection {first.connection}, byte {first.offset} of what came: {first.detail}"
    return Suspicion("replies are well formed", detail, f"{first.error}: {normalised(first.detail)}", first.clause)


def _cannot_be_read(line: PlayedConnection) -> bool:
    """Return whether what came cannot be read to its end: it is wrong, or the target ended it within a message."""
    is_cut = line.is_ended_by_target and not line.clear
    return (is_cut or line.broken is not None) and not line.asks_what_is_optional


def _is_allowed(play: Play, clause: str | None) -> bool:
    """Return whether what breaks the clause is legal all the same: it is a MAY in this profile."""
    known = load_suite(play.context.name).clauses.get(clause or "")
    return known is not None and known.levels.get(play.context.profile) is Level.MAY


def _bounds(before: Usage) -> tuple[int, int]:
    """Return the bytes that a process may grow by, and by how many more for each byte that it is sent."""
    if before.reserved < RESERVED_BY_SANITIZERS:
        return GROWTH, A_BYTE_TAKES
    return GROWTH + FREED_IS_KEPT, SANITIZED * A_BYTE_TAKES


def memory(play: Play) -> Suspicion | None:
    """Report growth of the process beyond what it was sent: since it is measured, or in this play.

    What came before, and may be kept, would hide a play that takes much for little.
    """
    if play.memory is None or play.before is None:
        return None
    grown, here = play.memory - play.before.memory, play.memory - (play.held or play.memory)
    growth, a_byte_takes = _bounds(play.before)
    if grown > growth + a_byte_takes * play.fed:
        detail = f"{grown >> 20} MiB more are taken after {play.fed} bytes were sent"
    elif here > growth + a_byte_takes * play.carried:
        detail = f"{here >> 20} MiB more are taken by one play, in which {size(play.script)} bytes were sent"
    else:
        return None
    return Suspicion("memory is linear in the input", detail, "growth")


def spin(play: Play) -> Suspicion | None:
    """Report CPU use of an idle process."""
    if play.idle_cpu is None or play.idle_cpu <= SPIN or play.death is not None:
        return None
    return Suspicion("an idle server rests", f"{play.idle_cpu:.2f} s of CPU a second with no connection open", "spin")


ORACLES: Mapping[str, Oracle] = {
    one.__name__: one
    for one in (
        sanitizer, death, hang, datagrams, spin, memory, broken, ended, stuck, lost, leak, unlike_the_model,
        disagreement,
    )
}  # fmt: skip
"""Name -> oracle, the most specific first."""
SAMPLED = frozenset({"memory is linear in the input", "an idle server rests"})
"""Oracles that need a measurement of the process."""
NEEDS_FRESH_PROCESS = frozenset({"a sanitizer is silent", "memory is linear in the input", "an idle server rests"})
"""Oracles whose effect lasts as long as the process, so that only a new one can reproduce it."""


def judged(play: Play) -> Iterator[Suspicion]:
    """Yield the report of each oracle that has one, the most specific first: a single cause often triggers several."""
    return filter(None, (oracle(play) for oracle in ORACLES.values()))
