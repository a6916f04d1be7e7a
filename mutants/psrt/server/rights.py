"""Faults of rights: what an account's lists grant."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.mutants.psrt.server.logins import accounts
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import client_of
from wireproof.mutants.psrt.server.steps import masked, publishing, subscribing, too_deep
from wireproof.reference_server.psrt.accounts import Accounts
from wireproof.reference_server.psrt.rights import Rights
from wireproof.reference_server.psrt.state import DENIED, State
from wireproof.reference_server.psrt.topics import ONE, REST, Levels, covers, levels, matches, normalised

__all__ = ["MUTANTS"]

Asked = Callable[[Rights, str], bool]
"""(rights, mask or topic) -> whether it is granted."""


def _rights(
    subscribe: Asked = lambda rights, mask: rights.may_subscribe(mask),
    publish: Asked = lambda rights, topic: rights.may_publish(topic),
) -> type[State]:
    """Return a server whose rights are found by other rules."""

    class Other(Rights):
        """Grants otherwise."""

        def may_subscribe(self, mask: str) -> bool:
            """See `Rights`."""
            return subscribe(Rights(self.sub, self.pub, self.admin, self.replicator), mask)

        def may_publish(self, topic: str) -> bool:
            """See `Rights`."""
            return publish(Rights(self.sub, self.pub, self.admin, self.replicator), topic)

    def other(found: Rights | None) -> Rights | None:
        return None if found is None else Other(found.sub, found.pub, found.admin, found.replicator)

    class Granting(Accounts):
        """Gives the other rights."""

        def login(self, login: str, password: str) -> Rights | None:
            """See `Accounts`."""
            return other(super().login(login, password))

        def sealed_by(self, login: str) -> tuple[bytes, Rights] | None:
            """See `Accounts`."""
            found = super().sealed_by(login)
            return None if found is None else (found[0], other(found[1]) or found[1])

    return accounts(Granting)


def _as_text(rights: Rights, mask: str) -> bool:
    """Match the text of the mask as if it were a topic."""
    return any(matches(one, tuple(mask.split("/"))) for one in rights.sub)


def _parents(masks: tuple[Levels, ...], topic: str) -> bool:
    return any(one[-1] == REST and one[:-1] == tuple(topic.split("/")) for one in masks)


def _any_overlap(rights: Rights, mask: str) -> bool:
    """Say whether anything that the mask matches is granted."""
    asked = levels(mask)
    for one in rights.sub:
        pairs = list(zip(one, asked, strict=False))
        stop = next((at for at, pair in enumerate(pairs) if REST in pair), len(pairs))
        same = all(a == b or "+" in (a, b) for a, b in pairs[:stop])
        if same and (stop < len(pairs) or len(one) == len(asked)):
            return True
    return False


def _beginnings(masks: tuple[Levels, ...], topic: str) -> bool:
    return any(topic.startswith("/".join(one).rstrip("+#").rstrip("/")) for one in masks)


def _rest(masks: tuple[Levels, ...]) -> tuple[Levels, ...]:
    """Return masks that cover what is left where a + ends them."""
    return tuple((*one[:-1], REST) if one[-1] == ONE else one for one in masks)


class _AnybodyMayNothing(Accounts):
    """Gives anonymous clients no rights."""

    def login(self, login: str, password: str) -> Rights | None:
        """See `Accounts`."""
        found = super().login(login, password)
        return Rights() if found is not None and not login else found


SUB = ("ACL-1", "SUBSCRIBE-9", "ACL-16", "SUBSCRIBE-11", "SUBSCRIBE-12", "SUBSCRIBE-13", "SUBSCRIBE-14")
PUB = ("ACL-2", "PUBLISH-8", "PUBLISH-10", "DATAGRAM-9", "ACL-17", "SEALED-14")
NONE = ("ACL-3", "ACL-12", "ACL-13")
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("rights-not-looked-at", "Whoever is logged in may subscribe and publish to anything.", *SUB, *PUB, *NONE,
          "ACL-4", "ACL-5", "ACL-6", "ACL-9", "ACCOUNT-3", "TIMEOUT-11", "PUBLISH_REPL-8", "PUBLISH-17",
          state=_rights(lambda rights, mask: True, lambda rights, topic: True)),
    mutant("rights-to-subscribe-not-looked-at", "Whoever is logged in may subscribe to anything.", *SUB, *NONE,
          "ACL-4", "ACL-5", "ACL-6", "ACL-9", "ACCOUNT-3", "TIMEOUT-11", state=_rights(lambda rights, mask: True)),
    mutant("rights-to-publish-not-looked-at", "Whoever is logged in may publish to anything.", *PUB, *NONE, "ACL-4",
          "ACL-5", "ACL-6", "ACCOUNT-3", "TIMEOUT-11", "PUBLISH_REPL-8",
          state=_rights(publish=lambda rights, topic: True)),
    mutant("rights-without-list-are-all", "An account without a list of masks may do everything of that kind.",
          *NONE, *SUB, *PUB, "PUBLISH_REPL-8", state=_rights(
              lambda rights, mask: not rights.sub or rights.may_subscribe(mask),
              lambda rights, topic: not rights.pub or rights.may_publish(topic))),
    mutant("rights-in-one-list", "A mask for subscribing gives the right to publish.", "ACL-4", "ACL-2", "PUBLISH-8",
          "DATAGRAM-9", "ACL-17", "SEALED-14",
          state=_rights(publish=lambda rights, topic: Rights(pub=rights.sub + rights.pub).may_publish(topic))),
    mutant("rights-of-publishing-needed", "Who may not publish to a topic may not subscribe to it.", "ACL-1", "ACL-4",
          "ACL-7", "ACL-8", "SUBSCRIBE-5",
          state=_rights(lambda rights, mask: rights.may_subscribe(mask) and any(
              covers(one, levels(mask)) for one in rights.pub))),
    mutant("rights-of-admins", "Who may administrate may do everything.", "ACL-12", "ACL-3", "PUBLISH-8",
          "SUBSCRIBE-9", state=_rights(lambda rights, mask: rights.admin or rights.may_subscribe(mask),
                                       lambda rights, topic: rights.admin or rights.may_publish(topic))),
    mutant("rights-of-replicators", "Who may replicate may publish and subscribe to everything.", "ACL-13", "ACL-3",
          "PUBLISH_REPL-8", state=_rights(lambda rights, mask: rights.replicator or rights.may_subscribe(mask),
                                          lambda rights, topic: rights.replicator or rights.may_publish(topic))),
    mutant("rights-plus-needs-text", "A + of a mask of rights does not cover an empty level.", "ACL-5", "ACL-1",
          "ACL-2", "ACL-10", "TOPIC-6", "DATAGRAM-5", "ACL-17", "SUBSCRIBE-5", state=_rights(
              lambda rights, mask: rights.may_subscribe(mask) and "" not in mask.split("/"),
              lambda rights, topic: rights.may_publish(topic) and "" not in topic.split("/"))),
    mutant("rights-plus-covers-several", "A + of a mask of rights covers all levels that are left.", "ACL-5", "ACL-1",
          "ACL-2", "ACL-9", *SUB, *PUB, state=_rights(
              lambda rights, mask: Rights(_rest(rights.sub)).may_subscribe(mask),
              lambda rights, topic: Rights(pub=_rest(rights.pub)).may_publish(topic))),
    mutant("rights-hash-covers-its-parent", "The mask b/# grants b, too.", "ACL-6", "ACL-1", "ACL-2", "SUBSCRIBE-9",
          "PUBLISH-8", "DATAGRAM-9", "ACL-17", "SEALED-14", state=_rights(
              lambda rights, mask: rights.may_subscribe(mask) or _parents(rights.sub, mask),
              lambda rights, topic: rights.may_publish(topic) or _parents(rights.pub, topic))),
    mutant("rights-hash-covers-one-level", "A # of a mask of rights covers one level.", "ACL-6", "ACL-7", "ACL-1",
          "ACL-2", "ACL-8", "ACL-15", "ACL-14", "SUBSCRIBE-5", "SUBSCRIBE-6", "PUBLISH-6", "TOPIC-8",
          "DATAGRAM-5", "ACL-17", "PUBLISH-7", "SEALED-14", "SUBSCRIBE-7", state=_rights(
              lambda rights, mask: any(covers(one, levels(mask)) and len(levels(mask)) <= len(one)
                                       for one in rights.sub),
              lambda rights, topic: any(matches(one, tuple(topic.split("/"))) and topic.count("/") < len(one)
                                        for one in rights.pub))),
    mutant("rights-compared-as-text", "A mask may be subscribed where its text matches a mask of rights.", "ACL-9",
          "ACL-1", "ACL-16", "SUBSCRIBE-9", profiles=("1",), state=_rights(_as_text)),
    mutant("rights-of-a-part", "A mask may be subscribed where a part of what it matches is granted.", "ACL-9",
          "ACL-1", "ACL-16", "SUBSCRIBE-9", "SUBSCRIBE-12", "SUBSCRIBE-11", profiles=("1",),
          state=_rights(_any_overlap)),
    mutant("rights-to-topics-only", "A mask may be subscribed by those only who may subscribe to everything.",
          "ACL-8", "ACL-1", "ACL-9", "ACL-7", state=_rights(
              lambda rights, mask: rights.may_subscribe(mask) and (
                  not {"+", REST} & set(mask.split("/")) or (REST,) in rights.sub))),
    mutant("rights-of-the-topic-as-written", "Rights to subscribe are looked at before the topic is normalised.",
          "ACL-10", "TOPIC-4", "ACL-5", profiles=("1",), handlers=subscribing(
              name=str, tests=(lambda topic, ask: too_deep(normalised(topic), ask),
                               lambda topic, ask: None if client_of(ask).rights.may_subscribe(topic) else DENIED),
              act=lambda client, topic, state: state.subscriptions.add(client, normalised(topic)))),
    mutant("rights-to-publish-as-written", "Rights to publish are looked at before the topic is normalised.",
          "ACL-10", "ACL-2", "ACL-5", "TOPIC-2", "TOPIC-3", "TOPIC-6", "MESSAGE-6", profiles=("1",),
          handlers=publishing(
              name=str, tests=(lambda topic, ask: too_deep(normalised(topic), ask), masked,
                               lambda topic, ask: None if client_of(ask).rights.may_publish(topic) else DENIED))),
    mutant("rights-of-what-begins-so", "A mask of rights grants what begins with its text up to the wildcard.",
          "ACL-5", "ACL-6", "ACL-1", "ACL-2", "ACL-9", *SUB, *PUB, state=_rights(
              lambda rights, mask: _beginnings(rights.sub, mask),
              lambda rights, topic: _beginnings(rights.pub, topic))),
    mutant("rights-behind-hash", "A mask of rights with something behind # grants nothing.", "ACL-7", "ACL-8",
          "ACL-1", state=_rights(lambda rights, mask: Rights(tuple(
              one for one in rights.sub if one != ("m", REST))).may_subscribe(mask))),
    mutant("rights-not-of-anybody", "Anonymous clients may do nothing.", "ACL-15", "SUBSCRIBE-5", "PUBLISH-6",
          "PUBLISH-7", "SUBSCRIBE-6", "DATAGRAM-5", "SEALED-6", "DATAGRAM-2", "SUBSCRIBE-8", "UNSUBSCRIBE-4",
          "ORDER-4", "MESSAGE-8", "TOPIC-8", "LIMIT-1", "LIMIT-4", state=accounts(_AnybodyMayNothing)),
)  # fmt: skip
