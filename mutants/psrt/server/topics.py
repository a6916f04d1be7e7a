"""Mutants of topics: how they are made alike, how deep they may be, and what a mask matches."""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes

from wireproof.mutants.edits import edit
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import HandlerPatch, both, taking
from wireproof.protocols.psrt.requests import Datagram, Publish, Subscribe, Unsubscribe
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.state import State
from wireproof.reference_server.psrt.subscriptions import Subscriptions
from wireproof.reference_server.psrt.topics import ONE, REST, levels, matches

__all__ = ["MUTANTS"]

Rule = Callable[[str, str], bool]


def _matching(rule: Rule) -> type[State]:
    """Return a server whose masks match by another rule."""

    class Tables(Subscriptions[Client]):
        """Looks at every mask."""

        def match(self, topic: str) -> list[Client]:
            """See `Subscriptions`."""
            return [who for who, texts in self._texts.items() if any(rule(text, topic) for text in texts)]

    class Matching(State):
        """Matches by the rule."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.subscriptions = Tables(keeps_equal_masks=self.rules.keeps_equal_masks)

    return Matching


def _right(mask: str, topic: str) -> bool:
    return matches(levels(mask), tuple(topic.split("/")))


def _also(other: Rule) -> type[State]:
    """Match as is right, and where `other` says so."""
    return _matching(lambda mask, topic: _right(mask, topic) or other(mask, topic))


def _but(other: Rule) -> type[State]:
    """Match as is right, but not where `other` says so."""
    return _matching(lambda mask, topic: _right(mask, topic) and not other(mask, topic))


def _by_level(same: Callable[[str, str], bool]) -> Rule:
    """Return a rule that compares levels that are no wildcards by `same(of the mask, of the topic)`."""

    def rule(mask: str, topic: str) -> bool:
        wanted, there = levels(mask), topic.split("/")
        for place, part in enumerate(wanted):
            if place >= len(there):
                return False
            if part == REST:
                return True
            if part != ONE and not same(part, there[place]):
                return False
        return len(wanted) == len(there)

    return rule


def _none_at_the_end(mask: str, topic: str) -> bool:
    return mask.endswith("/+") and _right(mask[:-2], topic)


def _empty_level(mask: str, topic: str) -> bool:
    """Say whether a + meets an empty level."""
    return any(one == ONE and other == "" for one, other in zip(levels(mask), topic.split("/"), strict=False))


def _first_plus_only(mask: str, topic: str) -> bool:
    return mask.count(ONE) > 1


def _parent(mask: str, topic: str) -> bool:
    return mask.endswith("/#") and _right(mask[:-2], topic)


def _rest_is_one(mask: str, topic: str) -> bool:
    return REST in levels(mask) and topic.count("/") >= len(levels(mask))


def _rest_of_empty(mask: str, topic: str) -> bool:
    return REST in levels(mask) and topic.endswith("/") and topic.count("/") == len(levels(mask)) - 1


def _after_rest(mask: str, topic: str) -> bool:
    """Say whether what stands after # is not the end of the topic."""
    after = mask.partition("/#/")[2] if "/#/" in mask else ""
    return bool(after) and not topic.endswith("/" + after)


def _is_plain(mask: str) -> bool:
    return not {ONE, REST} & set(levels(mask))


def _globbed(mask: str, topic: str) -> bool:
    return fnmatch.fnmatchcase(topic, mask)


def _expressed(mask: str, topic: str) -> bool:
    try:
        return re.fullmatch(mask, topic) is not None
    except re.error:
        return False


def _ends_so(part: str, level: str) -> bool:
    return part == level or (len(part) > 1 and part[0] in ONE + REST and level.endswith(part[1:]))


def _inner(mark: str) -> Rule:
    """Let a wildcard within a level match as it does in a shell."""
    return _by_level(lambda part, level: part == level or (
        len(part) > 1 and part.endswith(mark) and level.startswith(part[:-1])))  # fmt: skip


def _changed(change: Callable[[bytes], bytes]) -> HandlerPatch:
    """Change topics wherever they are named."""
    lists = taking((Subscribe, Unsubscribe), topics=lambda topics: b"\0".join(map(change, topics.split(b"\0"))))
    return both(lists, taking((Publish, Datagram), topic=change))


def _composed(topic: bytes) -> bytes:
    return unicodedata.normalize("NFC", topic.decode(errors="surrogateescape")).encode(errors="surrogateescape")


