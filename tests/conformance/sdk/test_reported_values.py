"""What a report of another kind than its field is told."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.conformance.sdk.reported_values import all_misread, differences, without_binary


@pytest.mark.parametrize(
    ("expected", "got", "hint"),
    [
        ({"hex": "6b"}, "k", '(bytes are {"hex": "…"})'),
        ({"hex": "6b"}, True, '(bytes are {"hex": "…"})'),
        ("7", {"text": "7"}, "(numbers are strings of digits, words are lower case)"),
        ("7", True, "(numbers are strings of digits, words are lower case)"),
        ("seconds", "4", "(a number that has a name is given by its name)"),
        ("4", "seconds", "(a number is given in digits)"),
    ],
)
def test_a_value_of_another_kind_is_reported_with_how_to_write_it(expected: Any, got: Any, hint: str) -> None:
    (found,) = differences({"field": expected}, {"field": got})

    assert found.startswith("result.field: expected ")
    assert found.endswith(hint)


@pytest.mark.parametrize(
    ("expected", "got"), [({"hex": "6b"}, {"text": "l"}), ("7", "8"), ("seconds", "hours"), ("7", None)]
)
def test_another_value_of_the_right_kind_is_reported_without(expected: Any, got: Any) -> None:
    (found,) = differences({"field": expected}, {"field": got} if got else {})

    assert "(" not in found


def test_the_status_of_a_success_may_be_reported_beside_its_fields() -> None:
    expected = {"quota": "7", "reply": {"ttl": "60"}}

    assert differences(expected, {**expected, "status": True}) == []
    assert differences(expected, {"quota": "7", "reply": {"ttl": "60", "status": True}}) == []
    assert differences(expected, {**expected, "status": False}) == [
        "result.status: expected no such field, only quota, reply"
    ]


def test_of_bytes_that_are_no_text_anything_may_be_reported_and_of_nothing_else() -> None:
    expected = {"rows": [{"key": {"hex": "00ff"}, "ttl": "7"}, {"key": {"hex": "6b"}, "ttl": "8"}]}
    garbled = {"text": "\ufffd"}
    fine = {"rows": [{"key": garbled, "ttl": "7"}, {"key": {"text": "k"}, "ttl": "8"}]}
    wrong = {"rows": [{"key": garbled, "ttl": "7"}, {"key": garbled, "ttl": "9"}]}

    assert differences(without_binary(expected, fine), fine) == []
    assert len(differences(without_binary(expected, wrong), wrong)) == 2


@pytest.mark.parametrize(
    ("expected", "got", "hint"),
    [
        ("9007199254740993", "9007199254740992", "rounded as a 64-bit float is"),
        ("18446744073709551615", "18446744073709552000", "rounded as a 64-bit float is"),
        ("18446744073709551615", "1.8446744073709552e+19", "rounded as a 64-bit float is"),
        ("4294967290", "4294967296", "rounded as a 32-bit float is"),
        ("18446744073709551615", "-1", "read as a signed number of 64 bits"),
        ("40000", "-25536", "read as a signed number of 16 bits"),
        ("4294967297", "1", "only the low"),
        ("9223372036854775808", "9223372036854775807", "the largest number of 63 bits"),
    ],
)
def test_a_number_that_a_type_has_no_room_for_is_reported_with_the_type(expected: str, got: str, hint: str) -> None:
    (found,) = differences({"field": expected}, {"field": got})

    assert hint in found
    assert all_misread(
        {"rows": [{"field": expected, "key": {"hex": "6b"}}]}, {"rows": [{"field": got, "key": {"text": "k"}}]}
    )


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ({"field": "7"}, {"field": "8"}),
        ({"field": "256"}, {"field": "0"}),
        ({"field": "40000", "other": "1"}, {"field": "-25536", "other": "2"}),
        ({"field": "40000"}, {"field": "-25536", "other": "2"}),
        ({"key": {"hex": "6b"}}, {"key": {"hex": "6c"}}),
        ({"field": "40000"}, {"field": "40000"}),
    ],
)
def test_any_other_difference_is_no_matter_of_room(expected: Any, got: Any) -> None:
    assert not all_misread(expected, got)


def test_the_status_of_a_success_beside_misread_numbers_is_no_difference_of_another_kind() -> None:
    expected, got = {"rows": [{"at": str(2**53 + 1)}]}, {"rows": [{"at": str(2**53)}]}

    assert all_misread(expected, {**got, "status": True})
    assert not all_misread(expected, {**got, "status": False})


def test_bytes_that_come_as_the_text_of_their_hex_digits_are_reported_so() -> None:
    (found,) = differences({"channel": {"hex": "612f62"}}, {"channel": {"text": "612f62"}})

    assert found.endswith("(the text of their hex digits, not the bytes)")


def test_a_table_without_rows_may_be_left_out_and_a_field_that_is_not_exposed_is_none() -> None:
    expected = {"status": "ok", "headers": [], "payload": {"hex": "6d"}}

    assert differences(expected, {"status": "ok", "payload": None}) == []
    assert differences(expected, {"status": "ok"}) == ["result.payload: expected {'hex': '6d'}, got nothing"]
    assert differences({"headers": [{"name": "1"}]}, {}) != []
    assert differences(expected, {"status": None, "payload": None, "other": None}) != []
