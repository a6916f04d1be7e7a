"""What a report of another kind than its field is told."""

from __future__ import annotations

from typing import Any

import pytest

from wireproof.conformance.sdk.reported_values import differences


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
