"""Mutants of limits: where they lie, what they count, and when they are looked at."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    counted,
)

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("limit-of-subscribe-one-less", "A SUBSCRIBE of the largest topic length is refused.", "LIMIT-1 SUBSCRIBE-5",
           edit("PsrtSession.met", "Subscribe: topics,", "Subscribe: topics - 1,")),
    mutant("limit-of-subscribe-one-more", "A SUBSCRIBE may be one byte longer than the largest topic length.",
           "LIMIT-2", edit("PsrtSession.met", "Subscribe: topics,", "Subscribe: topics + 1,")),
    mutant("limit-of-unsubscribe-one-less", "An UNSUBSCRIBE of the largest topic length is refused.",
           "LIMIT-3 UNSUBSCRIBE-3", edit("PsrtSession.met", "Unsubscribe: topics,", "Unsubscribe: topics - 1,")),
    mutant("limit-of-unsubscribe-one-more", "An UNSUBSCRIBE may be one byte longer than the largest topic length.",
           "LIMIT-3", edit("PsrtSession.met", "Unsubscribe: topics,", "Unsubscribe: topics + 1,")),
    mutant("limit-of-publish-one-less", "A PUBLISH of the largest size is refused.", "LIMIT-4 MESSAGE-17",
           edit("PsrtSession.met", "Publish: message,", "Publish: message - 1,")),
    mutant("limit-of-publish-one-more", "A PUBLISH may be one byte longer than the largest size.", "LIMIT-5",
           edit("PsrtSession.met", "Publish: message,", "Publish: message + 1,")),
    mutant("limit-of-replication-one-less", "PUBLISH_REPL and its message may be one byte less long.",
           "LIMIT-6 LIMIT-7", edit("PsrtSession.met", "PublishRepl: topics,", "PublishRepl: topics - 1,"),
           edit("PsrtSession.met", "ReplData: message,", "ReplData: message - 1,")),
    mutant("limit-of-replicated-topic-one-more", "A PUBLISH_REPL may be one byte longer than the largest topic length.",
           "LIMIT-6", edit("PsrtSession.met", "PublishRepl: topics,", "PublishRepl: topics + 1,")),
    mutant("limit-of-replicated-message-one-more", "A replicated message may be one byte longer than the largest size.",
           "LIMIT-7", edit("PsrtSession.met", "ReplData: message,", "ReplData: message + 1,")),
    mutant("limit-of-lists-none", "SUBSCRIBE and UNSUBSCRIBE have no limit.", "LIMIT-2 LIMIT-3 ATTACH-15 FRAMING-1",
           edit("PsrtSession.met", "Subscribe: topics,", "Subscribe: 1 << 40,"),
           edit("PsrtSession.met", "Unsubscribe: topics,", "Unsubscribe: 1 << 40,"),
           edit("PsrtSession.met", "max(topics, message) + SPARE", "1 << 50")),
    mutant("limit-of-signed-lengths", "A LEN above 7FFFFFFF counts as 0.",
           "LIMIT-2 LIMIT-3 LIMIT-5 LOGIN-15 FRAMING-2 ATTACH-15 STARTTLS-4 LOGIN-9 PUBLISH-13",
           counted("LEN if LEN < 1 << 31 else 0", "LOGIN", "SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH")),
    mutant("limit-looked-at-late", "Limits are looked at once the request is whole.",
           "LIMIT-2 LIMIT-3 LIMIT-5 LIMIT-6 LIMIT-7 LOGIN-15 ATTACH-15 ROBUSTNESS-3",
           before("PsrtSession.met", "kind: type[ControlServer]",
                  "self.most = {one: most for one, most in {Login: 1024, **limits}.items() if True}; limits |= "
                  "dict.fromkeys(self.most, 1 << 40)"),
           edit("PsrtSession.met", "max(topics, message) + SPARE", "1 << 50"),
           first("PsrtSession.take",
                 "size = len(self.state.codec.encode(request)) - self.state.codec.layout(type(request)).fixed_size",
                 "is_long = size > self.most.get(type(request), 1 << 50)",
                 'if is_long: self.refuse("too long"); return')),
    mutant("limit-passed-is-published", "A PUBLISH that is too long is published before the connection is closed.",
           "LIMIT-5",
           before("PsrtSession.met", "kind: type[ControlServer]",
                  "self.most = {one: most for one, most in {Login: 1024, **limits}.items() if one is Publish}; "
                  "limits |= dict.fromkeys(self.most, 1 << 40)"),
           edit("PsrtSession.met", "max(topics, message) + SPARE", "1 << 50"),
           first("PsrtSession.take",
                 "size = len(self.state.codec.encode(request)) - self.state.codec.layout(type(request)).fixed_size",
                 "is_long = size > self.most.get(type(request), 1 << 50)"),
           after("PsrtSession.take", "self.answer(request, answer)",
                 'if is_long: self._out.clear(); self.refuse("too long")')),
)  # fmt: skip
