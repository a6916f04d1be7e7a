"""Mutants of rights: what an account's lists grant."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

SUB = "ACL-1 SUBSCRIBE-9 ACL-16 SUBSCRIBE-11 SUBSCRIBE-12 SUBSCRIBE-13 SUBSCRIBE-14"
PUB = "ACL-2 PUBLISH-8 PUBLISH-10 DATAGRAM-9 ACL-17 SEALED-14"
NONE = "ACL-3 ACL-12 ACL-13"
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("rights-to-subscribe-not-looked-at", "Whoever is logged in may subscribe to anything.",
           f"{SUB} {NONE} ACL-4 ACL-5 ACL-6 ACL-9 ACCOUNT-3 TIMEOUT-11", first("Rights.may_subscribe", "return True")),
    mutant("rights-to-publish-not-looked-at", "Whoever is logged in may publish to anything.",
           f"{PUB} {NONE} ACL-4 ACL-5 ACL-6 ACCOUNT-3 TIMEOUT-11 PUBLISH_REPL-8",
           first("Rights.may_publish", "return True")),
    mutant("rights-without-list-are-all", "An account without a list of masks may do everything of that kind.",
           f"{NONE} {SUB} {PUB} PUBLISH_REPL-8", first("Rights.may_subscribe", "if not self.sub: return True"),
           first("Rights.may_publish", "if not self.pub: return True")),
    mutant("rights-in-one-list", "A mask for subscribing gives the right to publish.",
           "ACL-4 ACL-2 PUBLISH-8 DATAGRAM-9 ACL-17 SEALED-14",
           edit("Rights.may_publish", "in self.pub", "in self.sub + self.pub")),
    mutant("rights-of-admins", "Who may administrate may do everything.", "ACL-12 ACL-3 PUBLISH-8 SUBSCRIBE-9",
           first("Rights.may_subscribe", "if self.admin: return True"),
           first("Rights.may_publish", "if self.admin: return True")),
    mutant("rights-of-replicators", "Who may replicate may publish and subscribe to everything.",
           "ACL-13 ACL-3 PUBLISH_REPL-8", first("Rights.may_subscribe", "if self.replicator: return True"),
           first("Rights.may_publish", "if self.replicator: return True")),
    mutant("rights-plus-covers-several", "A + of a mask of rights covers all levels that are left.",
           f"ACL-5 ACL-1 ACL-2 ACL-9 {SUB} {PUB}",
           edit("Rights.may_subscribe", "covers(granted,",
                'covers((*granted[:-1], "#") if granted[-1] == "+" else granted,'),
           edit("Rights.may_publish", "matches(granted,",
                'matches((*granted[:-1], "#") if granted[-1] == "+" else granted,')),
    mutant("rights-hash-covers-its-parent", "The mask b/# grants b, too.",
           "ACL-6 ACL-1 ACL-2 SUBSCRIBE-9 PUBLISH-8 DATAGRAM-9 ACL-17 SEALED-14",
           edit("Rights.may_subscribe", "covers(granted, asked)", 'covers(granted, asked) or granted == (*asked, "#")'),
           edit("Rights.may_publish", "matches(granted, wanted)",
                'matches(granted, wanted) or granted == (*wanted, "#")')),
    mutant("rights-hash-covers-one-level", "A # of a mask of rights covers one level.",
           "ACL-6 ACL-7 ACL-1 ACL-2 ACL-8 ACL-15 ACL-14 SUBSCRIBE-5 SUBSCRIBE-6 PUBLISH-6 TOPIC-8 DATAGRAM-5 "
           "ACL-17 PUBLISH-7 SEALED-14 SUBSCRIBE-7",
           edit("Rights.may_subscribe", "covers(granted, asked)",
                "covers(granted, asked) and len(asked) <= len(granted)"),
           edit("Rights.may_publish", "matches(granted, wanted)",
                "matches(granted, wanted) and len(wanted) <= len(granted)")),
    mutant("rights-compared-as-text", "A mask may be subscribed where its text matches a mask of rights.",
           "ACL-9 ACL-1 ACL-16 SUBSCRIBE-9",
           edit("Rights.may_subscribe", "covers(granted, asked)", 'matches(granted, tuple(mask.split("/")))'),
           profiles=("1",)),
    mutant("rights-of-a-part", "A mask may be subscribed where a part of what it matches is granted.",
           "ACL-9 ACL-1 ACL-16 SUBSCRIBE-9 SUBSCRIBE-12 SUBSCRIBE-11",
           edit("Rights.may_subscribe", "covers(granted, asked)",
                '(len(granted) == len(asked) or "#" in {one for pair in zip(granted, asked) for one in pair}) and '
                'all(one == other or "+" in (one, other) or "#" in (*granted[: at + 1], *asked[: at + 1]) for at, '
                "(one, other) in enumerate(zip(granted, asked)))"), profiles=("1",)),
    mutant("rights-to-topics-only", "A mask may be subscribed by those only who may subscribe to everything.",
           "ACL-8 ACL-1 ACL-9 ACL-7",
           edit("Rights.may_subscribe", "in self.sub)",
                'in self.sub) and (not {"+", "#"} & set(asked) or ("#",) in self.sub)')),
    mutant("rights-of-the-topic-as-written", "Rights to subscribe are looked at before the topic is normalised.",
           "ACL-10 TOPIC-4 ACL-5", edit("ControlRequests.subscribe", "may_subscribe(mask)", "may_subscribe(item)"),
           profiles=("1",)),
    mutant("rights-behind-hash", "A mask of rights with something after # grants nothing.", "ACL-7 ACL-8 ACL-1 ACL-4",
           edit("Rights.may_subscribe", "in self.sub", 'in self.sub if granted != ("m", "#")')),
    mutant("rights-not-of-anybody", "Anonymous clients may do nothing.",
           "ACL-15 SUBSCRIBE-5 PUBLISH-6 PUBLISH-7 SUBSCRIBE-6 DATAGRAM-5 SEALED-6 DATAGRAM-2 SUBSCRIBE-8 "
           "UNSUBSCRIBE-4 ORDER-4 MESSAGE-8 TOPIC-8 LIMIT-1 LIMIT-4",
           edit("Accounts.login", "self.acl.get(NOBODY) if", "self.acl.get(NOBODY) and Rights() if")),
    mutant("push-needs-the-right-to-publish", "A message reaches only who may publish to its topic, too.",
           "ACL-4 ACL-1 MESSAGE-8 ACL-3",
           edit("state.State.publish", "for client in clients:",
                "for client in [one for one in clients if one.rights.may_publish(topic)]:")),
)  # fmt: skip
