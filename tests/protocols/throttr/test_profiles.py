"""Sizes on the wire by profile and width (T1 to T9), the clauses errors cite, and a third profile as data."""

from __future__ import annotations

import pytest
import yaml

from tests.places import ROOT
from tests.protocols.segmentations import client_waiting, every_delivery, server
from wireproof.protocols import ErrorCode, LocalProtocolError, Message
from wireproof.protocols.throttr import OK, PROFILES, REFUSED, V710, V732, Codec, ServerConnection, profiles
from wireproof.protocols.throttr.profiles import NO_CONNECTION_TYPE
from wireproof.protocols.throttr.replies import (
    ChannelReply,
    ChannelsFragment,
    ChannelsReply,
    ChannelsRow,
    ConnectionRow,
    ConnectionsReply,
    EventReply,
    GetReply,
    InfoReply,
    ListReply,
    ListRow,
    PushedEvent,
    PushedMessage,
    QueryReply,
    StatReply,
    StatsReply,
    StatsRow,
    Subscriber,
    WhoamiReply,
)
from wireproof.protocols.throttr.requests import (
    ConnectionById,
    ConnectionByIndex,
    Event,
    Insert,
    Publish,
    Query,
    Set,
    Update,
    Whoami,
)

WIDTHS = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8}
V501 = V732.derive(
    "5.0.1", without=(Event,), replies={Publish: ()}, pushes=(PushedMessage,), overrides=NO_CONNECTION_TYPE
)
CLAUSES = ROOT / "vectors" / "throttr" / "clauses.yaml"

# message, bytes before its first body: a + b x N, in 7.1.0 and in 7.3.2 (a status byte that leads it counts)
SIZES: list[tuple[type[Message], tuple[int, int] | None, tuple[int, int] | None]] = [
    (InfoReply, (432, 0), (433, 0)),  # T1
    (ListReply, (8, 0), (9, 0)),  # T2
    (StatsReply, (8, 0), (9, 0)),
    (ConnectionsReply, (8, 0), (9, 0)),
    (ChannelsReply, (8, 0), (9, 0)),
    (WhoamiReply, (16, 0), (17, 0)),  # T3
    (Set, (4, 1), (3, 2)),  # T4
    (ConnectionByIndex, (5, 0), None),  # T5
    (ConnectionById, None, (17, 0)),
    (ConnectionRow, (236, 0), (238, 0)),  # T6, with the status byte of CONNECTION
    (ChannelsRow, (21, 0), (25, 0)),  # T7
    (ChannelReply, (9, 0), (9, 0)),  # T8
    (Subscriber, (40, 0), (40, 0)),  # T9
    (Insert, (3, 2), (3, 2)),
    (Query, (2, 0), (2, 0)),
    (Update, (4, 1), (4, 1)),
    (Publish, (2, 1), (2, 1)),
    (Event, None, (2, 1)),
    (QueryReply, (2, 2), (2, 2)),
    (GetReply, (2, 2), (2, 2)),
    (ListRow, (11, 1), (11, 1)),
    (StatReply, (33, 0), (33, 0)),
    (StatsRow, (33, 0), (33, 0)),
    (ChannelsFragment, (16, 0), (16, 0)),
    (PushedMessage, (1, 1), None),
    (PushedEvent, None, (2, 1)),
]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("message", "old", "new"), SIZES, ids=lambda value: getattr(value, "NAME", None))
def test_a_message_has_this_size(
    message: type[Message], old: tuple[int, int] | None, new: tuple[int, int] | None, width: str
) -> None:
    for profile, size in ((V710, old), (V732, new)):
        if size is not None:
            assert Codec.of(profile, width).layout(message).fixed_size == size[0] + size[1] * WIDTHS[width]


@pytest.mark.parametrize(("width", "longest"), [("uint8", 255), ("uint16", 255), ("uint32", 255), ("uint64", 255)])
def test_a_value_of_the_document_has_at_most_255_bytes_at_every_width(width: str, longest: int) -> None:
    """T4."""
    codec = Codec.of(V710, width)

    assert len(codec.encode(Set(4, 0, b"", bytes(longest)))) == 4 + WIDTHS[width] + longest
    with pytest.raises(LocalProtocolError, match=r"SET.value: expected at most 255 bytes, got 256 bytes"):
        codec.encode(Set(4, 0, b"", bytes(longest + 1)))


