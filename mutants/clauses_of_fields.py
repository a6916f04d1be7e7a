"""Which clauses speak of which field of a message: those whose text names it, first those of the message's own group.

`unseen.yaml` of a protocol's mutants names what nobody can notice: `MESSAGE.field:operator`, with `*` for any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
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
        self._unseen: Mapping[str, str] = _read(MUTANTS / protocol / "unseen.yaml")

    def of(self, groups: Sequence[str], field: str, profiles: Sequence[str]) -> tuple[str, ...]:
        """Return the clauses of `profiles` that speak of `field` of a message asked or answered in `groups`.

        Where no clause of the groups names it, all of theirs; where the protocol has no such group, its first clause.
        """
        known = [one for one in self._clauses if set(profiles) & set(one.get("profiles", profiles))]
        own = [one for one in known if one["group"] in groups]
        words = field.replace("_", " ").lower()
        naming = [one for one in own if words in one["text"].lower()]
        others = [one for one in known if words in one["text"].lower() and one not in naming]
        return tuple(str(one["id"]) for one in ([*(naming or own), *others] or known[:1]))

    def is_unseen(self, name: str) -> bool:
        """Say whether a reason is given why the mutant `name` cannot be noticed."""
        return any(fnmatchcase(name, one) for one in self._unseen)


def _read(path: Path) -> Mapping[str, Any]:
    return (yaml.load(path.read_text("utf-8"), yaml.CSafeLoader) or {}) if path.exists() else {}
