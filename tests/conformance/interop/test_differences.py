"""What two right servers agree on is compared, what they may fill otherwise is not."""

from __future__ import annotations

from typing import Any

from wireproof.conformance.interop.differences import ChosenIds, unlike
from wireproof.protocols.plain import Plain
from wireproof.protocols.registry import protocol
from wireproof.protocols.throttr.replies import ListFragment, ListReply, ListRow

PLAIN = Plain(protocol("throttr"), "7.1.0", "uint16")
MINE, OTHER = b"wp-1-scene.", b"somebody"


def make(name: str, **fields: Any) -> Any:
    return PLAIN.profile.messages[name](**fields)


def listed(*rows: tuple[bytes, int]) -> ListReply:
    made = (ListRow(key=key, key_type=0, ttl_type=4, time_point=size, bytes_used=size) for key, size in rows)
    return ListReply(fragments=(ListFragment(fragment=1, rows=tuple(made)),))


def test_the_first_field_that_differs_is_reported_with_its_byte() -> None:
    mine, theirs = (make("QUERY_REPLY", quota=quota, ttl_type=4, ttl=60) for quota in (7, 8))

    found = unlike(PLAIN, mine, theirs, MINE)

    assert found is not None
    assert (found.reply, found.field, found.byte) == ("QUERY_REPLY", "quota", 1)
    assert (found.expected, found.got) == ("quota = 7", "quota = 8")


def test_times_left_agree_within_two_seconds_and_a_unit() -> None:
    def reply(ttl: int) -> Any:
        return make("QUERY_REPLY", quota=7, ttl_type=4, ttl=ttl)

    assert unlike(PLAIN, reply(60), reply(57), MINE) is None
    assert unlike(PLAIN, reply(60), reply(56), MINE) is not None


def test_another_message_is_reported_with_the_flag_that_was_right() -> None:
    mine = make("STATUS", ok=False)

    found = unlike(PLAIN, mine, make("QUERY_REPLY", quota=7, ttl_type=4, ttl=60), MINE)

    assert found is not None
    assert (found.reply, found.field, found.byte) == ("STATUS", "ok=False", 0)


def test_only_rows_of_ours_count_and_only_what_is_not_an_instant() -> None:
    assert unlike(PLAIN, listed((MINE, 2)), listed((OTHER, 9), (MINE, 2)), MINE) is None


def test_a_row_that_lacks_and_a_row_that_is_wrong_are_reported() -> None:
    lacks = unlike(PLAIN, listed((MINE, 2)), listed((OTHER, 2)), MINE)
    wrong = unlike(PLAIN, listed((MINE, 2)), listed((MINE, 3)), MINE)

    assert lacks is not None
    assert lacks.field == "rows"
    assert "none of these" in lacks.got
    assert wrong is not None
    assert wrong.field == "rows.bytes_used"


def test_ids_that_servers_choose_stand_for_each_other_from_then_on() -> None:
    plain = Plain(protocol("namechan"), "1", "standard")
    messages, ids = plain.profile.messages, ChosenIds(plain)
    subscribed, message = messages["SUBSCRIBED"], messages["MESSAGE"]

    def differs(mine: int, theirs: int) -> bool:
        return unlike(plain, message(id=1, topic=mine), message(id=1, topic=theirs), MINE, ids) is not None

    assert unlike(plain, subscribed(id=1, topic=b"t"), subscribed(id=1000, topic=b"t"), MINE, ids) is None
    assert not differs(1, 1000)
    assert differs(1, 1001)
    assert differs(2, 1000)
    assert not differs(2, 7)
    found = unlike(plain, message(id=1, topic=1), message(id=2, topic=1000), MINE, ids)
    assert found is not None
    assert found.field == "id"