MUTANTS: tuple[ServerMutant, ...] = (
    mutant("publish-runs-kept", "PUBLISH keeps runs of / in a topic.", "TOPIC-2 MESSAGE-6 TOPIC-7 TOPIC-3 ACL-2",
           edit("ControlRequests.publish", 'normalised(text(request.topic, "topic"))',
                'text(request.topic, "topic").removeprefix("/")')),
    mutant("publish-leading-slash-kept", "PUBLISH keeps a / at the beginning of a topic.",
           "TOPIC-3 TOPIC-6 MESSAGE-6 TOPIC-7 TOPIC-2 ACL-2",
           edit("ControlRequests.publish", "normalised(", '"/" * request.topic.startswith(b"/") + normalised(')),
    mutant("root-topic-refused", "PUBLISH to / closes the connection.", "TOPIC-6",
           edit("ControlRequests.publish", "if is_mask(topic):", "if is_mask(topic) or not topic:")),
    mutant("topics-in-any-case", "Topics are compared, and pushed, in small letters.",
           "TOPIC-21 MESSAGE-6 ACL-1 ACL-2 TOPIC-13", handlers=_changed(bytes.lower)),
    mutant("topics-in-ascii", "Characters of several bytes are left out of topics.",
           "TOPIC-22 MESSAGE-6 TOPIC-24 TOPIC-10 TOPIC-14 DATAGRAM-12 PUBLISH-14",
           handlers=_changed(lambda topic: bytes(byte for byte in topic if byte < 128) or topic)),
    mutant("topics-without-spaces", "Spaces around a topic are taken away.", "TOPIC-22 MESSAGE-6",
           handlers=_changed(lambda topic: topic.strip(b" ") or topic)),
    mutant("topics-without-control-characters", "Characters below 20 are left out of topics.", "TOPIC-22 MESSAGE-6",
           handlers=_changed(lambda topic: bytes(byte for byte in topic if byte >= 0x20) or topic)),
    mutant("topics-decoded", "A % and two digits in a topic stand for a character.", "TOPIC-20 TOPIC-22 MESSAGE-6",
           handlers=_changed(unquote_to_bytes)),
    mutant("topics-composed", "Characters of topics are composed (NFC).", "TOPIC-24 TOPIC-22 MESSAGE-6",
           handlers=_changed(_composed)),
    mutant("depth-counts-levels", "The depth of a topic is the number of its levels.",
           "TOPIC-8 TOPIC-7 PUBLISH-16 ACL-1 ACL-2 SUBSCRIBE-5 PUBLISH-6 UNSUBSCRIBE-3 TOPIC-13 TOPIC-14 TOPIC-25 DATAGRAM-5 DATAGRAM-11",
           edit("depth", 'topic.count("/")', 'topic.count("/") + 1')),
    mutant("depth-before-normalising", "The depth of a topic is looked at before it is normalised.",
           "TOPIC-7 TOPIC-2 TOPIC-4 UNSUBSCRIBE-10 ACL-10 TOPIC-3 SUBSCRIBE-5 PUBLISH-6 SUBSCRIBE-11 "
           "UNSUBSCRIBE-7 ACL-2",
           edit("ControlRequests.publish", "depth(topic)", 'request.topic.count(b"/")'),
           edit("ControlRequests.subscribe", "depth(mask)", "depth(item)"),
           edit("ControlRequests.unsubscribe", "depth(mask)", "depth(item)")),
    mutant("publish-depth-of-runs", "The depth of a topic that is published counts each slash of a run.", "TOPIC-7 TOPIC-2 TOPIC-4 PUBLISH-6 ACL-2 ACL-10",
           edit("ControlRequests.publish", "depth(topic)", 'request.topic.lstrip(b"/").count(b"/")')),
    mutant("depth-without-wildcards", "A # is no level when the depth of a mask is looked at.", "TOPIC-9 TOPIC-7",
           edit("depth", "topic.count", 'topic.removesuffix("/#").count')),
    mutant("hash-matches-its-parent", "The mask a/# matches the topic a, as MQTT has it.",
           "TOPIC-15 TOPIC-14 TOPIC-16 TOPIC-25 MESSAGE-9", state=_also(_parent)),
    mutant("hash-matches-one-level", "A # matches one level.",
           "TOPIC-14 TOPIC-17 TOPIC-18 TOPIC-25 PUBLISH_REPL-4 MESSAGE-8 ACL-15 ACL-8 DATAGRAM-5", state=_but(_rest_is_one)),
    mutant("hash-needs-a-level-that-is-not-empty", "The mask a/# does not match the topic a/.",
           "TOPIC-16 TOPIC-17 TOPIC-14 TOPIC-25 MESSAGE-8", state=_but(_rest_of_empty)),
    mutant("hash-leaves-out-dollar", "The mask # does not match topics that begin with $.", "TOPIC-17",
           state=_but(lambda mask, topic: topic.startswith("$") and mask[:1] in (ONE, REST))),
    mutant("hash-with-something-behind-it", "What stands after # in a mask must end the topic.",
           "TOPIC-18 UNSUBSCRIBE-15 ACL-7", state=_but(_after_rest)),
    mutant("plus-matches-no-level", "The mask a/+ matches the topic a.",
           "TOPIC-11 TOPIC-10 TOPIC-12 TOPIC-13 MESSAGE-9", state=_also(_none_at_the_end)),
    mutant("plus-needs-a-level-that-is-not-empty", "A + does not match an empty level.",
           "TOPIC-12 TOPIC-10 TOPIC-17 TOPIC-13 MESSAGE-8", state=_but(_empty_level)),
    mutant("plus-once-a-mask", "A mask with more than one + matches nothing.",
           "TOPIC-13 TOPIC-10 PUBLISH_REPL-4 MESSAGE-8", state=_but(_first_plus_only)),
    mutant("plus-and-hash-apart", "A mask with both + and # matches nothing.",
           "TOPIC-25 TOPIC-13 PUBLISH_REPL-4 MESSAGE-8",
           state=_but(lambda mask, topic: ONE in levels(mask) and REST in levels(mask))),
    mutant("plus-within-a-level", "A + at the end of a level matches what is left of it.", "TOPIC-19 TOPIC-20",
           state=_matching(_inner(ONE))),
    mutant("hash-within-a-level", "A # at the end of a level matches what is left of it.", "TOPIC-19",
           state=_matching(_inner(REST))),
    mutant("masks-are-globs", "Masks match as file names do in a shell.", "TOPIC-20", state=_also(_globbed)),
    mutant("masks-with-exclamation-mark", "A mask that begins with ! matches what the rest of it does not.",
           "TOPIC-20 TOPIC-9", state=_also(lambda mask, topic: mask[:1] == "!" and not _right(mask[1:], topic))),
    mutant("masks-are-regular-expressions", "Masks match as regular expressions, too.", "TOPIC-20 TOPIC-19 MESSAGE-9",
           state=_also(_expressed)),
    mutant("wildcards-begin-a-level", "A + or # at the beginning of a level matches what stands before its rest.",
           "TOPIC-19 MESSAGE-9", state=_matching(_by_level(_ends_so))),
    mutant("topics-match-what-begins-so", "A topic matches all that begin with its text.",
           "TOPIC-23 TOPIC-5 UNSUBSCRIBE-9 UNSUBSCRIBE-11 MESSAGE-9 TOPIC-10 TOPIC-15 TOPIC-11 TOPIC-20 TOPIC-19 "
           "TOPIC-1",
           state=_also(lambda mask, topic: _is_plain(mask) and topic.startswith(mask))),
    mutant("topics-match-those-above", "A topic matches the topics above it.",
           "TOPIC-23 TOPIC-15 TOPIC-11 MESSAGE-9 TOPIC-5 TOPIC-1",
           state=_also(lambda mask, topic: _is_plain(mask) and mask.startswith(topic + "/"))),
    mutant("masks-match-in-any-case", "Masks match without the case of letters.", "TOPIC-21 TOPIC-13 MESSAGE-9",
           state=_also(lambda mask, topic: _right(mask.lower(), topic.lower()))),
    mutant("levels-separated-by-dots", "A . separates levels, too.", "TOPIC-1 TOPIC-22",
           state=_also(lambda mask, topic: _right(mask.replace(".", "/"), topic.replace(".", "/")))),
    mutant("slash-is-no-separator", "A + matches the rest of the topic, / included.",
           "TOPIC-1 TOPIC-11 TOPIC-10 TOPIC-13 TOPIC-12 MESSAGE-9",
           state=_also(lambda mask, topic: ONE in levels(mask) and fnmatch.fnmatchcase(topic, mask.replace("+", "?*") if REST not in mask else mask))),
)  # fmt: skip
