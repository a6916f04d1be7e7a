"""Expressions: arithmetic over numbers and names, nothing else, and an error that says what was expected."""

import pytest

from wireproof.conformance.model.expressions import ExpressionError, evaluate

NAMES = {"N": 2, "MAX": 65535, "before": 40, "label": "text"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7), ("0x10", 16), ("MAX", 65535), ("MAX - 1", 65534), ("2*N + 3", 7), (" before + 2 ", 42),
        ("-N", -2), ("(1 + 2) * 3", 9), ("7 // 2", 3), ("7 % 4", 3), ("2 ** 8", 256), ("0.5 * N", 1.0),
        ("0x0102030405060708 % (MAX + 1)", 0x0708), ("min(MAX, 200) - 40", 160), ("max(N, 1, 3)", 3),
    ],
)  # fmt: skip
def test_arithmetic_over_numbers_and_names(text: str, value: float) -> None:
    assert value == evaluate(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 +",
        "N(1)",
        "min(N)",
        "max(1, *N)",
        "N.real",
        "[1]",
        "'a'",
        "1 if N else 2",
        "N and 1",
        "1 < 2",
        "True",
        "~1",
        "1 / 2",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="expected"):
        evaluate(text, NAMES)


def test_an_unknown_name_is_reported_with_the_known_ones() -> None:
    with pytest.raises(ExpressionError, match=r"unknown name 'M' in 'M \+ 1'; known: MAX, N, before"):
        evaluate("M + 1", NAMES)


def test_a_name_that_is_no_number_is_unknown() -> None:
    with pytest.raises(ExpressionError, match="unknown name 'label'"):
        evaluate("label", NAMES)


@pytest.mark.parametrize("text", ["1 // 0", "1 % (N - 2)", "9 ** 9 ** 9", "1 << 9", "0 ** -1", "9" * 5000, "1e999"])
def test_what_has_no_value_or_too_large_a_one_is_an_expression_error(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, NAMES)
