"""What a report of another kind than its field is told."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.conformance.sdk.reported_values import differences, without_binary


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
def test_a_value_of_another_kind_is_told_with_how_to_write_it(expected: Any, got: Any, hint: str) -> None:
    (found,) = differences({"field": expected}, {"field": got})

    assert found.startswith("result.field: expected ")
    assert found.endswith(hint)


@pytest.mark.parametrize(
    ("expected", "got"), [({"hex": "6b"}, {"text": "l"}), ("7", "8"), ("seconds", "hours"), ("7", None)]
)
def test_another_value_of_the_right_kind_is_told_without(expected: Any, got: Any) -> None:
    (found,) = differences({"field": expected}, {"field": got} if got else {})

    assert "(" not in found


def test_of_bytes_that_are_no_text_anything_may_be_reported_and_of_nothing_else() -> None:
    expected = {"rows": [{"key": {"hex": "00ff"}, "ttl": "7"}, {"key": {"hex": "6b"}, "ttl": "8"}]}
    garbled = {"text": "\ufffd"}
    fine = {"rows": [{"key": garbled, "ttl": "7"}, {"key": {"text": "k"}, "ttl": "8"}]}
    wrong = {"rows": [{"key": garbled, "ttl": "7"}, {"key": garbled, "ttl": "9"}]}

    assert differences(without_binary(expected, fine), fine) == []
    assert len(differences(without_binary(expected, wrong), wrong)) == 2
