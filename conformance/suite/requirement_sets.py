"""Requirement sets: what decided the exit code of a run on the day when a set was frozen, so that it still does.

A set is one text file a profile and number, `vectors/<protocol>/requirements/PROFILE@NUMBER.txt`, and never edited:
each case with its level and a digest of what decides its verdict. A case that is newer than the set, or that asks for
something else since, is played and shown, and decides nothing.

What is not frozen is the code that plays and judges: a repair of it holds for every set.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from re import fullmatch

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.documents import read_text, vectors_root
from wireproof.conformance.suite.names import near
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.written import as_written

__all__ = [
    "Required",
    "RequirementCheck",
    "RequirementSet",
    "RequirementSetError",
    "digest_of",
    "frozen",
    "newest",
    "read_set",
    "set_names",
    "text_of",
]  # fmt: skip

HEAD = "# Frozen by `wireproof requirements freeze`: never edit it, freeze another one (docs/requirement-sets.md).\n"
DIGITS = 6
"""Hexadecimal digits of a digest: a changed case is taken for the old one once in 16 million times."""


class RequirementSetError(ValueError):
    """Raised when there is no such set, when it does not fit what is tested, or when its file cannot be read."""


@dataclass(frozen=True, slots=True)
class Required:
    """One case as it was when the set was frozen."""

    level: Level
    digest: str


@dataclass(frozen=True, slots=True)
class RequirementSet:
    """What decides, of one protocol and profile."""

    protocol: str
    profile: str
    number: int
    """1 is the first."""
    wireproof: str
    """The version that froze it."""
    segmentations: tuple[str, ...]
    """Those that there were."""
    cases: Mapping[str, Mapping[str, Required]]
    """Role (`server` or `client`) -> case id -> what was required."""

    @property
    def name(self) -> str:
        """Such as `throttr-7.3.2@1`."""
        return f"{self.protocol}-{self.profile}@{self.number}"


@dataclass
class RequirementCheck:
    """A set beside the cases of today: which of them decide, and why the others do not."""

    of: RequirementSet
    role: str
    cases: Mapping[str, tuple[Case, Level]]
    """Those of today with their levels, played whole."""
    _reasons: dict[str, str] = field(default_factory=dict)

    def why_not(self, case: str, segmentation: str = "whole") -> str:
        """Return why a case decides nothing under a segmentation; "" where it decides."""
        if case not in self._reasons:
            self._reasons[case] = self._why_not(case)
        if not self._reasons[case] and segmentation not in self.of.segmentations:
            return f"segmentation {segmentation} is newer than {self.of.name}"
        return self._reasons[case]

    def _why_not(self, name: str) -> str:
        required = self.of.cases.get(self.role, {}).get(name)
        case, level = self.cases.get(name, (None, Level.MAY))
        if required is None or case is None:
            return f"newer than {self.of.name}"
        if required.level is Level.MAY and level is not Level.MAY:
            return f"a MAY in {self.of.name}"
        return "" if required.digest == digest_of(case) else f"changed since {self.of.name}"

    def why_none(self, cases: Collection[str]) -> str:
        """Return why none of these cases decides; "" where one of them does, or where there is none."""
        reasons = [self.why_not(one) for one in cases]
        return reasons[0] if reasons and all(reasons) else ""

    def in_order(self, cases: Iterable[Case]) -> list[Case]:
        """Return cases in their order, those that decide nothing last: they must not disturb what decides."""
        return sorted(cases, key=lambda one: bool(self.why_not(one.id)))

    @property
    def gone(self) -> list[str]:
        """The cases of the set that there are no longer."""
        return [one for one in self.of.cases.get(self.role, {}) if one not in self.cases]


def digest_of(case: Case) -> str:
    """Return the digest of what decides the verdict of a case: its steps and values, and whom it is played to.

    Its title, its place in a file and how its steps were written (sequences, combinations) do not count.
    """
    found = [
        [as_written(one) for one in (*case.steps, *case.script)],
        dict(case.variables),
        sorted(case.variants),
        sorted(case.needs),
        case.modelled,
        case.budget,
    ]
    text = json.dumps(found, sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()[:DIGITS]


def _folder(protocol: str) -> Path:
    return vectors_root() / protocol / "requirements"


def set_names(protocols: Iterable[str]) -> list[str]:
    """Return the names of all sets of these protocols, the newest of a profile last."""
    found = []
    for protocol in protocols:
        for path in _folder(protocol).glob("*.txt"):
            profile, _, number = path.stem.rpartition("@")
            if profile and number.isdecimal():
                found.append((protocol, profile, int(number)))
    return [f"{protocol}-{profile}@{number}" for protocol, profile, number in sorted(found)]


def newest(protocol: str, profile: str) -> RequirementSet | None:
    """Return the last set of a profile, None where there is none. Raises `RequirementSetError`."""
    mine = [one for one in set_names([protocol]) if one.rpartition("@")[0] == f"{protocol}-{profile}"]
    return read_set(mine[-1], [protocol]) if mine else None


def read_set(name: str, protocols: Iterable[str]) -> RequirementSet:
    """Return a set of one of these protocols by its name; raises `RequirementSetError` with the names near it."""
    protocols = list(protocols)
    known = set_names(protocols)
    if name not in known:
        hint = near(name, known) or (f"; there is {', '.join(known)}" if known else "; there is none")
        raise RequirementSetError(f"no such requirement set: {name}{hint}")
    protocol = next(one for one in protocols if name in set_names([one]))
    return _parsed(read_text(_folder(protocol) / f"{name.removeprefix(f'{protocol}-')}.txt"), name, protocol)


def _parsed(text: str, name: str, protocol: str) -> RequirementSet:
    words: dict[str, str] = {}
    cases: dict[str, dict[str, Required]] = defaultdict(dict)
    at: tuple[str, str, Level] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("# "):
            continue
        if heading := fullmatch(r"\[(\w+) (\S+) (MUST|SHOULD|MAY)\]", line):
            at = heading[1], heading[2], Level(heading[3])
        elif at is None:
            key, _, words[key] = line.partition(" ")
        elif row := fullmatch(rf"([0-9a-f]{{{DIGITS}}}) (.+)", line):
            cases[at[0]][f"{at[1]}/{_unescaped(row[2])}"] = Required(at[2], row[1])
        else:
            raise RequirementSetError(f"{name}: line {number}: expected a digest and the id of a case, got {line!r}")
    profile, _, number_of = name.removeprefix(f"{protocol}-").rpartition("@")
    if words.get("set") != name:
        raise RequirementSetError(f"{name}: the file says that it is {words.get('set', 'nothing')!r}")
    ways = tuple(words.get("segmentations", "").split())
    return RequirementSet(protocol, profile, int(number_of), words.get("wireproof", ""), ways, cases)


def frozen(
    protocol: str,
    profile: str,
    cases: Mapping[str, Iterable[Case]],
    level_of: Callable[[Case], Level],
    version: str,
) -> RequirementSet:
    """Return the next set of a profile.

    `cases`: role -> those of today, of whatever profile; `version`: of wireproof.
    """
    last = newest(protocol, profile)
    found = {
        role: {one.id: Required(level_of(one), digest_of(one)) for one in mine if profile in one.profiles}
        for role, mine in cases.items()
    }
    found = {role: mine for role, mine in found.items() if mine}
    return RequirementSet(protocol, profile, last.number + 1 if last else 1, version, tuple(SEGMENTATIONS), found)


def text_of(frozen_set: RequirementSet) -> str:
    """Return the file of a set: a case a line, by role, the first part of the id, and level."""
    lines = [f"set {frozen_set.name}", f"wireproof {frozen_set.wireproof}"]
    lines.append(f"segmentations {' '.join(frozen_set.segmentations)}")
    for role, cases in frozen_set.cases.items():
        parts: dict[tuple[str, Level], list[str]] = defaultdict(list)
        for name, one in cases.items():
            group, _, rest = name.partition("/")
            parts[group, one.level].append(f"{one.digest} {_escaped(rest)}")
        for group, level in sorted(parts):
            rows = sorted(parts[group, level], key=lambda row: row[DIGITS:])
            lines += ["", f"[{role} {group} {level}]", *rows]
    return HEAD + "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Return a part of an id on one line: some hold line breaks."""
    return text.encode("unicode_escape").decode("ascii")


def _unescaped(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode("unicode_escape")
