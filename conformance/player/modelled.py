"""Holds a case to the model of the document: replies that it does not allow, and pushes that are due."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from wireproof.conformance.model.outcome import BY_MODEL, Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.model.wording import describe
from wireproof.conformance.player.connections import ActionGenerator, CaseConnections
from wireproof.conformance.player.document_model import DocumentJudge
from wireproof.conformance.player.sending import encoded
from wireproof.conformance.suite.declared import load_parameters, server_options
from wireproof.conformance.suite.documents import vectors_root
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import Message, Push
from wireproof.reference_server.model import Disagreement
from wireproof.reference_server.registry import model_settings

__all__ = ["allowed", "judge_of", "settle_all", "settle_pushes", "settle_step"]


def judge_of(symbols: Symbols) -> DocumentJudge:
    """Return a judge for one case; others may use the server meanwhile. Raises ValueError without a model."""
    return DocumentJudge(
        symbols.protocol.name,
        profile=symbols.profile,
        variant=symbols.variant,
        tolerance_ns=round(float(symbols.number("TOLERANCE", "")) * 1e9),
        shared=True,
        options={
            **{one: symbols.number(name) for one, name in _parameters_of_model(symbols.protocol.name).items()},
            **_set_up_for_model(symbols.protocol.name),
        },
    )


@cache
def _parameters_of_model(protocol: str) -> Mapping[str, str]:
    """Return option of the server -> the parameter that sets it, of those that the model asks for."""
    known = load_parameters(vectors_root() / protocol / "parameters.yaml")
    wanted = model_settings(protocol)
    return {one.option: name for name, one in known.items() if one.option in wanted}


@cache
def _set_up_for_model(protocol: str) -> Mapping[str, Any]:
    """Return the options that every server for these cases has (accounts, say), of those that the model asks for."""
    wanted = model_settings(protocol)
    return {name: value for name, value in server_options(protocol).items() if name in wanted}


def allowed(talk: CaseConnections, found: Disagreement | None) -> None:
    """Raise `Stopped` for what no reading of the document allows."""
    if found is not None:
        talk.clause = found.clause or talk.clause
        raise Stopped(Verdict.FAIL, BY_MODEL, found.detail)


def settle_pushes(talk: CaseConnections, judge: DocumentJudge) -> ActionGenerator[None]:
    """Take the pushes that are still due, and answers where the model expects them likewise.

    Raises `Stopped` for one that does not come.
    """
    expected = Message if judge.expects_answers else Push
    for line in talk.lines.values():
        while (due := judge.due(line.name)) is not None:
            talk.reply_to = "PUSH"
            event = yield from talk.event(line, talk.timeout)
            if not isinstance(event, expected):
                allowed(talk, judge.missing(line.name))
                raise Stopped(Verdict.FAIL, due, describe(event) if isinstance(event, Message) else "nothing")
            allowed(talk, judge.received(line.name, event, talk.now_ns))
            if judge.expects_answers and not judge.settles_by_request:
                allowed(talk, judge.unexpected(talk.now_ns))


def settle_step(talk: CaseConnections, judge: DocumentJudge) -> ActionGenerator[None]:
    """Take what a step causes, where the model expects answers as it does pushes. Raises `Stopped` as `settle_all`.

    What is due comes first: a request on another connection says nothing of what was not answered when it was sent.
    """
    yield from settle_pushes(talk, judge)
    if judge.settles_by_request:
        yield from settle_all(talk, judge)
        allowed(talk, judge.unexpected(talk.now_ns))


def settle_all(talk: CaseConnections, judge: DocumentJudge) -> ActionGenerator[None]:
    """Ask on every connection what is answered at once, and take what is due: what else came has come before.

    Raises `Stopped` for what does not come and for what nothing explains.
    """
    for line in list(talk.lines.values()):
        if line.ended is None and line.codec.settled:
            request = line.link.sync_request()
            judge.asked(line.name, request, talk.now_ns)
            yield from talk.write(line, [*talk.noops_before(line), encoded(talk, line, request)])
    yield from settle_pushes(talk, judge)