def test_the_document_has_18_requests_and_the_release_one_more() -> None:
    assert [len(PROFILES[name].replies) for name in ("7.1.0", "7.3.2")] == [18, 19]


@pytest.mark.parametrize("profile", [V710, V732, V501], ids=lambda profile: profile.name)
def test_every_request_has_a_type_byte_of_its_own(profile: profiles.Profile) -> None:
    leads = [profile.leads[request] for request in profile.replies]

    assert len(set(leads)) == len(leads)
    assert {len(lead) for lead in leads} == {1}


def test_every_clause_that_an_error_cites_exists_in_its_profile() -> None:
    known = {clause["id"]: clause["profiles"] for clause in yaml.safe_load(CLAUSES.read_text())["clauses"]}

    for profile in PROFILES.values():
        assert profile.clauses
        for clause in profile.clauses.values():
            assert profile.name in known[clause]


def test_every_error_that_bytes_can_cause_cites_a_clause() -> None:
    of_calls = {ErrorCode.BAD_VALUE, ErrorCode.ILLEGAL_STATE}
    in_payloads_only = {ErrorCode.LYING_LENGTH}

    assert set(V710.clauses) == set(V732.clauses) == set(ErrorCode) - of_calls - in_payloads_only


def test_the_docstring_shows_how_the_third_profile_is_made() -> None:
    shown = next(line for line in (profiles.__doc__ or "").splitlines() if "V732.derive(" in line)
    made = eval(shown.strip(), {**vars(profiles), "PushedMessage": PushedMessage})

    for part in ("name", "leads", "replies", "pushes", "overrides"):
        assert getattr(made, part) == getattr(V501, part)


def test_publish_is_never_answered_in_the_third_profile() -> None:
    codec = Codec.of(V501, "uint16")
    requests = [Publish(b"c", b"hi"), Query(b"k"), Publish(b"c", b""), Insert(1, 4, 1, b"k")]
    answering = ServerConnection(codec)
    answering.receive_data(b"".join(map(codec.encode, requests)))

    assert answering.next_requests() == requests
    assert answering.pending == (requests[1], requests[3])
    assert every_delivery(server(codec), b"".join(map(codec.encode, requests))).messages == requests
    assert every_delivery(client_waiting(codec, *requests), answering.send_all([REFUSED, OK])).messages == [REFUSED, OK]


def test_a_push_has_no_channel_in_the_third_profile() -> None:
    codec = Codec.of(V501, "uint16")
    wire = codec.encode(PushedMessage(b"hi"))

    assert wire == b"\x03\x02\x00hi"
    assert every_delivery(client_waiting(codec, Whoami()), wire + b"\x01" + bytes(16)).messages == [
        PushedMessage(b"hi"),
        WhoamiReply(bytes(16)),
    ]


@pytest.mark.parametrize("absent", [Event(b"", b""), PushedEvent(b"", b""), EventReply(OK)], ids=lambda one: one.NAME)
def test_the_third_profile_has_no_event(absent: Message) -> None:
    codec = Codec.of(V501, "uint16")

    with pytest.raises(LocalProtocolError, match=r"profile 5.0.1 has no message"):
        codec.encode(absent)
    assert every_delivery(server(codec), b"\x19").error == ("unknown_type", "expected a request type, got 19", 0)


def test_a_connection_has_235_bytes_in_the_third_profile() -> None:
    row = ConnectionRow(bytes(16), 1, 1, 4, bytes(16), *range(26))
    codec = Codec.of(V501, "uint16")
    wire = codec.encode(row)

    assert len(wire) == 1 + 235
    (read,) = every_delivery(client_waiting(codec, ConnectionById(bytes(16))), wire).messages
    assert (read.type, read.kind, read.whoami_requests) == (0, 0, 25)  # type: ignore[attr-defined]
