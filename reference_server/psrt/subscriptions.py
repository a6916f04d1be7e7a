"""Subscriptions: topics in a table, masks as a tree of levels: a topic visits only masks that share its beginning.

A topic may visit every mask of a client, where each of them has a wildcard in another place. So the masks of one client
are counted (`masks`), and the server refuses more than its option `max_masks`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from wireproof.reference_server.psrt.topics import ONE, REST, Levels, is_mask, levels

__all__ = ["Subscriptions"]

S = TypeVar("S", bound=Hashable)


class _Node(Generic[S]):
    """The masks that begin with the same levels."""

    __slots__ = ("children", "here", "rest")

    def __init__(self) -> None:
        self.children: dict[str, _Node[S]] = {}
        """By level of the mask, `+` included: no published topic has such a level."""
        self.here: dict[S, int] = {}
        """Subscriber whose mask ends here -> the number of its texts that mean this mask."""
        self.rest: dict[S, int] = {}
        """The same for masks that end with `#` after this level."""

    def is_empty(self) -> bool:
        return not (self.children or self.here or self.rest)


class Subscriptions(Generic[S]):
    """The masks of all subscribers. A subscription is identified by its normalised text."""

    def __init__(self, *, keeps_equal_masks: bool = True) -> None:
        """With `keeps_equal_masks`, two texts that mean one mask (`a/#`, `a/#/z`) are two subscriptions."""
        self._root: _Node[S] = _Node()
        self._topics: dict[str, dict[S, int]] = {}
        """Text without wildcards -> its subscribers."""
        self._texts: dict[S, set[str]] = {}
        self._masks: dict[S, int] = {}
        self._keeps_equal_masks = keeps_equal_masks

    def of(self, who: S) -> frozenset[str]:
        """Return the texts that `who` is subscribed to."""
        return frozenset(self._texts.get(who, ()))

    def count(self, who: S) -> int:
        """Return the number of texts that `who` is subscribed to."""
        return len(self._texts.get(who, ()))

    def masks(self, who: S) -> int:
        """Return the number of texts with wildcards that `who` is subscribed to."""
        return self._masks.get(who, 0)

    def has(self, who: S, text: str) -> bool:
        """Return whether `who` is subscribed to that text."""
        return text in self._texts.get(who, ())

    def add(self, who: S, text: str) -> None:
        """Subscribe to a normalised mask; a repetition changes nothing."""
        texts = self._texts.setdefault(who, set())
        if text in texts and self._keeps_equal_masks:
            return
        is_new = text not in texts
        texts.add(text)
        if is_mask(text):
            self._masks[who] = self.masks(who) + is_new
            table = self._table(levels(text))
        else:
            table = self._topics.setdefault(text, {})
        table[who] = table.get(who, 0) + 1 if self._keeps_equal_masks else 1

    def _table(self, mask: Levels) -> dict[S, int]:
        """Return the subscribers of a mask, whose branches are made where they are missing."""
        node = self._root
        for part in mask[:-1] if mask[-1] == REST else mask:
            node = node.children.setdefault(part, _Node())
        return node.rest if mask[-1] == REST else node.here

    def remove(self, who: S, text: str) -> None:
        """Remove the subscription with that text, if there is one."""
        texts = self._texts.get(who, set())
        if text in texts:
            texts.remove(text)
            if not texts:
                del self._texts[who]
            self._forget(who, text)

    def leave(self, who: S) -> None:
        """Remove all subscriptions of a subscriber."""
        for text in self._texts.pop(who, ()):
            self._forget(who, text)

    def miscounted(self) -> str:
        """Return whose number of masks is wrong, "" if nobody's."""
        masks = {who: sum(map(is_mask, texts)) for who, texts in self._texts.items()}
        wrong = [who for who in {*masks, *self._masks} if masks.get(who, 0) != self.masks(who)]
        return f"{self.masks(wrong[0])} masks are counted, {masks.get(wrong[0], 0)} are there" if wrong else ""

    def match(self, topic: str) -> list[S]:
        """Return the subscribers of a topic, each once."""
        found = [self._topics[topic]] if topic in self._topics else []
        nodes = [self._root]
        for level in topic.split("/"):
            following = []
            for node in nodes:
                if node.rest:
                    found.append(node.rest)
                for part in (level, ONE) if level != ONE else (ONE,):
                    child = node.children.get(part)
                    if child is not None:
                        following.append(child)
            nodes = following
            if not nodes:
                break
        found += [node.here for node in nodes if node.here]
        if len(found) == 1:
            return list(found[0])
        return list(dict.fromkeys(who for table in found for who in table))

    def _forget(self, who: S, text: str) -> None:
        """Remove one text from the table or the tree."""
        if is_mask(text):
            self._unlink(who, levels(text))
            if not (left := self.masks(who) - 1):
                del self._masks[who]
            else:
                self._masks[who] = left
            return
        subscribers = self._topics[text]
        del subscribers[who]
        if not subscribers:
            del self._topics[text]

    def _unlink(self, who: S, mask: Levels) -> None:
        """Remove one text's count from a mask, and the branches that are empty then."""
        way = [self._root]
        parts = mask[:-1] if mask[-1] == REST else mask
        for part in parts:
            child = way[-1].children.get(part)
            if child is None:
                return
            way.append(child)
        table = way[-1].rest if mask[-1] == REST else way[-1].here
        left = table.get(who, 0) - 1
        if left > 0:
            table[who] = left
        else:
            table.pop(who, None)
        for place in range(len(parts), 0, -1):
            if not way[place].is_empty():
                break
            del way[place - 1].children[parts[place - 1]]
