"""One case and one frame, as the rest of the suite sees them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wireproof.conformance.model.verdict import Level
from wireproof.conformance.suite.case_files import FrameEntry
from wireproof.conformance.suite.sdk_steps import AnySdkStep
from wireproof.conformance.suite.steps import AnyStep
from wireproof.conformance.suite.values import Scalar


@dataclass(frozen=True, slots=True)
class Case:
    """One symbolic case; `variables` are the values of its `foreach` combination."""

    id: str
    title: str
    topic: str
    clauses: tuple[str, ...]
    level: Level | None
    profiles: tuple[str, ...]
    variants: tuple[str, ...]
    exclusive: bool
    fresh_server: bool
    slow: bool
    """Waits a minute: played in simulation always, on sockets only when asked for."""
    steps: tuple[AnyStep, ...]
    """What is played to a server."""
    variables: Mapping[str, Scalar]
    heavy: bool = False
    budget: bool = False
    """Measures what the target's process takes: only for a server that wireproof started, and on a fresh one."""
    no_fault: str = ""
    """Why no known mutant fails it."""
    segmentation: str = "whole"
    """How what it sends reaches the target (`conformance/suite/segmentation.py`)."""
    asked_by: str = ""
    """Under another delivery than whole: the clause that asks for the verdict of whole."""
    prerequisite: bool = False
    """What it shows is built upon: when it fails, later failures of cases that use its request are untestable."""
    prerequisite_of: tuple[str, ...] = ()
    """The requests whose replies can be read only if what it shows holds: later such failures are untestable."""
    prerequisite_of_all: bool = False
    """Every case is built upon what it shows: when it fails, all other failures are untestable."""
    found: str = ""
    """The finding of a fuzzer that it was made of."""
    needs: tuple[str, ...] = ()
    """Features without which a target is not asked."""
    modelled: bool = False
    """Each reply is judged by the model of the whole document, from all that was asked before."""
    script: tuple[AnySdkStep, ...] = ()
    """What is played to an SDK, in place of `steps`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One symbolic frame: a message to encode and decode, or bytes and the error they must give."""

    id: str
    title: str
    topic: str
    clauses: tuple[str, ...]
    profiles: tuple[str, ...]
    variants: tuple[str, ...]
    body: FrameEntry
    variables: Mapping[str, Scalar]
