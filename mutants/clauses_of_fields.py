"""Which clauses speak of which field of a message: those whose text names it, first those of the message's own group.

`unseen.yaml` of a protocol's mutants names what nobody can notice: `MESSAGE.field:operator`, with `*` for any of them,
and why; `{why, profiles}` where that is so under some profiles only. `related.yaml` names the clauses that a message
breaks without being named by them: `MESSAGE.field` -> ids, with `*` for any of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

__all__ = ["ClausesOfFields"]

MUTANTS = Path(__file__).resolve().parent
VECTORS = MUTANTS.parent / "vectors"


class ClausesOfFields:
    """The clauses of one protocol by group and field."""

    def __init__(self, protocol: str) -> None:
        self._clauses: list[Mapping[str, Any]] = list(_read(VECTORS / protocol / "clauses.yaml").get("clauses", ()))
        self._unseen: Mapping[str, str | Mapping[str, Any]] = _read(MUTANTS / protocol / "unseen.yaml")
        self._related: Mapping[str, list[str]] = _read(MUTANTS / protocol / "related.yaml")

    @cache  # noqa: B019 - one for each protocol, as long as the process
    def of(self, groups: tuple[str, ...], message: str, field: str, profiles: tuple[str, ...]) -> tuple[str, ...]:
        """Return the clauses of `profiles` that speak of a message asked or answered in `groups`, or of its `field`.

        First those of its own groups that name the field, then the rest of them, then others that name it or a group,
        then those that `related.yaml` names.
        """
        known = self._known(profiles)
        words = field.replace("_", " ").lower()
        naming = [name for name, one in known.items() if words in one["text"].lower()]
        own, related = self._of_groups(groups, profiles)
        found = dict.fromkeys((*(one for one in naming if one in own), *own, *naming, *related))
        wanted = [
            id_ for place, ids in self._related.items() if fnmatchcase(f"{message}.{field}", place) for id_ in ids
        ]
        if wanted:
            found |= dict.fromkeys(name for name in known if any(fnmatchcase(name, id_) for id_ in wanted))
        return tuple(found) or tuple(known)[:1]

    @cache  # noqa: B019 - as above
    def _known(self, profiles: tuple[str, ...]) -> Mapping[str, Mapping[str, Any]]:
        """Return id -> clause, of those that hold in one of the profiles."""
        asked = set(profiles)
        return {str(one["id"]): one for one in self._clauses if asked & set(one.get("profiles", profiles))}

    @cache  # noqa: B019 - as above
    def _of_groups(
        self, groups: tuple[str, ...], profiles: tuple[str, ...]
    ) -> tuple[Mapping[str, None], Mapping[str, None]]:
        """Return the ids of the clauses of some groups, and of those whose text names one of them."""
        known, named = self._known(profiles), re.compile(rf"\b(?:{'|'.join(map(re.escape, groups))})\b")
        own = dict.fromkeys(name for name, one in known.items() if one["group"] in groups)
        return own, dict.fromkeys(name for name, one in known.items() if groups and named.search(one["text"]))

    def is_unseen(self, name: str, profile: str) -> bool:
        """Say whether a reason is given why the mutant `name` cannot be noticed under a profile."""
        reasons = (reason for one, reason in self._unseen.items() if fnmatchcase(name, one))
        return any(isinstance(reason, str) or profile in reason["profiles"] for reason in reasons)


def _read(path: Path) -> Mapping[str, Any]:
    return (yaml.load(path.read_text("utf-8"), yaml.CSafeLoader) or {}) if path.exists() else {}
