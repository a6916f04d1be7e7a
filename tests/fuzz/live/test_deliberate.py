"""Mutators with an aim: what they make is what they say, and a campaign draws every kind that a protocol has."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from wireproof.conformance.model.actions import Open, Read, Secure, Shut, Write
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.deliberate import (
    carry,
    cut_off,
    deliberate,
    do_again,
    enlarge,
    go_inside_tls,
    leave_unread,
    sweep_sizes,
    wrap_32,
)
from wireproof.fuzz.live.exchanges import PlayedConnection
from wireproof.fuzz.live.live_campaign import Campaign, CampaignLimits
from wireproof.fuzz.live.mutators import pipelined
from wireproof.fuzz.live.simulated_plays import simulated
from wireproof.fuzz.live.simulated_target import SimulatedTarget
from wireproof.fuzz.live.weight import HEAVY_SHARE
from wireproof.fuzz.script import Script, from_json, to_json
from wireproof.protocols.throttr.requests import Purge, Set

THROTTR = FuzzContext("throttr", "7.3.2", "uint32")
PSRT = FuzzContext("psrt", "1", "standard")


def asking(*requests: bytes) -> Script:
    return (Open("a"), *(step for data in requests for step in (Write("a", data), Read("a", 0.1))))


def only(script: Script, context: FuzzContext = THROTTR) -> PlayedConnection:
    (line,) = simulated(context, script).lines
    return line


SET = asking(THROTTR.encode(Set(0, 30, b"key", b"value")))


def test_a_body_is_made_larger_than_a_buffer_and_stays_valid() -> None:
    line = only(enlarge(Random(2), SET, THROTTR))

    assert len(line.sent) >= 4095
    assert line.valid
    assert line.due == 0


def test_sizes_are_made_to_wrap() -> None:
    before = SET[1]
    assert isinstance(before, Write)
    places = (0, *THROTTR.edges(SET, 1), len(before.data))
    fields = [(one, two) for one, two in pairwise(places) if two - one == 4]
    wrapped = 0
    for seed in range(60):
        (write,) = (step for step in wrap_32(Random(seed), SET, THROTTR) if isinstance(step, Write))
        assert len(write.data) == len(before.data)
        values = sorted(int.from_bytes(write.data[one:two], "little") for one, two in fields)
        wrapped += values[-1] + max(len(write.data), values[-2]) >= 1 << 32
    assert wrapped > 40


def test_each_size_of_a_body_is_sent_in_one_script() -> None:
    sizes, names = set(), set()
    for seed in range(200):
        line = only(sweep_sizes(Random(seed), SET, THROTTR))
        assert line.valid
        assert line.due == 0
        sizes |= {len(one.value) for one in line.requests if isinstance(one, Set)}
        names |= {len(one.key) for one in line.requests if isinstance(one, Set)}
    assert sizes >= {*range(256), 1024, 2048}
    assert names == set(range(256))


def test_steps_are_done_again_so_that_what_each_leaves_adds_up() -> None:
    script = asking(THROTTR.encode(Set(0, 30, b"key", b"value")), THROTTR.encode(Purge(b"key")))
    together = 0
    for seed in range(80):
        asked = [one.NAME for one in only(do_again(Random(seed), script, THROTTR)).requests]
        together = max(together, sum(pair == ("SET", "PURGE") for pair in pairwise(asked)))
    assert together >= 40


def test_requests_are_put_into_carriers() -> None:
    kinds = {
        type(request).__name__ for seed in range(20) for request in only(carry(Random(seed), SET, THROTTR)).requests
    }

    assert {type(one).__name__ for one, _ in THROTTR.carriers} & kinds
    assert FuzzContext("throttr", "7.1.0", "uint16").carriers == ()


def test_a_reader_does_not_read() -> None:
    script = leave_unread(Random(1), SET, THROTTR)

    assert [step.unread for step in script if isinstance(step, Open)] == [True]
    assert not any(isinstance(step, Read) for step in script)
    assert from_json(to_json(script)) == script


def test_connections_end_at_every_byte_of_a_request() -> None:
    size = sum(len(step.data) for step in SET if isinstance(step, Write))
    ends = set()
    for seed in range(400):
        script = cut_off(Random(seed), SET, THROTTR)
        cut = next(step for step in script if isinstance(step, Write))
        assert any(isinstance(step, Shut) for step in script)
        ends.add(len(cut.data))
    assert ends == set(range(size + 1))


def test_requests_are_sent_inside_tls_and_answered_there() -> None:
    handshake = asking(*(PSRT.encode(one) for one in PSRT.probe))
    script = go_inside_tls(Random(1), handshake, PSRT)
    line = only(script, PSRT)

    assert [type(step) for step in script[:3]] == [Open, Write, Secure]
    assert from_json(to_json(script)) == script
    assert line.is_inside_tls
    assert line.valid
    assert line.due == 0
    assert len(line.answered) == len(PSRT.probe)
    assert go_inside_tls(Random(1), script, PSRT) == script


def test_tls_is_begun_where_the_target_speaks_it() -> None:
    assert PSRT.speaks_tls
    assert not FuzzContext("psrt", "1", "standard", features=frozenset({"tcp"})).speaks_tls
    assert FuzzContext("tmqp", "doc", "standard", tls=True).tls_openings == {"messages": b""}
    assert not THROTTR.speaks_tls


def test_requests_are_joined_up_to_a_step_that_is_no_read() -> None:
    one, two = Write("a", b"1"), Write("a", b"2")
    script = (Open("a"), one, Read("a", 0.1), two, Read("a", 0.1), Shut("a", "half"), Write("b", b"3"))

    assert pipelined(script) == (Open("a"), Write("a", b"12"), *script[4:])
    assert pipelined((one, Read("b", 0.1), two)) == (one, Read("b", 0.1), two)


@pytest.mark.parametrize(
    "context",
    [
        THROTTR,
        FuzzContext("throttr", "7.1.0", "uint8"),
        PSRT,
        FuzzContext("namechan", "1", "standard", features=frozenset({"tcp"})),
    ],
    ids=lambda one: f"{one.name} {one.variant}",
)
def test_every_kind_that_a_protocol_has_is_drawn(context: FuzzContext) -> None:
    with SimulatedTarget(context) as live:
        live.heavy_share = HEAVY_SHARE
        campaign = Campaign(live, seed=3, limits=CampaignLimits(runs=600))
        assert list(campaign.run()) == []

    assert campaign.drawn.missing == []
    assert str(campaign.drawn).startswith("drawn: ")
    assert len(campaign.drawn.possible) >= len(deliberate(context))
