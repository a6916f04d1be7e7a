"""Where lines can stand: found from what both sides may say, for every link."""

from __future__ import annotations

import pytest

from wireproof.fuzz.seeds import by_state
from wireproof.fuzz.state_paths import connections_after, examples, state_paths
from wireproof.protocols import Request, protocol

PSRT = ("psrt", "1", "standard")


@pytest.mark.parametrize(
    ("link", "states"),
    [
        ("control", {"new", "securing", "greeted", "open", "replicating", "ending"}),
        ("data", {"new", "securing", "greeted", "open"}),
        ("datagram", {None}),
    ],
)
def test_every_state_of_a_link_is_reached(link: str, states: set[str | None]) -> None:
    spoken = protocol("psrt")
    codec = spoken.codec(spoken.profiles["1"], "standard")
    found = [connections_after(spoken.links[link], codec, way)[1] for way in state_paths(*PSRT, link)]

    assert {getattr(server, "state", None) for server in found} == states
    assert len(found) == len(states)


def test_lines_without_states_have_one_way() -> None:
    assert state_paths("throttr", "7.1.0", "uint16", "stream") == ((),)
    assert (by_state("throttr", "7.1.0", "uint16"), by_state(*PSRT)) == (False, True)


def test_there_is_an_example_of_every_request_with_every_name_of_its_enums() -> None:
    known = examples(*PSRT)

    assert {kind for kind in known if issubclass(kind, Request)} == set(protocol("psrt").profiles["1"].replies)
    assert [one.mode for one in known[protocol("psrt").message("1", "GREETING")]] == [0, 1]  # type: ignore[attr-defined]
