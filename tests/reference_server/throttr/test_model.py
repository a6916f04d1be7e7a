"""The sequential model allows what the reference does, and of other answers only what the documents leave open."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference_server.throttr.simulated import COMBINATIONS, Server
from wireproof.protocols import Message, Request, protocol
from wireproof.protocols.throttr import REFUSED, Attribute, Change, TTLType
from wireproof.protocols.throttr.replies import GetReply, QueryReply, Status
from wireproof.protocols.throttr.requests import Get, Insert, Publish, Purge, Query, Set, Stat, Update
from wireproof.reference_server.registry import model_of
from wireproof.reference_server.throttr.model import Record, ThrottrModel

OK = Status(ok=True)
S, M, H = TTLType.SECONDS, TTLType.MINUTES, TTLType.HOURS
KEY = b"k"
COUNTER = Record(True, 7, M, 60)
BUFFER = Record(False, b"value", M, 60)


def model(profile: str = "7.1.0", variant: str = "uint16") -> ThrottrModel:
    found = model_of("throttr", profile=profile, variant=variant)
    assert isinstance(found, ThrottrModel)
    return found


def requests(maximum: int) -> st.SearchStrategy[Request]:
    """Requests about one key; any number of the width, boundaries often, any type byte."""
    numbers = st.one_of(st.sampled_from([0, 1, 7, maximum - 1, maximum]), st.integers(0, maximum))
    types = st.one_of(st.sampled_from([S, M, H]), st.integers(0, 8))
    long = st.sampled_from([61, 100, maximum, 0])
    changes, attributes = st.integers(0, 3), st.sampled_from([0, 0, 0, 1, 2])
    return st.one_of(
        st.builds(Insert, numbers, types, long, st.just(KEY)),
        st.builds(Set, types, long, st.just(KEY), st.binary(max_size=9)),
        st.builds(Update, attributes, changes, numbers, st.just(KEY)),
        *(st.just(kind(KEY)) for kind in (Query, Get, Stat, Purge)),
    )


@pytest.mark.parametrize(("profile", "variant"), COMBINATIONS)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_the_reference_is_within_the_model(profile: str, variant: str, data: st.DataObject) -> None:
    server, mine = Server(profile, variant), model(profile, variant)
    client, states = server.client(), {mine.initial}

    for request in data.draw(st.lists(requests(server.maximum), max_size=30)):
        reply = client.ask(request)
        after = {then for state in states for then in mine.step(state, request, reply)}
        unanswered = {then for state in states for then in mine.step(state, request, None)}

        assert after, f"{request} answered {reply} in {states}"
        assert isinstance(reply, QueryReply | GetReply) or after <= unanswered
        learns = any(state is not None and state.content is None for state in states)
        assert not mine.reads(request, reply) or after & states or None in after or learns
        states = after


LIVE = [COUNTER, BUFFER]
DENIED: list[tuple[Record | None, Request, Message]] = [
    (None, Insert(1, S, 100, KEY), REFUSED),
    (None, Set(S, 100, KEY, b"v"), REFUSED),
    (None, Query(KEY), QueryReply(7, M, 60)),
    (None, Get(KEY), GetReply(M, 60, b"v")),
    (None, Purge(KEY), OK),
    (None, Update(Attribute.QUOTA, Change.PATCH, 1, KEY), OK),
    (None, Update(Attribute.TTL, Change.PATCH, 1, KEY), OK),
    *((live, Insert(1, S, 100, KEY), OK) for live in LIVE),
    *((live, Purge(KEY), REFUSED) for live in LIVE),
    *((live, Stat(KEY), REFUSED) for live in LIVE),
    *((live, Update(Attribute.TTL, Change.INCREASE, 1, KEY), REFUSED) for live in LIVE),
    (COUNTER, Query(KEY), REFUSED),
    (COUNTER, Query(KEY), QueryReply(8, M, 60)),
    (COUNTER, Query(KEY), QueryReply(7, S, 60)),
    (COUNTER, Query(KEY), QueryReply(7, M, 61)),
    (COUNTER, Query(KEY), QueryReply(7, M, 57)),
    (COUNTER, Update(Attribute.QUOTA, Change.PATCH, 1, KEY), REFUSED),
    (COUNTER, Update(Attribute.QUOTA, Change.INCREASE, 1, KEY), REFUSED),
    (COUNTER, Update(Attribute.QUOTA, Change.DECREASE, 7, KEY), REFUSED),
    (COUNTER, Update(Attribute.QUOTA, Change.DECREASE, 8, KEY), OK),
    (BUFFER, Update(Attribute.QUOTA, Change.PATCH, 1, KEY), OK),
    (BUFFER, Get(KEY), REFUSED),
    (BUFFER, Get(KEY), GetReply(M, 60, b"other")),
    (BUFFER, Get(KEY), GetReply(S, 60, b"value")),
]


@pytest.mark.parametrize(("profile", "variant"), COMBINATIONS)
@pytest.mark.parametrize(("state", "request_", "reply"), DENIED)
def test_what_a_must_forbids_is_not_allowed(
    profile: str, variant: str, state: Record | None, request_: Request, reply: Message
) -> None:
    assert not model(profile, variant).step(state, request_, reply)


@pytest.mark.parametrize(
    ("profile", "state", "request_", "reply", "after"),
    [
        ("7.1.0", BUFFER, Query(KEY), QueryReply(0, M, 60), ()),
        ("7.3.2", BUFFER, Query(KEY), QueryReply(0, M, 60), (BUFFER,)),
        ("7.3.2", BUFFER, Query(KEY), REFUSED, (BUFFER,)),
        ("7.1.0", COUNTER, Get(KEY), GetReply(M, 60, b""), ()),
        ("7.3.2", COUNTER, Get(KEY), GetReply(M, 60, b""), (COUNTER,)),
        ("7.1.0", BUFFER, Set(H, 9, KEY, b"new"), REFUSED, (BUFFER,)),
        ("7.1.0", BUFFER, Set(H, 9, KEY, b"new"), OK, (Record(False, b"new", H, 9),)),
        ("7.3.2", BUFFER, Set(H, 9, KEY, b"new"), REFUSED, ()),
        ("7.3.2", BUFFER, Set(H, 9, KEY, b"new"), OK, (Record(False, b"new", H, 9),)),
        ("7.3.2", COUNTER, Set(H, 9, KEY, b"new"), OK, ()),
        ("7.3.2", COUNTER, Set(H, 9, KEY, b"new"), REFUSED, (COUNTER,)),
    ],
)
def test_profiles_differ_as_their_clauses_do(
    profile: str, state: Record, request_: Request, reply: Message, after: tuple[Record, ...]
) -> None:
    assert model(profile).step(state, request_, reply) == after


@pytest.mark.parametrize("reply", [OK, REFUSED])
@pytest.mark.parametrize("request_", [Insert(65535, S, 100, KEY), Insert(1, S, 65535, KEY), Set(S, 100, KEY, b"")])
def test_the_largest_number_and_the_empty_value_may_be_refused(request_: Request, reply: Status) -> None:
    assert model().step(None, request_, reply)


def test_a_sum_beyond_the_width_may_be_anything_until_it_is_read() -> None:
    mine = model("7.3.2")
    (unknown,) = mine.step(COUNTER, Update(Attribute.QUOTA, Change.INCREASE, 65530, KEY), OK)

    assert mine.step(COUNTER, Update(Attribute.QUOTA, Change.INCREASE, 65530, KEY), REFUSED) == (COUNTER,)
    assert mine.step(unknown, Query(KEY), QueryReply(1, M, 60)) == (COUNTER._replace(content=1),)
    assert not mine.step(unknown, Query(KEY), REFUSED)


def test_a_record_near_its_expiry_may_be_there_or_not() -> None:
    near = COUNTER._replace(ttl_type=S, ttl=5)

    assert model().step(near, Query(KEY), QueryReply(7, S, 3)) == (near,)
    assert model().step(near, Query(KEY), REFUSED) == (None,)
    assert set(model().step(near, Purge(KEY), None)) == {None}


def test_a_ttl_that_is_used_up_ends_the_record() -> None:
    down = Update(Attribute.TTL, Change.DECREASE, 60, KEY)

    assert model().step(COUNTER, down, OK) == (None,)
    assert model().step(COUNTER, Update(Attribute.TTL, Change.PATCH, 5, KEY), OK) == (COUNTER._replace(ttl=5),)
    assert model().step(COUNTER, Update(Attribute.TTL, Change.INCREASE, 5, KEY), OK) == (COUNTER._replace(ttl=65),)


def test_states_are_reported_in_words() -> None:
    unknown = COUNTER._replace(content=None, ttl_type=9, ttl=None)

    assert [model().describe(state) for state in (None, COUNTER, BUFFER, unknown)] == [
        "no record",
        "counter 7 (60 minutes)",
        "buffer 76616c7565 (60 minutes)",
        "counter ? (? of type 0x9)",
    ]


def test_a_request_about_no_record_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected a request about one record .*, got PUBLISH"):
        model().key(Publish(b"c", b"p"))


def test_every_profile_has_a_model() -> None:
    for profile in protocol("throttr").profiles:
        assert model(profile).initial is None


def test_a_protocol_without_a_model_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("wireproof.reference_server.throttr.MODEL")

    with pytest.raises(ValueError, match="throttr has no sequential model"):
        model()


@pytest.mark.parametrize(
    ("spoken", "detail"),
    [(("x", "7.1.0", "uint8"), "unknown protocol"), (("throttr", "9", "uint8"), "profile"),
     (("throttr", "7.1.0", "u"), "variant")],
)  # fmt: skip
def test_an_unknown_model_is_reported(spoken: tuple[str, str, str], detail: str) -> None:
    with pytest.raises(ValueError, match=detail):
        model_of(spoken[0], profile=spoken[1], variant=spoken[2])
